// Verdicts of small histories by hand, and of drawn ones by every engine.
#include "checker/linearizability/linearizability.h"

#include <gtest/gtest.h>

#include "checker/linearizability/lock_pass.h"
#include "checker/testing/draw_history.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

using holdfast::checker::testing::history_of;

TEST(DrawnHistories, AreJudgedRightByEveryEngine) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const bool invalid : {false, true}) {
      const DrawnHistory drawn = draw_lock_history({.operations = 2000,
                                                    .keys = seed % 3 == 0 ? 20U : 1U,
                                                    .clients = seed % 2 == 0 ? 10U : 60U,
                                                    .unknown = seed % 4 == 0 ? 0.05 : 0.005,
                                                    .seed = seed,
                                                    .invalid = invalid});
      ASSERT_EQ(drawn.violation.has_value(), invalid);
      const auto passed = lock_pass(drawn.history, {});
      ASSERT_TRUE(passed.has_value());
      EXPECT_EQ(passed->violations.size(), invalid ? 1U : 0U);
      for (const Engine engine : {Engine::linear, Engine::search}) {
        LinearizabilityOptions options;
        options.jepsen = true;
        options.engine = engine;
        const LinearizabilityResult result = check_linearizable(drawn.history, options);
        ASSERT_EQ(result.outcome, invalid ? Outcome::violated : Outcome::holds) << "seed " << seed;
        if (!invalid) continue;
        EXPECT_EQ(result.first()->at, *drawn.violation) << "seed " << seed << " engine " << to_string(engine);
        EXPECT_LE(result.first()->witness.size(), 8U);
      }
    }
  }
}

TEST(LockPass, SaysNothingItDoesNotKnow) {
  const std::string held = "1 a invoke acquire k\n2 a ok acquire k\n";
  EXPECT_TRUE(lock_pass(history_of(held + "3 a invoke release k\n"), {}).has_value());
  for (const std::string& script : {
           std::string("1 a ok acquire k"),                                                // not invoked
           std::string("1 a invoke acquire k\n2 a info acquire k\n3 a invoke release k"),  // goes on
           std::string("1 a invoke acquire k\n2 a ok acquire k owner=o"),                  // another owner
           held + "3 a invoke release k\n4 a fail release k",                              // taken back
       }) {
    EXPECT_FALSE(lock_pass(history_of(script), {}).has_value()) << script;
  }
}

LinearizabilityResult run(const History& history, const std::string& model,
                          Engine engine = Engine::automatic) {
  LinearizabilityOptions options;
  options.model = model;
  options.engine = engine;
  return check_linearizable(history, options);
}

TEST(Linearizability, AFailedReleaseEndsTheHoldInOurHistoriesOnly) {
  const History history = history_of(R"(
    1 a invoke acquire k
    2 a ok acquire k
    3 a invoke release k
    4 a fail release k error=not-owner
    5 b invoke acquire k
    6 b ok acquire k
  )");
  EXPECT_EQ(run(history, "mutex").outcome, Outcome::holds);
  LinearizabilityOptions jepsen;
  jepsen.jepsen = true;
  const LinearizabilityResult result = check_linearizable(history, jepsen);
  EXPECT_EQ(result.outcome, Outcome::violated);
  EXPECT_EQ(describe(history, *result.first(), {}),
            "index 5: acquire of process b completes while process a holds since index 1");
  EXPECT_EQ(result.reason, "b was granted k while a held it.");
}

TEST(Linearizability, LeasedMutex) {
  const History history = history_of(R"(
    1 a invoke acquire k
    2 a ok acquire k id=x valid=10
    11 b invoke acquire k
    12 b ok acquire k id=y valid=20
    13 a invoke release k id=x
    14 a ok release k id=x
    15 c invoke acquire k
    16 c ok acquire k id=z valid=40
  )");
  for (const Engine engine : {Engine::linear, Engine::search}) {
    const LinearizabilityResult result = run(history, "leased-mutex", engine);
    ASSERT_EQ(result.outcome, Outcome::violated);
    EXPECT_EQ(result.first()->at, 7U);
    EXPECT_EQ(run(history.subset({0, 1, 2, 3, 4, 5}), "leased-mutex", engine).outcome, Outcome::holds);
  }
  EXPECT_EQ(run(history.subset({0, 1, 2, 3, 4, 5}), "mutex").outcome, Outcome::violated);
}

TEST(Linearizability, ADowngradeLeavesNoGapForAWriter) {
  // All at time 4: a writes and reads, gives the writing back, and only b's write may have come between.
  const History history = history_of(R"(
    1 a invoke acquire k
    2 a ok acquire k
    2 b invoke acquire k
    2 a invoke acquire k mode=read
    4 a ok acquire k mode=read
    4 b ok acquire k
    4 a invoke release k
    4 b invoke release k
  )");
  for (const Engine engine : {Engine::linear, Engine::search}) {
    EXPECT_EQ(run(history, "read-write", engine).outcome, Outcome::violated);
  }
}

TEST(Linearizability, AHistoryThatNobodyCanHaveProduced) {
  EXPECT_THROW(run(history_of("1 a invoke acquire k\n2 a invoke acquire k\n"), "mutex"), HistoryError);
  EXPECT_THROW(run(history_of("1 a invoke acquire k\n2 a ok release k\n"), "mutex"), HistoryError);
  // A completion that is earlier than its invocation: no engine looks at it.
  for (const char* model : {"mutex", "leased-mutex"}) {
    for (const Engine engine : {Engine::automatic, Engine::search}) {
      EXPECT_THROW(run(history_of("5 a invoke acquire k\n3 a ok acquire k valid=9\n"), model, engine),
                   HistoryError);
    }
  }
  EXPECT_THROW(run(History(), "mutexx"), std::invalid_argument);
  EXPECT_EQ(run(History(), "mutex").outcome, Outcome::unknown);
}

// A key costs what it has, not what the history has: tables by owner and process stay small.
TEST(Linearizability, AKeyOfManyHasFewNames) {
  History history;
  for (int client = 0; client < 1000; ++client) {
    const std::string name = std::to_string(client);
    for (const EventType type : {EventType::invoke, EventType::ok}) {
      Event event;
      event.type = type;
      event.f = Function::acquire;
      event.process = history.intern("process " + name);
      event.owner = history.intern("owner " + name);
      event.key = history.intern("key " + name);
      event.time_ns = 2 * client + (type == EventType::ok ? 1 : 0);
      if (type == EventType::ok) event.valid_until_ns = event.time_ns + 10;
      history.append(event);
    }
  }
  for (const bool leased : {false, true}) {
    const std::vector<KeyOperations> keys = extract_operations(history, {.leased = leased});
    ASSERT_EQ(keys.size(), 1000U);
    for (const KeyOperations& key : keys) {
      for (const Operation& each : key.operations) EXPECT_LE(std::max(each.owner, each.process), 64U);
    }
  }
}

TEST(Linearizability, ASpentBudgetIsUnknown) {
  std::string script;
  for (int i = 0; i < 14; ++i)
    script += "1 p" + std::to_string(i) + " invoke write k value=" + std::to_string(i % 7) + "\n";
  for (int i = 0; i < 14; ++i)
    script += "2 p" + std::to_string(i) + " ok write k value=" + std::to_string(i % 7) + "\n";
  script += "3 q invoke read k\n4 q ok read k value=99\n";
  LinearizabilityOptions options;
  options.model = "cas-register";
  EXPECT_EQ(check_linearizable(history_of(script), options).outcome, Outcome::violated);
  options.budget.steps = 10;
  const LinearizabilityResult result = check_linearizable(history_of(script), options);
  EXPECT_EQ(result.outcome, Outcome::unknown);
  EXPECT_NE(result.reason.find("spent its steps"), std::string::npos);
  options.budget = {.bytes = 1000};
  EXPECT_EQ(check_linearizable(history_of(script), options).outcome, Outcome::unknown);
}

}  // namespace
}  // namespace holdfast::checker
