#include "sim/cluster/clocked_redis.h"

#include <gtest/gtest.h>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

class ClockedRedisTest : public ::testing::Test {
 protected:
  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  TemporaryFolder folder_;
  ClockedRedis redis{runtime_, network_, {.folder = folder_.path() + "/a"}};
};

TEST_F(ClockedRedisTest, AFrozenClockMovesOnlyWhenTold) {
  redis.clock().freeze(WallTime(1'700'000'000s));
  redis.start();
  redis.call({"SET", "k", "v", "PX", "1000"});
  EXPECT_EQ(redis.call({"PTTL", "k"}).integer, 1000);
  EXPECT_EQ(redis.call({"TIME"}).items.at(0).text, "1700000000");
  redis.clock().advance(999ms);
  EXPECT_EQ(redis.call({"PTTL", "k"}).integer, 1);
  redis.clock().tick(10s);  // no time passes
  EXPECT_EQ(redis.call({"PTTL", "k"}).integer, 1);
  redis.clock().advance(2ms);  // a key still lives in the millisecond that its expiry names
  EXPECT_TRUE(redis.call({"GET", "k"}).is_nil());
}

TEST_F(ClockedRedisTest, ARunningClockIsStepped) {
  redis.start();
  redis.call({"SET", "k", "v", "EX", "3600"});
  redis.clock().step_wall(2h);
  EXPECT_TRUE(redis.call({"GET", "k"}).is_nil());
  redis.call({"SET", "k", "v", "EX", "10"});
  redis.clock().step_wall(-2h);
  EXPECT_GT(redis.call({"TTL", "k"}).integer, 3600);
}

TEST_F(ClockedRedisTest, ADriftingClockIsRightNowAndWrongLater) {
  redis.start();
  const auto ahead_ms = [&] {
    const redis::Reply time = redis.call({"TIME"});
    const std::int64_t shown =
        std::stoll(time.items.at(0).text) * 1000 + std::stoll(time.items.at(1).text) / 1000;
    return shown - runtime_.wall_now().time_since_epoch() / 1ms;
  };
  redis.clock().set_drift(1'000'000);
  EXPECT_EQ(redis.clock().drift(), 1'000'000);
  EXPECT_TRUE([&] {
    for (int i = 0; i < 500; ++i) {
      if (ahead_ms() >= 500) return true;
      runtime_.sleep_for(10ms);
    }
    return false;
  }());
  redis.clock().set_drift(0);
  EXPECT_GE(ahead_ms(), 400) << "what it gained stays";
}

}  // namespace
}  // namespace holdfast::sim
