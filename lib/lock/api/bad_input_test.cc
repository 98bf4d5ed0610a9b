// What a caller gets wrong: a typed error that says what to do, at once, and nothing is held.
//
// "At once" is shown without a clock: where a server is asked, the command timeout is an hour.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "lib/lock/engine/checked_options.h"
#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/testing/fake_server.h"
#include "lib/testing/fixture.h"
#include "lib/testing/kinds.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using testing::Fixture;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::Where;

class BadInput : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, BadInput, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// The name of the type that `body` throws, and its text.
std::string thrown_by(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::invalid_argument& error) {
    return std::string("invalid_argument: ") + error.what();
  } catch (const Rejected& error) {
    return std::string("Rejected: ") + error.what();
  } catch (const Unavailable& error) {
    return std::string("Unavailable: ") + error.what();
  } catch (const Unsupported& error) {
    return std::string("Unsupported: ") + error.what();
  }
  return "nothing";
}

redis::ClientOptions patient(redis::ClientOptions options) {
  options.command_timeout = 1h;
  options.connect_timeout = 60s;
  return options;
}

std::string locking(Fixture& fixture, const redis::ClientOptions& options) {
  redis::Client client(fixture.runtime, fixture.network, options);
  ReentrantLocks locks(client, {.lease = 10s});
  const auto lock = locks.obtain("k");
  const std::string what = thrown_by([&] { lock->lock(); });
  const std::string type = what.substr(0, what.find(':'));
  EXPECT_THAT(thrown_by([&] { static_cast<void>(lock->try_lock()); }), StartsWith(type));
  EXPECT_THAT(thrown_by([&] { static_cast<void>(lock->try_lock_for(10min)); }), StartsWith(type));
  EXPECT_FALSE(lock->is_held_by_me());
  EXPECT_EQ(lock->hold_count(), 0);
  return what;
}

TEST_P(BadInput, ArgumentsWithoutSense) {
  run([](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, patient(fixture.options()));
    for (const Duration lease : {Duration(0), Duration(-1s), Duration(9ms), Duration(10ms + 1us)}) {
      EXPECT_THAT(thrown_by([&] { ReentrantLocks(client, {.lease = lease}); }),
                  HasSubstr("invalid_argument: a lease must be at least 10 ms"));
    }
    ReentrantLocks locks(client, {.lease = 10s});
    EXPECT_THAT(thrown_by([&] { static_cast<void>(locks.obtain("")); }),
                HasSubstr("invalid_argument: a lock needs a key"));
    const auto lock = locks.obtain("k");
    EXPECT_THAT(thrown_by([&] { static_cast<void>(lock->try_lock_for(-1ns)); }),
                HasSubstr("invalid_argument: a wait cannot be below zero"));
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_EQ(client.call({"EXISTS", "k"}).reply.integer, 0);
    EXPECT_TRUE(lock->try_lock_for(0s)) << "no wait is a wait";
    lock->unlock();

    ReadWriteLocks both(client, {});
    EXPECT_THROW(static_cast<void>(both.obtain("k")->try_lock_shared_for(-1ns)), std::invalid_argument);
    Semaphores semaphores(client, {.permits = 2});
    EXPECT_THROW(static_cast<void>(semaphores.obtain("k")->try_acquire_for(-1ns)), std::invalid_argument);
    PermitSemaphore permits(client, "k", {.permits = 2});
    EXPECT_THROW(static_cast<void>(permits.try_acquire_for(-1ns)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(CountDownLatch(client, "k").await_for(-1ns)), std::invalid_argument);
    EXPECT_EQ(client.call({"EXISTS", "k"}).reply.integer, 0);
  });
}

// By lock(), a try and a timed one, of every kind; what is there stays as it was.
TEST_P(BadInput, AKeyOfAnotherType) {
  run([](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, patient(fixture.options()));
    ReadWriteLocks both(client, {.lock = {.lease = 10s}});
    Semaphores semaphores(client, {.lock = {.lease = 10s}, .permits = 2});
    std::vector<std::shared_ptr<Locks>> kinds;
    for (const testing::ExclusiveKind kind : testing::every_kind()) {
      kinds.push_back(testing::make_locks(kind, client, {.lease = 10s}));
    }
    for (const bool list : {true, false}) {
      client.call({"DEL", "k"});
      list ? client.call({"LPUSH", "k", "text"}) : client.call({"SET", "k", "text"});
      const auto refused = [&](const std::string& kind, const std::function<void()>& body) {
        const std::string what = thrown_by(body);
        EXPECT_THAT(what, AllOf(HasSubstr("Rejected: "), HasSubstr("'k'"))) << kind;
        EXPECT_THAT(what, HasSubstr("something else is kept at this key: use another one, or remove that"));
      };
      const auto refused_each_way = [&](const std::string& kind, const std::shared_ptr<Lock>& lock) {
        refused(kind, [&] { lock->lock(); });
        refused(kind, [&] { static_cast<void>(lock->try_lock()); });
        refused(kind, [&] { static_cast<void>(lock->try_lock_for(10min)); });
        refused(kind, [&] { static_cast<void>(lock->try_lock_until(MonotonicTime::min())); });
        EXPECT_FALSE(lock->is_held_by_me()) << kind;
        EXPECT_EQ(lock->hold_count(), 0) << kind;
        EXPECT_FALSE(lock->in_use()) << kind;
      };
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        refused_each_way(testing::to_string(testing::every_kind()[i]), kinds[i]->obtain("k"));
      }
      const auto table = both.obtain("k");
      refused_each_way("read", std::shared_ptr<Lock>(table, &table->read()));
      refused_each_way("semaphore", semaphores.obtain("k"));
      const auto member = kinds.front()->obtain("k"), other = kinds.front()->obtain("another");
      refused_each_way("multi",
                       std::make_shared<MultiLock>(std::vector<std::shared_ptr<Lock>>{member, other}));
      EXPECT_FALSE(other->is_held_by_me());
      PermitSemaphore permits(client, "k", {.permits = 2});
      refused("permits", [&] { static_cast<void>(permits.acquire()); });
      refused("permits", [&] { static_cast<void>(permits.try_acquire()); });
      CountDownLatch latch(client, "k");
      refused("latch", [&] { latch.set(2); });
      refused("latch", [&] { latch.count_down(); });
      refused("latch", [&] { static_cast<void>(latch.await_for(10min)); });
      const redis::Reply there =
          list ? client.call({"LINDEX", "k", "0"}).reply : client.call({"GET", "k"}).reply;
      EXPECT_EQ(there.text, "text");
      client.call({"DEL", "another"});
      EXPECT_EQ(client.call({"DBSIZE"}).reply.integer, 1) << "and nothing beside it";
    }
  });
}

// What is refused because somebody holds it is still just refused; the script's word is the price of that,
// and of nothing else.
TEST_P(BadInput, ALockThatIsHeldIsNoError) {
  run([](Fixture& fixture) {
    testing::RelayedPeer<ReentrantLocks> mine(fixture, {.lease = 10s}), theirs(fixture, {.lease = 10s});
    for (const redis::Script* script : {&kReentrantAcquire, &kReentrantRelease}) {
      mine.peer.ask({"SCRIPT", "LOAD", script->text});
    }
    const auto held = theirs.peer.locks.obtain("k"), wanted = mine.peer.locks.obtain("k");
    held->lock();
    mine.link.count("*");
    EXPECT_FALSE(wanted->try_lock());
    EXPECT_EQ(mine.link.counted(), 2);
    held->unlock();
    mine.link.count("*");
    EXPECT_TRUE(wanted->try_lock());
    wanted->unlock();
    EXPECT_EQ(mine.link.counted(), 2);
  });
}

TEST_P(BadInput, AWrongServer) {
  run([](Fixture& fixture) {
    const std::string http = "HTTP/1.1 400 Bad Request\r\n\r\n", old = redis::testing::greeting("6.0.9"),
                      locked = "-NOAUTH Authentication required.\r\n";
    std::atomic<const std::string*> answer = &http;
    redis::testing::FakeServer server(
        fixture.runtime, fixture.network,
        [&](redis::testing::Peer& peer, const redis::testing::Command&) { peer.send(*answer); },
        {"127.0.0.1", 0}, redis::testing::FakeServer::Greets::no);
    const auto options = patient(fixture.options(server.endpoint()));
    EXPECT_THAT(locking(fixture, options), HasSubstr("is this a Redis server?; it speaks HTTP"));
    EXPECT_THAT(locking(fixture, options), HasSubstr("Rejected: lock 'k'"));
    answer = &old;
    EXPECT_THAT(locking(fixture, options), HasSubstr("Unsupported: lock 'k'"));
    EXPECT_THAT(locking(fixture, options), HasSubstr("Redis 6.2 or newer is needed"));
    answer = &locked;
    EXPECT_THAT(locking(fixture, options), HasSubstr("asks for a password"));
    server.stop();
    EXPECT_THAT(locking(fixture, options), HasSubstr("Unavailable: lock 'k'"));
    EXPECT_THAT(locking(fixture, options), HasSubstr("connection refused"));
    EXPECT_THAT(locking(fixture, options), HasSubstr("check that the servers run"));
  });
}

TEST_P(BadInput, AReplica) {
  run([](Fixture& fixture) {
    redis::testing::FakeServer replica(
        fixture.runtime, fixture.network,
        [](redis::testing::Peer& peer, const redis::testing::Command& command) {
          peer.send(command[0] == "EVALSHA" || command[0] == "SET"
                        ? "-READONLY You can't write against a read only replica.\r\n"
                        : "+OK\r\n");
        });
    const std::string what = locking(fixture, patient(fixture.options(replica.endpoint())));
    EXPECT_THAT(what, HasSubstr("Rejected: lock 'k'"));
    EXPECT_THAT(what, HasSubstr("the node is a replica: list all nodes of the set"));
  });
}

TEST(CheckedOptions, OneOfEachThatIsRefused) {
  EXPECT_EQ(checked_lease(10ms), 10ms);
  EXPECT_EQ(checked_key("k"), "k");
  EXPECT_EQ(checked_permits(1), 1);
  EXPECT_EQ(checked_wait(0s), 0s);
  EXPECT_THROW(checked_lease(0s), std::invalid_argument);
  EXPECT_THROW(checked_key(""), std::invalid_argument);
  EXPECT_THROW(checked_key(std::string(65537, 'k')), std::invalid_argument);
  EXPECT_THROW(checked_permits(0), std::invalid_argument);
  EXPECT_THROW(checked_wait(-1ns), std::invalid_argument);
  EXPECT_THROW(checked_options({.replicas = -1}), std::invalid_argument);
  EXPECT_THROW(checked_options({.replicas = 1, .replica_timeout = 0s}), std::invalid_argument);
  EXPECT_THROW(checked_options({.max_renewals = -1}), std::invalid_argument);
}

}  // namespace
}  // namespace holdfast
