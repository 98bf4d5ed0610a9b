// The multi lock on every pair of ports and Redis: all or nothing, no deadlock, loss, members of every kind.
#include "lib/lock/multi/multi_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <mutex>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/testing/scene.h"
#include "lib/testing/servers.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Servers;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;

class MultiLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, MultiLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

struct Peer {
  Peer(Fixture& fixture, LockOptions options)
      : link(fixture.runtime, fixture.network, fixture.redis),
        observer(fixture.runtime),
        client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        locks(client, with_observer(options)) {}
  LockOptions with_observer(LockOptions options) {
    options.observer = &observer;
    return options;
  }
  std::shared_ptr<MultiLock> multi(std::initializer_list<const char*> keys) {
    std::vector<std::shared_ptr<Lock>> members;
    for (const char* key : keys) members.push_back(locks.obtain(key));
    return std::make_shared<MultiLock>(members);
  }
  testing::FaultyLink link;
  testing::RecordingObserver observer;
  redis::Client client;
  ReentrantLocks locks;
};

TEST_P(MultiLockTest, AllOrNothing) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto multi = a.multi({"x", "y", "z"});
    EXPECT_EQ(multi->key(), "x+y+z");
    EXPECT_TRUE(multi->try_lock());
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 3);
    EXPECT_TRUE(multi->is_held_by_me());
    EXPECT_FALSE(b.locks.obtain("y")->try_lock());
    multi->unlock();
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
    EXPECT_THROW(multi->release(), NotOwner);

    const auto other = b.locks.obtain("y");
    other->lock();
    EXPECT_FALSE(multi->try_lock());
    EXPECT_FALSE(multi->try_lock_for(500ms));
    EXPECT_FALSE(multi->try_lock_until(MonotonicTime::min()));
    EXPECT_FALSE(multi->is_held_by_me());
    EXPECT_EQ(multi->hold_count(), 0);
    while (ask(a.client, {"DBSIZE"}).integer != 1)
      fixture.runtime.sleep_for(1ms);  // nothing but the other one's
    for (const auto& member : multi->members()) EXPECT_FALSE(member->is_held_by_me());
    other->unlock();
    EXPECT_TRUE(multi->try_lock_for(1s));
    multi->unlock();
  });
}

TEST_P(MultiLockTest, BadInput) {
  run([](Fixture& fixture) {
    Peer a(fixture, {});
    EXPECT_THROW(MultiLock({}), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(MultiLock({a.locks.obtain("x"), nullptr})), std::invalid_argument);
    EXPECT_THROW(MultiLock({a.locks.obtain("x"), a.locks.obtain("y"), a.locks.obtain("x")}),
                 std::invalid_argument);
    // Two objects of one key, in whatever way they came to be.
    ReentrantLocks again(a.client, {}), elsewhere_as_well(a.client, {.lease = 5s});
    EXPECT_THROW(MultiLock({a.locks.obtain("x"), again.obtain("x")}), std::invalid_argument);
    EXPECT_THROW(MultiLock({again.obtain("x"), elsewhere_as_well.obtain("x")}), std::invalid_argument);
    redis::Client second(fixture.runtime, fixture.network, fixture.options(a.link.endpoint()));
    ReentrantLocks same_server(second, {});
    EXPECT_THROW(MultiLock({a.locks.obtain("x"), same_server.obtain("x")}), std::invalid_argument);
    ReadWriteLocks tables(a.client, {}), more_tables(second, {});
    const auto table = tables.obtain("t"), copy = more_tables.obtain("t");
    const auto reading = [](const std::shared_ptr<ReadWriteLock>& of) {
      return std::shared_ptr<Lock>(of, &of->read());
    };
    EXPECT_THROW(MultiLock({table, copy}), std::invalid_argument);
    EXPECT_THROW(MultiLock({table, reading(copy)}), std::invalid_argument);
    EXPECT_NO_THROW(MultiLock({reading(table), reading(copy)}));
    Semaphores gates(a.client, {.permits = 2}), more_gates(second, {.permits = 2});
    EXPECT_NO_THROW(MultiLock({gates.obtain("s"), more_gates.obtain("s")}));
    // The same key on another server, or in another database of this one, is another lock.
    redis::ClientOptions numbered = fixture.options(a.link.endpoint());
    numbered.database = 1;
    redis::Client other_database(fixture.runtime, fixture.network, numbered);
    ReentrantLocks there(other_database, {});
    MultiLock both({a.locks.obtain("x"), there.obtain("x")});
    EXPECT_TRUE(both.try_lock());
    both.unlock();
  });
}

TEST_P(MultiLockTest, Reentrant) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto multi = a.multi({"x", "y"});
    const auto x = a.locks.obtain("x");
    x->lock();  // the caller holds a member already
    multi->lock();
    EXPECT_TRUE(multi->try_lock());
    EXPECT_EQ(multi->hold_count(), 2);
    EXPECT_EQ(multi->acquisition(), x->acquisition());
    multi->unlock();
    EXPECT_TRUE(multi->is_held_by_me());
    Task stranger = fixture.runtime.spawn("client", [&] {
      EXPECT_FALSE(multi->is_held_by_me());
      EXPECT_THROW(multi->release(), NotOwner);
      EXPECT_FALSE(multi->try_lock());
    });
    stranger.join();
    multi->unlock();
    EXPECT_TRUE(x->is_held_by_me());
    EXPECT_TRUE(b.locks.obtain("y")->try_lock());
    x->unlock();
  });
}

// Every task holds what it waits for in turn, in opposite orders, again and again; leases of a minute.
TEST_P(MultiLockTest, TwoInOppositeOrderNeverDeadlock) {
  run([](Fixture& fixture) {
    constexpr int kRounds = 25;
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s}), c(fixture, {.lease = 60s});
    std::atomic<int> inside = 0, wrong = 0, done = 0;
    const MonotonicTime start = fixture.runtime.now();
    {
      std::list<Task> tasks;
      for (Peer* peer : {&a, &b, &c}) {
        for (const auto keys : {std::array{"x", "y"}, std::array{"y", "x"}}) {
          tasks.push_back(fixture.runtime.spawn("client", [&, peer, keys] {
            const auto multi = peer->multi({keys[0], keys[1]});
            for (int round = 0; round < kRounds; ++round) {
              multi->lock();
              if (++inside != 1) ++wrong;
              fixture.runtime.yield();
              --inside;
              multi->unlock();
            }
            ++done;
          }));
        }
      }
    }
    EXPECT_EQ(done, 6);
    EXPECT_EQ(wrong, 0);
    EXPECT_LT(fixture.runtime.now() - start, 60s);
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
  });
}

// The same with three members around a table.
TEST_P(MultiLockTest, Philosophers) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s}), c(fixture, {.lease = 60s});
    std::atomic<int> meals = 0;
    const MonotonicTime start = fixture.runtime.now();
    {
      std::list<Task> tasks;
      const auto dine = [&](Peer& peer, const char* left, const char* right) {
        tasks.push_back(fixture.runtime.spawn("client", [&meals, &fixture, &peer, left, right] {
          const auto multi = peer.multi({left, right});
          for (int round = 0; round < 15; ++round) {
            const std::unique_lock guard(*multi);
            fixture.runtime.yield();
            ++meals;
          }
        }));
      };
      dine(a, "x", "y");
      dine(b, "y", "z");
      dine(c, "z", "x");
    }
    EXPECT_EQ(meals, 45);
    EXPECT_LT(fixture.runtime.now() - start, 60s);
  });
}

TEST_P(MultiLockTest, WhoWaitsIsWoken) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    const auto multi = a.multi({"x", "y", "z"});
    const auto z = b.locks.obtain("z");
    const MonotonicTime start = fixture.runtime.now();
    z->lock();
    Task waiter = fixture.runtime.spawn("client", [&] {
      multi->lock();
      multi->unlock();
    });
    a.observer.wait_for(Kind::waiting);
    const auto x = b.locks.obtain("x");
    EXPECT_TRUE(x->try_lock_for(30s));  // while it waits it holds nothing
    z->unlock();
    x->unlock();
    waiter.join();
    EXPECT_LT(fixture.runtime.now() - start, 60s);
  });
}

TEST_P(MultiLockTest, ValidAsLongAsTheShortestOfThem) {
  run([](Fixture& fixture) {
    Peer lasting(fixture, {.lease = 60s, .renew = false}), brief(fixture, {.lease = 30s, .renew = false});
    for (const bool first : {false, true}) {
      const auto shortest = brief.locks.obtain(first ? "a" : "c");
      MultiLock multi({lasting.locks.obtain("b"), shortest});
      EXPECT_FALSE(multi.valid_until());
      multi.lock();
      EXPECT_EQ(multi.valid_until(), shortest->valid_until());
      EXPECT_LE(multi.remaining_lease().value(), 30s);
      multi.unlock();
    }
  });
}

TEST_P(MultiLockTest, TheLossOfOneIsTheLossOfAll) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = fixture.lease(300ms)}), b(fixture, {});
    const auto multi = a.multi({"x", "y"});
    multi->lock();
    std::atomic<bool> told = false;
    const std::stop_callback callback(multi->lost(), [&] { told = true; });
    a.observer.wait_for(Kind::renewed, 4);
    EXPECT_TRUE(multi->is_held_by_me());
    EXPECT_EQ(multi->valid_until(),
              std::min(*a.locks.obtain("x")->valid_until(), *a.locks.obtain("y")->valid_until()));
    ask(b.client, {"DEL", "y"});
    a.observer.wait_for(Kind::lost);
    while (!told) fixture.runtime.yield();
    EXPECT_FALSE(multi->is_held_by_me());
    EXPECT_THROW(multi->lock(), LockLost);
    EXPECT_THROW(static_cast<void>(multi->try_lock()), LockLost);
    EXPECT_THROW(multi->release(), LockLost);
    EXPECT_EQ(ask(b.client, {"DBSIZE"}).integer, 0);  // the other member was given back
    EXPECT_THROW(multi->release(), NotOwner);
    EXPECT_FALSE(multi->lost().stop_possible());
    multi->lock();
    EXPECT_FALSE(multi->lost().stop_requested());
    multi->unlock();
  });
}

// Somebody hears of the loss, and waits for the task that holds the lock, which gives it back.
TEST_P(MultiLockTest, ACallbackOfLostMayWaitForTheRelease) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = fixture.lease(150ms)});
    for (const bool destroyed : {false, true}) {
      auto multi = a.multi({"x", "y"});
      Sign held(fixture.runtime), called(fixture.runtime), released(fixture.runtime), over(fixture.runtime);
      std::stop_token lost;
      Task worker = fixture.runtime.spawn("client", [&] {
        multi->lock();
        lost = multi->lost();
        held.give();
        called.wait();
        if (!destroyed) {
          EXPECT_THROW(multi->release(), LockLost);
        }
        multi.reset();
        released.give();
      });
      held.wait();
      const std::stop_callback supervises(lost, [&] {
        called.give();
        released.wait();
        over.give();
      });
      ask(a.client, {"DEL", "y"});
      over.wait();
      worker.join();
    }
  });
}

TEST_P(MultiLockTest, UnlockGivesAllBackThoughOneFails) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s});
    const auto multi = a.multi({"x", "y", "z"});
    for (const char* gone : {"x", "y", "z"}) {
      multi->lock();
      ask(a.client, {"DEL", gone});
      EXPECT_THROW(multi->release(), LockLost);
      EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
      for (const auto& member : multi->members()) EXPECT_EQ(member->hold_count(), 0);
    }
  });
}

TEST_P(MultiLockTest, ForcedOpen) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    const auto multi = a.multi({"x", "y"}), other = b.multi({"y", "x"});
    EXPECT_FALSE(other->force_unlock());
    multi->lock();
    EXPECT_TRUE(other->force_unlock());
    other->lock();
    EXPECT_THROW(multi->release(), LockLost);
    EXPECT_TRUE(other->is_held_by_me());
    other->unlock();
  });
}

// An error in the middle: what was taken before it is given back, also what was granted unseen.
TEST_P(MultiLockTest, ErrorsAndStopsLeaveNothingBehind) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    const auto multi = a.multi({"x", "y", "z"});
    ask(b.client, {"SET", "y", "something else"});
    EXPECT_THROW(multi->lock(), Rejected);
    EXPECT_THROW(static_cast<void>(multi->try_lock()), Rejected);
    EXPECT_EQ(ask(b.client, {"DBSIZE"}).integer, 1);
    ask(b.client, {"DEL", "y"});

    const auto y = b.locks.obtain("y");
    y->lock();
    std::stop_source stop;
    Task waiter = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(multi->try_lock_until(kNever, stop.get_token())), Interrupted);
    });
    a.observer.wait_for(Kind::waiting);
    stop.request_stop();
    waiter.join();
    while (ask(b.client, {"DBSIZE"}).integer != 1)
      fixture.runtime.sleep_for(1ms);  // it takes leave behind us
    y->unlock();

    a.link.lose_reply_to("\r\ny\r\n", 1'000'000);  // whatever is asked about y
    EXPECT_THROW(static_cast<void>(multi->try_lock_for(100ms)), Unavailable);
    a.link.lose_reply_to("", 0);
    const auto other = b.multi({"z", "y", "x"});
    EXPECT_TRUE(other->try_lock_for(30s));
    other->unlock();
  });
}

// Whichever member's server hangs, the caller's deadline holds, though the command timeout is two seconds;
// what was taken on the others is given back, at the latest in the background.
TEST_P(MultiLockTest, AHungServerDoesNotOverrunTheDeadline) {
  testing::on_servers(GetParam(), 3, [](Fixture& fixture, Servers& servers) {
    const bool exact = fixture.where == Where::embedded;
    for (std::size_t hung = 0; hung < 3; ++hung) {
      std::list<redis::Client> clients;
      std::list<ReentrantLocks> locks;
      std::vector<std::shared_ptr<Lock>> members;
      for (std::size_t i = 0; i < 3; ++i) {
        clients.emplace_back(fixture.runtime, fixture.network, fixture.options(servers.endpoint(i)));
        clients.back().call({"PING"});
        locks.emplace_back(clients.back(), LockOptions{.lease = 60s});
        members.push_back(locks.back().obtain(std::string(1, static_cast<char>('a' + i))));
      }
      MultiLock multi(members);
      servers.pause(hung);
      const MonotonicTime deadline = fixture.runtime.now() + 300ms;
      EXPECT_THROW(static_cast<void>(multi.try_lock_until(deadline)), Unavailable) << hung;
      EXPECT_GE(fixture.runtime.now(), deadline);
      if (exact) {
        EXPECT_LE(fixture.runtime.now(), deadline + 1ms) << hung;
      }
      EXPECT_EQ(multi.hold_count(), 0);
      for (const auto& member : members) EXPECT_FALSE(member->is_held_by_me());
      servers.resume(hung);
      for (redis::Client& client : clients) {
        while (ask(client, {"DBSIZE"}).integer != 0) fixture.runtime.sleep_for(1ms);  // long before the lease
      }
      EXPECT_TRUE(multi.try_lock_for(30s));
      multi.unlock();
    }
  });
}

// The member that is waited for takes almost all the time, and then the other one's server has none left to
// answer in: not granted, which is no sign of a fault.
TEST(MultiLockInVirtualTime, WhoWaitedForOneMemberIsNotToldOfAnothersServer) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::on_servers(Where::embedded, 2, [](Fixture& fixture, Servers& servers) {
    redis::Client one(fixture.runtime, fixture.network, fixture.options(servers.endpoint(0)));
    redis::Client two(fixture.runtime, fixture.network, fixture.options(servers.endpoint(1)));
    redis::Client elsewhere(fixture.runtime, fixture.network, fixture.options(servers.endpoint(0)));
    ReentrantLocks ones(one, {.lease = 60s}), twos(two, {.lease = 60s}), others(elsewhere, {.lease = 60s});
    two.call({"PING"});
    MultiLock multi({ones.obtain("a"), twos.obtain("b")});
    const auto held = others.obtain("a");
    held->lock();
    servers.pause(1);
    const MonotonicTime deadline = fixture.runtime.now() + 400ms;
    Task holder = fixture.runtime.spawn("client", [&] {
      const ActAs me(fixture.runtime, Owner(fixture.runtime));
      fixture.runtime.sleep_until(deadline - 100ms);
      ask(elsewhere, {"DEL", "a"});
      ask(elsewhere, {"PUBLISH", "holdfast:channel:{a}", "0"});
    });
    EXPECT_FALSE(multi.try_lock_until(deadline));
    EXPECT_LE(fixture.runtime.now(), deadline + 1ms);
    holder.join();
    servers.resume(1);
    fixture.runtime.sleep_for(1s);
    EXPECT_EQ(ask(one, {"DBSIZE"}).integer + ask(two, {"DBSIZE"}).integer, 0);
    EXPECT_THROW(held->release(), LockLost);
  });
}

// Several members on the server that hangs: giving back waits for it once, not once for each.
TEST(MultiLockInVirtualTime, GivingBackWaitsForAHungServerOnce) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    ask(a.client, {"PING"});
    const auto multi = a.multi({"u", "v", "w", "x"});
    a.observer.on_kind(Kind::acquired, [&] {
      if (a.observer.count(Kind::acquired) == 3) a.link.stall(true);
    });
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_THROW(static_cast<void>(multi->try_lock()), Unavailable);
    EXPECT_LE(fixture.runtime.now() - start,
              2 * 2000ms + 100ms);  // one command timeout for x, one for the rest
    a.observer.on_kind(Kind::acquired, nullptr);
    a.link.stall(false);
    const auto other = b.multi({"x", "w", "v", "u"});
    EXPECT_TRUE(other->try_lock_for(30s));
    other->unlock();
  });
}

TEST_P(MultiLockTest, MembersOfEveryKindOnSeveralServers) {
  testing::on_servers(GetParam(), 2, [](Fixture& fixture, Servers& servers) {
    struct Party {
      Party(Fixture& fixture, Servers& servers)
          : one(fixture.runtime, fixture.network, fixture.options(servers.endpoint(0))),
            two(fixture.runtime, fixture.network, fixture.options(servers.endpoint(1))),
            reentrant(one, {.lease = 60s}),
            fair(two, {.lease = 60s}),
            read_write(one, {.lock = {.lease = 60s}}),
            semaphores(two, {.lock = {.lease = 60s}, .permits = 2}),
            table(read_write.obtain("rw")),
            multi({std::shared_ptr<Lock>(table, &table->read()), fair.obtain("f"), semaphores.obtain("s"),
                   reentrant.obtain("r")}) {}
      redis::Client one, two;
      ReentrantLocks reentrant;
      FairLocks fair;
      ReadWriteLocks read_write;
      Semaphores semaphores;
      std::shared_ptr<ReadWriteLock> table;
      MultiLock multi;
    };
    Party a(fixture, servers), b(fixture, servers);
    EXPECT_EQ(a.multi.key(), "f+r+rw+s");
    a.multi.lock();
    EXPECT_FALSE(b.multi.try_lock());
    EXPECT_TRUE(b.table->try_lock_shared());
    b.table->unlock_shared();
    EXPECT_FALSE(b.table->try_lock());
    a.multi.unlock();
    EXPECT_TRUE(b.table->try_lock());
    EXPECT_FALSE(a.multi.try_lock());
    b.table->unlock();
    b.multi.lock();
    EXPECT_THROW(a.multi.force_unlock(), Unsupported);  // a semaphore cannot be; the others are
    EXPECT_EQ(ask(a.one, {"DBSIZE"}).integer, 0);
    EXPECT_THROW(b.multi.release(), LockLost);
    std::atomic<int> done = 0;
    {
      std::list<Task> tasks;
      for (Party* party : {&a, &b}) {
        tasks.push_back(fixture.runtime.spawn("client", [&, party] {
          for (int round = 0; round < 10; ++round) {
            const std::unique_lock guard(party->multi);
            ++done;
          }
        }));
      }
    }
    EXPECT_EQ(done, 20);
    EXPECT_EQ(ask(a.one, {"DBSIZE"}).integer, 0);
    EXPECT_EQ(ask(a.two, {"DBSIZE"}).integer, 0);

    // A server is gone: nothing is held on the other one.
    servers.crash(1);
    EXPECT_THROW(static_cast<void>(a.multi.try_lock()), Unavailable);
    EXPECT_THROW(static_cast<void>(a.multi.try_lock_for(50ms)), Unavailable);
    EXPECT_EQ(ask(a.one, {"DBSIZE"}).integer, 0);
    EXPECT_EQ(a.multi.hold_count(), 0);
  });
}

}  // namespace
}  // namespace holdfast
