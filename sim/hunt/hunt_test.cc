// The hunt: what it draws, that one seed gives one hunt, that it finds what is there, and makes it small.
#include "sim/hunt/hunt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "lib/testing/server/temporary_folder.h"
#include "sim/hunt/case_file.h"
#include "sim/hunt/draw_case.h"
#include "sim/hunt/shrink.h"
#include "sim/scenario/judge.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

using ::testing::HasSubstr;

Ground ground(const char* lock) { return ground_of(*find_lock_kind(lock)); }

TEST(HuntDraws, EveryCaseOfEveryLockParses) {
  for (const LockKind& kind : all_lock_kinds()) {
    const Ground on = ground_of(kind);
    std::size_t with_faults = 0;
    for (int i = 0; i < 25; ++i) {
      const Value document = draw_case(on, Rng::derive(1, std::string(kind.name) + std::to_string(i)));
      ASSERT_TRUE(fits(on, document)) << to_toml(document);
      with_faults += document.find("fault") != nullptr ? 1 : 0;
    }
    EXPECT_GT(with_faults, 20u) << kind.name;
  }
}

TEST(HuntDraws, NothingThatTheLockDoesNotBear) {
  const Ground on = ground("reentrant");
  std::set<std::string> kinds;
  for (int i = 0; i < 300; ++i) {
    const Scenario scenario = parse_base(draw_case(on, Rng::derive(2, std::to_string(i))), "drawn");
    for (const FaultPlan& fault : scenario.faults) {
      kinds.insert(std::string(fault.kind->name));
      EXPECT_TRUE(bears(fault, *scenario.lock, scenario.cluster)) << fault.kind->name;
    }
    EXPECT_TRUE(bears_all(scenario));
  }
  EXPECT_FALSE(kinds.contains("promote"));
  EXPECT_FALSE(kinds.contains("clock-drift"));
  EXPECT_GT(kinds.size(), 20u) << "and the others are drawn";
}

TEST(HuntDraws, OfAPublishedDesignAnything) {
  const Ground on = ground("lock-interface");
  std::set<std::string> kinds, topologies;
  for (int i = 0; i < 400; ++i) {
    const Scenario scenario = parse_base(draw_case(on, Rng::derive(3, std::to_string(i))), "drawn");
    topologies.insert(std::to_string(static_cast<int>(scenario.cluster.topology)));
    for (const FaultPlan& fault : scenario.faults) kinds.insert(std::string(fault.kind->name));
  }
  for (const char* const kind :
       {"promote", "clock-step", "clock-drift", "crash", "restart", "replication-lag"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  EXPECT_EQ(topologies.size(), 4u);
}

TEST(HuntDraws, APartThatIsDrawnAnewLeavesTheOthers) {
  const Ground on = ground("fair");
  const Value first = draw_case(on, Rng::derive(4, "a"));
  const Value changed = redraw(on, first, Part::network, Rng::derive(4, "b"));
  for (const char* const section : {"run", "cluster", "lock", "workload", "fault"}) {
    ASSERT_EQ(changed.find(section) == nullptr, first.find(section) == nullptr);
    if (first.find(section) != nullptr) {
      EXPECT_TRUE(same(*changed.find(section), *first.find(section))) << section;
    }
  }
  EXPECT_FALSE(same(*changed.find("network"), *first.find("network")));
}

// Where what is drawn anew does not go with the rest, the case stays as it was: a case without a lease of its
// own is nobody's draw.
TEST(HuntDraws, APartThatDoesNotFitLeavesTheCase) {
  for (const char* const lock : {"read-write", "multi", "redlock"}) {
    const Ground on = ground(lock);
    Value document = draw_case(on, Rng::derive(9, lock));
    for (int i = 0; i < 200; ++i) {
      const Part part = kParts[static_cast<std::size_t>(i) % std::size(kParts)];
      document = redraw(on, document, part, Rng::derive(9, std::to_string(i)));
      ASSERT_NE(document.find("lock")->find("lease"), nullptr) << i << "\n" << to_toml(document);
    }
  }
}

TEST(HuntDraws, WhatTheFileSaysStays) {
  Ground on = ground("reentrant");
  on.given = parse_toml(R"(name = "mine"
[lock]
kind  = "reentrant"
lease = "700ms"
[workload]
clients = 4
[[fault]]
id   = "mine"
kind = "cut"
at   = "10ms"
)",
                        "mine.toml");
  for (int i = 0; i < 20; ++i) {
    const Value document = draw_case(on, Rng::derive(5, std::to_string(i)));
    EXPECT_EQ(document.find("lock")->find("lease")->text, "700ms");
    EXPECT_EQ(document.find("workload")->find("clients")->integer, 4);
    EXPECT_EQ(document.find("fault")->items.front().find("id")->text, "mine");
    EXPECT_NE(document.find("network"), nullptr) << "what it leaves open is drawn";
  }
}

// A file that expects marks to be reached, or a violation, is hunted with what its lock promises.
TEST(HuntDraws, OnlyPromisesAreAskedFor) {
  const TemporaryFolder folder;
  const auto asked = [&](const std::string& expectations, const char* fencing = "true") {
    const std::string file = folder.path() + "/mine.toml";
    std::ofstream(file) << "[lock]\nkind = \"reentrant\"\nfencing = " << fencing << "\n" << expectations;
    std::vector<std::string> checks;
    const Value document = draw_case(ground_of_file(file), Rng::derive(6, "a"));
    for (const Value& one : document.find("expect")->items) checks.push_back(one.find("check")->text);
    return checks;
  };
  const std::string reached = "[[expect]]\ncheck = \"reached\"\nmarks = [\"lock.lost\"]\n";
  EXPECT_EQ(asked(reached + "[[expect]]\ncheck = \"linearizable\"\n"),
            std::vector<std::string>{"linearizable"});
  EXPECT_EQ(asked(reached + "[[expect]]\ncheck = \"progress\"\nis = \"violated\"\n"),
            promises_of(*find_lock_kind("reentrant"), Ground::Bounds::promised));
  // Without tokens there is nothing to ask of them.
  EXPECT_THAT(asked(""), ::testing::Contains("fencing-monotonic"));
  EXPECT_THAT(asked("", "false"), ::testing::Not(::testing::Contains("fencing-monotonic")));
}

// What is missed of them is told: nothing that the lock cannot do.
// Faults that are drawn one by one seldom make a failover.
TEST(HuntDraws, WhoBearsFailoversMeetsMany) {
  const auto role_changes = [](const char* lock) {
    constexpr int kCases = 200;
    int with_many = 0;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      const Value document = draw_case(ground(lock), Rng(77).child(std::to_string(i)));
      const Value* const faults = document.find("fault");
      if (faults == nullptr) continue;
      with_many += std::count_if(faults->items.begin(), faults->items.end(), [](const Value& fault) {
                     const std::string& kind = fault.find("kind")->text;
                     return kind == "promote" || kind == "demote";
                   }) >= 3;
    }
    return with_many;
  };
  EXPECT_GT(role_changes("survivor"), 50);
  EXPECT_EQ(role_changes("reentrant"), 0);
}

TEST(HuntDraws, WhoBearsFailoversSellsByTokens) {
  int sales = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Value document = draw_case(ground("survivor"), Rng(78).child(std::to_string(i)));
    if (document.find("workload")->find("kind")->text != "seckill") continue;
    ++sales;
    std::set<std::string> asked;
    for (const Value& one : document.find("expect")->items) asked.insert(one.find("check")->text);
    EXPECT_TRUE(asked.contains("oversell") && asked.contains("fencing-monotonic"));
  }
  EXPECT_GT(sales, 10);
}

// And a server that is none of the members, and steps of clocks, as far as it says that it bears them.
TEST(HuntDraws, WhoBearsFailoversMeetsStrangersAndSteps) {
  int strangers = 0, led = 0, steps = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Scenario scenario =
        parse_base(draw_case(ground("survivor"), Rng(79).child(std::to_string(i))), "drawn");
    const bool stranger = scenario.cluster.nodes.size() > 3;
    strangers += stranger ? 1 : 0;
    EXPECT_EQ(scenario.workload.members.empty(), !stranger);
    for (const FaultPlan& fault : scenario.faults) {
      const std::string* const node = fault.config.get<std::string>("node");
      led += stranger && fault.kind->name == "promote" && node != nullptr && *node == "r4" ? 1 : 0;
      steps += fault.kind->name == "clock-step" ? 1 : 0;
    }
    EXPECT_TRUE(bears_all(scenario)) << scenario.title();
  }
  EXPECT_GT(strangers, 20);
  EXPECT_GT(led, 5);
  EXPECT_GT(steps, 20);
}

TEST(HuntDraws, SomeWritersBecomeReaders) {
  const auto downgrades = [](const char* lock) {
    int with = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const Value document = draw_case(ground(lock), Rng(80).child(std::to_string(i)));
      const Value* const drawn = document.find("workload")->find("downgrade");
      with += drawn != nullptr && drawn->flag ? 1 : 0;
    }
    return with;
  };
  EXPECT_GT(downgrades("read-write"), 20);
  EXPECT_EQ(downgrades("reentrant"), 0);
}

// More than that it does not bear, and nobody else bears any.
TEST(HuntGround, StepsOfClocksAreBorneWithinTheSkew) {
  const auto borne = [](const std::string& lock, const std::string& faults) {
    return bears_all(parse_scenarios(R"(schema = 1
name = "s"
[cluster]
topology = "primary-replica"
nodes = ["r1", "r2"]
[lock]
kind = ")" + lock + R"("
lease = "2s"
[workload]
kind = "critical-section"
clients = 2
)" + faults + "\n[[expect]]\ncheck = \"lease-exclusion\"\n",
                                     "s.toml")[0]);
  };
  const auto step = [](const std::string& id, const std::string& rest) {
    return "[[fault]]\nid = \"" + id + "\"\nkind = \"clock-step\"\nnode = \"r1\"\nat = \"1s\"\n" + rest +
           "\n";
  };
  EXPECT_TRUE(borne("survivor", step("a", "by = \"200ms\"")));
  EXPECT_FALSE(borne("survivor", step("a", "by = \"201ms\"")));
  EXPECT_FALSE(borne("survivor", step("a", "by = \"150ms\"") + step("b", "by = \"-51ms\"")));
  EXPECT_TRUE(borne("survivor", step("a", "by = \"100ms\"\nfor = \"1s\""))) << "there and back";
  EXPECT_FALSE(borne("survivor", step("a", "by = \"101ms\"\nfor = \"1s\"")));
  EXPECT_FALSE(borne("reentrant", step("a", "by = \"1ms\"")));
}

TEST(HuntDraws, EachLockHasMarksThatItsHuntsReach) {
  using ::testing::Contains;
  using ::testing::Not;
  const auto marks = [](std::string_view lock) { return marks_of(*find_lock_kind(lock)); };
  EXPECT_THAT(marks("reentrant"), Contains("lock.lost"));
  EXPECT_THAT(marks("permit-semaphore"), Not(Contains("lock.lost"))) << "nobody is told";
  EXPECT_THAT(marks("count-down-latch"), Not(Contains("lock.granted")));
  for (const char* const lock : {"count-down-latch", "permit-semaphore"}) {
    const HuntState state = hunt({.ground = ground(lock), .seed = 1, .runs = 192, .feedback = false});
    for (const std::string& mark : marks(lock))
      EXPECT_TRUE(state.marks.contains(mark)) << lock << ": " << mark;
  }
}

// Else a replica that lost its primary without notice keeps a grant that waits for it for a minute.
TEST(HuntDraws, WhoWaitsForReplicasHasServersThatGiveUpSoon) {
  const Ground reentrant = ground("reentrant");
  int waits = 0;
  for (int i = 0; i < 200; ++i) {
    const Value document = draw_case(reentrant, Rng::derive(7, std::to_string(i)));
    const Value* const settings = document.find("cluster")->find("settings");
    const bool waits_for_replicas = document.find("lock")->find("replicas") != nullptr;
    waits += waits_for_replicas ? 1 : 0;
    const bool servers_do = settings != nullptr && settings->find("min-replicas-to-write") != nullptr;
    ASSERT_EQ(settings != nullptr && settings->find("repl-timeout") != nullptr,
              waits_for_replicas || servers_do);
  }
  EXPECT_GT(waits, 0);
}

// A call that waits for a replica takes four messages, two of them the replica's.
TEST(HuntDraws, ACallThatWaitsForReplicasCanBeAnswered) {
  int short_ones = 0;
  for (const char* const lock : {"reentrant", "survivor"}) {
    const Ground on = ground(lock);
    for (int number = 0; number < 200; ++number) {
      Value drawn = draw_case(on, Rng::derive(10, std::to_string(number)));
      for (const Part part : {Part::lock, Part::workload, Part::network}) {
        const Scenario scenario = parse_base(drawn, "drawn");
        const bool waits = scenario.lock->survives_failover || scenario.workload.replicas > 0;
        ASSERT_GE(scenario.workload.command_timeout, (waits ? 5 : 2) * scenario.latency.high);
        short_ones += waits && scenario.workload.command_timeout < 40 * scenario.latency.high ? 1 : 0;
        drawn = redraw(on, drawn, part, Rng::derive(11, std::to_string(number)));
      }
    }
  }
  EXPECT_GT(short_ones, 0);
  Value late = draw_case(ground("survivor"), Rng::derive(12, "a"));
  set_key(*late.find("workload"), "command_timeout", text_value("150ms"));
  set_key(*late.find("lock"), "lease", text_value("3s"));
  set_key(*late.find("network"), "latency", text_value("40ms"));
  EXPECT_FALSE(fits(ground("survivor"), late));
}

TEST(HuntDraws, ALeaseLastsForMoreThanAFewMessages) {
  const Ground reentrant = ground("reentrant");
  for (int number = 0; number < 200; ++number) {
    Value drawn = draw_case(reentrant, Rng::derive(8, std::to_string(number)));
    for (const Part part : {Part::lock, Part::network}) {
      const Scenario scenario = parse_base(drawn, "drawn");
      ASSERT_LE(12 * scenario.latency.high, scenario.workload.lease);
      drawn = redraw(reentrant, drawn, part, Rng::derive(9, std::to_string(number)));
    }
  }
}

TEST(HuntTrial, ARunThatGoesAnotherWayIsADefect) {
  const HuntCase one{.document = draw_case(ground("fair"), Rng::derive(7, "a"))};
  Trial trial = try_case(one);
  EXPECT_EQ(other_way(one, trial), std::nullopt);
  ++trial.trace;
  const std::optional<Failure> other = other_way(one, trial);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->name(), "harness/two-histories");
}

// Errors are one find if they differ in names with digits and in numbers only.
TEST(HuntTrial, AnErrorOfTheHarnessHasANameOfItsOwn) {
  const auto named = [](const char* section) {
    Value document = draw_case(ground("fair"), Rng::derive(8, "a"));
    set_key(section_of(document, section), "nonsense", integer_value(1));
    const Trial trial = try_case({.document = document});
    EXPECT_TRUE(trial.failures.size() == 1 && trial.failures.front().of_harness());
    const CaseFile file = case_file_of_harness({.document = document, .seed = 5}, trial.failures.front());
    EXPECT_THAT(file.name, ::testing::MatchesRegex("harness-error-[A-Za-z_-]+"));
    EXPECT_THAT(file.toml, HasSubstr("seeds = \"5\""));
    return trial.failures.front().name();
  };
  EXPECT_THAT(named("lock"), ::testing::StartsWith("harness/error ("));
  EXPECT_NE(named("lock"), named("network"));
}

TEST(Hunt, OneSeedIsOneHuntWhateverTheOrderOfTheRuns) {
  HuntOptions options{.ground = ground("setnx-expire"), .seed = 3, .runs = 192};
  const HuntState forwards = hunt(options);
  options.for_each = [](std::size_t count, const std::function<void(std::size_t)>& one) {
    for (std::size_t i = count; i-- > 0;) one(i);
  };
  const HuntState backwards = hunt(options);
  EXPECT_EQ(forwards.trace, backwards.trace);
  EXPECT_EQ(forwards.features, backwards.features);
  EXPECT_EQ(forwards.finds.size(), backwards.finds.size());
  options.seed = 4;
  EXPECT_NE(hunt(options).trace, forwards.trace);
}

TEST(Hunt, ShardsAreTheRunsOfOne) {
  HuntOptions options{.ground = ground("setnx-expire"), .seed = 3, .runs = 128, .feedback = false};
  const HuntState whole = hunt(options);
  options.runs = 64;
  options.shards = 2;
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t role_changes = 0;
  for (options.shard = 0; options.shard < 2; ++options.shard) {
    const HuntState shard = hunt(options);
    for (const auto& [name, find] : shard.finds) counts[name] += find.count;
    role_changes += shard.role_changes;
  }
  EXPECT_GT(role_changes, 0u);
  EXPECT_EQ(role_changes, whole.role_changes);
  std::map<std::string, std::uint64_t> wanted;
  for (const auto& [name, find] : whole.finds) wanted[name] = find.count;
  EXPECT_EQ(counts, wanted);
}

// Not at once: first a hunt without it comes through as much.
TEST(Hunt, FeedbackComesThroughMore) {
  std::uint64_t with = 0, without = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    HuntOptions options{.ground = ground("count-down-latch"), .seed = seed, .runs = 2'048};
    with += hunt(options).features;
    options.feedback = false;
    without += hunt(options).features;
  }
  EXPECT_GT(with, without);
}

// An answer that is none of its script's is an error of the call.
TEST(Hunt, GoesOnWhereAPublishedDesignCannotReadAnAnswer) {
  EXPECT_EQ(hunt({.ground = ground("redisson-fenced"), .seed = 1, .runs = 128}).runs, 128u);
}

// A lock without an owner: the first to be found by anybody.
TEST(Hunt, FindsWhatIsWrongAndMakesItSmall) {
  const Ground on = ground("setnx-expire");
  const HuntState state = hunt({.ground = on, .seed = 1, .runs = 640});
  const Find* foreign = nullptr;
  for (const auto& [name, find] : state.finds) {
    if (find.failure.promise() == "no-foreign-release/foreign-removal") foreign = &find;
  }
  ASSERT_NE(foreign, nullptr) << "of " << state.finds.size();
  const Shrunk shrunk = shrink(on, foreign->first, foreign->failure.promise());
  EXPECT_LT(size_of(shrunk.one.document).cost(), size_of(foreign->first.document).cost());
  const Size size = size_of(shrunk.one.document);
  EXPECT_LE(size.faults, 2u) << to_toml(shrunk.one.document);
  EXPECT_LE(size.tasks, 3u);
  EXPECT_TRUE(try_case(shrunk.one).shows(foreign->failure.promise()));

  // As a file: its base shows it, its variants hold, as it says.
  const CaseFile file = case_file(on, shrunk, foreign->failure, "The story.");
  EXPECT_THAT(file.toml, HasSubstr("# The story.\n"));
  EXPECT_TRUE(file.controlled);
  const std::vector<Scenario> scenarios = parse_scenarios(file.toml, "found.toml");
  EXPECT_GE(scenarios.size(), 2u);
  for (const Scenario& scenario : scenarios) {
    Judge judge(scenario);
    for (std::uint64_t i = 0; i < scenario.seeds.count(); ++i)
      judge.add(run_once(scenario, {.seed = scenario.seeds.at(i)}));
    EXPECT_EQ(judge.result(), Tally::Result::met) << scenario.title() << "\n" << file.toml;
  }
}

TEST(Hunt, ASoundLockIsNotBlamed) {
  for (const char* const lock : {"reentrant", "fair", "read-write", "semaphore"}) {
    const HuntState state = hunt({.ground = ground(lock), .seed = 11, .runs = 192});
    for (const auto& [name, find] : state.finds)
      ADD_FAILURE() << lock << ": " << name << ": " << find.failure.why << "\n"
                    << to_toml(find.first.document)
                    << to_text({.seed = find.first.seed, .changes = find.first.changes});
    EXPECT_GT(state.grants, 500u);
  }
}

TEST(HuntCoverage, WhatIsNewIsToldOnce) {
  Coverage coverage;
  EXPECT_EQ(coverage.add({{1, 5}, {2, 7}}).size(), 2u);
  const std::vector<Feature> fresh = coverage.add({{2, 1}, {3, 9}});
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh.front().hash, 3u);
  EXPECT_EQ(fresh.front().at_ns, 9);
}

TEST(HuntCoverage, TheOrderOfThingsIsAFeature) {
  using checker::Event;
  using checker::EventType;
  using checker::Function;
  const auto of = [](std::vector<Function> functions) {
    checker::History history;
    std::int64_t time = 0;
    for (const Function f : functions) {
      Event event;
      event.time_ns = ++time;
      event.f = f;
      event.type = EventType::ok;
      event.key = history.intern("k");
      event.process = history.intern("c1/0");
      history.append(event);
    }
    return features_of(history);
  };
  Coverage coverage;
  coverage.add(of({Function::store_grant, Function::store_remove}));
  EXPECT_TRUE(coverage.add(of({Function::store_grant, Function::store_remove})).empty());
  EXPECT_FALSE(coverage.add(of({Function::store_remove, Function::store_grant})).empty());
}

TEST(HuntDecisions, AFileOfThemIsReadBack) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed, const std::map<std::uint64_t, std::uint64_t>& fixed,
                           const std::vector<std::uint32_t>& moments) {
    DecisionsFile decisions{.seed = seed, .changes = {}};
    if (!fixed.empty()) decisions.changes.fixed["link/c1/r1/request"] = fixed;
    for (const std::uint32_t at : moments) decisions.changes.reseeds.push_back({at, seed ^ at});
    std::stable_sort(decisions.changes.reseeds.begin(), decisions.changes.reseeds.end(),
                     [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
    const DecisionsFile again = parse_decisions("# a comment\n" + to_text(decisions), "d");
    RC_ASSERT(again.seed == decisions.seed);
    RC_ASSERT(again.changes == decisions.changes);
  }));
}

TEST(HuntDecisions, ABrokenFileIsToldByItsLine) {
  const auto told = [](const char* text) {
    try {
      parse_decisions(text, "d.decisions");
    } catch (const BadScenario& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  EXPECT_THAT(told("seed 1\nfix a b c\n"), HasSubstr("d.decisions:2:1"));
  EXPECT_THAT(told("seed 1\nforget\n"), HasSubstr("expected `seed N`"));
}

}  // namespace
}  // namespace holdfast::sim
