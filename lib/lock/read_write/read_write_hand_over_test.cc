// How a read-write lock gets from who gives it back to those who wait in other processes: the release makes
// the next writer the holder, or all readers before the next writer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/read_write/read_write_scripts.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::PeerOf<ReadWriteLocks, ReadWriteOptions>;

constexpr std::string_view kReaders = "holdfast:rw:readers:{k}", kQueue = "holdfast:rw:line:{k}",
                           kWriters = "holdfast:rw:line-writers:{k}",
                           kPatience = "holdfast:rw:line-patience:{k}";

class ReadWriteHandOver : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&, redis::Client&)>& body) {
    testing::with_scripts(GetParam(), {&kReadWriteAcquire, &kReadWriteRelease}, body);
  }
  // Only in virtual time a test can say how long something takes at most.
  static bool exact() { return GetParam() == Where::embedded; }
};

INSTANTIATE_TEST_SUITE_P(Ports, ReadWriteHandOver, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

ReadWriteOptions of(bool fair, bool fencing = false) {
  return {.lock = {.lease = 60s, .fencing = fencing}, .fair = fair};
}

enum class Wants { read, write };

// A process that wants one side of "k", and gives it back when it is told to.
struct Waiter {
  Waiter(Fixture& fixture, Wants wants, const ReadWriteOptions& options)
      : peer(fixture, options), granted(fixture.runtime), enough(fixture.runtime), lock(peer.obtain()) {
    task = fixture.runtime.spawn("client", [this, wants] {
      Lock& side = wants == Wants::write ? static_cast<Lock&>(*lock) : lock->read();
      side.lock();
      token = side.token().value_or(0);
      owner = side.acquisition();
      granted.give();
      enough.wait();
      side.unlock();
    });
    peer.observer.wait_for(Kind::queued, 2);  // a waiter that listens looks once more
    peer.link.count(std::string(kReadWriteAcquire.sha1));
  }
  bool is_in() { return granted.given() > 0; }
  void leave() {
    granted.wait();
    enough.give();
    task.join();
  }
  Peer peer;
  Sign granted, enough;
  std::shared_ptr<ReadWriteLock> lock;
  std::uint64_t token = 0;
  std::string owner;
  Task task;
};

std::string holder(redis::Client& client) { return ask(client, {"GET", "k"}).text; }

std::set<std::string> readers(redis::Client& client) {
  std::set<std::string> all;
  for (const redis::Reply& reader : ask(client, {"ZRANGE", kReaders, "0", "-1"}).items) {
    all.insert(reader.text);
  }
  return all;
}

// W0 holds; R1 R2 W1 R3 W2 come in this order. Nobody asks again, whether they insist on their turn or not.
TEST_P(ReadWriteHandOver, ReadersInBatchesAndWritersAlone) {
  run([](Fixture& fixture, redis::Client& straight) {
    for (const bool fair : {false, true}) {
      Peer a(fixture, of(fair, true));
      const auto held = a.obtain();
      held->lock();
      const std::uint64_t before = held->token().value();
      Waiter r1(fixture, Wants::read, of(fair, true)), r2(fixture, Wants::read, of(fair, true)),
          w1(fixture, Wants::write, of(fair, true)), r3(fixture, Wants::read, of(fair, true)),
          w2(fixture, Wants::write, of(fair, true));
      held->unlock();
      r1.granted.wait();
      r2.granted.wait();
      EXPECT_EQ(readers(straight), (std::set{r1.owner, r2.owner}));
      EXPECT_EQ(holder(straight), "readers");
      EXPECT_GE(ask(straight, {"PTTL", "k"}).integer, 60'000);  // longer than what they asked for
      EXPECT_GT(r1.token, before);
      EXPECT_GT(r2.token, r1.token);
      r1.leave();
      EXPECT_FALSE(w1.is_in());
      r2.leave();
      w1.granted.wait();
      EXPECT_EQ(holder(straight), w1.owner + " write");
      EXPECT_EQ(ask(straight, {"EXISTS", kReaders}).integer, 0);
      EXPECT_GT(w1.token, r2.token);
      EXPECT_FALSE(r3.is_in());
      w1.leave();
      r3.leave();
      w2.leave();
      EXPECT_GT(w2.token, r3.token);
      for (Waiter* waiter : {&r1, &r2, &w1, &r3, &w2}) EXPECT_EQ(waiter->peer.link.counted(), 0);
      EXPECT_EQ(ask(straight, {"KEYS", "*"}).items.size(), 1u);  // the last token
      ask(straight, {"FLUSHDB"});
    }
  });
}

TEST_P(ReadWriteHandOver, ADowngradeLetsInTheReadersAtTheHead) {
  run([](Fixture& fixture, redis::Client& straight) {
    for (const bool fair : {false, true}) {
      Peer a(fixture, of(fair));
      const auto held = a.obtain();
      held->lock();
      const std::string owner = held->acquisition();
      Waiter r1(fixture, Wants::read, of(fair)), r2(fixture, Wants::read, of(fair)),
          w1(fixture, Wants::write, of(fair)), r3(fixture, Wants::read, of(fair));
      held->downgrade();
      r1.granted.wait();
      r2.granted.wait();
      EXPECT_EQ(readers(straight), (std::set{owner, r1.owner, r2.owner}));
      EXPECT_EQ(holder(straight), "readers");
      EXPECT_FALSE(w1.is_in());
      EXPECT_FALSE(r3.is_in());
      r1.leave();
      held->unlock_shared();
      r2.leave();
      w1.leave();
      r3.leave();
      for (Waiter* waiter : {&r1, &r2, &w1, &r3}) EXPECT_EQ(waiter->peer.link.counted(), 0);
      EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
    }
  });
}

TEST_P(ReadWriteHandOver, AForcedReleaseHandsOver) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(false)), b(fixture, of(false));
    const auto one = a.obtain(), two = b.obtain();
    one->lock_shared();
    two->lock_shared();
    Waiter writer(fixture, Wants::write, of(false)), reader(fixture, Wants::read, of(false));
    EXPECT_TRUE(two->force_unlock());
    writer.granted.wait();
    EXPECT_EQ(holder(straight), writer.owner + " write");
    EXPECT_TRUE(two->force_unlock());
    reader.granted.wait();
    EXPECT_EQ(holder(straight), "readers");
    EXPECT_EQ(writer.peer.link.counted() + reader.peer.link.counted(), 0);
    EXPECT_THROW(one->release_shared(), LockLost);
    reader.leave();
    writer.leave();
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
  });
}

// The writer that the readers wait behind gives up: they go in beside those who are in.
TEST_P(ReadWriteHandOver, AWriterThatGivesUpLetsTheReadersIn) {
  run([](Fixture& fixture, redis::Client&) {
    for (const bool fair : {false, true}) {
      Peer a(fixture, of(fair)), b(fixture, of(fair));
      const auto one = a.obtain(), two = b.obtain();
      one->lock_shared();
      std::stop_source stop;
      Task writer = fixture.runtime.spawn("client", [&] {
        EXPECT_THROW(static_cast<void>(two->try_lock_until(kNever, stop.get_token())), Interrupted);
      });
      b.observer.wait_for(Kind::queued, 2);
      Waiter r1(fixture, Wants::read, of(fair)), r2(fixture, Wants::read, of(fair));
      EXPECT_FALSE(r1.is_in());
      stop.request_stop();
      writer.join();
      r1.leave();
      r2.leave();
      EXPECT_EQ(r1.peer.link.counted() + r2.peer.link.counted(), 0);
      one->unlock_shared();
    }
  });
}

// Somebody else keeps something at the key: who gives up leaves the queue, and nobody is let in.
TEST_P(ReadWriteHandOver, WhoGivesUpLeavesAloneWhatIsNoLock) {
  run([](Fixture& fixture, redis::Client& straight) {
    const std::string process = "11111111-2222-4333-8444-555555555555", other = process + ":8";
    Sign listens(fixture.runtime);
    const auto subscription = straight.subscribe(
        "holdfast:wake:" + process, [](std::string_view) {}, [&] { listens.give(); });
    listens.wait();
    ask(straight, {"RPUSH", "k", "not yours"});
    const std::string until = std::to_string(testing::server_ms(straight) + 60'000);
    for (const std::string& who : {process + ":7", other}) {
      ask(straight, {"ZADD", kQueue, who == other ? "2" : "1", who});
      ask(straight, {"ZADD", kPatience, until, who});
    }
    const std::string gives_up = process + ":7";
    const std::array<std::string_view, 6> keys{"k",      kReaders,  kQueue,
                                               kWriters, kPatience, "holdfast:rw:channel:{k}"};
    const std::array<std::string_view, 1> args{gives_up};
    EXPECT_THROW(straight.eval(kReadWriteRelease, keys, args), redis::Error);
    EXPECT_EQ(ask(straight, {"LRANGE", "k", "0", "-1"}).items.size(), 1u);
    const redis::Reply queue = ask(straight, {"ZRANGE", kQueue, "0", "-1"});
    ASSERT_EQ(queue.items.size(), 1u);
    EXPECT_EQ(queue.items[0].text, other);
    EXPECT_EQ(ask(straight, {"EXISTS", kReaders}).integer, 0);
  });
}

// Not fair: who tries is not refused what is free for it, whoever waits; who is ready to wait lets a writer
// go first that waits already.
TEST_P(ReadWriteHandOver, ATryIsNotRefusedWhatIsFree) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(false)), b(fixture, of(false));
    const auto one = a.obtain(), two = b.obtain();
    one->lock_shared();
    Waiter writer(fixture, Wants::write, of(false));
    EXPECT_TRUE(two->try_lock_shared());
    two->unlock_shared();
    Waiter reader(fixture, Wants::read, of(false));
    EXPECT_FALSE(reader.is_in());
    one->unlock_shared();
    writer.granted.wait();
    EXPECT_FALSE(reader.is_in());
    EXPECT_FALSE(two->try_lock_shared());
    writer.leave();
    reader.granted.wait();
    EXPECT_TRUE(two->try_lock_shared());
    two->unlock_shared();
    reader.leave();
  });
}

// Readers that come and go without a gap: a writer gets in nevertheless, after those who came before it.
TEST_P(ReadWriteHandOver, ReadersDoNotStarveAWriter) {
  run([](Fixture& fixture, redis::Client&) {
    constexpr int kReaders = 4, kRounds = 2000;
    std::list<Peer> peers;
    std::atomic<bool> written = false;
    std::atomic<int> most = 0;
    Sign reading(fixture.runtime);
    {
      std::list<Task> tasks;
      for (int i = 1; i <= kReaders; ++i) {
        Peer& peer = peers.emplace_back(fixture, of(false));
        tasks.push_back(fixture.runtime.spawn("client", [&] {
          const auto lock = peer.obtain();
          int rounds = 0;
          for (; !written && rounds < kRounds; ++rounds) {
            lock->lock_shared();
            reading.give();
            fixture.runtime.sleep_for(4ms);  // the others come in meanwhile
            lock->unlock_shared();
          }
          most = std::max(most.load(), rounds);
        }));
        reading.wait(i);
        fixture.runtime.sleep_for(1ms);
      }
      Peer w(fixture, of(false));
      const auto writer = w.obtain();
      writer->lock();
      written = true;
      writer->unlock();
    }
    EXPECT_LT(most, kRounds);
  });
}

// Places in the queue for the script of a release.
struct Place {
  std::string owner, ticket;
  Wants wants;
};
void queue_up(redis::Client& client, const std::vector<Place>& places) {
  const std::string alive_until = std::to_string(testing::server_ms(client) + 60'000);
  for (const Place& place : places) {
    ask(client, {"ZADD", kQueue, place.ticket, place.owner});
    if (place.wants == Wants::write) ask(client, {"ZADD", kWriters, place.ticket, place.owner});
    ask(client, {"ZADD", kPatience, alive_until, place.owner});
  }
  for (const std::string_view name : {kQueue, kWriters, kPatience}) ask(client, {"PEXPIRE", name, "60000"});
}

struct Ear {
  Ear(Fixture& fixture, redis::Client& client, const std::string& process)
      : sign(fixture.runtime), subscribed(fixture.runtime) {
    subscription = client.subscribe(
        "holdfast:wake:" + process,
        [this](std::string_view message) {
          last = message;
          sign.give();
        },
        [this] { subscribed.give(); });
    subscribed.wait();
  }
  Sign sign, subscribed;
  std::string last;
  std::unique_ptr<redis::Subscription> subscription;
};

std::vector<std::string> release(redis::Client& client, std::string_view owner) {
  const std::vector<std::string_view> keys{"k",      kReaders,  kQueue,
                                           kWriters, kPatience, "holdfast:rw:channel:{k}"},
      args{owner};
  const redis::Reply reply = client.eval(kReadWriteRelease, keys, args).reply;
  if (reply.items.empty()) return {std::to_string(reply.integer)};
  std::vector<std::string> said{std::to_string(reply.items[0].integer)};
  for (std::size_t i = 1; i < reply.items.size(); ++i) said.push_back(reply.items[i].text);
  return said;
}

// Who does not listen is passed over and keeps its place, unless it insists on its turn.
TEST_P(ReadWriteHandOver, WhoDoesNotListen) {
  run([](Fixture& fixture, redis::Client& straight) {
    Ear b(fixture, straight, "b"), c(fixture, straight, "c"), d(fixture, straight, "d");
    const auto taken = [&] {
      ask(straight, {"DEL", "k", kReaders, kQueue, kWriters, kPatience});
      ask(straight, {"SET", "k", "x:1 write", "PX", "60000"});
    };
    using Said = std::vector<std::string>;
    const Place deaf_writer{"deaf:1", "1.5", Wants::write}, deaf_reader{"deaf:1", "1.5", Wants::read};
    const Place deaf_fair_writer{"deaf:1", "1", Wants::write}, deaf_fair_reader{"deaf:1", "1", Wants::read};

    taken();
    queue_up(straight, {deaf_writer,
                        {"b:1", "2.5", Wants::read},
                        {"c:1", "3.5", Wants::read},
                        {"d:1", "4.5", Wants::write}});
    EXPECT_EQ(release(straight, "x:1"), (Said{"1", "b:1", "read", "c:1", "read"}));
    EXPECT_EQ(ask(straight, {"ZSCORE", kQueue, "deaf:1"}).text, "1.5");
    EXPECT_EQ(ask(straight, {"ZCARD", kQueue}).integer, 2);
    EXPECT_EQ(ask(straight, {"ZCARD", kWriters}).integer, 2);
    EXPECT_EQ(release(straight, "b:1"), (Said{"1"}));
    EXPECT_EQ(release(straight, "c:1"), (Said{"1", "d:1", "write"}));
    EXPECT_EQ(holder(straight), "d:1 write");
    Ear deaf(fixture, straight, "deaf");
    EXPECT_EQ(release(straight, "d:1"), (Said{"1", "deaf:1", "write"}));
    deaf.subscription.reset();
    while (ask(straight, {"PUBSUB", "NUMSUB", "holdfast:wake:deaf"}).items.at(1).integer != 0) {
      fixture.runtime.sleep_for(1ms);
    }

    taken();  // a reader: readers go in without it, and a writer too
    queue_up(straight, {deaf_reader, {"b:1", "2.5", Wants::read}, {"d:1", "4.5", Wants::write}});
    EXPECT_EQ(release(straight, "x:1"), (Said{"1", "b:1", "read"}));
    EXPECT_EQ(release(straight, "b:1"), (Said{"1", "d:1", "write"}));

    taken();  // one that insists: readers pass a reader only
    queue_up(straight, {deaf_fair_reader, {"b:1", "2", Wants::read}, {"d:1", "4", Wants::write}});
    EXPECT_EQ(release(straight, "x:1"), (Said{"1", "b:1", "read"}));
    EXPECT_EQ(release(straight, "b:1"), (Said{"1"}));
    d.sign.wait(3);  // it has to ask when that one is known to be dead
    EXPECT_GT(std::stoll(d.last.substr(4)), 30'000);
    EXPECT_EQ(ask(straight, {"EXISTS", "k"}).integer, 0);

    taken();  // and nobody passes a writer
    queue_up(straight, {deaf_fair_writer, {"c:1", "2", Wants::read}});
    EXPECT_EQ(release(straight, "x:1"), (Said{"1"}));
    c.sign.wait(2);
    EXPECT_GT(std::stoll(c.last.substr(4)), 30'000);
    EXPECT_EQ(ask(straight, {"ZCARD", kQueue}).integer, 2);
    ask(straight, {"FLUSHDB"});
  });
}

// A lease of a minute after the last request: the owner is told of the lock when it is at its last third.
TEST_P(ReadWriteHandOver, AHandedOverLeaseIsRenewed) {
  run([](Fixture& fixture, redis::Client&) {
    for (const Wants wants : {Wants::read, Wants::write}) {
      Peer a(fixture, of(false));
      const auto held = a.obtain();
      held->lock();
      Waiter waiter(fixture, wants, {.lock = {.lease = 900ms}});
      held->unlock();
      waiter.peer.observer.wait_for(Kind::renewed, 5);
      EXPECT_EQ(waiter.peer.observer.count(Kind::lost), 0u);
      waiter.leave();
    }
  });
}

struct Tally {
  double commands_a_grant, jain;
};

// Fifty processes that want one key again and again, `readers` percent of the times to read it.
Tally tally(Fixture& fixture, bool fair, int readers) {
  constexpr int kProcesses = 50;
  std::list<Peer> peers;
  std::vector<int> grants(kProcesses);
  std::atomic<bool> counting = false, over = false;
  double commands = 0;
  {
    std::list<Task> tasks;
    for (std::size_t i = 0; i < kProcesses; ++i) {
      Peer& peer = peers.emplace_back(fixture, of(fair));
      tasks.push_back(fixture.runtime.spawn("client", [&, i] {
        const auto lock = peer.obtain();
        for (int round = 0; !over; ++round) {
          const bool reads = (static_cast<int>(i) * 37 + round * 61) % 100 < readers;
          Lock& side = reads ? lock->read() : static_cast<Lock&>(*lock);
          side.lock();
          grants[i] += counting ? 1 : 0;
          fixture.runtime.sleep_for(1ms);
          side.unlock();
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
  double sum = 0, squares = 0;
  for (const int granted : grants) {
    sum += granted;
    squares += static_cast<double>(granted) * granted;
  }
  return {commands / sum, sum * sum / (kProcesses * squares)};
}

TEST_P(ReadWriteHandOver, CommandsAGrantAndFairnessAmongFiftyProcesses) {
  if (!exact()) return;
  for (const bool fair : {false, true}) {
    for (const int readers : {0, 10, 50, 90}) {
      run([&](Fixture& fixture, redis::Client&) {
        const Tally found = tally(fixture, fair, readers);
        EXPECT_LE(found.commands_a_grant, 3) << fair << readers;
        EXPECT_GE(found.jain, 0.95) << fair << readers;
        RecordProperty("commands_a_grant", std::to_string(found.commands_a_grant));
      });
    }
  }
}

}  // namespace
}  // namespace holdfast
