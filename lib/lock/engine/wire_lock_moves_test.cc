// Holds that are extended, and holds that go to another task or process.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/read_write/read_write_scripts.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/testing/kinds.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::AnyPeer;
using testing::ExclusiveKind;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;

class HoldMoves : public ::testing::TestWithParam<std::tuple<Where, ExclusiveKind>> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) {
    testing::with_fixture(std::get<0>(GetParam()), body);
  }
  static ExclusiveKind kind() { return std::get<1>(GetParam()); }
  static bool writes() { return kind() == ExclusiveKind::write; }
  static const redis::Script& adopt_script() { return writes() ? kReadWriteAdopt : kReentrantAdopt; }
};

INSTANTIATE_TEST_SUITE_P(Kinds, HoldMoves,
                         ::testing::Combine(::testing::ValuesIn(testing::everywhere()),
                                            ::testing::ValuesIn(testing::every_kind())),
                         [](const auto& info) {
                           return testing::to_string(std::get<0>(info.param)) + "_" +
                                  testing::to_string(std::get<1>(info.param));
                         });

TEST_P(HoldMoves, ExtendMakesItLastLonger) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = 60s, .renew = false});
    const auto lock = peer.obtain("k");
    EXPECT_THROW(lock->extend(100s), NotOwner);
    lock->lock();
    EXPECT_THROW(lock->extend(9ms), std::invalid_argument);
    lock->extend(1000s);
    EXPECT_GT(*lock->remaining_lease(), 900s);
    EXPECT_GT(peer.ask({"PTTL", "k"}).integer, 900'000);
    lock->extend(10s);  // never shorter
    EXPECT_GT(*lock->remaining_lease(), 900s);
    EXPECT_EQ(peer.observer.count(Kind::extended), 2u);
    peer.ask({"FLUSHALL"});
    EXPECT_THROW(lock->extend(2000s), LockLost);
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_EQ(peer.observer.count(Kind::lost), 1u);
    EXPECT_THROW(lock->release(), LockLost);
    EXPECT_EQ(peer.observer.count(Kind::lost), 1u);
    EXPECT_TRUE(lock->try_lock());  // the next task is not kept out
    lock->release();
  });
}

// Something else stands at the key: no server has said that the hold is gone, and the lease is trusted.
TEST_P(HoldMoves, AnExtensionThatIsRejectedIsNoLoss) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = 60s, .renew = false});
    const auto lock = peer.obtain("k");
    lock->lock();
    peer.ask({"DEL", "k"});
    peer.ask({"RPUSH", "k", "something else"});
    EXPECT_THROW(lock->extend(1000s), Rejected);
    EXPECT_TRUE(lock->is_held_by_me());
    EXPECT_EQ(peer.observer.count(Kind::lost) + peer.observer.count(Kind::extended), 0u);
    EXPECT_LT(*lock->remaining_lease(), 61s);
  });
}

TEST_P(HoldMoves, ALeaseOfItsOwnIsNotRenewed) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = 60s}), other(fixture, kind(), {.lease = 60s});
    const auto lock = peer.obtain("k"), theirs = other.obtain("k");
    const auto soon = [&] { return fixture.runtime.now() + 30s; };
    EXPECT_THROW(static_cast<void>(lock->try_lock_leased(9ms, soon())), std::invalid_argument);
    ASSERT_TRUE(lock->try_lock_leased(1000s, soon()));
    EXPECT_GT(*lock->remaining_lease(), 900s);
    EXPECT_GT(peer.ask({"PTTL", "k"}).integer, 900'000);
    EXPECT_FALSE(theirs->try_lock_leased(1s, fixture.runtime.now()));
    EXPECT_EQ(theirs->hold_count(), 0);
    lock->release();
    ASSERT_TRUE(theirs->try_lock_leased(200ms, soon()));
    EXPECT_LE(peer.ask({"PTTL", "k"}).integer, 200);
    EXPECT_TRUE(lock->try_lock_leased(20s, soon())) << "after it";
    other.observer.wait_for(Kind::lost);
    EXPECT_EQ(other.observer.count(Kind::renewed), 0u);
    EXPECT_THROW(theirs->release(), LockLost);
    EXPECT_EQ(other.observer.count(Kind::lost), 1u);
    lock->release();
  });
}

TEST_P(HoldMoves, AnotherProcessTakesItUp) {
  run([](Fixture& fixture) {
    AnyPeer a(fixture, kind(), {.lease = 60s, .fencing = true}),
        b(fixture, kind(), {.lease = 60s, .fencing = true}),
        c(fixture, kind(), {.lease = 60s, .fencing = true});
    const auto gives = a.obtain("k"), takes = b.obtain("k"), late = c.obtain("k");
    gives->lock();
    const std::string owner = gives->acquisition();
    const auto token = gives->token();
    const std::string detached = gives->detach();
    EXPECT_EQ(gives->hold_count(), 0);
    EXPECT_THROW(gives->release(), NotOwner);
    EXPECT_THROW(static_cast<void>(gives->detach()), NotOwner);
    EXPECT_FALSE(gives->try_lock());
    EXPECT_FALSE(late->try_lock());
    EXPECT_TRUE(takes->adopt(detached));
    EXPECT_TRUE(takes->is_held_by_me());
    EXPECT_EQ(takes->token(), token);
    EXPECT_EQ(a.ask({"GET", "k"}).text, takes->acquisition() + (writes() ? " write" : ""));
    EXPECT_NE(takes->acquisition(), owner);
    EXPECT_FALSE(late->adopt(detached));  // once only
    EXPECT_THROW(static_cast<void>(takes->adopt(detached)), WouldDeadlock);
    takes->release();
    EXPECT_FALSE(late->adopt(detached));
    EXPECT_TRUE(late->try_lock());
    EXPECT_GT(*late->token(), *token);
    late->release();
    for (const char* text : {"", "x", "#", "00000000-0000-4000-8000-000000000000:1#x", "a:1",
                             "00000000-0000-4000-8000-000000000000:"}) {
      EXPECT_THROW(static_cast<void>(late->adopt(text)), std::invalid_argument) << text;
    }
    EXPECT_FALSE(late->adopt("00000000-0000-4000-8000-000000000000:1"));
  });
}

TEST_P(HoldMoves, AnotherTaskTakesItUp) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = 60s});
    const auto lock = peer.obtain("k");
    lock->lock();
    const std::string detached = lock->detach();
    Task other = fixture.runtime.spawn("client", [&] {
      EXPECT_TRUE(lock->adopt(detached));
      EXPECT_TRUE(lock->is_held_by_me());
      lock->release();
    });
    other.join();
    EXPECT_TRUE(lock->try_lock());
    lock->release();
    EXPECT_EQ(peer.observer.count(Kind::lost), 0u);
  });
}

// The answer to adopt() is lost: it is asked again, and counts once.
TEST_P(HoldMoves, ALostAnswerToAdopt) {
  run([](Fixture& fixture) {
    AnyPeer a(fixture, kind(), {.lease = 60s});
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    AnyPeer b(fixture, kind(), {.lease = 60s}, link.endpoint());
    const auto gives = a.obtain("k"), takes = b.obtain("k");
    gives->lock();
    const std::string detached = gives->detach();
    b.ask({"PING"});
    link.lose_reply_to("EVAL");
    EXPECT_TRUE(takes->adopt(detached));
    takes->release();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
  });
}

// The answer to adopt() comes when its lease is over: it is no hold, and what was granted is given back.
TEST_P(HoldMoves, ALateAnswerToAdopt) {
  run([](Fixture& fixture) {
    AnyPeer a(fixture, kind(), {.lease = 600s});
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    AnyPeer b(fixture, kind(), {.lease = 200ms}, link.endpoint());
    const auto gives = a.obtain("k"), takes = b.obtain("k");
    gives->lock();
    const std::string detached = gives->detach();
    a.ask({"SCRIPT", "LOAD", adopt_script().text});
    b.ask({"PING"});
    link.hold_request(std::string(adopt_script().sha1));
    Task taker = fixture.runtime.spawn("client", [&] { EXPECT_FALSE(takes->adopt(detached)); });
    link.wait_held();
    fixture.runtime.sleep_for(250ms);
    link.release_request();
    taker.join();
    ASSERT_FALSE(takes->is_held_by_me());
    EXPECT_EQ(b.observer.count(Kind::acquired), 0u);
    while (a.ask({"EXISTS", "k"}).integer != 0) fixture.runtime.sleep_for(1ms);
  });
}

// Its end is looked at when it comes, and not when it would have come.
TEST(HoldMovesInVirtualTime, WhatWasExtendedIsNotLostAtItsFirstEnd) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    AnyPeer peer(fixture, ExclusiveKind::reentrant, {.lease = 1s, .renew = false});
    const auto first = peer.obtain("k"), second = peer.obtain("k2");
    first->lock();
    second->lock();
    first->extend(600s);
    const MonotonicTime end = first->valid_until().value();
    const std::stop_token lost = first->lost();
    fixture.runtime.sleep_for(2s);
    EXPECT_FALSE(second->is_held_by_me());
    EXPECT_TRUE(first->is_held_by_me());
    fixture.runtime.sleep_for(end - fixture.runtime.now() - 1ms);
    EXPECT_FALSE(lost.stop_requested());
    fixture.runtime.sleep_for(2ms);
    EXPECT_TRUE(lost.stop_requested());
  });
}

// A release that no server hears for longer than the lease: what extend() has made of the record is given
// back all the same.
TEST(HoldMovesInVirtualTime, WhatWasExtendedIsGivenBackHoweverLate) {
  HF_NEEDS_VIRTUAL_TIME();
  for (const ExclusiveKind kind : testing::every_kind()) {
    testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
      testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
      AnyPeer peer(fixture, kind, {.lease = 200ms, .renew = false}, link.endpoint());
      redis::Client straight(fixture.runtime, fixture.network, fixture.options());
      auto lock = peer.obtain("k"), dropped = peer.obtain("k2");
      const bool leased = kind == ExclusiveKind::spin;  // which is how one of them gets a lease of its own
      if (leased) {
        ASSERT_TRUE(lock->try_lock_leased(600s, kNever) && dropped->try_lock_leased(600s, kNever));
      } else {
        lock->lock();
        dropped->lock();
        lock->extend(600s);
        dropped->extend(600s);
      }
      link.lose_request_with("EVAL", 1'000'000);
      EXPECT_THROW(lock->release(), Unavailable) << to_string(kind);
      dropped.reset();
      fixture.runtime.sleep_for(5s);
      link.lose_request_with("EVAL", 0);
      fixture.runtime.sleep_for(5s);
      EXPECT_EQ(testing::ask(straight, {"EXISTS", "k", "k2"}).integer, 0) << to_string(kind);
    });
  }
}

// The process sleeps while the answer to extend() is on its way, and reads it when the hold is over: it stays
// lost, and the record goes before the time that was asked for.
TEST(HoldMovesInVirtualTime, AnExtensionThatIsReadTooLate) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    redis::Client straight(fixture.runtime, fixture.network, fixture.options());
    straight.call({"SCRIPT", "LOAD", kReentrantRenew.text});
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    link.hold_request(std::string(kReentrantRenew.sha1));
    testing::OtherProcess& process = fixture.add_process("c1");
    Parker& parker = fixture.runtime.parker();
    bool lost = false, over = false, ended = false;
    process.start("client", [&] {
      redis::Client client(process.runtime(), process.network(), fixture.options(link.endpoint()));
      ReentrantLocks locks(client, {.lease = 400ms, .renew = false});
      const auto lock = locks.obtain("k");
      lock->lock();
      try {
        lock->extend(600s);
      } catch (const LockLost&) {
        lost = true;
      }
      EXPECT_FALSE(lock->is_held_by_me());
      while (!over) process.runtime().sleep_for(10ms);
      ended = true;
      parker.unpark();
    });
    link.wait_held();
    process.pause();
    link.release_request();
    fixture.runtime.sleep_for(500ms);
    EXPECT_GT(testing::ask(straight, {"PTTL", "k"}).integer, 500'000);
    process.resume();
    fixture.runtime.sleep_for(5s);
    EXPECT_TRUE(lost);
    EXPECT_EQ(testing::ask(straight, {"EXISTS", "k"}).integer, 0);
    over = true;
    while (!ended) parker.park_until(kNever);
  });
}

class OtherHoldMoves : public ::testing::TestWithParam<Where> {};
INSTANTIATE_TEST_SUITE_P(Ports, OtherHoldMoves, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// A first request, repeated long ago and granted, comes late: it does not take back what extend() gained.
TEST_P(OtherHoldMoves, ALateAcquireDoesNotShortenIt) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    testing::Peer<ReentrantLocks> peer(fixture, {.lease = 60s, .renew = false});
    const auto lock = peer.locks.obtain("k");
    lock->lock();
    lock->extend(1000s);
    const Wire wire = reentrant_wire("k", {});
    const std::string owner = lock->acquisition();
    const std::vector<std::string_view> keys(wire.acquire_keys.begin(), wire.acquire_keys.end()),
        args{owner, "60000", wire.acquire_args.front(), "0"};
    EXPECT_EQ(peer.client.eval(*wire.acquire, keys, args).reply.items.at(0).integer, 1);
    EXPECT_GT(peer.ask({"PTTL", "k"}).integer, 900'000);
    lock->release();
  });
}

TEST_P(OtherHoldMoves, ExtendOfSeveral) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    ReentrantLocks locks(client, {.lease = 60s, .renew = false});
    Semaphores gates(client, {.lock = {.lease = 60s, .renew = false}, .permits = 2});
    ReadWriteLocks tables(client, {.lock = {.lease = 60s, .renew = false}});
    MultiLock all({locks.obtain("x"), gates.obtain("s"), tables.obtain("t")});
    EXPECT_THROW(all.extend(1000s), NotOwner);
    all.lock();
    all.extend(1000s);
    EXPECT_GT(*all.remaining_lease(), 900s);
    all.release();
    const auto table = tables.obtain("r");
    table->lock_shared();
    table->read().extend(1000s);
    EXPECT_GT(*table->read().remaining_lease(), 900s);
    table->release_shared();
  });
}

}  // namespace
}  // namespace holdfast
