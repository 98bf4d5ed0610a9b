// The semaphore on every pair of ports and Redis: layout, permits, resizing, waiting, leases, lost replies.
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
class SemaphoreTest : public SemaphoreScene {};

INSTANTIATE_TEST_SUITE_P(Ports, SemaphoreTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(SemaphoreTest, Layout) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer peer(fixture, of(5, 20s));
    const auto semaphore = peer.obtain();
    const std::int64_t before = testing::server_ms(straight);
    semaphore->acquire(3);
    const std::int64_t after = testing::server_ms(straight);
    const redis::Reply holders = ask(straight, {"ZRANGE", "k", "0", "-1", "WITHSCORES"});
    ASSERT_EQ(holders.items.size(), 2u);
    EXPECT_EQ(holders.items[0].text, semaphore->acquisition());
    EXPECT_GE(std::stoll(holders.items[1].text), before + 20000);
    EXPECT_LE(std::stoll(holders.items[1].text), after + 20000);
    EXPECT_EQ(ask(straight, {"HLEN", kTaken}).integer, 2);
    EXPECT_EQ(ask(straight, {"HGET", kTaken, semaphore->acquisition()}).text, "3");
    EXPECT_EQ(ask(straight, {"HGET", kTaken, "used"}).text, "3");
    for (const std::string_view name : {std::string_view("k"), kTaken}) {
      const std::int64_t left = ask(straight, {"PTTL", name}).integer;
      EXPECT_GT(left, 0);
      EXPECT_LE(left, 20000);
    }
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 2);
    semaphore->release();
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
    semaphore->set_permits(7);
    EXPECT_EQ(ask(straight, {"GET", kLimit}).text, "7");
    EXPECT_EQ(ask(straight, {"PTTL", kLimit}).integer, -1);
    semaphore->acquire(7);
    semaphore->release();
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 1);  // nothing but the explicit limit
  });
}

TEST_P(SemaphoreTest, AllOrNothing) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(3)), b(fixture, of(3));
    const auto one = a.obtain(), two = b.obtain();
    EXPECT_EQ(one->free_permits(), 3);
    EXPECT_TRUE(one->try_acquire(2));
    EXPECT_FALSE(two->try_acquire(2));
    EXPECT_FALSE(two->try_acquire_for(500ms, 2));
    EXPECT_EQ(two->free_permits(), 1);
    EXPECT_TRUE(two->try_acquire());
    EXPECT_EQ(two->free_permits(), 0);
    EXPECT_FALSE(one->try_lock());  // as a Lock it takes one
    two->release();
    EXPECT_TRUE(one->try_lock());
    EXPECT_EQ(one->hold_count(), 2);
    one->unlock();
    one->unlock();
    EXPECT_EQ(one->free_permits(), 3);
    EXPECT_THROW(one->release(), NotOwner);
    EXPECT_THROW(static_cast<void>(one->acquire(0)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(one->try_acquire(-1)), std::invalid_argument);
    EXPECT_THROW(one->set_permits(0), std::invalid_argument);
  });
}

TEST_P(SemaphoreTest, PermitsGoToAnotherProcess) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(5)), b(fixture, of(5));
    const auto gives = a.obtain(), takes = b.obtain();
    gives->acquire(1);
    const std::string kept = gives->acquisition();
    gives->acquire(3);
    const std::string detached = gives->detach();
    EXPECT_EQ(gives->acquisition(), kept) << "what it took last has gone";
    takes->acquire(1);  // who has some may take up more
    EXPECT_TRUE(takes->adopt(detached));
    EXPECT_FALSE(gives->adopt(detached)) << "once only";
    EXPECT_EQ(gives->free_permits(), 0);
    EXPECT_EQ(ask(straight, {"HGET", kTaken, takes->acquisition()}).text, "3");
    EXPECT_EQ(ask(straight, {"ZCARD", "k"}).integer, 3);
    takes->release();
    EXPECT_EQ(gives->free_permits(), 3) << "all three of it";
    takes->release();
    gives->release();
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
    EXPECT_THROW(static_cast<void>(gives->detach()), NotOwner);
    EXPECT_THROW(static_cast<void>(gives->adopt("x")), std::invalid_argument);
  });
}

TEST_P(SemaphoreTest, WhatHasExpiredIsNotTakenUp) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(2, 200ms)), b(fixture, of(2, 60s));
    const auto gives = a.obtain(), takes = b.obtain();
    takes->acquire(1);  // so that the record is there
    gives->acquire(1);
    const std::string detached = gives->detach();
    while (takes->free_permits() == 0) fixture.runtime.sleep_for(1ms);
    EXPECT_FALSE(takes->adopt(detached));
    EXPECT_EQ(takes->hold_count(), 1);
    takes->release();
    EXPECT_EQ(takes->free_permits(), 2);
  });
}

// What is taken up for longer lives for longer, and no adoption shortens a lease.
TEST_P(SemaphoreTest, AnAdoptionNeverShortens) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer brief(fixture, of(2, 20s)), lasting(fixture, of(2, 600s));
    const auto short_one = brief.obtain(), long_one = lasting.obtain();
    short_one->acquire(1);
    ASSERT_TRUE(long_one->adopt(short_one->detach()));
    for (const std::string_view name : {std::string_view("k"), kTaken})
      EXPECT_GT(ask(straight, {"PTTL", name}).integer, 500'000) << name;
    ASSERT_TRUE(short_one->adopt(long_one->detach()));
    EXPECT_GT(std::stoll(ask(straight, {"ZSCORE", "k", short_one->acquisition()}).text),
              testing::server_ms(straight) + 500'000);
    short_one->release();
  });
}

TEST_P(SemaphoreTest, MoreThanThereAreIsRejected) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(3));
    const auto semaphore = a.obtain();
    try {
      semaphore->acquire(4);
      ADD_FAILURE();
    } catch (const Rejected& error) {
      EXPECT_NE(std::string(error.what()).find("4 permits were asked for where there are 3"),
                std::string::npos)
          << error.what();
    }
    EXPECT_EQ(semaphore->free_permits(), 3);
    // Who waits for more than there are from now on learns it as well.
    Peer b(fixture, of(3));
    const auto other = b.obtain();
    semaphore->acquire();
    Task waiter = fixture.runtime.spawn(
        "client", [&] { EXPECT_THROW(static_cast<void>(other->acquire(3)), Rejected); });
    b.observer.wait_for(Kind::waiting);
    semaphore->set_permits(2);
    waiter.join();
    semaphore->release();
  });
}

TEST_P(SemaphoreTest, TheLatestIsGivenBackFirst) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(6));
    const auto semaphore = a.obtain();
    semaphore->acquire(3);
    const std::string first = semaphore->acquisition();
    semaphore->acquire(2);
    const std::string second = semaphore->acquisition();
    EXPECT_NE(first, second);
    semaphore->release();
    EXPECT_EQ(semaphore->free_permits(), 3);
    EXPECT_EQ(semaphore->acquisition(), first);
    EXPECT_TRUE(ask(straight, {"ZSCORE", "k", second}).is_nil());
    Task other = fixture.runtime.spawn("client", [&] { EXPECT_THROW(semaphore->release(), NotOwner); });
    other.join();
    semaphore->release();
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(SemaphoreTest, ResizingUpWakesAndDownKeeps) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(2)), b(fixture, of(2));
    const auto one = a.obtain(), two = b.obtain();
    one->acquire(2);
    Task waiter = fixture.runtime.spawn("client", [&] { two->acquire(1); });
    b.observer.wait_for(Kind::waiting);
    one->set_permits(3);  // it counts for every process, and the leases are a minute
    waiter.join();
    EXPECT_EQ(one->free_permits(), 0);
    two->set_permits(1);  // three are held: nobody loses any
    EXPECT_EQ(one->free_permits(), 0);
    EXPECT_FALSE(one->try_acquire());
    EXPECT_TRUE(one->is_held_by_me());
    one->release();
    EXPECT_EQ(one->free_permits(), 0);
    EXPECT_FALSE(one->try_acquire());  // one is held, one there is
    one->set_permits(2);
    EXPECT_TRUE(one->try_acquire());
    one->release();
  });
}

// Counted beside the server: never more at once than there are.
TEST_P(SemaphoreTest, NeverMoreThanThePermits) {
  run([](Fixture& fixture, redis::Client& straight) {
    constexpr int kPeers = 3, kTasks = 4, kRounds = 10, kPermits = 4;
    std::list<Peer> peers;
    for (int i = 0; i < kPeers; ++i) peers.emplace_back(fixture, of(kPermits));
    std::atomic<int> used = 0, most = 0;
    const MonotonicTime start = fixture.runtime.now();
    {
      std::list<Task> tasks;
      int number = 0;
      for (Peer& peer : peers) {
        for (int i = 0; i < kTasks; ++i) {
          tasks.push_back(fixture.runtime.spawn("client", [&, number = number++] {
            const auto semaphore = peer.obtain();
            for (int round = 0; round < kRounds; ++round) {
              const int wanted = 1 + (round + number) % 3;
              semaphore->acquire(wanted);
              const int now = used += wanted;
              int seen = most;
              while (now > seen && !most.compare_exchange_weak(seen, now)) {
              }
              fixture.runtime.yield();
              used -= wanted;
              semaphore->release();
            }
          }));
        }
      }
    }
    EXPECT_LE(most, kPermits);
    EXPECT_GE(most, 2);
    EXPECT_LT(fixture.runtime.now() - start, 60s);  // by wake-ups, not by leases
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(SemaphoreTest, WaitersAreWokenAndHandOn) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(3)), b(fixture, of(3)), c(fixture, of(3));
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain();
    const MonotonicTime start = fixture.runtime.now();
    one->acquire(3);
    Sign granted(fixture.runtime);
    std::list<Task> tasks;
    std::stop_source stop;
    tasks.push_back(fixture.runtime.spawn("client", [&] {
      try {  // a grant on its way when the stop comes is a grant
        if (two->try_acquire_until(kNever, 3, stop.get_token())) two->release();
      } catch (const Interrupted&) {
      }
    }));
    b.observer.wait_for(Kind::waiting);
    for (const auto& semaphore : {two, three}) {
      tasks.push_back(fixture.runtime.spawn("client", [&, semaphore] {
        semaphore->acquire();
        granted.give();
        granted.wait(2);  // both hold at once
        semaphore->release();
      }));
    }
    c.observer.wait_for(Kind::waiting);
    stop.request_stop();
    one->release();
    tasks.clear();  // joins
    EXPECT_EQ(granted.given(), 2);
    EXPECT_LT(fixture.runtime.now() - start, 60s);
  });
}

// Who wants many is not passed by who comes later and wants few: in one process, nor from another one.
TEST_P(SemaphoreTest, LocalQueueOrder) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(3)), b(fixture, of(3));
    const auto one = a.obtain(), two = b.obtain();
    one->acquire(2);
    Mutex mutex(fixture.runtime);
    std::string order;
    const auto take = [&](int permits, char name) {
      two->acquire(permits);
      {
        const std::scoped_lock guard(mutex);
        order += name;
      }
      two->release();
    };
    Task many = fixture.runtime.spawn("client", [&] { take(3, 'm'); });
    b.observer.wait_for(Kind::waiting);
    Task few = fixture.runtime.spawn("client", [&] { take(1, 'f'); });
    EXPECT_FALSE(two->try_acquire_for(500ms, 1));
    EXPECT_FALSE(two->try_acquire());  // kept for the one that wants three
    EXPECT_FALSE(one->try_acquire());
    EXPECT_EQ(one->free_permits(), 1);
    one->release();
    many.join();
    few.join();
    EXPECT_EQ(order, "mf");
  });
}

TEST_P(SemaphoreTest, AskingTasksDoNotRefuseEachOther) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(2));
    const auto semaphore = a.obtain();
    a.link.hold_request(sha1(kSemaphoreAcquire));
    const auto take = [&] {
      EXPECT_TRUE(semaphore->try_acquire());
      semaphore->release();
    };
    Task one = fixture.runtime.spawn("client", take);
    a.link.wait_held();
    Sign started(fixture.runtime);
    Task two = fixture.runtime.spawn("client", [&] {
      started.give();
      take();
    });
    started.wait();
    fixture.runtime.yield();
    a.link.release_request();
  });
}

TEST_P(SemaphoreTest, ForeignTypesAreRejected) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(2));
    const auto semaphore = a.obtain();
    for (const std::string_view name : {std::string_view("k"), kTaken}) {
      ask(straight, {"SET", name, "something else"});
      EXPECT_THROW(static_cast<void>(semaphore->acquire()), Rejected);
      EXPECT_THROW(static_cast<void>(semaphore->free_permits()), Rejected);
      EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 1);
      ask(straight, {"DEL", name});
    }
    ask(straight, {"LPUSH", kLimit, "x"});
    EXPECT_THROW(static_cast<void>(semaphore->acquire()), Rejected);
    ask(straight, {"DEL", kLimit});
    EXPECT_THROW(semaphore->force_unlock(), Unsupported);
    EXPECT_THROW(Semaphores(straight, of(0)), std::invalid_argument);
  });
}

TEST_P(SemaphoreTest, TokensRiseWithEachGrant) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lock = {.fencing = true}, .permits = 3}),
        b(fixture, {.lock = {.fencing = true}, .permits = 3});
    const auto one = a.obtain(), two = b.obtain();
    std::uint64_t last = 0;
    for (int round = 0; round < 4; ++round) {
      const auto& semaphore = round % 2 == 0 ? one : two;
      semaphore->acquire();
      ASSERT_TRUE(semaphore->token());
      EXPECT_GT(*semaphore->token(), last);
      last = *semaphore->token();
      if (round == 1) {  // ahead of a clock that was set back
        last = 9'000'000'000'000'000;
        ask(straight, {"SET", "holdfast:token:{k}", std::to_string(last)});
      }
      if (round > 1) (round % 2 == 0 ? one : two)->release();
    }
    one->release();
    two->release();
  });
}

// A process is killed while it holds, and while it waits.
}  // namespace
}  // namespace holdfast
