// The semaphore where something is lost: holders that die, leases that end, replies and messages that do not
// arrive; on every pair of ports and Redis.
#include "lib/lock/semaphore/semaphore.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <list>
#include <mutex>

#include "lib/testing/semaphore_scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace testing::semaphore_scene;
class SemaphoreLossTest : public SemaphoreScene {};

INSTANTIATE_TEST_SUITE_P(Ports, SemaphoreLossTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(SemaphoreLossTest, ACrashedHoldersPermitsComeBack) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(3)), b(fixture, of(3, 300ms));
    const auto one = a.obtain(), living = b.obtain();
    {
      Peer dying(fixture, of(3, 300ms));
      const auto semaphore = dying.obtain();
      semaphore->acquire(2);
      living->acquire(1);
      EXPECT_EQ(one->free_permits(), 0);
    }                 // no word to the server
    one->acquire(2);  // and no message
    EXPECT_EQ(one->free_permits(), 0);
    EXPECT_TRUE(living->is_held_by_me());  // its watchdog renews
    EXPECT_EQ(ask(straight, {"HGET", kTaken, "used"}).text, "3");
    EXPECT_EQ(ask(straight, {"HLEN", kTaken}).integer, 3);
    b.observer.wait_for(Kind::renewed, 3);
    living->release();
    one->release();
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
  });
}

// The free permits of those whose lease ran out count at once, also before anybody swept them out.
TEST_P(SemaphoreLossTest, ExpiredPermitsAreFree) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lock = {.lease = 60s}, .permits = 5}),
        b(fixture, {.lock = {.lease = 250ms, .renew = false}, .permits = 5});
    const auto one = a.obtain(), two = b.obtain();
    one->acquire(1);
    two->acquire(3);
    EXPECT_EQ(one->free_permits(), 1);
    b.observer.wait_for(Kind::lost);
    fixture.runtime.sleep_for(10ms);  // the margin of the lease (lease.h)
    EXPECT_EQ(one->free_permits(), 4);
    EXPECT_EQ(ask(straight, {"ZCARD", "k"}).integer, 2);  // looking changed nothing
    EXPECT_TRUE(one->try_acquire(4));
    EXPECT_EQ(ask(straight, {"ZCARD", "k"}).integer, 2);
    EXPECT_THROW(two->release(), LockLost);
    EXPECT_EQ(one->free_permits(), 0);  // what came back too late gave nothing back
    one->release();
    one->release();
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
  });
}

// The reply of a grant is lost, and it is asked for again, when the last token is another holder's, or lost.
TEST_P(SemaphoreLossTest, ARepeatedAcquireDrawsATokenOfItsOwn) {
  run([](Fixture&, redis::Client& straight) {
    const Wire wire = semaphore_wire("k", 2, {.fencing = true});
    const std::vector<std::string_view> keys(wire.acquire_keys.begin(), wire.acquire_keys.end());
    const auto token = [&](std::string_view owner) {
      const std::array<std::string_view, 5> args{owner, "60000", "2", "1", "0"};
      return straight.eval(kSemaphoreAcquire, keys, args).reply.items.at(2).integer;
    };
    const std::int64_t first = token("o:1"), other = token("o:2"), again = token("o:1");
    EXPECT_GT(other, first);
    EXPECT_GT(again, other);
    ask(straight, {"DEL", "holdfast:token:{k}"});
    EXPECT_GT(token("o:1"), again);
  });
}

// A short lease begins when the last one of the long leases is swept out: both records end with it.
TEST_P(SemaphoreLossTest, WhatTheyTookDoesNotOutliveTheHolders) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(4)), b(fixture, {.lock = {.lease = 200ms, .renew = false}, .permits = 4});
    const auto one = a.obtain(), two = b.obtain();
    two->acquire();
    one->acquire();
    one->release();
    b.observer.wait_for(Kind::lost, 1);
    fixture.runtime.sleep_for(10ms);  // the margin of the lease (lease.h)
    two->acquire();
    b.observer.wait_for(Kind::lost, 2);
    while (ask(straight, {"EXISTS", "k"}).integer == 1) fixture.runtime.sleep_for(10ms);
    EXPECT_EQ(one->free_permits(), 4);
    EXPECT_TRUE(one->try_acquire(4));
    one->release();
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
    EXPECT_THROW(two->release(), LockLost);
    EXPECT_THROW(two->release(), LockLost);
  });
}

// The holders' key went by itself (evicted, or by another hand): nobody holds anything.
TEST_P(SemaphoreLossTest, WhatTheyTookIsFreeWhenTheHoldersAreGone) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(4)), b(fixture, of(4));
    const auto one = a.obtain(), two = b.obtain();
    one->acquire(3);
    ask(straight, {"DEL", "k"});
    EXPECT_TRUE(two->try_acquire(4));
    EXPECT_EQ(ask(straight, {"HGET", kTaken, "used"}).text, "4");
    two->release();
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
    EXPECT_THROW(one->release(), LockLost);
  });
}

TEST_P(SemaphoreLossTest, RenewalsBringNobodyBack) {
  run([](Fixture& fixture, redis::Client& straight) {
    const std::int64_t now = testing::server_ms(straight);
    const std::string past = std::to_string(now - 1);
    ask(straight, {"ZADD", "k", past, "late:1"});
    ask(straight, {"ZADD", "k", std::to_string(now + 5000), "live:1"});
    ask(straight, {"HSET", kTaken, "late:1", "1", "live:1", "2", "used", "3"});
    ask(straight, {"SET", "bad", "something else"});
    const std::string taken(kTaken);
    const redis::Reply said =
        straight
            .eval(kSemaphoreRenew,
                  std::array<std::string_view, 8>{"k", taken, "k", taken, "bad", "t", "k2", "t2"},
                  std::array<std::string_view, 5>{"30000", "late:1", "live:1", "x:1", "x:1"})
            .reply;
    ASSERT_EQ(said.items.size(), 4u);
    EXPECT_EQ(said.items[0].integer, 0);
    EXPECT_EQ(said.items[1].integer, 1);
    EXPECT_NE(said.items[2].type, redis::Reply::Type::integer);
    EXPECT_EQ(said.items[3].integer, 0);
    EXPECT_EQ(ask(straight, {"ZSCORE", "k", "late:1"}).text, past);
    EXPECT_GE(std::stoll(ask(straight, {"ZSCORE", "k", "live:1"}).text), now + 30000);
    EXPECT_GT(ask(straight, {"PTTL", kTaken}).integer, 20000);
    (void)fixture;
  });
}

TEST_P(SemaphoreLossTest, LostRepliesDoNotCountTwice) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(5)), b(fixture, of(5));
    const auto semaphore = a.obtain();
    a.link.lose_reply_to(sha1(kSemaphoreAcquire), 3);
    semaphore->acquire(2);
    EXPECT_EQ(semaphore->free_permits(), 3);
    EXPECT_EQ(ask(straight, {"HGET", kTaken, "used"}).text, "2");
    a.link.lose_reply_to(sha1(kSemaphoreAcquire));
    EXPECT_TRUE(semaphore->try_acquire(3));
    EXPECT_EQ(semaphore->free_permits(), 0);
    a.link.lose_reply_to(sha1(kSemaphoreRelease), 3);
    semaphore->release();
    EXPECT_EQ(semaphore->free_permits(), 3);
    a.link.lose_reply_to(sha1(kSemaphoreFree), 2);
    EXPECT_EQ(semaphore->free_permits(), 3);
    a.link.lose_reply_to(sha1(kSemaphoreResize), 2);
    semaphore->set_permits(6);
    EXPECT_EQ(semaphore->free_permits(), 4);
    semaphore->release();
    EXPECT_EQ(semaphore->free_permits(), 6);
    EXPECT_EQ(a.observer.count(Kind::lost), 0u);
    // Granted unseen, and given up.
    a.link.lose_reply_to(sha1(kSemaphoreAcquire), 1'000'000);
    EXPECT_THROW(static_cast<void>(semaphore->try_acquire_for(100ms, 6)), Unavailable);
    const auto other = b.obtain();
    EXPECT_TRUE(other->try_acquire_for(30s, 6));
    other->release();
  });
}

// A repeated release must not take away what its task acquired anew: every acquisition is an owner of its
// own.
TEST_P(SemaphoreLossTest, ARepeatedReleaseIsForItsAcquisitionOnly) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(2));
    const auto semaphore = a.obtain();
    semaphore->acquire();
    const std::string old = semaphore->acquisition();
    semaphore->release();
    semaphore->acquire();
    for (int i = 0; i < 2; ++i) {
      const Wire wire = semaphore_wire("k", 2, {});
      const std::vector<std::string_view> keys(wire.release_keys.begin(), wire.release_keys.end());
      const redis::Reply said =
          straight.eval(kSemaphoreRelease, keys, std::array<std::string_view, 1>{old}).reply;
      EXPECT_EQ(said.integer, 0);
    }
    EXPECT_EQ(semaphore->free_permits(), 1);
    semaphore->release();
  });
}

TEST_P(SemaphoreLossTest, TheWatchdogSurvivesALostReply) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(3, 600ms));
    const auto semaphore = a.obtain();
    semaphore->acquire(2);
    a.link.lose_reply_to(sha1(kSemaphoreRenew));
    a.observer.wait_for(Kind::renewed, 4);
    EXPECT_EQ(semaphore->free_permits(), 1);
    semaphore->release();
    EXPECT_EQ(a.observer.count(Kind::lost), 0u);
  });
}

TEST_P(SemaphoreLossTest, LossIsTold) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(3, 300ms));
    const auto semaphore = a.obtain();
    semaphore->acquire(2);
    ask(straight, {"DEL", "k", kTaken});
    a.observer.wait_for(Kind::lost);
    EXPECT_FALSE(semaphore->is_held_by_me());
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
    semaphore->acquire(1);  // another hold, though the lost one has not been given back
    EXPECT_TRUE(semaphore->is_held_by_me());
    semaphore->release();
    EXPECT_THROW(semaphore->release(), LockLost);
    EXPECT_THROW(semaphore->release(), NotOwner);
  });
}

// The first of the local queue gives up: the next one asks. And what one release frees is handed on.
TEST_P(SemaphoreLossTest, KilledProcesses) {
  if (GetParam() == Where::threads) return;  // processes can be killed in worlds only
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(2, 400ms));
    const auto semaphore = a.obtain();
    testing::OtherProcess& doomed = fixture.add_process("c1");
    const auto act = [&](int permits) {
      redis::Client client(doomed.runtime(), doomed.network(), fixture.options());
      Semaphores locks(client, of(2, 400ms));
      const auto mine = locks.obtain("k");
      mine->acquire(permits);
      doomed.runtime().sleep_for(1h);
    };
    doomed.start("client", [&] { act(2); });
    while (ask(straight, {"ZCARD", "k"}).integer == 0) fixture.runtime.sleep_for(1ms);
    doomed.start("client", [&] { act(1); });
    fixture.runtime.sleep_for(50ms);
    doomed.crash();
    semaphore->acquire(2);
    EXPECT_EQ(ask(straight, {"ZCARD", "k"}).integer, 1);
    semaphore->release();
    // The place of the one that waited goes with its patience.
    while (ask(straight, {"DBSIZE"}).integer != 0) fixture.runtime.sleep_for(10ms);
  });
}

}  // namespace
}  // namespace holdfast
