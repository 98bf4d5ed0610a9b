// From Redisson's RLock to a lock of this library while both run: what lib/OPERATIONS.md says of it.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/semaphore.h"
#include "sim/historic/redisson/redisson_read_write.h"
#include "sim/historic/redisson/redisson_reentrant.h"
#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using holdfast::testing::Fixture;

class RedissonUpgrade : public PortsTest {};
HF_ON_ALL_PORTS(RedissonUpgrade);

constexpr int kRounds = 12;
const LockOptions kLong{.lease = 60s};

// One process of a service, with a client of its own.
class Service {
 public:
  Service(Fixture& fixture, std::string name)
      : name_(std::move(name)), client_(fixture.runtime, fixture.network, fixture.options()) {}
  virtual ~Service() = default;
  virtual Lock& lock() = 0;
  const std::string& name() const { return name_; }

  // Takes the lock again and again; `inside`: how many are.
  void work(std::atomic<int>& inside) {
    for (int round = 0; round < kRounds; ++round) {
      lock().lock();
      EXPECT_EQ(++inside, 1) << name_ << " came in beside somebody";
      client_.runtime().sleep_for(1ms);
      --inside;
      lock().release();
      client_.runtime().sleep_for(1ms);
    }
  }

 protected:
  const std::string name_;
  redis::Client client_;
};

// As it was: Redisson on "old".
class Old final : public Service {
 public:
  explicit Old(Fixture& fixture)
      : Service(fixture, "old"),
        redisson_(std::make_shared<Redisson>(client_, kLong)),
        lock_(redisson_, "old") {}
  Lock& lock() override { return lock_; }

 private:
  const std::shared_ptr<Redisson> redisson_;
  RedissonReentrant lock_;
};

// The first step: ours in Redisson's layout, on the same key.
class Shared final : public Service {
 public:
  explicit Shared(Fixture& fixture)
      : Service(fixture, "shared"), locks_(client_, kLong), lock_(locks_.obtain("old")) {}
  Lock& lock() override { return *lock_; }

 private:
  RedissonLocks locks_;
  const std::shared_ptr<Lock> lock_;
};

// The step between: holds the old key and the new one.
class Both final : public Service {
 public:
  explicit Both(Fixture& fixture)
      : Service(fixture, "both"),
        old_(client_, kLong),
        new_(client_, kLong),
        lock_({old_.obtain("old"), new_.obtain("new")}) {}
  Lock& lock() override { return lock_; }

 private:
  RedissonLocks old_;
  FencedLocks new_;
  MultiLock lock_;
};

// As it is to be: another kind, on another key.
class New final : public Service {
 public:
  explicit New(Fixture& fixture)
      : Service(fixture, "new"), locks_(client_, kLong), lock_(locks_.obtain("new")) {}
  Lock& lock() override { return *lock_; }

 private:
  FencedLocks locks_;
  const std::shared_ptr<Lock> lock_;
};

void together(Fixture& fixture, const std::vector<Service*>& services) {
  std::atomic<int> inside = 0;
  std::vector<Task> tasks;
  for (Service* const service : services) {
    tasks.push_back(fixture.runtime.spawn(service->name(), [service, &inside] { service->work(inside); }));
  }
  for (Task& task : tasks) task.join();
}

TEST_P(RedissonUpgrade, TheSameKeyIsSharedByBoth) {
  run([](Fixture& fixture) {
    Old a(fixture), b(fixture);
    Shared c(fixture), d(fixture);
    together(fixture, {&a, &b, &c, &d});
  });
}

TEST_P(RedissonUpgrade, StepByStepToAnotherKind) {
  run([](Fixture& fixture) {
    Old a(fixture), b(fixture);
    Both c(fixture), d(fixture);
    New e(fixture), f(fixture);
    together(fixture, {&a, &b, &c, &d});  // the first roll-out
    together(fixture, {&c, &d, &e, &f});  // the second, when no old one runs any more
  });
}

// Why the step between cannot be left out, and why the first roll-out has to be over.
TEST_P(RedissonUpgrade, OldAndNewDoNotKnowEachOther) {
  run([](Fixture& fixture) {
    Old a(fixture);
    New b(fixture);
    a.lock().lock();
    EXPECT_TRUE(b.lock().try_lock());
    b.lock().release();
    a.lock().release();
  });
}

// On one key every other kind is refused, whoever came first: nobody is granted beside the holder.
TEST_P(RedissonUpgrade, AnotherKindOnTheSameKeyIsRefused) {
  run([](Fixture& fixture) {
    Old a(fixture);
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    ReentrantLocks reentrant(client, kLong);
    SpinLocks spin(client, kLong);
    FencedLocks fenced(client, kLong);
    FairLocks fair(client, kLong);
    ReadWriteLocks read_write(client, {.lock = kLong});
    Semaphores semaphores(client, {.lock = kLong, .permits = 2});
    const std::vector<std::shared_ptr<Lock>> others{reentrant.obtain("old"),  spin.obtain("old"),
                                                    fenced.obtain("old"),     fair.obtain("old"),
                                                    read_write.obtain("old"), semaphores.obtain("old")};
    a.lock().lock();
    for (const auto& other : others) EXPECT_THROW(static_cast<void>(other->try_lock()), Rejected);
    EXPECT_EQ(a.lock().hold_count(), 1);
    a.lock().release();
    for (const auto& other : others) {
      ASSERT_TRUE(other->try_lock());
      EXPECT_THROW(static_cast<void>(a.lock().try_lock()), Rejected);
      other->release();
    }
  });
}

// RReadWriteLock asks for a field `mode` that RLock does not write: so it was in Redisson alone, and is here.
TEST_P(RedissonUpgrade, AReadWriteLockOfRedissonIsGrantedBesideALock) {
  run([](Fixture& fixture) {
    Shared ours(fixture);
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    RedissonReadWrite theirs(std::make_shared<Redisson>(client, kLong), "old");
    ours.lock().lock();
    EXPECT_TRUE(theirs.read().try_lock()) << "the page says that it is";
    theirs.read().release();
    ours.lock().unlock();
    ASSERT_TRUE(theirs.write().try_lock());
    EXPECT_FALSE(ours.lock().try_lock());
    theirs.write().release();
  });
}

}  // namespace
}  // namespace holdfast::historic
