// What is claimed, what the ledger says and what stands in the servers agree, in whole runs with drawn
// faults; and locks and ledgers with planted defects do not.
#include "sim/truth/truth.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "checker/checks/truth.h"
#include "lib/testing/folders.h"
#include "sim/client/lock_kind_rows.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/testing/draw_scenario.h"

namespace holdfast::sim {
namespace {

using checker::Function;
using checker::Outcome;

// --- planted defects -----------------------------------------------------------------------------------

enum class Defect {
  none,
  grants_twice,           // its SET has no NX
  renews_after_expiry,    // says that it renewed, whatever the server answers
  claims_without_record,  // asks nobody
  removes_early,          // gives its record back in the middle of the hold
  forgets_to_tell,        // the ledger takes its releases for requests without effect
  tells_too_much          // the ledger takes each refused request for a grant
};
Defect planted = Defect::none;

// SET NX PX, renewed by PEXPIRE at a third of its lease; DEL, which names a key of its owner besides.
class PlantedLock final : public Lock {
 public:
  PlantedLock(const LockSpaceOptions& options, std::string key) : options_(options), key_(std::move(key)) {}
  ~PlantedLock() override { release(); }

  void lock() override {
    while (!try_lock()) runtime().sleep_for(std::chrono::milliseconds(7));
  }
  bool try_lock_until(MonotonicTime deadline, std::stop_token) override {
    while (!try_lock()) {
      if (runtime().now() >= deadline) return false;
      runtime().sleep_for(std::chrono::milliseconds(7));
    }
    return true;
  }
  bool try_lock() override {
    const std::string owner = options_.client.options().client_name + "-own-" + std::to_string(++count_);
    const MonotonicTime sent_at = runtime().now();
    std::string node = "r1";
    if (planted == Defect::grants_twice) {
      ask({"SET", key_, owner, "PX", lease_ms()});
    } else if (planted != Defect::claims_without_record) {
      if (ask({"SET", key_, owner, "NX", "PX", lease_ms()}).text != "OK") return false;
    }
    owner_ = owner;
    until_ = sent_at + options_.lock.lease;
    tell({.kind = LockEvent::Kind::acquired,
          .key = key_,
          .acquisition = owner_,
          .node = node,
          .sent_at = sent_at});
    renewal_ = runtime().spawn("watchdog", [this, owner] { renew(owner); });
    return true;
  }
  void release() override {
    if (owner_.empty()) return;
    const std::string owner = std::exchange(owner_, "");
    renewal_ = Task();
    if (planted != Defect::removes_early) ask({"DEL", key_, owner});
  }
  bool is_held_by_me() const override { return !owner_.empty(); }
  int hold_count() const override { return owner_.empty() ? 0 : 1; }
  std::optional<MonotonicTime> valid_until() const override { return until_; }
  std::string acquisition() const override { return owner_; }
  std::stop_token lost() const override { return {}; }
  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return options_.client.runtime(); }

 private:
  std::string lease_ms() const { return std::to_string(options_.lock.lease / std::chrono::milliseconds(1)); }
  redis::Reply ask(std::initializer_list<std::string_view> command) {
    try {
      return options_.client.call(command).reply;
    } catch (const redis::Error&) {
      return {};
    }
  }
  void tell(const LockEvent& event) const { options_.lock.observer->on_event(event); }
  void renew(const std::string& owner) {
    // The one that renews after expiry is late: its record is gone by then.
    const bool late = planted == Defect::renews_after_expiry;
    for (;;) {
      runtime().sleep_for(late ? options_.lock.lease * 9 / 10 : options_.lock.lease / 3);
      if (owner_ != owner) return;
      if (planted == Defect::removes_early) {
        ask({"DEL", key_, owner});
        return;
      }
      const MonotonicTime sent_at = runtime().now();
      tell({.kind = LockEvent::Kind::renewing, .key = key_, .acquisition = owner});
      const bool renewed = late || ask({"PEXPIRE", key_, lease_ms()}).integer == 1;
      if (owner_ != owner) return;
      if (!renewed) continue;
      until_ = sent_at + options_.lock.lease;
      tell({.kind = LockEvent::Kind::renewed,
            .key = key_,
            .acquisition = owner,
            .valid_until = until_,
            .sent_at = sent_at});
    }
  }

  const LockSpaceOptions options_;
  const std::string key_;
  std::string owner_;
  std::optional<MonotonicTime> until_;
  std::uint64_t count_ = 0;
  Task renewal_;
};

std::vector<StoreEffect> planted_effects(const Command& command, const redis::Reply& reply) {
  if (command.size() >= 5 && is(command[0], "SET")) {
    const bool granted = is_ok(reply) || planted == Defect::tells_too_much;
    return {effect(Function::store_grant, command[1], command[2], granted)};
  }
  if (command.size() == 3 && is(command[0], "DEL")) {
    return {effect(Function::store_remove, command[1], command[2],
                   is_one(reply) && planted != Defect::forgets_to_tell)};
  }
  if (command.size() == 3 && is(command[0], "PEXPIRE")) {
    return {effect(Function::store_extend, command[1], "", is_one(reply))};
  }
  return {};
}

const LockKind& planted_kind() {
  static const LockKind kind{.name = "non-reentrant",  // whose record its own looks like
                             .about = "planted",
                             .promises_validity = true,
                             .make = [](const LockSpaceOptions& options) -> std::unique_ptr<LockSpace> {
                               return keyed([options](const std::string& key) {
                                 return std::make_shared<PlantedLock>(options, key);
                               });
                             },
                             .read_effects = planted_effects};
  return kind;
}

RunResult run_planted(Defect defect) {
  planted = defect;
  Scenario scenario = parse_scenarios(R"(schema = 1
name   = "planted"
about  = "A lock with a defect"
[run]
seeds = "1"
time  = "30s"
[cluster]
topology = "single"
[lock]
kind  = "non-reentrant"
lease = "300ms"
[workload]
kind    = "critical-section"
clients = 3
rounds  = 6
hold    = "150ms..500ms"
[network]
latency = "200us..2ms"
[[expect]]
check = "truth"
)",
                                      "planted.toml")
                          .front();
  scenario.lock = scenario.workload.own_lock = &planted_kind();
  RunResult run = run_once(scenario, {.seed = 3});
  planted = Defect::none;
  return run;
}

TEST(Truth, PlantedDefectsAreFound) {
  const checker::Verdict sound = run_planted(Defect::none).verdicts[0];
  EXPECT_EQ(sound.outcome, Outcome::holds) << sound.reason;
  for (const auto& [defect, kind] : {std::pair{Defect::grants_twice, "record-overwritten"},
                                     std::pair{Defect::renews_after_expiry, "record-expired"},
                                     std::pair{Defect::claims_without_record, "no-record"},
                                     std::pair{Defect::removes_early, "record-removed"},
                                     std::pair{Defect::forgets_to_tell, "unnamed-removal"},
                                     std::pair{Defect::tells_too_much, "ledger-wrong"}}) {
    const checker::Verdict verdict = run_planted(defect).verdicts[0];
    EXPECT_EQ(verdict.outcome, Outcome::violated) << kind << ": " << verdict.reason;
    bool found = false;
    for (const checker::Witness& witness : verdict.witnesses) found = found || witness.kind == kind;
    EXPECT_TRUE(found) << kind << ", found " << verdict.reason;
  }
}

// A record lasts as long as its server's clock says: here 1.43 s, and it is given back after 1.1 s.
TEST(Truth, TheClockOfADriftingServerEndsItsRecords) {
  const Scenario scenario = parse_scenarios(R"(schema = 1
name   = "slow-server"
about  = "The clock of the server runs slow"
[run]
seeds = "1"
time  = "30s"
[cluster]
topology = "single"
[lock]
kind  = "lock-interface"
lease = "1s"
[workload]
kind    = "critical-section"
clients = 2
rounds  = 3
hold    = "1100ms"
[network]
latency = "200us..2ms"
[[fault]]
id   = "slow"
kind = "clock-drift"
node = "r1"
ppm  = -300000
at   = "100ms"
[[expect]]
check = "truth"
)",
                                            "slow.toml")
                                .front();
  const checker::Verdict verdict = run_once(scenario, {.seed = 1}).verdicts[0];
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict.reason;
}

TEST(Truth, NobodyWatchesUnlessAsked) {
  const Scenario happy = read_scenarios(holdfast::testing::source_path("scenarios/happy_path.toml")).front();
  const RunResult run = run_once(happy, {.seed = 1, .keep_history = true});
  EXPECT_EQ(checker::find_check("truth")->run(run.history, {}).outcome, Outcome::unknown);
}

// --- the property ----------------------------------------------------------------------------------------

// "" or what does not agree.
std::string disagreement(const LockKind& kind, const Scenario& scenario, const RunResult& run,
                         std::uint64_t& all_stood) {
  checker::CheckContext context;
  context.reentrant = kind.reentrant;
  const checker::Truth truth = checker::compare_with_truth(run.history, context);
  std::string found;
  for (const checker::Witness& witness : truth.wrong) {
    // Published designs claim what they do not have; the ledger and the keyspaces agree all the same.
    const bool of_a_claim = witness.kind == "no-record" || witness.kind.starts_with("record-");
    if (!kind.historic || !of_a_claim) found += witness.kind + ": " + witness.why + "\n";
  }
  if (!truth.watched) found += "nobody watched\n";
  all_stood += truth.all_stood() ? 1 : 0;
  for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
    if (scenario.expectations[i].check != "lease-exclusion") continue;
    if (truth.all_stood() && run.verdicts[i].outcome == Outcome::violated) {
      found += "each record stood while it was claimed, and yet: " + run.verdicts[i].reason + "\n";
    }
  }
  return found;
}

void expect_agreement(std::uint64_t first, std::uint64_t last) {
  std::vector<const LockKind*> kinds;
  for (const LockKind& kind : all_lock_kinds()) {
    if (find_decoder(kind.name) != nullptr) kinds.push_back(&kind);
  }
  int failures = 0;
  std::uint64_t all_stood = 0, runs = 0;
  for (std::uint64_t number = first; number <= last && failures < 8; ++number) {
    Rng rng = Rng::derive(number, "drawn-truth");
    const LockKind& kind = *kinds[number % kinds.size()];
    const testing::DrawOptions options{.servers_forget = rng.chance(1, 2),
                                       .watchdog_pauses = rng.chance(1, 2)};
    const std::string text =
        testing::draw_scenario(kind, rng, options) + testing::expecting({"truth", "lease-exclusion"});
    std::string blame;
    try {
      const Scenario scenario = parse_scenarios(text, "drawn.toml").front();
      blame =
          disagreement(kind, scenario, run_once(scenario, {.seed = number, .keep_history = true}), all_stood);
    } catch (const BadScenario& problem) {
      blame = problem.message();
    } catch (const std::exception& error) {
      blame = error.what();
    }
    ++runs;
    if (blame.empty()) continue;
    ++failures;
    ADD_FAILURE() << "number " << number << ", which is also the seed, lock " << kind.name << "\n"
                  << blame << text;
  }
  EXPECT_GT(all_stood, runs / 5);
  EXPECT_LT(all_stood, runs);
}

TEST(Truth, ClaimsLedgerAndKeyspacesAgree) { expect_agreement(1, 400); }
TEST(LongTruth, ClaimsLedgerAndKeyspacesAgree) { expect_agreement(1'000, 11'000); }

}  // namespace
}  // namespace holdfast::sim
