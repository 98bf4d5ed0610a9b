// How soon a loss is told while the watchdog waits for the answer to a renewal, in virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/redis/client.h"
#include "lib/testing/failing_spawns.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/world/world.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

// A renewal every 100 ms, answered after 80 ms. What is asked for 40 ms before the fourth of them is granted
// 10 ms after the sixth was sent, with some 45 ms left: its end comes before that one's answer.
constexpr Duration kLease = 300ms, kAskedAfter = 360ms, kSlowRenewal = 80ms, kSlowGrant = 250ms;

std::shared_ptr<sim::Rule> late_replies(std::string_view key, std::int64_t from, Duration by) {
  sim::NthMessage rule;
  rule.matches = [key](const sim::Message& message) {
    const auto& words = message.arguments;
    return message.direction == sim::Direction::reply &&
           std::find(words.begin(), words.end(), key) != words.end();
  };
  rule.nth = from;
  rule.count = 0;
  rule.action.delay = by;
  return sim::make_nth_message_rule(std::move(rule));
}

void in_a_client(const std::function<void(sim::Process&, redis::Client&)>& body) {
  const auto world = sim::make_embedded_world({.seed = 1});
  std::unique_ptr<sim::Cluster> cluster;
  std::unique_ptr<sim::Proxy> proxy;
  world->run([&] {
    proxy = std::make_unique<sim::Proxy>(*world);
    cluster = sim::make_embedded_cluster(*world, *proxy, {});
    cluster->start();
    proxy->add_rule(late_replies("renewed", 2, kSlowRenewal));
    proxy->add_rule(late_replies("late", 1, kSlowGrant));
    sim::Process& process = world->add_process("c1");
    process.start("client", [&] {
      const redis::Node node{"r1", cluster->nodes().front()->endpoint()};
      redis::Client client(process.runtime(), process.network(), {.nodes = {node}});
      for (const redis::Script* script : {&kReentrantAcquire, &kReentrantRelease, &kReentrantRenew}) {
        client.call({"SCRIPT", "LOAD", script->text});
      }
      body(process, client);
    });
    world->harness().runtime().sleep_for(5s);
  });
}

TEST(WatchdogInAWorld, AGrantDuringARenewalIsToldOfItsEndInTime) {
  bool ran = false;
  in_a_client([&](sim::Process& process, redis::Client& client) {
    Runtime& runtime = process.runtime();
    ReentrantLocks locks(client, {.lease = kLease});
    const auto renewed = locks.obtain("renewed"), late = locks.obtain("late");
    renewed->lock();
    runtime.sleep_for(kAskedAfter);
    late->lock();
    const MonotonicTime until = late->valid_until().value();
    ASSERT_LT(until - runtime.now(), kSlowRenewal / 2 + 10ms);
    std::optional<MonotonicTime> told;
    const std::stop_callback callback(late->lost(), [&] { told = runtime.now(); });
    runtime.sleep_for(kLease);
    ASSERT_TRUE(told.has_value());
    EXPECT_GE(*told, until);
    EXPECT_LT(*told - until, 1ms);
    EXPECT_TRUE(renewed->is_held_by_me()) << "its renewal went on meanwhile";
    renewed->unlock();
    ran = true;
  });
  EXPECT_TRUE(ran);
}

TEST(WatchdogInAWorld, AGrantDuringARenewalThatNobodyCanWatchIsGivenBack) {
  bool ran = false;
  in_a_client([&](sim::Process& process, redis::Client& direct) {
    testing::FailingSpawns runtime(process.runtime());
    redis::Client client(runtime, process.network(), direct.options());
    ReentrantLocks locks(client, {.lease = kLease});
    const auto renewed = locks.obtain("renewed"), late = locks.obtain("late");
    renewed->lock();
    runtime.sleep_for(kAskedAfter);
    runtime.fail_next(1, "watchdog");  // the first one runs: it is the one for the time of the renewal
    try {
      late->lock();
      ADD_FAILURE() << "nobody would tell its end in time";
    } catch (const Unavailable& error) {
      EXPECT_NE(std::string(error.what()).find("it was given back"), std::string::npos) << error.what();
    }
    EXPECT_EQ(runtime.to_fail(), 0);
    EXPECT_FALSE(late->is_held_by_me());
    EXPECT_EQ(direct.call({"EXISTS", "late"}).reply.integer, 0);
    runtime.sleep_for(kLease);
    EXPECT_TRUE(renewed->is_held_by_me());
    EXPECT_TRUE(late->try_lock_for(1s)) << "nothing was disabled";
    late->unlock();
    renewed->unlock();
    ran = true;
  });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace holdfast
