// What a server answers, and what a lock makes of it: errors that pass are waited for by every kind of
// request, a grant is the one reply that means it, and neither silence nor a flood keeps a call beyond its
// end.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/fake_server.h"
#include "lib/testing/ports.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using redis::testing::Command;
using redis::testing::FakeServer;
using redis::testing::Peer;
using redis::testing::Ports;
using testing::RecordingObserver;
using testing::Sign;
using Kind = LockEvent::Kind;

class ServerSays : public ::testing::TestWithParam<Ports> {
 protected:
  static void run(const std::function<void(Runtime&, Network&)>& body) {
    redis::testing::on_ports(GetParam(), body);
  }
  static redis::ClientOptions options(const FakeServer& server, Duration timeout = 60s) {
    return {.nodes = {{"r1", server.endpoint()}}, .command_timeout = timeout, .backoff_min = 1ms};
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, ServerSays, redis::testing::all_ports(),
                         [](const auto& info) { return to_string(info.param); });

constexpr std::array kPassing = {
    "LOADING Redis is loading the dataset in memory",
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    "NOREPLICAS Not enough good replicas to write.",
    "MISCONF Redis is configured to save RDB snapshots",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "CLUSTERDOWN The cluster is down",
};

// Says `error` to the first `times` writes, and then what a server says that grants and releases.
class Moody {
 public:
  Moody(std::string error, int times) : error_("-" + std::move(error) + "\r\n"), left_(times) {}
  void operator()(Peer& peer, const Command& command) {
    if (command[0] != "SET" && command[0] != "EVALSHA") return peer.send("+OK\r\n");
    if (left_ > 0 && left_-- > 0) return peer.send(error_);
    if (command[0] == "SET") return peer.send("+OK\r\n");
    peer.send(command[1] == kReentrantAcquire.sha1 ? "*2\r\n:1\r\n:60000\r\n" : ":1\r\n");
  }
  void again(int times) { left_ = times; }

 private:
  const std::string error_;
  std::atomic<int> left_;
};

TEST_P(ServerSays, WhatPassesIsWaitedForByAcquireAndRelease) {
  for (const char* const text : kPassing) {
    run([&](Runtime& runtime, Network& network) {
      Moody moody(text, 3);
      FakeServer server(runtime, network, std::ref(moody));
      redis::Client client(runtime, network, options(server));
      ReentrantLocks locks(client, {.lease = 60s});
      const auto lock = locks.obtain("k");
      EXPECT_TRUE(lock->try_lock_for(60s)) << text;
      moody.again(3);
      lock->unlock();
      EXPECT_EQ(server.log().size(), 8u) << text;
      moody.again(2);
      EXPECT_TRUE(lock->try_lock()) << text;
      moody.again(2);
      CountDownLatch latch(client, "parts");
      EXPECT_TRUE(latch.set(1)) << text;
    });
  }
}

TEST_P(ServerSays, WhatIsFinalEndsTheCallAtOnce) {
  for (const char* const text :
       {"WRONGTYPE Operation against a key holding the wrong kind of value",
        "NOPERM this user has no permissions to run the 'set' command", "NOAUTH Authentication required.",
        "MOVED 3999 127.0.0.1:6381", "CROSSSLOT Keys in request don't hash to the same slot",
        "EXECABORT Transaction discarded because of previous errors.", "SOMETHING new"}) {
    run([&](Runtime& runtime, Network& network) {
      Moody moody(text, 1'000'000);
      FakeServer server(runtime, network, std::ref(moody));
      redis::Client client(runtime, network, options(server));
      ReentrantLocks locks(client, {.lease = 60s});
      EXPECT_THROW(locks.obtain("k")->lock(), Rejected) << text;
    });
  }
}

TEST_P(ServerSays, AReplicaIsRefusedAtFirstContactAndWaitedForLater) {
  run([](Runtime& runtime, Network& network) {
    Moody moody("READONLY You can't write against a read only replica.", 1);
    FakeServer server(runtime, network, std::ref(moody));
    redis::Client client(runtime, network, options(server));
    ReentrantLocks locks(client, {.lease = 60s});
    const auto lock = locks.obtain("k");
    EXPECT_THROW(lock->lock(), Rejected);
    lock->lock();
    moody.again(3);
    lock->unlock();
    moody.again(3);
    lock->lock();
    lock->unlock();
  });
}

TEST_P(ServerSays, ARenewalOutlastsWhatPasses) {
  run([](Runtime& runtime, Network& network) {
    std::atomic<int> renewals = 0;
    FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
      if (command[0] == "SET") return peer.send("+OK\r\n");
      if (command[1] != kReentrantRenew.sha1) return peer.send(":1\r\n");
      peer.send(renewals++ % 3 != 2 ? "-OOM command not allowed\r\n" : "*1\r\n:1\r\n");
    });
    RecordingObserver observer(runtime);
    redis::Client client(runtime, network, options(server));
    ReentrantLocks locks(client, {.lease = 3s, .observer = &observer});
    const auto lock = locks.obtain("k");
    lock->lock();
    observer.wait_for(Kind::renewed);
    EXPECT_GE(observer.count(Kind::renew_failed), 2u);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

// An error of one lock among those that are renewed together is no word on whether its owner has it.
TEST_P(ServerSays, ARenewalOutlastsAnErrorOfItsOwnKey) {
  run([](Runtime& runtime, Network& network) {
    std::atomic<int> renewals = 0;
    FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
      if (command[0] == "SET") return peer.send("+OK\r\n");
      if (command[1] != kReentrantRenew.sha1) return peer.send(":1\r\n");
      peer.send(renewals++ % 2 == 0 ? "*1\r\n$15\r\nWRONGTYPE a set\r\n" : "*1\r\n:1\r\n");
    });
    RecordingObserver observer(runtime);
    redis::Client client(runtime, network, options(server));
    ReentrantLocks locks(client, {.lease = 3s, .observer = &observer});
    const auto lock = locks.obtain("k");
    lock->lock();
    observer.wait_for(Kind::renewed);
    EXPECT_EQ(observer.count(Kind::renew_failed), 1u);
    EXPECT_EQ(observer.count(Kind::lost), 0u);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

TEST_P(ServerSays, AReleaseDuringABusyScriptGoesOnInTheBackground) {
  run([](Runtime& runtime, Network& network) {
    std::atomic<bool> busy = false;
    Sign released(runtime);
    FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
      if (command[0] == "SET") return peer.send("+OK\r\n");
      if (busy) return peer.send("-BUSY Redis is busy running a script.\r\n");
      peer.send(":1\r\n");
      released.give();
    });
    redis::Client client(runtime, network, options(server, 300ms));
    ReentrantLocks locks(client, {.lease = 60s, .renew = false});
    const auto lock = locks.obtain("k");
    lock->lock();
    busy = true;
    try {
      lock->release();
    } catch (const Unavailable&) {
    }
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_EQ(released.given(), 0);
    runtime.sleep_for(100ms);  // some attempts in vain
    busy = false;
    released.wait();
  });
}

TEST_P(ServerSays, OnlyOkIsAGrantAndAnythingElseIsGivenBack) {
  for (const char* const reply :
       {":1\r\n", "$3\r\nabc\r\n", "+QUEUED\r\n", "*2\r\n:1\r\n:60000\r\n", "$2\r\nOK\r\n"}) {
    run([&](Runtime& runtime, Network& network) {
      Sign released(runtime);
      FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
        if (command[0] == "SET") return peer.send(reply);
        peer.send(":1\r\n");
        released.give();
      });
      redis::Client client(runtime, network, options(server));
      ReentrantLocks locks(client, {.lease = 60s});
      const auto lock = locks.obtain("k");
      EXPECT_THROW(static_cast<void>(lock->try_lock()), Rejected) << reply;
      EXPECT_FALSE(lock->is_held_by_me());
      released.wait();
    });
  }
}

TEST_P(ServerSays, OnlyTheScriptsListIsAGrant) {
  for (const char* const reply : {":1\r\n", "+OK\r\n", "*0\r\n", "*1\r\n:1\r\n", "*2\r\n:2\r\n:60000\r\n",
                                  "*2\r\n$1\r\n1\r\n:60000\r\n"}) {
    run([&](Runtime& runtime, Network& network) {
      Sign released(runtime);
      FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
        if (command[0] == "SET") return peer.send("$-1\r\n");
        if (command[1] == kReentrantAcquire.sha1) return peer.send(reply);
        peer.send(":1\r\n");
        released.give();
      });
      redis::Client client(runtime, network, options(server));
      ReentrantLocks locks(client, {.lease = 60s});
      const auto lock = locks.obtain("k");
      EXPECT_THROW(static_cast<void>(lock->try_lock()), Rejected) << reply;
      EXPECT_FALSE(lock->is_held_by_me());
      released.wait();
    });
  }
}

TEST_P(ServerSays, AStopEndsACallInFlight) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer&, const Command&) {});  // takes all, says nothing
    redis::Client client(runtime, network, options(server, 10min));
    ReentrantLocks locks(client, {.lease = 60s});
    const auto lock = locks.obtain("k");
    std::stop_source stop;
    Task stopper = runtime.spawn("stopper", [&] {
      server.wait_for(1);  // the SET
      stop.request_stop();
    });
    const MonotonicTime before = runtime.now();
    EXPECT_THROW(lock->lock_interruptibly(stop.get_token()), Interrupted);
    EXPECT_LT(runtime.now() - before, 5min);  // not the command timeout
    if (GetParam() == Ports::embedded) {
      EXPECT_LT(runtime.now() - before, 10ms);
    }
  });
}

TEST_P(ServerSays, AStopEndsTheLookAtALatch) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer&, const Command&) {});
    redis::Client client(runtime, network, options(server, 10min));
    CountDownLatch latch(client, "parts");
    std::stop_source stop;
    Task stopper = runtime.spawn("stopper", [&] {
      server.wait_for(1);
      stop.request_stop();
    });
    const MonotonicTime before = runtime.now();
    EXPECT_THROW(static_cast<void>(latch.await_until(kNever, stop.get_token())), Interrupted);
    EXPECT_LT(runtime.now() - before, 5min);
  });
}

TEST_P(ServerSays, AStopEndsTheSearchForAServer) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command&) { peer.send("+OK\r\n"); });
    redis::ClientOptions patient = options(server, 10min);
    patient.wait_for_servers = true;
    server.stop();
    redis::Client client(runtime, network, patient);
    ReentrantLocks locks(client, {.lease = 60s});
    std::stop_source stop;
    Task stopper = runtime.spawn("stopper", [&] {
      runtime.sleep_for(20ms);
      stop.request_stop();
    });
    const MonotonicTime before = runtime.now();
    EXPECT_THROW(locks.obtain("k")->lock_interruptibly(stop.get_token()), Interrupted);
    EXPECT_LT(runtime.now() - before, 5min);
  });
}

// Bytes without end, as fast as the other side takes them.
void flood(Peer& peer, std::string_view begin, std::string_view bytes) {
  if (!begin.empty()) peer.send(begin);
  std::string chunk;
  while (chunk.size() < 16384) chunk += bytes;
  while (peer.stream().write(chunk, kNever).ok()) {
  }
}

TEST_P(ServerSays, AReplyHasAGreatestSize) {
  struct Flood {
    const char *begin, *bytes;
  };
  for (const Flood& what :
       {Flood{"*2147483647\r\n", ":1\r\n"}, Flood{"$2147483647\r\n", "xxxx"},
        Flood{"*60000\r\n", "$8\r\nabcdefgh\r\n"}, Flood{"", "*1\r\n"}, Flood{"+", "yyyy"}}) {
    run([&](Runtime& runtime, Network& network) {
      FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
        if (command[0] == "SET") return flood(peer, what.begin, what.bytes);
        peer.send("+OK\r\n");
      });
      redis::ClientOptions small = options(server);
      small.max_reply = 64 * 1024;
      redis::Client client(runtime, network, small);
      ReentrantLocks locks(client, {.lease = 60s});
      EXPECT_THROW(static_cast<void>(locks.obtain("k")->try_lock_for(60s)), Rejected) << what.begin;
      EXPECT_EQ(client.call({"PING"}).reply.text, "OK") << "on another connection";
    });
  }
}

TEST_P(ServerSays, ADeadlineEndsACallWhileBytesStreamIn) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
      if (command[0] != "SET") return peer.send("+OK\r\n");
      peer.send("$2147483647\r\n");
      while (peer.stream().write("xxxxxxxx", kNever).ok()) runtime.sleep_for(100us);
    });
    redis::Client client(runtime, network, options(server, 10min));
    const MonotonicTime before = runtime.now();
    try {
      client.call({"SET", "k", "v"}, {.deadline = before + 50ms});
      ADD_FAILURE();
    } catch (const redis::Error& error) {
      EXPECT_EQ(error.kind(), redis::Error::Kind::timed_out) << error.what();
    }
    if (GetParam() == Ports::embedded) {
      EXPECT_LT(runtime.now() - before, 60ms);
    }
    std::stop_source stop;
    Task stopper = runtime.spawn("stopper", [&] {
      runtime.sleep_for(20ms);
      stop.request_stop();
    });
    try {
      client.call({"GET", "k"}, {.stop = stop.get_token()});
      ADD_FAILURE();
    } catch (const redis::Error& error) {
      EXPECT_EQ(error.kind(), redis::Error::Kind::interrupted) << error.what();
    }
  });
}

}  // namespace
}  // namespace holdfast
