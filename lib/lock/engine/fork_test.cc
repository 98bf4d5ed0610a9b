// Real forks: a child that uses what its parent made is refused, a child with a client of its own works, and
// the parent notices nothing.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "lib/lock/engine/uuid.h"
#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/net/socket_network.h"
#include "lib/runtime/process_identity.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;

// Runs `body` in a child; what it returned. The child ends without destructors but those in `body`.
std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string said;
    try {
      said = body();
    } catch (const std::exception& error) {
      said = std::string("threw: ") + error.what();
    }
    const ssize_t written = write(ends[1], said.data(), said.size());
    _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char part[4096];
  for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  return said;
}

template <class Body>
std::string thrown(Body body) {
  try {
    body();
  } catch (const Forked& error) {
    return std::string(error.what()).find("of your own in the child") == std::string::npos
               ? "Forked without advice, "
               : "Forked, ";
  } catch (const redis::Error& error) {
    return error.kind() == redis::Error::Kind::forked ? "forked, " : "another, ";
  } catch (const std::exception& error) {
    return std::string("another: ") + error.what() + ", ";
  }
  return "nothing, ";
}

std::string in_words(bool yes) { return yes ? "yes, " : "no, "; }

struct Parent {
  explicit Parent(Fixture& fixture) : peer(std::in_place, fixture, LockOptions{.lease = 60s}) {}
  std::optional<testing::Peer<ReentrantLocks>> peer;
};

TEST(Fork, AChildCannotUseWhatItsParentMade) {
  testing::with_fixture(Where::threads, [](Fixture& fixture) {
    Parent parent(fixture);
    auto& locks = parent.peer->locks;
    auto held = locks.obtain("held"), other = locks.obtain("other");
    held->lock();
    PermitSemaphore permits(parent.peer->client, "permits", {.permits = 1});
    CountDownLatch latch(parent.peer->client, "latch");
    const std::string said = in_child([&] {
      std::string all;
      all += thrown([&] { static_cast<void>(other->try_lock()); });
      all += thrown([&] { static_cast<void>(other->try_lock_for(1h)); });
      all += thrown([&] { other->lock(); });
      all += thrown([&] { held->lock(); });  // not even a re-entry
      all += thrown([&] { held->release(); });
      all += thrown([&] { held->force_unlock(); });
      all += thrown([&] { static_cast<void>(locks.obtain("new")); });
      all += thrown([&] { ReentrantLocks(parent.peer->client, {}).obtain("new")->lock(); });
      all += thrown([&] { static_cast<void>(permits.try_acquire()); });
      all += thrown([&] { latch.set(1); });
      all += thrown([&] { parent.peer->client.call({"PING"}); });
      held->unlock();  // as after a loss: silent
      all += in_words(held->is_held_by_me());
      return all;
    });
    std::string expected;
    for (int i = 0; i < 10; ++i) expected += "Forked, ";
    EXPECT_EQ(said, expected + "forked, no, ");
    EXPECT_TRUE(held->is_held_by_me());
    held->release();
  });
}

// Its destructors neither wait for threads that are the parent's, nor speak on its connections.
TEST(Fork, AChildDestroysWhatItsParentMade) {
  testing::with_fixture(Where::threads, [](Fixture& fixture) {
    Parent parent(fixture);
    testing::Peer<ReentrantLocks> waiting(fixture, {.lease = 60s});
    auto held = parent.peer->locks.obtain("held");
    held->lock();
    // A watchdog, and a subscription that listens.
    auto wanted = waiting.locks.obtain("held");
    Task waiter = fixture.runtime.spawn("client", [&] {
      wanted->lock();
      wanted->unlock();
    });
    waiting.observer.wait_for(LockEvent::Kind::waiting);
    EXPECT_EQ(in_child([&] {
                held.reset();
                parent.peer.reset();
                return std::string("gone");
              }),
              "gone");
    EXPECT_TRUE(held->is_held_by_me());
    EXPECT_EQ(parent.peer->ask({"PING"}).text, "PONG");
    EXPECT_EQ(parent.peer->ask({"EXISTS", "held"}).integer, 1);
    held->release();
    waiter.join();
    EXPECT_EQ(waiting.observer.count(LockEvent::Kind::lost), 0u);
  });
}

// An observer that takes its time over what the watchdog tells it.
class SlowObserver final : public LockObserver {
 public:
  explicit SlowObserver(Runtime& runtime) : hears(runtime), may_go(runtime) {}
  void on_event(const LockEvent& event) noexcept override {
    if (event.kind != LockEvent::Kind::renewing && event.kind != LockEvent::Kind::lost) return;
    hears.give();
    may_go.wait();
  }
  testing::Sign hears, may_go;
};

// The thread that tells the observer is the parent's: nobody waits for it in the child.
TEST(Fork, AChildDestroysWhatItsParentMadeWhileItsObserverIsTold) {
  testing::with_fixture(Where::threads, [](Fixture& fixture) {
    SlowObserver observer(fixture.runtime);
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    auto locks = std::make_unique<ReentrantLocks>(client, LockOptions{.lease = 1s, .observer = &observer});
    auto held = locks->obtain("held");
    held->lock();
    observer.hears.wait();
    EXPECT_EQ(in_child([&] {
                held.reset();
                locks.reset();
                return std::string("gone");
              }),
              "gone");
    observer.may_go.give(1'000'000);
    held->unlock();
  });
}

// Children with clients of their own are clients like any others: one of them is granted the lock.
TEST(Fork, ChildrenWithClientsOfTheirOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a child that starts threads";
#endif
  testing::with_fixture(Where::threads, [](Fixture& fixture) {
    Parent parent(fixture);
    const auto mine = parent.peer->locks.obtain("mine");
    mine->lock();
    std::set<std::string> owners{mine->acquisition()}, uuids;
    for (int i = 0; i < 8; ++i)
      static_cast<void>(fixture.runtime.random());  // the pool is filled, and in part used
    int granted = 0;
    for (int child = 0; child < 3; ++child) {
      const std::string said = in_child([&] {
        ThreadRuntime runtime;
        SocketNetwork network(runtime);
        redis::Client client(runtime, network, fixture.options());
        ReentrantLocks locks(client, {.lease = 60s, .renew = false});
        const auto theirs = locks.obtain("mine"), common = locks.obtain("common"), own = locks.obtain("own");
        if (theirs->try_lock()) return std::string("the parent's lock");
        own->lock();
        const std::string owner = own->acquisition();
        own->release();
        if (common->try_lock()) {
          // The children that come after this one meet the record: it stays.
          client.call({"SET", "granted", owner});
          static_cast<void>(new std::shared_ptr<Lock>(common));
          return owner + ' ' + std::to_string(runtime.random()) + " granted";
        }
        return owner + ' ' + std::to_string(runtime.random());
      });
      granted += said.ends_with("granted") ? 1 : 0;
      EXPECT_TRUE(owners.insert(said.substr(0, said.find(':'))).second) << said;
      EXPECT_TRUE(uuids.insert(said.substr(said.find(' '), 12)).second) << said;
    }
    EXPECT_EQ(granted, 1);
    mine->release();
  });
}

TEST(Fork, NoRandomNumberIsDrawnTwice) {
  ThreadRuntime runtime;
  static_cast<void>(runtime.random());
  const auto draw = [&] { return std::to_string(runtime.random()); };
  const std::string one = in_child(draw), two = in_child(draw), here = draw();
  EXPECT_NE(one, two);
  EXPECT_NE(one, here);
  EXPECT_NE(two, here);
  const auto make = [&] { return random_uuid(runtime); };
  EXPECT_EQ((std::set<std::string>{in_child(make), in_child(make), make()}).size(), 3u);
  const std::uint64_t before = forks_so_far();
  EXPECT_EQ(in_child([] { return std::to_string(forks_so_far()); }), std::to_string(before + 1));
  EXPECT_EQ(forks_so_far(), before);
}

}  // namespace
}  // namespace holdfast
