// How a lock in Redisson's layout gets from one process of ours to the next, and what clients of Redisson
// beside them get.
#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <string>
#include <vector>

#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/peer.h"
#include "lib/testing/scene.h"
#include "sim/historic/redisson/redisson_reentrant.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::RelayedPeer<RedissonLocks>;

constexpr const char* kQueue = "holdfast:redisson:queue:{k}";
constexpr const char* kRedisson = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";

class RedissonHandOver : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&, redis::Client&)>& body) {
    testing::with_scripts(GetParam(), {&kRedissonAcquire, &kRedissonRelease}, body);
  }
  // Only in virtual time a test can say how long something takes at most.
  static bool exact() { return GetParam() == Where::embedded; }
};

INSTANTIATE_TEST_SUITE_P(Ports, RedissonHandOver, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// A process of ours that wants "k", and gives it back when it is told to.
struct Waiter {
  explicit Waiter(Fixture& fixture)
      : process(fixture, {.lease = 60s}), granted(fixture.runtime), enough(fixture.runtime) {
    process.peer.ask({"PING"});
    lock = process.peer.locks.obtain("k");
    task = fixture.runtime.spawn("client", [this] {
      lock->lock();
      owner = lock->acquisition();
      granted.give();
      enough.wait();
      lock->unlock();
    });
    process.peer.observer.wait_for(Kind::queued, 2);  // a waiter that listens looks once more
    process.link.count(std::string(kRedissonAcquire.sha1));
  }
  void leave() {
    granted.wait();
    enough.give();
    task.join();
  }
  Peer process;
  Sign granted, enough;
  std::shared_ptr<Lock> lock;
  std::string owner;
  Task task;
};

std::vector<std::string> record(redis::Client& client) {
  std::vector<std::string> fields;
  for (const redis::Reply& field : ask(client, {"HGETALL", "k"}).items) fields.push_back(field.text);
  return fields;
}

TEST_P(RedissonHandOver, TheReleaseMakesTheFirstTheHolder) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lease = 60s});
    const auto held = a.peer.locks.obtain("k");
    held->lock();
    Waiter b(fixture), c(fixture);
    held->unlock();
    b.granted.wait();
    EXPECT_EQ(record(straight), (std::vector<std::string>{b.owner, "1"}));
    EXPECT_GE(ask(straight, {"PTTL", "k"}).integer, 60'000);  // longer than what it asked for
    EXPECT_EQ(c.granted.given(), 0);
    EXPECT_TRUE(held->force_unlock());
    c.granted.wait();
    EXPECT_EQ(record(straight), (std::vector<std::string>{c.owner, "1"}));
    c.leave();
    b.leave();
    EXPECT_EQ(b.process.link.counted() + c.process.link.counted(), 0);
    ask(straight, {"DEL", "holdfast:redisson:in-a-row:{k}"});
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(RedissonHandOver, AFreeLockRefusesNoTry) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lease = 60s});
    const auto lock = a.peer.locks.obtain("k");
    const std::string alive_until = std::to_string(testing::server_ms(straight) + 60'000);
    ask(straight, {"ZADD", kQueue, "1", "deaf:1"});
    ask(straight, {"ZADD", "holdfast:redisson:patience:{k}", alive_until, "deaf:1"});
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
    EXPECT_EQ(ask(straight, {"ZCARD", kQueue}).integer, 1);  // it keeps its place
    ask(straight, {"SET", "holdfast:redisson:in-a-row:{k}", "left", "PX", "60000"});
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
    ask(straight, {"FLUSHDB"});
  });
}

// Who waits asks again when Redisson's clients have had their turn, not when a lease is over.
TEST_P(RedissonHandOver, WhoWaitsForTheTurnOfOthersAsksAfterIt) {
  run([](Fixture&, redis::Client& straight) {
    const std::vector<std::string_view> keys{"k", kQueue, "holdfast:redisson:patience:{k}",
                                             "holdfast:redisson:in-a-row:{k}"},
        args{"a:1", "60000", "1"};
    ask(straight, {"SET", keys[3], "left", "PX", "30000"});
    const redis::Reply reply = straight.eval(kRedissonAcquire, keys, args).reply;
    ASSERT_GE(reply.items.size(), 2u);
    EXPECT_EQ(reply.items[0].integer, 0);
    EXPECT_GT(reply.items[1].integer, 0);
    EXPECT_LE(reply.items[1].integer, 30'000);
    ask(straight, {"FLUSHDB"});
  });
}

// A client of Redisson holds it: one of ours listens to its channel, and the next one when that one gives up.
TEST_P(RedissonHandOver, OneOfUsListensToRedisson) {
  run([](Fixture& fixture, redis::Client& straight) {
    constexpr std::string_view kChannel = "redisson_lock__channel:{k}";
    const auto listeners = [&] { return ask(straight, {"PUBSUB", "NUMSUB", kChannel}).items.at(1).integer; };
    ask(straight, {"HSET", "k", kRedisson, "1"});
    ask(straight, {"PEXPIRE", "k", "60000"});
    Peer a(fixture, {.lease = 60s});
    const auto lock = a.peer.locks.obtain("k");
    std::stop_source stop;
    Task impatient = fixture.runtime.spawn(
        "client", [&] { EXPECT_THROW(lock->lock_interruptibly(stop.get_token()), Interrupted); });
    a.peer.observer.wait_for(Kind::queued, 2);
    while (listeners() != 1) fixture.runtime.sleep_for(1ms);
    Waiter b(fixture), c(fixture);
    fixture.runtime.sleep_for(20ms);
    EXPECT_EQ(listeners(), 1);
    stop.request_stop();
    impatient.join();
    b.process.peer.observer.wait_for(Kind::queued,
                                     4);  // it was told to look, and once more as it listens now
    while (listeners() != 1) fixture.runtime.sleep_for(1ms);
    const MonotonicTime released = fixture.runtime.now();
    ask(straight, {"DEL", "k"});
    ask(straight, {"PUBLISH", kChannel, "0"});
    b.leave();
    c.leave();
    EXPECT_LT(fixture.runtime.now() - released, 30s);
    EXPECT_EQ(c.process.link.counted(), 0);
  });
}

// How often in a row it was ours, while somebody listens to Redisson's channel; after eight times it is left
// to who listens for a fifth of a second.
TEST_P(RedissonHandOver, ItIsCountedHowOftenInARowItWasOurs) {
  run([](Fixture& fixture, redis::Client& straight) {
    constexpr const char* kInARow = "holdfast:redisson:in-a-row:{k}";
    Peer peer(fixture, {.lease = 60s});
    const auto lock = peer.peer.locks.obtain("k");
    Sign listens(fixture.runtime);
    const auto theirs = straight.subscribe(
        "redisson_lock__channel:{k}", [](std::string_view) {}, [&] { listens.give(); });
    listens.wait();
    const auto turn = [&](const char* before, bool somebody_waits) {
      lock->lock();
      if (before != nullptr) ask(straight, {"SET", kInARow, before});
      if (somebody_waits) {
        ask(straight, {"ZADD", kQueue, "1", "other:1"});
        ask(straight, {"ZADD", "holdfast:redisson:patience:{k}",
                       std::to_string(testing::server_ms(straight) + 60'000), "other:1"});
      }
      lock->unlock();
      EXPECT_EQ(ask(straight, {"EXISTS", "k"}).integer, 0);
      const std::string now = ask(straight, {"GET", kInARow}).text;
      const std::int64_t left = ask(straight, {"PTTL", kInARow}).integer;
      EXPECT_LE(left, now == "left" || now.empty() ? 200 : 60'000);
      EXPECT_NE(left, -1);
      ask(straight, {"DEL", kQueue, "holdfast:redisson:patience:{k}", kInARow});
      return now.empty() ? "left" : now;  // a busy machine lets the fifth of a second go by
    };
    EXPECT_EQ(turn(nullptr, false), "1");
    EXPECT_EQ(turn("3", false), "4");
    EXPECT_EQ(turn("8", false), "left");
    EXPECT_EQ(turn("8", true), "left");
  });
}

// Processes of ours want it without a pause, and one client of Redisson with one: a client of Redisson that
// takes it again at once is there before everybody whom it woke.
TEST_P(RedissonHandOver, ClientsOfRedissonAreNotStarved) {
  if (!exact()) return;
  for (const int processes : {1, 2, 10}) {
    run([&](Fixture& fixture, redis::Client&) {
      std::list<Peer> peers;
      std::atomic<bool> over = false;
      std::atomic<int> inside = 0, wrong = 0, ours = 0, theirs = 0;
      const auto use = [&](Lock& lock, std::atomic<int>& turns, Duration pause) {
        while (!over) {
          lock.lock();
          if (++inside != 1) ++wrong;
          ++turns;
          fixture.runtime.sleep_for(1ms);
          --inside;
          lock.unlock();
          fixture.runtime.sleep_for(pause);
        }
      };
      {
        std::list<Task> tasks;
        for (int i = 0; i < processes; ++i) {
          Peer& peer = peers.emplace_back(fixture, LockOptions{.lease = 60s});
          tasks.push_back(
              fixture.runtime.spawn("client", [&] { use(*peer.peer.locks.obtain("k"), ours, 0ms); }));
        }
        tasks.push_back(fixture.runtime.spawn("client", [&] {
          redis::Client client(fixture.runtime, fixture.network, fixture.options());
          const auto redisson = std::make_shared<historic::Redisson>(client, LockOptions{});
          historic::RedissonReentrant lock(redisson, "k");
          use(lock, theirs, 3ms);
        }));
        fixture.runtime.sleep_for(30s);
        over = true;
      }
      EXPECT_EQ(wrong, 0);
      EXPECT_GT(theirs, 100) << processes << " of ours had " << ours;
      EXPECT_GT(ours, 100) << processes << " of ours, Redisson had " << theirs;
      if (processes > 1) {
        EXPECT_GE(theirs * 10, ours.load()) << processes;
      }
    });
  }
}

TEST_P(RedissonHandOver, CommandsAGrantAndFairnessAmongFiftyProcesses) {
  if (!exact()) return;
  run([](Fixture& fixture, redis::Client&) {
    constexpr int kProcesses = 50;
    std::list<Peer> peers;
    std::vector<int> grants(kProcesses);
    std::atomic<bool> counting = false, over = false;
    double commands = 0, sum = 0, squares = 0;
    {
      std::list<Task> tasks;
      for (std::size_t i = 0; i < kProcesses; ++i) {
        Peer& peer = peers.emplace_back(fixture, LockOptions{.lease = 60s});
        tasks.push_back(fixture.runtime.spawn("client", [&, i] {
          const auto lock = peer.peer.locks.obtain("k");
          while (!over) {
            lock->lock();
            grants[i] += counting ? 1 : 0;
            fixture.runtime.sleep_for(1ms);
            lock->unlock();
          }
        }));
      }
      fixture.runtime.sleep_for(2s);
      for (Peer& peer : peers) peer.link.count("*");
      counting = true;
      fixture.runtime.sleep_for(20s);
      counting = false;
      for (Peer& peer : peers) commands += peer.link.counted();
      over = true;
    }
    for (const int granted : grants) {
      sum += granted;
      squares += static_cast<double>(granted) * granted;
    }
    EXPECT_LE(commands / sum, 3);
    EXPECT_GE(sum * sum / (kProcesses * squares), 0.95);
    RecordProperty("commands_a_grant", std::to_string(commands / sum));
  });
}

}  // namespace
}  // namespace holdfast
