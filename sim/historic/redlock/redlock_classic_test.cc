// Redlock as published: what it writes, and the flaws for which it is kept.
#include "sim/historic/redlock/redlock_classic.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Stand;
using testing::Where;
using testing::Witness;
using Kind = LockEvent::Kind;

class RedlockClassicTest : public PortsTest {};
HF_ON_ALL_PORTS(RedlockClassicTest);

// Five servers that know nothing of each other, as five databases of one: what counts is that each has its
// own keys. `dead`: how many of them, from the last on, cannot be reached.
struct Party {
  explicit Party(Stand& stand, LockOptions options = {}, int dead = 0) {
    for (int number = 0; number < 5; ++number) {
      redis::ClientOptions of_node = stand.options();
      of_node.wait_for_servers = true;  // a dead one costs its whole time
      of_node.database = number;
      if (number >= 5 - dead) of_node.nodes = {{"dead", {"127.0.0.1", 1}}};
      servers.push_back(std::make_unique<redis::Client>(stand.runtime, stand.network, of_node));
      nodes.push_back(servers.back().get());
    }
    for (int number = 0; number < 5 - dead; ++number) ask(number, {"PING"});  // connected
    lock = std::make_unique<RedlockClassic>(nodes, options, "k");
  }
  redis::Reply ask(int number, std::initializer_list<std::string_view> command) {
    return nodes[static_cast<std::size_t>(number)]->call(command).reply;
  }
  std::deque<std::unique_ptr<redis::Client>> servers;
  std::vector<redis::Client*> nodes;
  std::unique_ptr<RedlockClassic> lock;
};

TEST_P(RedlockClassicTest, LocksAMajorityAndUnlocksAll) {
  run([](Stand& stand) {
    Party a(stand), b(stand);
    EXPECT_TRUE(a.lock->try_lock());
    for (int number = 0; number < 5; ++number) {
      EXPECT_EQ(a.ask(number, {"GET", "k"}).text, a.lock->acquisition());
      EXPECT_GT(a.ask(number, {"PTTL", "k"}).integer, 29000);
    }
    const Duration left = *a.lock->valid_until() - stand.runtime.now();
    EXPECT_LE(left, 30s - 302ms);  // 1% and 2 ms
    EXPECT_GT(left, 29s);
    EXPECT_FALSE(b.lock->try_lock());
    EXPECT_FALSE(b.lock->try_lock_for(100ms));
    a.lock->unlock();
    for (int number = 0; number < 5; ++number) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 0);
    EXPECT_THROW(a.lock->unlock(), NotOwner);
    EXPECT_TRUE(b.lock->try_lock());
    b.lock->unlock();
  });
}

// What it got without a majority is given back at once, and nobody else's.
TEST_P(RedlockClassicTest, GivesAMinorityBack) {
  run([](Stand& stand) {
    Party a(stand);
    for (const int number : {0, 2, 4}) a.ask(number, {"SET", "k", "other"});
    EXPECT_FALSE(a.lock->try_lock());
    for (const int number : {1, 3}) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 0);
    for (const int number : {0, 2, 4}) EXPECT_EQ(a.ask(number, {"GET", "k"}).text, "other");
    a.ask(2, {"DEL", "k"});
    EXPECT_TRUE(a.lock->try_lock());
    a.lock->unlock();
    EXPECT_EQ(a.ask(0, {"GET", "k"}).text, "other");
  });
}

TEST_P(RedlockClassicTest, ADeadServerIsANo) {
  run([](Stand& stand) {
    Party two_dead(stand, {}, 2), three_dead(stand, {}, 3);
    EXPECT_TRUE(two_dead.lock->try_lock());
    two_dead.lock->unlock();
    EXPECT_FALSE(three_dead.lock->try_lock());
    EXPECT_FALSE(three_dead.lock->try_lock_for(10ms));
  });
}

TEST_P(RedlockClassicTest, WaitsWithARandomDelayAndCanBeInterrupted) {
  run([](Stand& stand) {
    Witness witness(stand.runtime);
    Party a(stand), b(stand, {.observer = &witness});
    a.lock->lock();
    std::stop_source stop;
    Task stopper = stand.runtime.spawn("client", [&] {
      witness.wait_for(Kind::waiting);
      stop.request_stop();
    });
    EXPECT_THROW(b.lock->try_lock_for(1h, stop.get_token()), Interrupted);
    stopper.join();
    Task waiter = stand.runtime.spawn("client", [&] {
      b.lock->lock();
      b.lock->unlock();
    });
    witness.wait_for(Kind::waiting, 2);
    a.lock->unlock();
    waiter.join();
    EXPECT_EQ(witness.count(Kind::acquired), 1u);
  });
}

// The lease is over before the majority is asked: refused, though they all said OK.
TEST_P(RedlockClassicTest, ChecksItsValidityAfterTheLastReply) {
  run([](Stand& stand) {
    Party slow(stand, {.lease = 90ms}, 2);  // 100 ms for the dead ones
    EXPECT_FALSE(slow.lock->try_lock());
    EXPECT_EQ(slow.ask(0, {"EXISTS", "k"}).integer, 0);
  });
}

TEST_P(RedlockClassicTest, IsNeitherRenewedNorToldOfItsEnd) {
  run([](Stand& stand) {
    Witness witness(stand.runtime);
    Party a(stand, {.lease = 100ms, .observer = &witness}), b(stand);
    ASSERT_TRUE(a.lock->try_lock_for(10s));
    b.lock->lock();
    EXPECT_FALSE(a.lock->is_held_by_me());
    EXPECT_NO_THROW(a.lock->unlock());
    EXPECT_EQ(witness.count(Kind::lost), 0u);
    EXPECT_EQ(b.ask(0, {"GET", "k"}).text, b.lock->acquisition());
    b.lock->unlock();
  });
}

// One server forgets, and a second majority is found.
TEST_P(RedlockClassicTest, AServerThatForgetsMakesASecondMajority) {
  run([](Stand& stand) {
    Party a(stand), b(stand);
    for (const int number : {3, 4}) a.ask(number, {"SET", "k", "unreachable for a"});
    EXPECT_TRUE(a.lock->try_lock());
    for (const int number : {3, 4}) a.ask(number, {"DEL", "k"});
    EXPECT_FALSE(b.lock->try_lock());
    a.ask(2, {"FLUSHDB"});  // restarted without its memory
    EXPECT_TRUE(b.lock->try_lock());
    EXPECT_TRUE(a.lock->is_held_by_me());
    EXPECT_TRUE(b.lock->is_held_by_me());
    a.lock->unlock();
    b.lock->unlock();
  });
}

TEST(RedlockClassicOptions, AreChecked) {
  testing::on_stand(Where::embedded, [](Stand& stand) {
    redis::Client client(stand.runtime, stand.network, stand.options());
    EXPECT_THROW(RedlockClassic({}, {}, "k"), std::invalid_argument);
    EXPECT_THROW(RedlockClassic({&client}, {.lease = 0ms}, "k"), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast::historic
