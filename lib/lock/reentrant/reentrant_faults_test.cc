// The reentrant lock when the wire fails and when time runs out: lost replies, late replies, watchdog, loss.
#include <gtest/gtest.h>

#include <atomic>
#include <list>

#include "lib/lock/engine/lease.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

// A client behind a link, and one that goes straight to the server. The scripts are known to the server.
struct Scene {
  Scene(Fixture& stand_in, LockOptions options)
      : fixture(stand_in),
        link(fixture.runtime, fixture.network, fixture.redis),
        observer(fixture.runtime),
        straight(fixture.runtime, fixture.network, fixture.options()),
        client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        others(straight, {.lease = 60s}),
        locks(client, with_observer(options)) {
    for (const redis::Script* script : {&kReentrantAcquire, &kReentrantRelease, &kReentrantRenew}) {
      straight.call({"SCRIPT", "LOAD", script->text});
    }
    client.call({"PING"});
  }
  LockOptions with_observer(LockOptions options) {
    options.observer = &observer;
    return options;
  }
  redis::Reply ask(std::initializer_list<std::string_view> command) { return straight.call(command).reply; }

  Fixture& fixture;
  FaultyLink link;
  RecordingObserver observer;
  redis::Client straight, client;
  ReentrantLocks others, locks;
};

class ReentrantFaults : public ::testing::TestWithParam<Where> {
 protected:
  static void run(LockOptions options, const std::function<void(Scene&)>& body) {
    testing::with_fixture(GetParam(), [&](Fixture& fixture) {
      Scene scene(fixture, options);
      body(scene);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, ReentrantFaults, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(ReentrantFaults, AcquireWhoseReplyWasLostIsAskedAgain) {
  run({.lease = 60s}, [](Scene& scene) {
    scene.link.lose_reply_to("60000", 3);  // the lease: of a SET and of the scripts
    const auto lock = scene.locks.obtain("k");
    lock->lock();  // by itself it would wait a minute for itself
    EXPECT_EQ(scene.ask({"GET", "k"}).text, lock->acquisition());  // asked four times, held once
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
    EXPECT_EQ(scene.ask({"EXISTS", "k"}).integer, 0);
  });
}

TEST_P(ReentrantFaults, TryLockWhoseReplyWasLost) {
  run({.lease = 60s}, [](Scene& scene) {
    scene.link.lose_reply_to("60000");
    const auto lock = scene.locks.obtain("k");
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
  });
}

TEST_P(ReentrantFaults, ReleaseWhoseReplyWasLost) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    lock->lock();
    scene.link.lose_reply_to(std::string(kReentrantRelease.sha1));
    lock->unlock();
    EXPECT_EQ(scene.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_EQ(scene.observer.count(Kind::released), 1u);
    EXPECT_EQ(scene.observer.count(Kind::lost), 0u);
  });
}

// The acquire is executed, its reply never comes, the caller gives up: the record is removed in the
// background.
TEST_P(ReentrantFaults, GivingUpUndoesAGrantNobodySaw) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    scene.link.lose_reply_to("60000", 1'000'000);
    try {
      static_cast<void>(lock->try_lock_for(150ms));
      ADD_FAILURE() << "granted";
    } catch (const Unavailable& error) {
      EXPECT_TRUE(error.may_have_executed());
      EXPECT_EQ(error.key(), "k");
    }
    EXPECT_FALSE(lock->is_held_by_me());
    const auto other = scene.others.obtain("k");
    EXPECT_TRUE(other->try_lock_for(30s));  // long before the lease of a minute
    other->unlock();
  });
}

// A grant that arrives after its lease has run out is no grant: it is asked for again.
TEST_P(ReentrantFaults, LateGrantIsNotAccepted) {
  run({.lease = 300ms}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    scene.link.stall(true);
    Task thaw = scene.fixture.runtime.spawn("client", [&] {
      scene.fixture.runtime.sleep_for(500ms);
      scene.link.stall(false);
    });
    lock->lock();
    EXPECT_GT(*lock->valid_until(), scene.fixture.runtime.now());
    EXPECT_EQ(scene.observer.count(Kind::acquired), 1u);
    thaw.join();
    lock->unlock();
  });
}

TEST_P(ReentrantFaults, NoServerIsUnavailable) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    scene.link.stall(true);
    const MonotonicTime start = scene.fixture.runtime.now();
    EXPECT_THROW(lock->lock(), Unavailable);  // lock() waits for holders, not for servers
    EXPECT_GE(scene.fixture.runtime.now() - start, scene.client.options().command_timeout);
    scene.link.stall(false);
  });
}

TEST_P(ReentrantFaults, WatchdogRenewsPastTheLease) {
  run({.lease = 300ms}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    lock->lock();
    const MonotonicTime granted_until = *lock->valid_until();
    lock->lock();  // re-entry changes nothing for the watchdog
    lock->unlock();
    scene.observer.wait_for(Kind::renewed, 5);
    EXPECT_GT(*lock->valid_until(), granted_until);
    EXPECT_TRUE(lock->is_held_by_me());
    EXPECT_EQ(scene.ask({"GET", "k"}).text, lock->acquisition());
    EXPECT_FALSE(lock->lost().stop_requested());
    lock->unlock();
    EXPECT_EQ(scene.observer.count(Kind::lost), 0u);
  });
}

TEST_P(ReentrantFaults, WatchdogSurvivesALostReply) {
  run({.lease = 600ms}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    lock->lock();
    scene.link.lose_reply_to(std::string(kReentrantRenew.sha1));
    scene.observer.wait_for(Kind::renew_failed);
    scene.observer.wait_for(Kind::renewed, 3);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

// One task watches one hold after the other, also those that are over before it first ran.
TEST_P(ReentrantFaults, TheWatchdogStaysForTheNextHold) {
  if (GetParam() != Where::embedded) return;  // only there task ids count the tasks
  run({.lease = 30s}, [](Scene& scene) {
    const auto tasks_so_far = [&] {
      TaskId id = 0;
      Task probe = scene.fixture.runtime.spawn("probe", [&] { id = scene.fixture.runtime.task_id(); });
      probe.join();
      return id;
    };
    const auto lock = scene.locks.obtain("k");
    const TaskId before = tasks_so_far();
    for (int round = 0; round < 100; ++round) {
      lock->lock();
      lock->unlock();
    }
    EXPECT_LT(tasks_so_far() - before, 20u);
  });
}

// One call renews every lock that is due.
TEST_P(ReentrantFaults, RenewalsAreBatched) {
  run({.lease = 900ms}, [](Scene& scene) {
    std::list<std::shared_ptr<Lock>> locks;
    scene.link.count(std::string(kReentrantRenew.sha1));
    for (int i = 0; i < 50; ++i) {
      locks.push_back(scene.locks.obtain("k" + std::to_string(i)));
      locks.back()->lock();
    }
    scene.observer.wait_for(Kind::renewed, 150);
    for (const auto& lock : locks) lock->unlock();
    EXPECT_LT(scene.link.counted(), 75);
    EXPECT_EQ(scene.observer.count(Kind::lost), 0u);
  });
}

TEST_P(ReentrantFaults, LossIsToldAtTheEndOfTheLease) {
  run({.lease = 400ms}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    lock->lock();
    std::atomic<bool> told = false;
    const std::stop_callback callback(lock->lost(), [&] { told = true; });
    scene.link.stall(true);
    scene.observer.wait_for(Kind::lost);
    const MonotonicTime at = scene.observer.last(Kind::lost);
    EXPECT_GE(at, *lock->valid_until());
    if (GetParam() == Where::embedded) {
      EXPECT_EQ(at, *lock->valid_until());
    }
    while (!told) scene.fixture.runtime.yield();
    EXPECT_TRUE(lock->lost().stop_requested());
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_THROW(lock->lock(), LockLost);  // no re-entry into a hold that is over
    scene.link.stall(false);
    EXPECT_THROW(lock->release(), LockLost);
    EXPECT_THROW(lock->release(), NotOwner);
    lock->lock();
    lock->unlock();
  });
}

TEST_P(ReentrantFaults, WithoutRenewalTheLossIsToldAsWell) {
  run({.lease = 200ms, .renew = false}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    lock->lock();
    scene.observer.wait_for(Kind::lost);
    EXPECT_GE(scene.observer.last(Kind::lost), *lock->valid_until());
    EXPECT_EQ(scene.observer.count(Kind::renewing), 0u);
    while (!lock->lost().stop_requested()) scene.fixture.runtime.yield();  // nobody had asked for it before
    EXPECT_THROW(lock->release(), LockLost);
  });
}

TEST_P(ReentrantFaults, ARecordThatVanishedIsALoss) {
  run({.lease = 300ms}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    lock->lock();
    scene.ask({"DEL", "k"});  // as a failover does, or an operator
    scene.observer.wait_for(Kind::lost);
    EXPECT_EQ(scene.ask({"EXISTS", "k"}).integer, 0);  // no renewal brought it back
    EXPECT_THROW(lock->release(), LockLost);
  });
}

TEST_P(ReentrantFaults, ARecordThatVanishedIsALossAtTheReleaseAsWell) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    lock->lock();
    const std::stop_token lost = lock->lost();
    scene.ask({"DEL", "k"});
    const auto other = scene.others.obtain("k");
    ASSERT_TRUE(other->try_lock());
    EXPECT_THROW(lock->release(), LockLost);
    while (!lost.stop_requested()) scene.fixture.runtime.yield();
    EXPECT_EQ(scene.observer.count(Kind::lost), 1u);
    EXPECT_TRUE(other->is_held_by_me());
    other->unlock();  // the successor's record was not touched
  });
}

// A lost hold keeps nobody of its own process from going on.
TEST_P(ReentrantFaults, LossFreesTheLocalTurn) {
  run({.lease = 200ms, .renew = false}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    lock->lock();
    Task other = scene.fixture.runtime.spawn("client", [&] {
      lock->lock();
      lock->unlock();
    });
    other.join();
    EXPECT_THROW(lock->release(), LockLost);
  });
}

// The task that holds the lock ends without a release: nobody renews for it.
TEST_P(ReentrantFaults, AnEndedTaskIsNotRenewedFor) {
  run({.lease = 300ms}, [](Scene& scene) {
    const auto lock = scene.locks.obtain("k");
    Task careless = scene.fixture.runtime.spawn("client", [&] { lock->lock(); });
    careless.join();
    scene.observer.wait_for(Kind::lost);
    EXPECT_EQ(scene.observer.count(Kind::renewed), 0u);
    const auto other = scene.others.obtain("k");
    other->lock();
    other->unlock();
  });
}

// A waiter that was cut off from the server while the lock was released finds out when it is connected again.
TEST_P(ReentrantFaults, NoWakeUpIsLostWithTheConnection) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto held = scene.others.obtain("k");
    held->lock();
    const auto lock = scene.locks.obtain("k");
    Task waiter = scene.fixture.runtime.spawn("client", [&] {
      lock->lock();
      lock->unlock();
    });
    scene.observer.wait_for(Kind::waiting);
    scene.fixture.runtime.sleep_for(50ms);  // the subscription is in force, most likely
    // Lose the message: everything that the server says on the subscription's connection.
    scene.link.lose_reply_to("", 1'000'000);
    scene.ask({"CLIENT", "KILL", "TYPE", "pubsub"});
    held->unlock();
    scene.link.lose_reply_to("", 0);
    waiter.join();
  });
}

}  // namespace
}  // namespace holdfast
