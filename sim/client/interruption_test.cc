// Every kind of lock answers an interruption: who waits without a bound, and is stopped, waits no more. Of a
// published design that knows no interruptible wait, the header says so under its deviations.
#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/lock/api/errors.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/lock_kind.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

class InterruptionTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Worlds, InterruptionTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

// One process with a client for each server, and the locks of one kind.
struct Party {
  Party(Process& process, const std::vector<redis::Node>& nodes, const LockKind& kind) {
    for (const redis::Node& node : nodes) {
      clients.push_back(std::make_unique<redis::Client>(process.runtime(), process.network(),
                                                        redis::ClientOptions{.nodes = {node}}));
    }
    LockSpaceOptions options{.client = *clients.front(), .lock = {.lease = 10s}};
    if (kind.quorum) {
      for (const auto& client : clients) options.nodes.push_back(client.get());
    }
    locks = kind.make(options);
  }
  std::vector<std::unique_ptr<redis::Client>> clients;
  std::unique_ptr<LockSpace> locks;
};

// RedissonRedLock takes the interruption of a wait for a member's refusal, and goes on waiting.
bool heeds(const LockKind& kind) { return kind.name != "redisson-3.13-redlock"; }

// One of them holds the lock, the other one waits for it.
struct Wait {
  bool held = false, waits = false, over = false;
  std::stop_source stop;
  std::string ended;  // how the wait did
  std::int64_t end_ns = 0;
};

void hold_and_wait(World& world, const std::vector<redis::Node>& nodes, const LockKind& kind, Wait& wait) {
  const std::string key = "k:" + std::string(kind.name);
  Process& holder = world.add_process("holder of " + std::string(kind.name));
  Process& waiter = world.add_process("waiter for " + std::string(kind.name));
  holder.start("client", [&wait, &holder, &nodes, &kind, key] {
    const Party party(holder, nodes, kind);
    const std::shared_ptr<Lock> lock = party.locks->obtain(key);
    lock->lock();
    wait.held = true;
    while (!wait.over) holder.runtime().sleep_for(1ms);
    lock->unlock();
  });
  waiter.start("client", [&world, &wait, &waiter, &nodes, &kind, key] {
    const Party party(waiter, nodes, kind);
    // Its second thread waits: a design that tells threads by their number would take the first one of either
    // process for the other one.
    const std::shared_ptr<Lock> other = party.locks->obtain(key + ":other");
    other->lock();
    other->unlock();
    while (!wait.held) waiter.runtime().sleep_for(1ms);
    waiter.runtime()
        .spawn("client",
               [&] {
                 const std::shared_ptr<Lock> lock = party.locks->obtain(key);
                 const MonotonicTime patience = heeds(kind) ? kNever : waiter.runtime().now() + 3s;
                 wait.waits = true;
                 try {
                   wait.ended = lock->try_lock_until(patience, wait.stop.get_token()) ? "granted" : "refused";
                 } catch (const Interrupted&) {
                   wait.ended = "interrupted";
                 } catch (const LockError& error) {
                   wait.ended = error.what();
                 }
                 wait.end_ns = world.now_ns();
               })
        .join();
    wait.over = true;
  });
}

TEST_P(InterruptionTest, EndsTheWaitForEveryKindOfLock) {
  const bool embedded = GetParam();
  const TemporaryFolder folder;
  const std::unique_ptr<World> world =
      embedded ? make_embedded_world({.seed = 3}) : make_real_world({.seed = 3});
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<Cluster> cluster;
  world->run([&] {
    proxy = std::make_unique<Proxy>(*world);
    const ClusterOptions servers{
        .topology = Topology::independent, .nodes = {"a", "b", "c"}, .folder = folder.path()};
    cluster = embedded ? make_embedded_cluster(*world, *proxy, servers)
                       : make_real_cluster(*world, *proxy, servers);
    cluster->start();
    std::vector<redis::Node> nodes;
    for (const auto& node : cluster->nodes()) nodes.push_back({node->name(), node->endpoint()});
    Runtime& runtime = world->harness().runtime();
    for (const LockKind& kind : all_lock_kinds()) {
      if (kind.make == nullptr) continue;  // a latch
      SCOPED_TRACE(kind.name);
      Wait wait;
      hold_and_wait(*world, nodes, kind, wait);
      for (int i = 0; i < 60'000 && !wait.waits; ++i) runtime.sleep_for(1ms);
      ASSERT_TRUE(wait.waits);
      runtime.sleep_for(150ms);  // it asks, is refused, and waits
      EXPECT_FALSE(wait.over) << wait.ended;
      const std::int64_t stopped_ns = world->now_ns();
      wait.stop.request_stop();
      for (int i = 0; i < 60'000 && !wait.over; ++i) runtime.sleep_for(1ms);
      ASSERT_TRUE(wait.over) << "it waits on";
      EXPECT_EQ(wait.ended, heeds(kind) ? "interrupted" : "refused");
      if (embedded && heeds(kind)) {  // in virtual time: at once, not at the next look
        EXPECT_LE(wait.end_ns - stopped_ns, 10'000'000);
      }
      runtime.sleep_for(50ms);  // the holder gives back, and both processes end
    }
  });
}

}  // namespace
}  // namespace holdfast::sim
