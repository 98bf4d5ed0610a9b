// Explorations of scenarios: what is found with how few deviations, that it can be replayed, and that a sound
// lock is seen to the end.
#include "sim/explore/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "sim/hunt/case_file.h"
#include "sim/hunt/draw_case.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

Ground small(const char* lock, const std::string& more = "") {
  Ground ground = ground_of(*find_lock_kind(lock));
  ground.given = parse_toml(R"(
[run]
time = "20s"
[cluster]
topology = "primary-replica"
nodes    = ["r1", "r2"]
[lock]
kind  = ")" + std::string(lock) +
                                R"("
lease = "1s"
[workload]
kind    = "critical-section"
clients = 2
rounds  = 1
hold    = "300ms"
think   = "0s"
[network]
latency = "1ms..1500ms"
)" + more,
                            "small.toml");
  return ground;
}

constexpr const char* kFailover = R"(
[[fault]]
id    = "kill"
kind  = "crash"
node  = "r1"
after = { message = "SET", phase = "reply", nth = 1 }
[[fault]]
id    = "promote"
kind  = "promote"
node  = "r2"
after = { fault = "kill", delay = "10ms" }
)";

TEST(Explore, OneLateMessageOfTheReplicationIsEnoughForADoubleGrant) {
  const ExploreState state = explore({.ground = small("lock-interface", kFailover), .deviations = 2});
  ASSERT_TRUE(state.violation);
  EXPECT_FALSE(state.search.complete);
  EXPECT_EQ(state.violation->failure.promise(), "lease-exclusion/double-grant");
  ASSERT_EQ(state.violation->otherwise.size(), 1u);
  EXPECT_EQ(state.violation->otherwise.front().stream.rfind("network/", 0), 0u);

  // What it wrote down is that run.
  const Trial again = try_case(state.violation->one);
  EXPECT_TRUE(again.shows(state.violation->failure.promise()));
  const DecisionsFile file = parse_decisions(
      to_text({.seed = state.violation->one.seed, .changes = state.violation->one.changes}), "d");
  EXPECT_EQ(
      try_case({.document = state.violation->one.document, .seed = file.seed, .changes = file.changes}).trace,
      again.trace);
}

// Its unlock removes whatever is there: a reply that comes after the lease, and the next holder's too.
TEST(Explore, TwoThingsAtOnceAreFoundWithABoundOfTwo) {
  Ground ground = small("setnx-expire");
  EXPECT_EQ(explore({.ground = ground, .deviations = 1}).violation, std::nullopt);
  const ExploreState state = explore({.ground = ground, .deviations = 2});
  ASSERT_TRUE(state.violation);
  EXPECT_EQ(state.violation->failure.check, "no-foreign-release");
  EXPECT_EQ(state.violation->otherwise.size(), 2u);
}

TEST(Explore, ASoundLockIsSeenToTheEnd) {
  const char* const dies = R"(
[[fault]]
id     = "die"
kind   = "crash"
client = "$client"
after  = { message = "EVALSHA", nth = "1..20" }
)";
  const ExploreState state = explore({.ground = small("reentrant", dies), .deviations = 1});
  EXPECT_EQ(state.violation, std::nullopt);
  EXPECT_TRUE(state.search.complete);
  EXPECT_GT(state.search.runs, state.search.least_points);
  EXPECT_GT(state.histories, state.search.runs / 3);
  EXPECT_TRUE(state.marks.contains("client.crashed")) << "a fault acts at each of its places";
}

// All that is drawn is one of two, so that a tiny scenario can be seen with all orders of its tasks.
ExploreOptions tiny(const char* lock, const std::string& more = "") {
  ExploreOptions options{.ground = small(lock, more), .twice = false};
  set_key(section_of(options.ground.given, "cluster"), "topology", text_value("single"));
  set_key(section_of(options.ground.given, "cluster"), "nodes", list_value({text_value("r1")}));
  return options;
}

struct Seen {
  std::set<std::uint64_t> histories;
  ExploreState state;
};

Seen seen_in(ExploreOptions options, bool reduce) {
  Seen seen;
  options.reduce = reduce;
  options.told = [&](const Trial&, std::uint64_t history) { seen.histories.insert(history); };
  seen.state = explore(options);
  return seen;
}

TEST(Explore, TheReductionComesToTheSameHistories) {
  const char* const dies = R"(
[[fault]]
id     = "die"
kind   = "crash"
client = "$client"
after  = { message = "EVALSHA", nth = "1..20" }
)";
  for (const char* const lock : {"reentrant", "fair", "read-write", "semaphore", "setnx-expire"}) {
    ExploreOptions options = tiny(lock, dies);
    options.deviations = 1;
    const Seen full = seen_in(options, false), reduced = seen_in(options, true);
    EXPECT_EQ(full.histories, reduced.histories) << lock;
    EXPECT_LT(reduced.state.search.runs, full.state.search.runs) << lock;
    EXPECT_TRUE(full.state.search.complete && reduced.state.search.complete) << lock;
  }
}

// Who looks changes nothing: a run without it goes the same way.
TEST(Explore, ARunIsReplayedFromItsDecisionsAlone) {
  ExploreOptions options{.ground = small("lock-interface", kFailover)};
  std::uint64_t trace = 0;
  options.told = [&](const Trial& trial, std::uint64_t) { trace = trial.trace; };
  const ExploreState state = explore(options);
  ASSERT_TRUE(state.violation);
  EXPECT_EQ(try_case(state.violation->one).trace, trace);
}

TEST(Explore, EachKindOfDecisionMayHaveABoundOfItsOwn) {
  ExploreOptions options = tiny("setnx-expire");
  options.deviations = 2;
  options.times = 0;
  const ExploreState orders = explore(options);
  EXPECT_TRUE(orders.search.complete);
  EXPECT_EQ(orders.violation, std::nullopt) << "a reply that comes in time harms nobody";
  options.times = 2;
  options.orders = 0;
  EXPECT_NE(explore(options).violation, std::nullopt);
}

// nth = "2..3": over some seeds each of them, and no other.
TEST(Explore, APlaceIsDrawnFromItsRange) {
  Value document = least_case(small("lock-interface", kFailover));
  set_key(section_of(document, "network"), "latency", text_value("1ms"));
  set_key(*tables_of(document, "fault").front().find("after"), "nth", text_value("2..3"));
  std::set<std::int64_t> answered;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const RunResult run = run_once(parse_base(document, "drawn"), {.seed = seed, .keep_history = true});
    std::int64_t seen = 0;
    for (const checker::Event& event : run.history.events()) {
      if (event.f == checker::Function::store_grant && event.type == checker::EventType::ok) ++seen;
      if (event.f == checker::Function::fault && run.history.text(event.error) == "crash") break;
    }
    answered.insert(seen);
  }
  EXPECT_EQ(answered, (std::set<std::int64_t>{2, 3}));

  for (const char* const wrong :
       {"3..2", "0..2", "some", "3..2 or never", "0..2 or never", " or never", "1..2 or not"}) {
    set_key(*tables_of(document, "fault").front().find("after"), "nth", text_value(wrong));
    EXPECT_THROW(parse_base(document, "drawn"), BadScenario) << wrong;
  }
}

// nth = "1..2 or never": never is as likely as each place, and the usual one where all are explored.
TEST(Explore, AFaultMayNeverAct) {
  Ground ground = small("lock-interface", kFailover);
  Value document = least_case(ground);
  set_key(section_of(document, "network"), "latency", text_value("1ms"));
  set_key(*tables_of(document, "fault").front().find("after"), "nth", text_value("1..2 or never"));
  std::map<bool, int> acted;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const RunResult run = run_once(parse_base(document, "drawn"), {.seed = seed, .keep_history = true});
    const auto& events = run.history.events();
    ++acted[std::any_of(events.begin(), events.end(), [&](const checker::Event& event) {
      return event.f == checker::Function::fault && run.history.text(event.error) == "crash";
    })];
  }
  EXPECT_GT(acted[true], 10);
  EXPECT_GT(acted[false], 2);

  set_key(*tables_of(ground.given, "fault").front().find("after"), "nth", text_value("1..2 or never"));
  const ExploreState usual = explore({.ground = ground, .deviations = 0});
  EXPECT_FALSE(usual.marks.contains("fault.kill"));
  const ExploreState state = explore({.ground = ground, .deviations = 2});
  ASSERT_TRUE(state.violation) << "a grant that the replica never saw, and its primary dies";
  ASSERT_EQ(state.violation->otherwise.size(), 2u);
  const auto& otherwise = state.violation->otherwise;
  const auto kill = std::find_if(otherwise.begin(), otherwise.end(),
                                 [](const Otherwise& one) { return one.stream == "fault/kill/nth"; });
  ASSERT_NE(kill, otherwise.end());
  EXPECT_EQ(kill->usual, 0u);
  EXPECT_EQ(kill->value, 1u);
  EXPECT_TRUE(state.values.at("fault/kill").or_never);
  EXPECT_TRUE(try_case(state.violation->one).shows("lease-exclusion/double-grant"));
}

TEST(Explore, TheOrderOfTheRunsChangesNothing) {
  ExploreOptions options{.ground = small("lock-interface", kFailover)};
  const ExploreState forwards = explore(options);
  options.for_each = [](std::size_t count, const std::function<void(std::size_t)>& one) {
    for (std::size_t i = count; i-- > 0;) one(i);
  };
  const ExploreState backwards = explore(options);
  EXPECT_EQ(forwards.search.runs, backwards.search.runs);
  EXPECT_EQ(forwards.histories, backwards.histories);
  ASSERT_TRUE(forwards.violation && backwards.violation);
  EXPECT_EQ(forwards.violation->one.changes, backwards.violation->one.changes);
}

}  // namespace
}  // namespace holdfast::sim
