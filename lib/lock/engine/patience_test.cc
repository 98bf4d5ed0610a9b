// How long a call takes at most, and how often it asks: in virtual time, where a test can say so.
#include <gtest/gtest.h>

#include <algorithm>
#include <stop_token>

#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/fair_queue.h"
#include "lib/testing/fake_server.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;

// Who gives up waits for the answer to its leave of the server's queue, but not as long as for a command.
TEST(PatienceInVirtualTime, AHungServerHoldsUpNobodyWhoLeavesItsQueue) {
  HF_NEEDS_VIRTUAL_TIME();
  for (const bool stopped : {false, true}) {
    testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
      Runtime& runtime = fixture.runtime;
      testing::Peer<ReentrantLocks> holder(fixture, {.lease = 60s});
      testing::RelayedPeer<ReentrantLocks> waiter(fixture, {.lease = 60s});
      const auto held = holder.locks.obtain("k"), wanted = waiter.peer.locks.obtain("k");
      held->lock();
      const MonotonicTime end = runtime.now() + 1s;
      MonotonicTime returned{};
      std::stop_source stop;
      Task task = runtime.spawn("client", [&] {
        try {
          EXPECT_FALSE(wanted->try_lock_until(stopped ? kNever : end, stop.get_token()));
          EXPECT_FALSE(stopped);
        } catch (const Interrupted&) {
          EXPECT_TRUE(stopped);
        }
        returned = runtime.now();
      });
      testing::FairQueue queue(fixture, "k");
      queue.wait_length(1);
      runtime.sleep_for(100ms);
      waiter.link.stall(true);
      runtime.sleep_until(end);
      if (stopped) stop.request_stop();
      task.join();
      EXPECT_GE(returned, end);
      EXPECT_LE(returned, end + 101ms);
      waiter.link.stall(false);
      queue.wait_length(0);
      held->unlock();
    });
  }
}

TEST(PatienceInVirtualTime, LockBearsAHungServerForTheCommandTimeout) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
    testing::RelayedPeer<ReentrantLocks> relayed(fixture, {.lease = 60s});
    relayed.peer.ask({"PING"});
    relayed.link.stall(true);
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_THROW(relayed.peer.locks.obtain("k")->lock(), Unavailable);
    const Duration took = fixture.runtime.now() - start;
    EXPECT_GE(took, relayed.peer.client.options().command_timeout);
    EXPECT_LE(took, relayed.peer.client.options().command_timeout + 100ms);
    relayed.link.stall(false);
  });
}

// Renewals are executed and never answered: the hold is lost, and its record goes with it, not a lease later.
TEST(PatienceInVirtualTime, WhatRenewalsHaveLengthenedUnseenIsGivenBackAfterTheLoss) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
    testing::Peer<ReentrantLocks> straight(fixture, {.lease = 60s});
    straight.ask({"SCRIPT", "LOAD", kReentrantRenew.text});
    testing::RelayedPeer<ReentrantLocks> relayed(fixture, {.lease = 60s});
    const auto lock = relayed.peer.locks.obtain("k");
    lock->lock();
    const MonotonicTime end = *lock->valid_until();
    relayed.link.lose_reply_to(std::string(kReentrantRenew.sha1), 1'000'000);
    fixture.runtime.sleep_until(end - 1s);
    EXPECT_GT(straight.ask({"PTTL", "k"}).integer, 20'000);
    EXPECT_TRUE(lock->is_held_by_me());
    fixture.runtime.sleep_until(end + 1s);
    EXPECT_EQ(relayed.peer.observer.count(LockEvent::Kind::lost), 1u);
    EXPECT_EQ(straight.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_THROW(lock->release(), LockLost);
  });
}

// A call that hangs holds up its connection, and no renewal.
TEST(PatienceInVirtualTime, RenewalsGoPastACallThatHangs) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
    testing::RelayedPeer<ReentrantLocks> relayed(fixture, {.lease = 600ms});
    const auto lock = relayed.peer.locks.obtain("k");
    lock->lock();
    relayed.link.hold_request("ECHO");
    Task hangs = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(relayed.peer.ask({"ECHO", "x"}), redis::Error);
    });
    relayed.link.wait_held();
    fixture.runtime.sleep_for(1500ms);
    EXPECT_TRUE(lock->is_held_by_me());
    EXPECT_EQ(relayed.peer.observer.count(LockEvent::Kind::lost), 0u);
    hangs.join();
    relayed.link.release_request();
    lock->unlock();
  });
}

// What no server takes back is tried for as long as it can be there, and not a moment longer.
TEST(PatienceInVirtualTime, WhatCannotBeGivenBackIsTriedForALease) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
    testing::RelayedPeer<ReentrantLocks> relayed(fixture, {.lease = 10s, .renew = false});
    const auto lock = relayed.peer.locks.obtain("k");
    lock->lock();
    relayed.link.lose_request_with("EVAL", 1'000'000);
    EXPECT_THROW(lock->release(), Unavailable);
    const int at_first = relayed.link.to_lose();
    fixture.runtime.sleep_for(9s);
    const int within_the_lease = relayed.link.to_lose();
    EXPECT_LT(within_the_lease, at_first);
    fixture.runtime.sleep_for(2s);
    const int after_it = relayed.link.to_lose();
    fixture.runtime.sleep_for(60s);
    EXPECT_EQ(relayed.link.to_lose(), after_it);
  });
}

// It may be able to any moment: no pause between two requests is longer than 50 ms, however often it says no.
TEST(PatienceInVirtualTime, AServerThatSaysNotNowIsAskedOften) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::on_ports(Where::embedded, [](Runtime& runtime, Network& network) {
    int refusals = 0;
    MonotonicTime asked_at = kNever;
    Duration longest{};
    redis::testing::FakeServer server(
        runtime, network, [&](redis::testing::Peer& peer, const redis::testing::Command& command) {
          if (command[0] != "SET" && command[0] != "EVALSHA") return peer.send("+OK\r\n");
          if (command[0] == "EVALSHA" && command[1] != kReentrantAcquire.sha1) return peer.send(":1\r\n");
          longest = std::max(longest, runtime.now() - std::min(asked_at, runtime.now()));
          asked_at = runtime.now();
          peer.send(++refusals < 40 ? "-LOADING Redis is loading the dataset in memory\r\n"
                                    : "*2\r\n:1\r\n:60000\r\n");
        });
    redis::Client client(runtime, network, {.nodes = {{"r1", server.endpoint()}}});
    ReentrantLocks locks(client, {.lease = 60s});
    const auto lock = locks.obtain("k");
    EXPECT_TRUE(lock->try_lock_for(3600s));
    EXPECT_GT(longest, 20ms);
    EXPECT_LE(longest, 51ms);
    lock->unlock();
  });
}

}  // namespace
}  // namespace holdfast
