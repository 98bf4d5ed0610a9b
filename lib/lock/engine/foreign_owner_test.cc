// What a script does in the name of an owner that does not hold the lock: nothing, to anybody's record.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;

constexpr std::string_view kStranger = "00000000-0000-4000-8000-000000000000:1";

class ForeignOwner : public ::testing::TestWithParam<Where> {
 protected:
  // `lock` is held, for a lease of 60 s, and lives at `key`.
  static void check(redis::Client& client, Lock& lock, const Wire& wire) {
    const auto eval = [&](const redis::Script& script, const std::vector<std::string>& named,
                          const std::vector<std::string_view>& args) {
      const std::vector<std::string_view> keys(named.begin(), named.end());
      return client.eval(script, keys, args).reply;
    };
    const auto left = [&] { return client.call({"PTTL", lock.key()}).reply.integer; };
    client.call({"PEXPIRE", lock.key(), "30000"});
    const redis::Reply renewed = eval(*wire.renew, wire.renew_keys, {"600000", kStranger});
    EXPECT_EQ(renewed.items.at(0).integer, 0);
    EXPECT_LE(left(), 30000);
    if (wire.adopt != nullptr) {
      const std::string other = std::string(kStranger) + "1";
      EXPECT_EQ(eval(*wire.adopt, {lock.key()}, {kStranger, other, "600000"}).integer, 0);
      EXPECT_LE(left(), 30000);
    }
    EXPECT_EQ(released(eval(*wire.release, wire.release_keys, {kStranger})), 0);
    EXPECT_GT(left(), 0);
    EXPECT_TRUE(lock.is_held_by_me());
    lock.release();  // throws when it was taken away
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, ForeignOwner, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(ForeignOwner, ChangesNothing) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    const LockOptions options{.lease = 60s, .renew = false};
    ReentrantLocks reentrant(client, options);
    RedissonLocks redisson(client, options);
    Semaphores semaphores(client, {.lock = options, .permits = 2});
    const auto a = reentrant.obtain("a"), b = redisson.obtain("b");
    const auto c = semaphores.obtain("c");
    a->lock();
    check(client, *a, reentrant_wire("a", {}));
    b->lock();
    check(client, *b, redisson_wire("b"));
    c->acquire();
    check(client, *c, semaphore_wire("c", 2, {}));
    EXPECT_EQ(c->free_permits(), 2);
  });
}

}  // namespace
}  // namespace holdfast
