// What a fleet gives its locks, and what it writes down of them: independent servers, tokens, modes, permits.
#include "sim/client/fleet.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "checker/checks/check.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/testing/tiny_lock.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using checker::Event;
using checker::EventType;
using checker::Function;

struct Played {
  WorkloadStats stats;
  checker::History history;
  std::optional<std::int64_t> stock;
  std::set<std::string> spoken_to;  // nodes to which clients sent a SET
};

// On three independent servers, of which `dead` ("": none) dies before the first client starts.
Played play(bool embedded, WorkloadOptions options, const std::string& dead = "") {
  Played played;
  const TemporaryFolder folder;
  const std::unique_ptr<World> world =
      embedded ? make_embedded_world({.seed = 11}) : make_real_world({.seed = 11});
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<Cluster> cluster;
  Recorder recorder(*world);
  std::unique_ptr<Workload> workload;
  world->run([&] {
    proxy = std::make_unique<Proxy>(*world);
    const ClusterOptions servers{
        .topology = Topology::independent, .nodes = {"a", "b", "c"}, .folder = folder.path()};
    cluster = embedded ? make_embedded_cluster(*world, *proxy, servers)
                       : make_real_cluster(*world, *proxy, servers);
    cluster->start();
    proxy->watch([&played](const Message& message) {
      if (message.command == "SET") played.spoken_to.insert(message.link.to);
    });
    if (!dead.empty()) cluster->find(dead)->crash();
    options.independent = true;
    for (const auto& node : cluster->nodes()) options.nodes.push_back({node->name(), node->endpoint()});
    workload = make_workload(*world, recorder, options);
    workload->start();
    EXPECT_TRUE(workload->wait_finished(deadline_after(world->harness().runtime().now(), 300s)));
    checker::CheckContext context;
    workload->tell(context);
    played.stock = context.final_stock;
  });
  played.stats = workload->stats();
  played.history = recorder.history();
  return played;
}

checker::Outcome judge(const checker::History& history, std::string_view check, std::int64_t overtakes = 0) {
  checker::CheckContext context;
  context.promised_overtakes = overtakes;
  const checker::Verdict verdict = checker::find_check(check)->run(history, context);
  EXPECT_NE(verdict.outcome, checker::Outcome::unknown) << check << ": " << verdict.reason;
  return verdict.outcome;
}

class FleetTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Worlds, FleetTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

TEST_P(FleetTest, AQuorumLockSpeaksToEveryIndependentServer) {
  const WorkloadOptions options{
      .own = {{"stock", 4}}, .own_lock = &tiny_lock_kind(), .clients = 2, .think = {1ms, 3ms}};
  const Played played = play(GetParam(), options);
  EXPECT_EQ(played.spoken_to, (std::set<std::string>{"a", "b", "c"}));
  EXPECT_EQ(played.stock, 0);
  EXPECT_EQ(played.stats.sold, 4u);
}

TEST_P(FleetTest, AQuorumLockDoesWithoutOneOfThem) {
  const WorkloadOptions options{.own = {{"stock", 4}},
                                .own_lock = &tiny_lock_kind(),
                                .clients = 2,
                                .command_timeout = 50ms,
                                .think = {1ms, 3ms}};
  EXPECT_EQ(play(GetParam(), options, "c").stats.sold, 4u);
}

TEST_P(FleetTest, AnyOtherLockKnowsTheFirstOnly) {
  const WorkloadOptions options{
      .own = {{"stock", 4}}, .lock = "lock-interface", .clients = 2, .think = {1ms, 3ms}};
  const Played played = play(GetParam(), options, "b");
  EXPECT_EQ(played.spoken_to, (std::set<std::string>{"a"}));
  EXPECT_EQ(played.stats.sold, 4u);
}

TEST(Fleet, TokensModesPermitsAndQueuesAreInTheHistory) {
  const WorkloadOptions options{.kind = "critical-section",
                                .own = {{"hold", DurationRange{1ms, 5ms}}, {"rounds", 8}},
                                .own_lock = &tiny_lock_kind(),
                                .fencing = true,
                                .clients = 3,
                                .think = {1ms, 8ms},
                                .readers = 50};
  const checker::History history = play(true, options).history;
  std::size_t readers = 0, writers = 0, queued = 0, resized = 0;
  for (const Event& event : history.events()) {
    queued += event.f == Function::queue ? 1 : 0;
    resized += event.f == Function::resize && event.value == 1 ? 1 : 0;
    if (event.f != Function::acquire || event.type != EventType::ok) continue;
    (history.text(event.mode) == "read" ? readers : writers) += 1;
    EXPECT_EQ(event.permits, 1u);
    EXPECT_GT(event.token.number(), 0);
  }
  EXPECT_GT(readers, 3u);
  EXPECT_GT(writers, 3u);
  EXPECT_EQ(readers + writers, 24u);
  EXPECT_GE(queued, 24u);
  EXPECT_EQ(resized, 1u);
  EXPECT_EQ(judge(history, "fencing-monotonic"), checker::Outcome::holds);
  // Knows the permits from the history.
  EXPECT_EQ(judge(history, "mutual-exclusion"), checker::Outcome::holds);
  EXPECT_EQ(judge(history, "fair-order", 1000), checker::Outcome::holds);
  EXPECT_EQ(judge(history, "fair-order"), checker::Outcome::violated);  // whoever polls overtakes
}

TEST(Fleet, ReadersLeaveTheStockAlone) {
  const WorkloadOptions options{
      .own = {{"stock", 5}}, .own_lock = &tiny_lock_kind(), .clients = 2, .think = {1ms, 3ms}, .readers = 60};
  const Played played = play(true, options);
  EXPECT_EQ(played.stats.sold, 5u);
  EXPECT_GT(played.stats.acquired, 7u);
}

// The lease is shorter than the thinking: two hold the lock, and what protects the stock is the token.
TEST(Fleet, AStockThatIsShownTokensFirstSellsNothingTwice) {
  WorkloadOptions options{.own = {{"stock", 8}, {"write", "token"}},
                          .own_lock = &tiny_lock_kind(),
                          .lease = 30ms,
                          .clients = 3,
                          .think = {20ms, 120ms}};
  const Played shown = play(true, options);
  EXPECT_EQ(shown.stats.sold, 8u);
  EXPECT_EQ(shown.stock, 0);
  EXPECT_GT(shown.stats.stale, 0u);
  options.own["write"] = "token-at-write";
  const Played late = play(true, options);
  EXPECT_GT(late.stats.sold, 8u);
  EXPECT_GT(late.stats.stale, 0u);
}

// Whoever waits gets through each latch, and never before those who count have counted.
TEST_P(FleetTest, ALatchOpensForEverybody) {
  const WorkloadOptions options{.kind = "count-down",
                                .own = {{"rounds", 3}, {"count", 3}},
                                .lock = "count-down-latch",
                                .lease = 1s,
                                .clients = 4,
                                .threads = 2,
                                .think = {1ms, 20ms}};
  const Played played = play(GetParam(), options);
  EXPECT_EQ(played.stats.acquired, 24u);
  EXPECT_EQ(judge(played.history, "latch"), checker::Outcome::holds);
  std::size_t counted = 0;
  for (const Event& event : played.history.events()) {
    counted += event.f == Function::count_down && event.type == EventType::ok ? 1 : 0;
  }
  EXPECT_EQ(counted, 9u);
}

TEST(Fleet, NonsenseIsRefused) {
  const std::unique_ptr<World> world = make_embedded_world({});
  Recorder recorder(*world);
  EXPECT_THROW(make_workload(*world, recorder, {.lock = "lock-interface", .readers = 10}),
               std::invalid_argument);
  EXPECT_THROW(make_workload(*world, recorder, {.permits = 0}), std::invalid_argument);
  EXPECT_THROW(make_workload(*world, recorder, {.lock = "count-down-latch"}), std::invalid_argument);
}

}  // namespace
}  // namespace holdfast::sim
