// A server that has reached `maxmemory` grants nothing new, but a release, a renewal, a downgrade and a
// hand-over go through, for every kind.
#include <gtest/gtest.h>

#include <array>
#include "lib/lock/read_write/read_write_scripts.h"
#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/testing/kinds.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;

class OutOfMemory : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&, redis::Client&)>& body) {
    testing::with_fixture(GetParam(), [&](Fixture& fixture) {
      redis::Client straight(fixture.runtime, fixture.network, fixture.options());
      body(fixture, straight);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, OutOfMemory, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

void full(redis::Client& server, bool on) { ask(server, {"CONFIG", "SET", "maxmemory", on ? "1" : "0"}); }

TEST_P(OutOfMemory, ExclusiveKindsRenewReleaseAndHandOver) {
  for (const testing::ExclusiveKind kind : testing::every_kind()) {
    // Nobody is called: a grant needs memory.
    if (kind == testing::ExclusiveKind::spin || kind == testing::ExclusiveKind::write) continue;
    run([&](Fixture& fixture, redis::Client& server) {
      SCOPED_TRACE(testing::to_string(kind));
      const LockOptions options{.lease = fixture.lease(900ms)};
      testing::AnyPeer a(fixture, kind, options), b(fixture, kind, options);
      const auto held = a.obtain("k"), wanted = b.obtain("k");
      held->lock();
      std::atomic<bool> granted = false;
      Task waiter = fixture.runtime.spawn("client", [&] {
        wanted->lock();
        granted = true;
        b.observer.wait_for(Kind::renewed, 2);
        wanted->unlock();
      });
      b.observer.wait_for(Kind::queued, 2);  // a waiter that listens looks once more
      full(server, true);
      a.observer.wait_for(Kind::renewed, 3);
      EXPECT_NO_THROW(held->unlock());
      b.observer.wait_for(Kind::acquired);
      full(server, false);
      waiter.join();
      EXPECT_TRUE(granted);
    });
  }
}

TEST_P(OutOfMemory, Semaphores) {
  run([](Fixture& fixture, redis::Client& server) {
    const SemaphoreOptions options{.lock = {.lease = fixture.lease(900ms)}, .permits = 2};
    testing::PeerOf<Semaphores, SemaphoreOptions> a(fixture, options), b(fixture, options);
    PermitSemaphore permits(a.client, "k", options);
    const auto held = a.obtain(), wanted = b.obtain();
    held->acquire();
    const Permit permit = permits.acquire();
    Task waiter = fixture.runtime.spawn("client", [&] {
      wanted->acquire(2);
      b.observer.wait_for(Kind::renewed, 2);
      wanted->release();
    });
    b.observer.wait_for(Kind::queued, 2);
    full(server, true);
    EXPECT_TRUE(permits.extend(permit.id).has_value());
    EXPECT_TRUE(permits.release(permit.id));  // nobody renews it
    a.observer.wait_for(Kind::renewed, 3);
    EXPECT_NO_THROW(held->release());
    b.observer.wait_for(Kind::acquired);
    b.observer.wait_for(Kind::renewed, 1);
    EXPECT_NO_THROW(held->set_permits(3));
    full(server, false);
    waiter.join();
    EXPECT_EQ(held->free_permits(), 3);
  });
}

TEST_P(OutOfMemory, ReadersAndADowngrade) {
  for (const bool fair : {false, true}) {
    run([&](Fixture& fixture, redis::Client& server) {
      const ReadWriteOptions options{.lock = {.lease = fixture.lease(900ms)}, .fair = fair};
      testing::PeerOf<ReadWriteLocks, ReadWriteOptions> a(fixture, options);
      const auto lock = a.obtain();
      lock->lock();
      full(server, true);
      EXPECT_NO_THROW(lock->downgrade());
      a.observer.wait_for(Kind::renewed, 3);
      EXPECT_NO_THROW(lock->unlock_shared());
      full(server, false);
      EXPECT_EQ(ask(server, {"DBSIZE"}).integer, 0);
    });
  }
}

TEST_P(OutOfMemory, Redisson) {
  run([](Fixture& fixture, redis::Client& server) {
    testing::Peer<RedissonLocks> a(fixture, {.lease = fixture.lease(900ms)});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    full(server, true);
    a.observer.wait_for(Kind::renewed, 3);
    EXPECT_NO_THROW(lock->unlock());
    full(server, false);
  });
}

// The first word of an acquire script's answer ("1": granted, "0": refused), or its error.
std::string asked(redis::Client& server, const Wire& wire, std::string_view owner, std::string_view lease_ms,
                  bool waits) {
  const std::vector<std::string_view> keys(wire.acquire_keys.begin(), wire.acquire_keys.end());
  std::vector<std::string_view> args{owner, lease_ms};
  args.insert(args.end(), wire.acquire_args.begin(), wire.acquire_args.end());
  if (wire.counts_permits) args.push_back("1");
  args.push_back(waits ? "1" : "0");
  try {
    return std::to_string(server.eval(*wire.acquire, keys, args).reply.items.at(0).integer);
  } catch (const redis::Error& error) {
    return error.what();
  }
}

constexpr std::string_view kOne = "1-2-3-4-5:1", kTwo = "1-2-3-4-5:2";

std::vector<Wire> every_wire() {
  const LockOptions fencing{.fencing = true};
  return {reentrant_wire("k", {}),
          reentrant_wire("k", fencing),
          fair_wire("k", fencing),
          redisson_wire("k"),
          read_write_wire("k", Side::write, true, fencing),
          read_write_wire("k", Side::write, false, {}),
          semaphore_wire("k", 1, fencing)};
}

// The reply of a grant is lost, the server fills up, and the owner asks again: it is told that it holds.
TEST_P(OutOfMemory, WhoHoldsItMayAskAgain) {
  std::vector<Wire> wires = every_wire();
  wires.push_back(read_write_wire("k", Side::read, false, {.fencing = true}));
  for (const Wire& wire : wires) {
    run([&](Fixture&, redis::Client& server) {
      SCOPED_TRACE(wire.acquire->name);
      EXPECT_EQ(asked(server, wire, kOne, "60000", false), "1");
      full(server, true);
      EXPECT_EQ(asked(server, wire, kOne, "60000", false), "1");
      EXPECT_EQ(asked(server, wire, kOne, "30000", false), "1");
      full(server, false);
    });
  }
}

// What was given out of a task's hands is taken up all the same.
TEST_P(OutOfMemory, AHoldGoesToAnotherOwner) {
  std::vector<Wire> wires = every_wire();
  wires.push_back(read_write_wire("k", Side::read, false, {.fencing = true}));
  for (const Wire& wire : wires) {
    run([&](Fixture&, redis::Client& server) {
      SCOPED_TRACE(wire.acquire->name);
      EXPECT_EQ(asked(server, wire, kOne, "30000", false), "1");
      full(server, true);
      const std::vector<std::string_view> keys(wire.renew_keys.begin(), wire.renew_keys.end());
      const std::array<std::string_view, 4> args{kOne, kTwo, "60000", wire.mode};
      for (int i = 0; i < 2; ++i) EXPECT_EQ(server.eval(*wire.adopt, keys, args).reply.integer, 1);
      EXPECT_EQ(asked(server, wire, kTwo, "60000", false), "1");
      full(server, false);
    });
  }
}

// Who waits goes on waiting: it keeps its place.
TEST_P(OutOfMemory, WhoWaitsMayAskAgain) {
  for (const Wire& wire : every_wire()) {
    run([&](Fixture&, redis::Client& server) {
      SCOPED_TRACE(wire.acquire->name);
      EXPECT_EQ(asked(server, wire, kOne, "60000", false), "1");
      EXPECT_EQ(asked(server, wire, kTwo, "60000", true), "0");
      full(server, true);
      EXPECT_EQ(asked(server, wire, kTwo, "60000", true), "0");
      full(server, false);
    });
  }
}

}  // namespace
}  // namespace holdfast
