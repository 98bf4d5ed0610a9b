// A key belongs to one kind: another one finds out at once, and leaves the record alone. Reentrant,
// non-reentrant, spin, fenced and fair locks are one kind; the two sides of a read-write lock are another.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;

class KindsOnOneKey : public ::testing::TestWithParam<Where> {};

INSTANTIATE_TEST_SUITE_P(Ports, KindsOnOneKey, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// What stands at "k", of whichever type.
std::string record(redis::Client& client) {
  const std::string type = client.call({"TYPE", "k"}).reply.text;
  if (type == "string") return client.call({"GET", "k"}).reply.text;
  const redis::Reply parts =
      type == "hash" ? client.call({"HGETALL", "k"}).reply : client.call({"ZRANGE", "k", "0", "-1"}).reply;
  std::string all = type;
  for (const redis::Reply& part : parts.items) all += " " + part.text;
  return all;
}

// One kind takes "k" and gives it back; each is an object that knows how.
struct Taker {
  std::string_view name, kind;
  std::function<bool()> take;  // at once; throws Rejected where the key is another kind's
  std::function<void()> give;
};

TEST_P(KindsOnOneKey, EveryPair) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    const LockOptions options{.lease = 60s};
    ReentrantLocks reentrant(client, options);
    NonReentrantLocks non_reentrant(client, options);
    SpinLocks spin(client, options);
    FencedLocks fenced(client, options);
    FairLocks fair(client, options);
    RedissonLocks redisson(client, options);
    Semaphores semaphores(client, {.lock = options, .permits = 1});
    PermitSemaphore permits(client, "k", {.lock = options, .permits = 1});
    std::optional<Permit> permit;
    ReadWriteLocks writing(client, {.lock = options}), reading(client, {.lock = options});
    ReadWriteLocks fair_writing(client, {.lock = options, .fair = true}),
        fair_reading(client, {.lock = options, .fair = true});
    const auto read = reading.obtain("k"), fair_read = fair_reading.obtain("k");
    std::optional<CountDownLatch> latch;
    std::vector<Taker> takers;
    const auto add = [&](std::string_view name, std::string_view kind, std::shared_ptr<Lock> lock) {
      takers.push_back({name, kind, [lock] { return lock->try_lock(); }, [lock] { lock->unlock(); }});
    };
    add("reentrant", "string", reentrant.obtain("k"));
    add("non-reentrant", "string", non_reentrant.obtain("k"));
    add("spin", "string", spin.obtain("k"));
    add("fenced", "string", fenced.obtain("k"));
    add("fair", "string", fair.obtain("k"));
    add("redisson", "redisson", redisson.obtain("k"));
    add("semaphore", "semaphore", semaphores.obtain("k"));
    takers.push_back({"permit-semaphore", "semaphore",
                      [&] { return (permit = permits.try_acquire()).has_value(); },
                      [&] { EXPECT_TRUE(permits.release(permit->id)); }});
    add("write", "read-write", writing.obtain("k"));
    add("write in turn", "read-write", fair_writing.obtain("k"));
    takers.push_back(
        {"read", "read", [&] { return read->try_lock_shared(); }, [&] { read->unlock_shared(); }});
    takers.push_back({"read in turn", "read", [&] { return fair_read->try_lock_shared(); },
                      [&] { fair_read->unlock_shared(); }});
    takers.push_back({"latch", "latch", [&] { return latch.emplace(client, "k").set(1); },
                      [&] {
                        EXPECT_EQ(latch->count_down(), 0);
                        client.call({"DEL", "k", "holdfast:latch:counted:{k}"});
                      }});
    for (const Taker& first : takers) {
      ASSERT_TRUE(first.take()) << first.name;
      const std::string before = record(client);
      for (const Taker& second : takers) {
        if (&first == &second) continue;
        SCOPED_TRACE(std::string(first.name) + " holds, " + std::string(second.name) + " asks");
        const bool both_read = first.kind == "read" && second.kind == "read";
        const auto of_both_sides = [](std::string_view kind) { return kind == "read" ? "read-write" : kind; };
        if (both_read) {
          EXPECT_TRUE(second.take());
          second.give();
        } else if (of_both_sides(first.kind) == of_both_sides(second.kind)) {
          EXPECT_FALSE(second.take());
        } else {
          EXPECT_THROW(second.take(), Rejected);
        }
        EXPECT_EQ(record(client), before);
      }
      first.give();
    }
    client.call({"DEL", "holdfast:token:{k}"});
    EXPECT_EQ(client.call({"DBSIZE"}).reply.integer, 0);
  });
}

}  // namespace
}  // namespace holdfast
