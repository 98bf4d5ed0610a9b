// Whole runs with drawn faults that overlap on the same clients and servers: no hardened lock is blamed for
// what it had to bear, no run ends by an error of the harness, and `during` counts while the other fault
// acts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/testing/draw_scenario.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;

std::vector<std::string> promises_of(const LockKind& kind) {
  std::vector<std::string> checks = {"lease-exclusion", "no-foreign-release", "progress"};
  // The end of a permit that has an id is told to nobody.
  if (kind.name != "permit-semaphore") checks.emplace_back("told-in-time");
  if (kind.tokens) checks.emplace_back("fencing-monotonic");
  return checks;
}

// Runs what `draw` makes of each number, and what `judge` says of the run is a failure.
void for_each(std::uint64_t first, std::uint64_t last, const std::function<std::string(std::uint64_t)>& draw,
              const std::function<std::string(const Scenario&, const RunResult&)>& judge) {
  int failures = 0;
  for (std::uint64_t number = first; number <= last && failures < 5; ++number) {
    const std::string text = draw(number);
    std::string blame;
    try {
      const Scenario scenario = parse_scenarios(text, "drawn.toml").front();
      blame = judge(scenario, run_once(scenario, {.seed = number, .keep_history = true}));
    } catch (const BadScenario& problem) {
      blame = problem.message();
    } catch (const std::exception& error) {
      blame = error.what();
    }
    if (blame.empty()) continue;
    ++failures;
    ADD_FAILURE() << "number " << number << ", which is also the seed\n" << blame << "\n" << text;
  }
}

std::vector<const LockKind*> kinds_of(bool historic) {
  std::vector<const LockKind*> kinds;
  for (const LockKind& kind : all_lock_kinds()) {
    if (kind.historic == historic && !kind.latch) kinds.push_back(&kind);
  }
  return kinds;
}

void expect_nobody_blamed(std::uint64_t first, std::uint64_t last) {
  const std::vector<const LockKind*> kinds = kinds_of(false);
  const auto draw = [&](std::uint64_t number) {
    Rng rng = Rng::derive(number, "drawn-faults");
    const LockKind& kind = *kinds[number % kinds.size()];
    return testing::draw_scenario(kind, rng, {}) + testing::expecting(promises_of(kind));
  };
  for_each(first, last, draw, [](const Scenario& scenario, const RunResult& run) {
    std::string blame;
    for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
      if (run.verdicts[i].outcome != checker::Outcome::violated) continue;
      blame += scenario.expectations[i].check + ": " + run.verdicts[i].reason + "\n";
    }
    return blame;
  });
}

TEST(DrawnFaults, NoHardenedLockIsBlamed) { expect_nobody_blamed(1, 400); }
TEST(LongDrawnFaults, NoHardenedLockIsBlamed) { expect_nobody_blamed(1'000, 20'000); }

// Locks that break, servers that forget: whatever happens to them, a run ends and is judged.
void expect_no_run_aborts(std::uint64_t first, std::uint64_t last) {
  const std::vector<const LockKind*> hardened = kinds_of(false), historic = kinds_of(true);
  const auto draw = [&](std::uint64_t number) {
    Rng rng = Rng::derive(number, "drawn-ruin");
    const std::vector<const LockKind*>& kinds = rng.chance(1, 2) ? hardened : historic;
    const LockKind& kind = *kinds[rng.between(0, kinds.size() - 1)];
    return testing::draw_scenario(kind, rng, {.servers_forget = true, .watchdog_pauses = true}) +
           testing::expecting({"mutual-exclusion", "lease-exclusion", "told-in-time", "no-foreign-release",
                               "progress", "fencing-monotonic"});
  };
  for_each(first, last, draw, [](const Scenario&, const RunResult&) { return std::string(); });
}

TEST(DrawnFaults, NoRunAborts) { expect_no_run_aborts(1, 400); }
TEST(LongDrawnFaults, NoRunAborts) { expect_no_run_aborts(1'000, 20'000); }

// When the fault "then" has to act, read off the history alone: at the nth event that matches since "while"
// began to act, the first time that there are so many before it heals. nullopt: never.
std::optional<std::int64_t> due_at(const checker::History& history, Function f, EventType type,
                                   std::string_view client, int nth) {
  int seen = 0;
  bool acts = false;
  for (const Event& event : history.events()) {
    if (event.f == Function::fault && history.text(event.key) == "while") {
      acts = event.value == 1;
      seen = 0;
    }
    if (!acts || event.f != f || event.type != type) continue;
    if (!client.empty() && !history.text(event.process).starts_with(std::string(client) + "/")) continue;
    if (++seen == nth) return event.time_ns;
  }
  return std::nullopt;
}

void expect_during_counts_what_happens_meanwhile(std::uint64_t first, std::uint64_t last) {
  struct Trigger {
    Function f;
    EventType type;
    std::string name, client;
    int nth;
  };
  const auto trigger_of = [](std::uint64_t number) {
    static const std::vector<Trigger> triggers = {
        {Function::acquire, EventType::ok, "lock.granted", "", 0},
        {Function::acquire, EventType::invoke, "lock.requested", "", 0},
        {Function::release, EventType::invoke, "lock.releasing", "", 0}};
    Rng rng = Rng::derive(number, "drawn-during/trigger");
    Trigger trigger = triggers[rng.between(0, 2)];
    trigger.nth = static_cast<int>(rng.between(1, 5));
    if (rng.chance(1, 2)) trigger.client = "c" + std::to_string(rng.between(1, 3));
    return trigger;
  };
  const auto draw = [&](std::uint64_t number) {
    Rng rng = Rng::derive(number, "drawn-during");
    const Trigger trigger = trigger_of(number);
    const std::uint64_t begin = rng.between(1, 600);
    const std::uint64_t lasts = rng.between(20, 900);
    const std::string when = rng.chance(1, 2) ? "every" : "at";
    const std::string who =
        rng.chance(1, 2) ? "pause-client\"\nclient = \"c3\"" : "stall\"\nbetween = \"c3\"";
    const std::string filter = trigger.client.empty() ? "" : ", client = \"" + trigger.client + "\"";
    return fmt::format(R"(schema = 1
name   = "during"
about  = "Drawn at random"
[run]
seeds = "1"
time  = "20s"
[cluster]
topology = "single"
[lock]
kind  = "reentrant"
lease = "2s"
[workload]
kind    = "critical-section"
clients = 3
rounds  = 12
hold    = "1ms..60ms"
think   = "0ms..90ms"
[network]
latency = "200us..3ms"
[[fault]]
id   = "while"
kind = "{}
for  = "{}ms"
{} = "{}ms"
[[fault]]
id     = "then"
kind   = "cut"
after  = {{ event = "{}", nth = {}{} }}
during = "while"
[[expect]]
check = "lease-exclusion"
)",
                       who, lasts, when, begin, trigger.name, trigger.nth, filter);
  };
  std::uint64_t acted = 0, never = 0, number = first - 1;
  for_each(
      first, last,
      [&](std::uint64_t at) {
        number = at;
        return draw(at);
      },
      [&](const Scenario&, const RunResult& run) {
        const Trigger trigger = trigger_of(number);
        const auto due = due_at(run.history, trigger.f, trigger.type, trigger.client, trigger.nth);
        std::vector<std::int64_t> acts;
        for (const Event& event : run.history.events()) {
          if (event.f == Function::fault && event.value == 1 && run.history.text(event.key) == "then")
            acts.push_back(event.time_ns);
        }
        ++(acts.empty() ? never : acted);
        const std::vector<std::int64_t> wanted = due ? std::vector{*due} : std::vector<std::int64_t>{};
        return acts == wanted ? ""
                              : fmt::format("due {} ns, acted {} times, first at {} ns", due.value_or(-1),
                                            acts.size(), acts.empty() ? -1 : acts.front());
      });
  EXPECT_GT(acted, (last - first) / 5);
  EXPECT_GT(never, (last - first) / 20);
}

TEST(DrawnFaults, DuringCountsWhatHappensMeanwhile) { expect_during_counts_what_happens_meanwhile(1, 300); }
TEST(LongDrawnFaults, DuringCountsWhatHappensMeanwhile) {
  expect_during_counts_what_happens_meanwhile(1'000, 10'000);
}

}  // namespace
}  // namespace holdfast::sim
