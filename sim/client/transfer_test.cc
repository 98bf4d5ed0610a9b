// Two accounts under two locks: nothing is amiss behind a lock that holds, and the check finds what a broken
// one costs.
#include <gtest/gtest.h>

#include <memory>

#include "checker/checks/check.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/no_lock.h"
#include "sim/client/workload_kind.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using checker::Outcome;

struct Played {
  checker::History history;
  std::vector<Figure> figures;
  bool finished = false;

  checker::Verdict judge(std::string_view check) const {
    checker::CheckContext context{.reentrant = true};
    context.lease_ns = 1'000'000'000;
    context.progress_bound_ns = 1'000'000'000;
    return checker::find_check(check)->run(history, context);
  }
  std::int64_t number(std::string_view name) const { return figure(figures, name); }
};

Played play(bool embedded, WorkloadOptions options, std::uint64_t seed = 11) {
  Played played;
  const TemporaryFolder folder;
  const std::unique_ptr<World> world =
      embedded ? make_embedded_world({.seed = seed}) : make_real_world({.seed = seed});
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<Cluster> cluster;
  Recorder recorder(*world);
  std::unique_ptr<Workload> workload;
  options.kind = "transfer";
  options.key = "account";
  options.lease = 1s;
  world->run([&] {
    proxy = std::make_unique<Proxy>(*world);
    const ClusterOptions servers{.folder = folder.path()};
    cluster = embedded ? make_embedded_cluster(*world, *proxy, servers)
                       : make_real_cluster(*world, *proxy, servers);
    cluster->start();
    for (const auto& node : cluster->nodes()) options.nodes.push_back({node->name(), node->endpoint()});
    workload = make_workload(*world, recorder, options);
    workload->start();
    played.finished = workload->wait_finished(deadline_after(world->harness().runtime().now(), 10s));
    workload->conclude();
  });
  played.history = recorder.history();
  played.figures = workload->figures(played.history);
  return played;
}

class TransferTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Worlds, TransferTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

TEST_P(TransferTest, BehindTwoLocksEveryAmountIsRight) {
  for (const char* const lock : {"reentrant", "multi", "fair"}) {
    const Played played =
        play(GetParam(),
             {.own = {{"rounds", 5}, {"amount", 30}}, .lock = lock, .clients = 3, .think = {1ms, 3ms}});
    EXPECT_TRUE(played.finished) << lock;
    EXPECT_GT(played.number("transferred"), 5) << lock;
    EXPECT_EQ(played.number("end"), 200) << lock;
    EXPECT_EQ(played.number("amiss"), 0) << lock;
    for (const char* const check : {"balance", "mutual-exclusion", "effects-inside-hold", "progress"}) {
      EXPECT_EQ(played.judge(check).outcome, Outcome::holds) << lock << ": " << played.judge(check).reason;
    }
  }
}

// Both holds of a thread are told by themselves, each with its own name.
TEST(Transfer, AThreadHoldsTwoKeysAtATime) {
  const Played played = play(true, {.own = {{"rounds", 2}}, .clients = 1});
  std::vector<std::string> lines;
  for (const checker::Event& event : played.history.events()) {
    if (event.f != checker::Function::acquire && event.f != checker::Function::release) continue;
    lines.push_back(std::string(to_string(event.type)) + " " + std::string(to_string(event.f)) + " " +
                    std::string(played.history.text(event.key)) + " " +
                    std::string(played.history.text(event.id)));
  }
  lines.resize(8);
  EXPECT_EQ(lines, (std::vector<std::string>{"invoke acquire account:a ", "ok acquire account:a c1-1",
                                             "invoke acquire account:b ", "ok acquire account:b c1-2",
                                             "invoke release account:b c1-2", "ok release account:b c1-2",
                                             "invoke release account:a c1-1", "ok release account:a c1-1"}));
}

TEST(Transfer, ALockThatGrantsEverythingIsFound) {
  const auto without = [](SettingValues own, std::uint64_t seed) {
    own["rounds"] = 8;
    own["amount"] = 30;
    return play(
        true, {.own = std::move(own), .own_lock = &no_lock_kind(), .clients = 4, .think = {1ms, 20ms}}, seed);
  };
  const Played set = without({}, 1);
  const checker::Verdict lost = set.judge("balance");
  ASSERT_EQ(lost.outcome, Outcome::violated) << lost.reason;
  EXPECT_FALSE(lost.witnesses.front().events.empty());
  bool overdrawn = false;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Played added = without({{"update", "add"}, {"money", 30}}, seed);
    EXPECT_EQ(added.number("end"), 60) << "who adds loses nothing";
    const checker::Verdict verdict = added.judge("balance");
    overdrawn =
        overdrawn || (verdict.outcome == Outcome::violated && verdict.witnesses.front().kind == "overdrawn");
    const Played refused = without({{"update", "take"}, {"money", 30}}, seed);
    EXPECT_EQ(refused.judge("balance").outcome, Outcome::holds) << refused.judge("balance").reason;
    EXPECT_EQ(refused.number("amiss"), 0);
  }
  EXPECT_TRUE(overdrawn);
}

TEST_P(TransferTest, OppositeOrdersDeadlock) {
  const Played stuck = play(GetParam(), {.own = {{"order", "payer-first"}, {"rounds", 100}}, .clients = 4});
  EXPECT_FALSE(stuck.finished);
  const checker::Verdict verdict = stuck.judge("progress");
  ASSERT_EQ(verdict.outcome, Outcome::violated) << verdict.reason;
  EXPECT_EQ(verdict.witnesses.front().kind, "deadlock");
}

TEST(Transfer, NonsenseIsRefused) {
  const std::unique_ptr<World> world = make_embedded_world({});
  Recorder recorder(*world);
  EXPECT_THROW(make_workload(*world, recorder, {.kind = "transfer", .lock = "read-write", .readers = 10}),
               std::invalid_argument);
}

}  // namespace
}  // namespace holdfast::sim
