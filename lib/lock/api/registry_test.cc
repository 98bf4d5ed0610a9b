// The registry: one object of each key, and which of them it gives up.
#include "lib/lock/api/registry.h"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <mutex>

#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::Peer<ReentrantLocks>;

class RegistryTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(LockOptions options, const std::function<void(Fixture&, Peer&)>& body) {
    testing::with_fixture(GetParam(), [&](Fixture& fixture) {
      Peer peer(fixture, options);
      body(fixture, peer);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, RegistryTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// Asks by address only: the object may be gone.
const Lock* address(const std::shared_ptr<Lock>& lock) { return lock.get(); }

TEST_P(RegistryTest, OneObjectAKeyWithItsPrefix) {
  run({.lease = 60s}, [](Fixture&, Peer& peer) {
    Registry registry(peer.locks, {.prefix = "orders"});
    const auto lock = registry.obtain("4711");
    EXPECT_EQ(lock, registry.obtain("4711"));
    EXPECT_NE(lock, registry.obtain("4712"));
    EXPECT_EQ(lock->key(), "orders:4711");
    EXPECT_EQ(lock, peer.locks.obtain("orders:4711"));
    lock->lock();
    EXPECT_EQ(peer.ask({"EXISTS", "orders:4711"}).integer, 1);
    lock->unlock();
    Registry plain(peer.locks, {});
    EXPECT_EQ(plain.obtain("4711")->key(), "4711");
    EXPECT_EQ(registry.size(), 2u);
    EXPECT_THROW(static_cast<void>(registry.obtain("")), std::invalid_argument);
    EXPECT_EQ(registry.size(), 2u);
    EXPECT_THROW(Registry(peer.locks, {.capacity = 0}), std::invalid_argument);
  });
}

TEST_P(RegistryTest, ObjectsStayBetweenUses) {
  run({.lease = 60s}, [](Fixture&, Peer& peer) {
    Registry registry(peer.locks, {});
    const std::weak_ptr<Lock> lock = registry.obtain("k");
    EXPECT_FALSE(lock.expired());
    registry.obtain("k")->lock();  // no pointer is kept: the hold stays where it is
    EXPECT_TRUE(registry.obtain("k")->is_held_by_me());
    registry.obtain("k")->unlock();
    EXPECT_EQ(peer.ask({"EXISTS", "k"}).integer, 0);
  });
}

TEST_P(RegistryTest, TheOneObtainedLongestAgoGoesFirst) {
  run({.lease = 60s}, [](Fixture&, Peer& peer) {
    Registry registry(peer.locks, {.capacity = 3});
    std::weak_ptr<Lock> a = registry.obtain("a"), b = registry.obtain("b"), c = registry.obtain("c");
    registry.obtain("a");  // used again
    registry.obtain("d");
    EXPECT_TRUE(b.expired());
    EXPECT_FALSE(a.expired());
    EXPECT_FALSE(c.expired());
    EXPECT_EQ(registry.size(), 3u);
    registry.obtain("b");
    EXPECT_TRUE(c.expired());
    EXPECT_EQ(registry.size(), 3u);
  });
}

TEST_P(RegistryTest, WhatIsInUseStays) {
  run({.lease = 60s}, [](Fixture& fixture, Peer& peer) {
    Peer stranger(fixture, {.lease = 60s});
    const auto elsewhere = stranger.locks.obtain("waited");
    elsewhere->lock();
    Registry registry(peer.locks, {.capacity = 3});
    std::shared_ptr<Lock> pointed = registry.obtain("pointed");
    registry.obtain("held")->lock();
    Lock* const waited = registry.obtain("waited").get();
    Task waiter = fixture.runtime.spawn("client", [&] {
      waited->lock();  // by address: the registry alone keeps it
      waited->unlock();
    });
    peer.observer.wait_for(Kind::waiting);
    try {
      registry.obtain("more");
      ADD_FAILURE() << "one of them was given up";
    } catch (const Unavailable& error) {
      EXPECT_EQ(error.key(), "more");
      EXPECT_FALSE(error.may_have_executed());
    }
    EXPECT_EQ(registry.expire_unused_older_than(-1s), 0u);
    EXPECT_EQ(registry.size(), 3u);
    EXPECT_EQ(address(registry.obtain("pointed")), pointed.get());
    EXPECT_EQ(address(registry.obtain("waited")), waited);

    pointed.reset();
    EXPECT_NO_THROW(registry.obtain("more"));  // "pointed" went
    elsewhere->unlock();
    waiter.join();
    EXPECT_EQ(registry.expire_unused_older_than(-1s), 2u);  // "waited" and "more"
    EXPECT_TRUE(registry.obtain("held")->is_held_by_me());
    registry.obtain("held")->unlock();
    EXPECT_EQ(registry.expire_unused_older_than(-1s), 1u);
    EXPECT_EQ(registry.size(), 0u);
  });
}

TEST_P(RegistryTest, ExpiresWhatWasObtainedLongAgo) {
  run({.lease = 60s}, [](Fixture& fixture, Peer& peer) {
    Registry registry(peer.locks, {});
    registry.obtain("old");
    registry.obtain("again");
    fixture.runtime.sleep_for(60ms);
    registry.obtain("again");
    registry.obtain("new");
    EXPECT_EQ(registry.expire_unused_older_than(1h), 0u);
    if (fixture.where == Where::embedded) {
      EXPECT_EQ(registry.expire_unused_older_than(60ms), 0u);  // older, not as old
    }
    fixture.runtime.sleep_for(1ms);
    EXPECT_GE(registry.expire_unused_older_than(60ms), 1u);
    if (fixture.where == Where::embedded) {
      EXPECT_EQ(registry.size(), 2u);
    }
    EXPECT_EQ(registry.expire_unused_older_than(Duration::max()), 0u);
  });
}

// A hold that was lost is nobody's: its object may go, and a new one is a new lock.
TEST_P(RegistryTest, ALostHoldKeepsNoObject) {
  run({.lease = 200ms, .renew = false}, [](Fixture& fixture, Peer& peer) {
    Registry registry(peer.locks, {.capacity = 1});
    Task careless = fixture.runtime.spawn("client", [&] { registry.obtain("k")->lock(); });
    careless.join();
    peer.observer.wait_for(Kind::lost);
    registry.obtain("other");
    const auto lock = registry.obtain("k");
    EXPECT_TRUE(lock->try_lock_for(60s));
    lock->unlock();
  });
}

TEST_P(RegistryTest, AReleaseAfterTheStoreForgotSaysWhatThatMeans) {
  run({.lease = 60s}, [](Fixture&, Peer& peer) {
    Registry registry(peer.locks, {});
    const auto lock = registry.obtain("k");
    lock->lock();
    peer.ask({"DEL", "k"});
    try {
      lock->release();
      ADD_FAILURE() << "no loss";
    } catch (const LockLost& error) {
      EXPECT_NE(std::string(error.what()).find("compromised"), std::string::npos) << error.what();
    }
  });
}

// Many tasks, few keys and less room: whatever is evicted when, of each key there is one object at a time,
// and it excludes.
TEST_P(RegistryTest, NeverTwoObjectsOfOneKey) {
  run({.lease = 60s}, [](Fixture& fixture, Peer& peer) {
    Registry registry(peer.locks, {.capacity = 2});
    Mutex mutex(fixture.runtime);
    std::map<std::string, std::weak_ptr<Lock>> known;
    std::map<std::string, int> inside;
    int locked = 0;
    {
      std::list<Task> tasks;
      for (int task = 0; task < 6; ++task) {
        tasks.push_back(fixture.runtime.spawn("client", [&, task] {
          for (int round = 0; round < 25; ++round) {
            const std::string key = "k" + std::to_string((task + round) % 4);
            std::shared_ptr<Lock> lock;
            try {
              lock = registry.obtain(key);
            } catch (const Unavailable&) {  // full
              fixture.runtime.yield();
              continue;
            }
            {
              const std::scoped_lock guard(mutex);
              const auto before = known[key].lock();
              if (before) {
                EXPECT_EQ(before, lock);
              }
              known[key] = lock;
            }
            lock->lock();
            {
              const std::scoped_lock guard(mutex);
              EXPECT_EQ(++inside[key], 1);
              ++locked;
            }
            fixture.runtime.yield();
            {
              const std::scoped_lock guard(mutex);
              --inside[key];
            }
            lock->unlock();
          }
        }));
      }
    }
    EXPECT_GT(locked, 0);
    EXPECT_LE(registry.size(), 2u);
    EXPECT_EQ(peer.ask({"DBSIZE"}).integer, 0);
  });
}

}  // namespace
}  // namespace holdfast
