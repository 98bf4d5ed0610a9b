// What is given back together: a crowd of waiters leaves its queue in one request, and nothing that one of
// them holds, or that those behind wait for, is forgotten by that.
#include "lib/lock/store/release_batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/testing/fair_queue.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Sign;
using testing::Where;

constexpr const char* kQueue = "holdfast:fair:queue:{k}";
constexpr const char* kPermitQueue = "holdfast:semaphore:queue:{k}";
constexpr int kCrowd = 40;

std::string one_of_the_crowd(int number) {
  return "11111111-2222-4333-8444-555555555555:" + std::to_string(number);
}

// An owner, and none of the crowd.
bool is_the_next_one_s(const std::string& record) {
  return !record.empty() && record.find("11111111-") == std::string::npos;
}

class ReleaseBatch : public ::testing::TestWithParam<Where> {
 protected:
  // The servers know no script yet.
  static void run(const std::function<void(Fixture&, redis::Client&)>& body) {
    testing::with_scripts(GetParam(), {}, body);
  }
  static std::vector<std::optional<redis::Error>> give_back(Fixture& fixture, redis::Client& client,
                                                            const Wire& wire, int many = kCrowd) {
    std::vector<std::string> owners;
    for (int i = 1; i <= many; ++i) owners.push_back(one_of_the_crowd(i));
    std::vector<Store::Release> releases;
    for (const std::string& owner : owners) releases.push_back({&wire, owner});
    return release_together(client, releases, {.deadline = fixture.runtime.now() + 60s});
  }
  static void stand_in_queue(redis::Client& client, int number) {
    const std::string ticket = "0." + std::to_string(100 + number), owner = one_of_the_crowd(number);
    ask(client, {"ZADD", kQueue, ticket, owner});
    ask(client, {"ZADD", "holdfast:fair:patience:{k}", "99999999999999", owner});
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, ReleaseBatch, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// Waits for "k" in a process of its own.
struct Next {
  explicit Next(Fixture& fixture) : peer(fixture, {.lease = 60s}), enough(fixture.runtime) {
    task = fixture.runtime.spawn("client", [this] {
      lock->lock();
      enough.wait();
      lock->release();
    });
    peer.observer.wait_for(LockEvent::Kind::queued, 2);  // a waiter that listens looks once more
  }
  ~Next() { enough.give(); }
  testing::Peer<FairLocks> peer;
  Sign enough;
  const std::shared_ptr<Lock> lock = peer.locks.obtain("k");
  Task task;
};

TEST_P(ReleaseBatch, ACrowdLeavesItsQueueAndTheHolderStays) {
  run([](Fixture& fixture, redis::Client& client) {
    ask(client, {"SET", "k", "somebody:1", "PX", "60000"});
    for (int i = 1; i <= kCrowd; ++i) stand_in_queue(client, i);
    ask(client, {"ZADD", kQueue, "2", "somebody:2"});
    for (const auto& error : give_back(fixture, client, fair_wire("k", {}))) {
      EXPECT_FALSE(error) << error->what();
    }
    EXPECT_EQ(ask(client, {"ZCARD", kQueue}).integer, 1);
    EXPECT_EQ(ask(client, {"ZCARD", "holdfast:fair:patience:{k}"}).integer, 0);
    EXPECT_EQ(ask(client, {"GET", "k"}).text, "somebody:1");
  });
}

// It was handed over to one of them just before.
TEST_P(ReleaseBatch, TheOneThatHoldsGivesItToTheNext) {
  run([](Fixture& fixture, redis::Client& client) {
    ask(client, {"SET", "k", one_of_the_crowd(17), "PX", "60000"});
    Next next(fixture);
    for (int i = 1; i <= kCrowd; ++i) {
      if (i != 17) stand_in_queue(client, i);
    }
    for (const auto& error : give_back(fixture, client, fair_wire("k", {}))) {
      EXPECT_FALSE(error) << error->what();
    }
    EXPECT_EQ(ask(client, {"ZCARD", kQueue}).integer, 0);
    EXPECT_TRUE(is_the_next_one_s(ask(client, {"GET", "k"}).text));
  });
}

// The record was lost while they stood in the queue.
TEST_P(ReleaseBatch, WhereNobodyHoldsItTheNextGetsIt) {
  run([](Fixture& fixture, redis::Client& client) {
    ask(client, {"SET", "k", "somebody:1", "PX", "60000"});
    Next next(fixture);
    for (int i = 1; i <= kCrowd; ++i) stand_in_queue(client, i);
    ask(client, {"DEL", "k"});
    for (const auto& error : give_back(fixture, client, fair_wire("k", {}))) {
      EXPECT_FALSE(error) << error->what();
    }
    EXPECT_EQ(ask(client, {"ZCARD", kQueue}).integer, 0);
    EXPECT_TRUE(is_the_next_one_s(ask(client, {"GET", "k"}).text));
  });
}

TEST_P(ReleaseBatch, AnErrorIsThatOfEachOfThem) {
  run([](Fixture& fixture, redis::Client& client) {
    ask(client, {"SET", "k", "somebody:1", "PX", "60000"});
    ask(client, {"SET", kQueue, "no queue"});
    for (const auto& error : give_back(fixture, client, fair_wire("k", {}))) {
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code(), "WRONGTYPE");
    }
  });
}

TEST_P(ReleaseBatch, PermitsOfOneGoToThoseBehind) {
  run([](Fixture& fixture, redis::Client& client) {
    const Wire wire = semaphore_wire("k", 2, {});
    const auto ask_for = [&](const std::string& owner) {
      std::vector<std::string_view> command{"EVAL", kSemaphoreAcquire.text, "6"};
      command.insert(command.end(), wire.acquire_keys.begin(), wire.acquire_keys.end());
      for (const std::string_view arg :
           {std::string_view(owner), std::string_view("60000"), std::string_view("2"), std::string_view("2"),
            std::string_view("1")}) {
        command.push_back(arg);
      }
      return client.call(command).reply.items.at(0).integer;
    };
    EXPECT_EQ(ask_for(one_of_the_crowd(5)), 1);
    for (int i = 1; i <= kCrowd; ++i) {
      if (i != 5) ask_for(one_of_the_crowd(i));
    }
    testing::PeerOf<Semaphores, SemaphoreOptions> next(fixture, {.lock = {.lease = 60s}, .permits = 2});
    const auto semaphore = next.obtain();
    Sign enough(fixture.runtime);
    Task task = fixture.runtime.spawn("client", [&] {
      semaphore->acquire(2);
      enough.wait();
      semaphore->release();
    });
    next.observer.wait_for(LockEvent::Kind::queued, 2);
    for (const auto& error : give_back(fixture, client, wire)) EXPECT_FALSE(error) << error->what();
    EXPECT_EQ(ask(client, {"ZCARD", kPermitQueue}).integer, 0);
    EXPECT_EQ(ask(client, {"HLEN", "holdfast:semaphore:wants:{k}"}).integer, 0);
    EXPECT_EQ(ask(client, {"HGET", "holdfast:semaphore:taken:{k}", "used"}).text, "2");
    EXPECT_TRUE(is_the_next_one_s(ask(client, {"ZRANGE", "k", "0", "-1"}).items.at(0).text));
    enough.give();
    task.join();
  });
}

}  // namespace
}  // namespace holdfast
