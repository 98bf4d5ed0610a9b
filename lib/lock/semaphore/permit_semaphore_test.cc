// The permit semaphore on every pair of ports and Redis: permits with ids that expire, given back or extended
// from anywhere.
#include "lib/lock/semaphore/permit_semaphore.h"

#include <gtest/gtest.h>

#include <list>
#include <set>

#include "lib/lock/engine/lease.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;

class PermitSemaphoreTest : public ::testing::TestWithParam<Where> {
 protected:
  // `straight` goes past the relays.
  static void run(const std::function<void(Fixture&, redis::Client&)>& body) {
    testing::with_scripts(GetParam(), {&kSemaphoreAcquire, &kSemaphoreRelease, &kSemaphoreRenew}, body);
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, PermitSemaphoreTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

SemaphoreOptions of(int permits, Duration lease = 60s) {
  return {.lock = {.lease = lease}, .permits = permits};
}

struct Peer {
  Peer(Fixture& fixture, SemaphoreOptions options)
      : link(fixture.runtime, fixture.network, fixture.redis),
        observer(fixture.runtime),
        client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        semaphore(client, "k", with_observer(options)) {}
  SemaphoreOptions with_observer(SemaphoreOptions options) {
    options.lock.observer = &observer;
    return options;
  }
  testing::FaultyLink link;
  testing::RecordingObserver observer;
  redis::Client client;
  PermitSemaphore semaphore;
};

TEST_P(PermitSemaphoreTest, PermitsHaveIds) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lock = {.lease = 60s, .fencing = true}, .permits = 4});
    std::set<std::string> ids;
    const MonotonicTime before = fixture.runtime.now();
    const Permit first = a.semaphore.acquire(2);
    EXPECT_GE(first.valid_until, lease_end(before, 60s));
    EXPECT_LE(first.valid_until, lease_end(fixture.runtime.now(), 60s));
    EXPECT_EQ(first.permits, 2);
    EXPECT_EQ(first.node, "r1");
    ids.insert(first.id);
    const std::optional<Permit> second = a.semaphore.try_acquire();
    ASSERT_TRUE(second);
    ids.insert(second->id);
    EXPECT_GT(*second->token, *first.token);
    EXPECT_FALSE(a.semaphore.try_acquire(2));
    EXPECT_FALSE(a.semaphore.try_acquire_for(500ms, 2));
    EXPECT_EQ(a.semaphore.free_permits(), 1);
    const std::optional<Permit> third = a.semaphore.try_acquire_for(1s);
    ASSERT_TRUE(third);
    ids.insert(third->id);
    EXPECT_EQ(ids.size(), 3u);
    for (const std::string& id : ids) {
      EXPECT_FALSE(ask(straight, {"ZSCORE", "k", id}).is_nil());
      EXPECT_TRUE(a.semaphore.release(id));
    }
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 1);  // the token
    EXPECT_THROW(static_cast<void>(a.semaphore.acquire(5)), Rejected);
    EXPECT_THROW(static_cast<void>(a.semaphore.acquire(0)), std::invalid_argument);
    EXPECT_THROW(PermitSemaphore(straight, "", of(1)), std::invalid_argument);
    EXPECT_THROW(PermitSemaphore(straight, "k", of(0)), std::invalid_argument);
  });
}

TEST_P(PermitSemaphoreTest, GivenBackAndExtendedByAnotherProcess) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(2)), b(fixture, of(2, 120s));
    const Permit permit = a.semaphore.acquire(2);
    const std::int64_t before = testing::server_ms(straight);
    ASSERT_TRUE(b.semaphore.extend(permit.id));
    EXPECT_GE(std::stoll(ask(straight, {"ZSCORE", "k", permit.id}).text), before + 120'000);
    ASSERT_TRUE(a.semaphore.extend(permit.id));  // by a shorter lease: what was promised is not shortened
    EXPECT_GE(std::stoll(ask(straight, {"ZSCORE", "k", permit.id}).text), before + 120'000);
    EXPECT_TRUE(b.semaphore.release(permit.id));
    EXPECT_EQ(a.semaphore.free_permits(), 2);
    EXPECT_FALSE(a.semaphore.release(permit.id));  // twice
    EXPECT_FALSE(a.semaphore.extend(permit.id));
    EXPECT_FALSE(a.semaphore.release("no such id"));
    EXPECT_FALSE(a.semaphore.release("used"));  // a field of the record is no id
    EXPECT_FALSE(a.semaphore.release(""));
    EXPECT_EQ(a.semaphore.free_permits(), 2);
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(PermitSemaphoreTest, AnExpiredPermitIsNotBroughtBack) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(2, 250ms)), b(fixture, of(2));
    const Permit permit = a.semaphore.acquire(2);
    ASSERT_TRUE(a.semaphore.extend(permit.id));
    const Permit next = b.semaphore.acquire(1);  // when that lease is over, without a message
    EXPECT_FALSE(a.semaphore.extend(permit.id));
    EXPECT_EQ(a.observer.count(Kind::lost), 1u);
    EXPECT_FALSE(a.semaphore.release(permit.id));
    EXPECT_EQ(b.semaphore.free_permits(), 1);
    EXPECT_TRUE(b.semaphore.release(next.id));
    // Nobody swept it out: it counts as expired all the same.
    ask(straight, {"ZADD", "k", "1", "old:1"});
    ask(straight, {"HSET", "holdfast:semaphore:taken:{k}", "old:1", "1", "used", "1"});
    EXPECT_EQ(a.semaphore.free_permits(), 2);
    EXPECT_FALSE(a.semaphore.extend("old:1"));
    EXPECT_FALSE(a.semaphore.release("old:1"));
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(PermitSemaphoreTest, LostReplies) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(3));
    a.link.lose_reply_to(std::string(kSemaphoreAcquire.sha1), 2);
    const Permit permit = a.semaphore.acquire(2);
    EXPECT_EQ(a.semaphore.free_permits(), 1);
    a.link.lose_reply_to(std::string(kSemaphoreRenew.sha1));
    EXPECT_TRUE(a.semaphore.extend(permit.id));
    a.link.lose_reply_to(std::string(kSemaphoreRelease.sha1));
    EXPECT_TRUE(a.semaphore.release(permit.id));
    EXPECT_EQ(a.semaphore.free_permits(), 3);
    a.link.lose_reply_to(std::string(kSemaphoreAcquire.sha1), 1'000'000);
    EXPECT_THROW(static_cast<void>(a.semaphore.try_acquire_for(100ms, 3)), Unavailable);
    Peer b(fixture, of(3));
    const std::optional<Permit> next = b.semaphore.try_acquire_for(30s, 3);
    ASSERT_TRUE(next);
    EXPECT_TRUE(b.semaphore.release(next->id));
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(PermitSemaphoreTest, WaitersAreWoken) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(2)), b(fixture, of(2));
    const MonotonicTime start = fixture.runtime.now();
    const Permit permit = a.semaphore.acquire(2);
    std::list<Task> tasks;
    std::stop_source stop;
    for (int i = 0; i < 2; ++i) {
      tasks.push_back(fixture.runtime.spawn("client", [&] {
        const Permit mine = b.semaphore.acquire();
        EXPECT_TRUE(a.semaphore.release(mine.id));
      }));
    }
    tasks.push_back(fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(b.semaphore.try_acquire_until(kNever, 2, stop.get_token())),
                   Interrupted);
    }));
    b.observer.wait_for(Kind::waiting, 3);
    stop.request_stop();
    EXPECT_TRUE(b.semaphore.release(permit.id));
    tasks.clear();  // joins
    a.semaphore.set_permits(3);
    EXPECT_EQ(b.semaphore.free_permits(), 3);
    EXPECT_LT(fixture.runtime.now() - start, 60s);
  });
}

TEST_P(PermitSemaphoreTest, SharesAKeyWithTheSemaphore) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(2));
    Semaphores semaphores(straight, of(2));
    const auto semaphore = semaphores.obtain("k");
    const Permit permit = a.semaphore.acquire();
    EXPECT_TRUE(semaphore->try_acquire());
    EXPECT_FALSE(semaphore->try_acquire());
    EXPECT_TRUE(a.semaphore.release(permit.id));
    EXPECT_TRUE(semaphore->try_acquire());
    semaphore->release();
    semaphore->release();
  });
}

TEST_P(PermitSemaphoreTest, ForeignTypesAreRejected) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(2));
    ask(straight, {"SET", "k", "something else"});
    EXPECT_THROW(static_cast<void>(a.semaphore.acquire()), Rejected);
    EXPECT_THROW(a.semaphore.release("x:1"), Rejected);
    EXPECT_THROW(a.semaphore.extend("x:1"), Rejected);  // not: "it had expired"
    EXPECT_THROW(static_cast<void>(a.semaphore.free_permits()), Rejected);
  });
}

}  // namespace
}  // namespace holdfast
