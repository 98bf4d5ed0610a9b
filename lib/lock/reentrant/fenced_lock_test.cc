// Fencing tokens: of the fenced lock, and of every exclusive kind with LockOptions::fencing.
#include "lib/lock/engine/key_names.h"
#include "lib/lock/reentrant/reentrant_lock.h"

#include <gtest/gtest.h>

#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/kinds.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::AnyPeer;
using testing::ExclusiveKind;
using testing::FaultyLink;
using testing::Fixture;
using testing::Where;

constexpr LockOptions kFencing{.lease = 60s, .fencing = true};

class Fencing : public ::testing::TestWithParam<std::tuple<Where, ExclusiveKind>> {
 protected:
  static void run(const std::function<void(Fixture&, ExclusiveKind)>& body) {
    const auto [where, kind] = GetParam();
    testing::with_fixture(where, [&, kind = kind](Fixture& fixture) { body(fixture, kind); });
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, Fencing,
                         ::testing::Combine(::testing::ValuesIn(testing::everywhere()),
                                            ::testing::ValuesIn(testing::every_kind())),
                         [](const auto& info) {
                           return testing::to_string(std::get<0>(info.param)) + "_" +
                                  testing::to_string(std::get<1>(info.param));
                         });

std::uint64_t server_time_us(AnyPeer& peer) {
  const redis::Reply time = peer.ask({"TIME"});
  return std::stoull(time.items[0].text) * 1'000'000 + std::stoull(time.items[1].text);
}

TEST_P(Fencing, TheFirstTokenIsTheServersTime) {
  run([](Fixture& fixture, ExclusiveKind kind) {
    AnyPeer peer(fixture, kind, kFencing);
    const auto lock = peer.obtain("stock:42");
    EXPECT_EQ(lock->token(), std::nullopt);
    const std::uint64_t before = server_time_us(peer);
    lock->lock();
    const std::uint64_t after = server_time_us(peer);
    ASSERT_TRUE(lock->token());
    EXPECT_GE(*lock->token(), before);
    EXPECT_LE(*lock->token(), after);
    EXPECT_EQ(peer.ask({"GET", "holdfast:token:{stock:42}"}).text, std::to_string(*lock->token()));
    const std::int64_t left = peer.ask({"PTTL", "holdfast:token:{stock:42}"}).integer;
    EXPECT_GT(left, 86'000'000);
    EXPECT_LE(left, 86'400'000);
    Task other = fixture.runtime.spawn("client", [&] { EXPECT_EQ(lock->token(), std::nullopt); });
    other.join();
    lock->unlock();
    EXPECT_EQ(lock->token(), std::nullopt);
    EXPECT_EQ(peer.ask({"DBSIZE"}).integer, 1);  // the counter alone
  });
}

TEST_P(Fencing, TokensRiseWithEveryGrant) {
  run([](Fixture& fixture, ExclusiveKind kind) {
    AnyPeer a(fixture, kind, kFencing), b(fixture, kind, kFencing);
    std::uint64_t last = 0;
    for (int round = 0; round < 10; ++round) {
      AnyPeer& peer = round % 3 == 0 ? b : a;
      AnyPeer& other = round % 3 == 0 ? a : b;
      const auto lock = peer.obtain("k");
      lock->lock();
      EXPECT_GT(*lock->token(), last);
      last = *lock->token();
      EXPECT_FALSE(other.obtain("k")->try_lock());  // a refusal draws none
      EXPECT_EQ(peer.ask({"GET", "holdfast:token:{k}"}).text, std::to_string(last));
      lock->unlock();
    }
    // A counter that is ahead of the clock is counted on from.
    a.ask({"SET", "holdfast:token:{k}", "8000000000000000"});
    const auto lock = a.obtain("k");
    lock->lock();
    EXPECT_EQ(*lock->token(), 8000000000000001u);
    lock->unlock();
  });
}

TEST_P(Fencing, ReEntryDrawsNone) {
  run([](Fixture& fixture, ExclusiveKind kind) {
    AnyPeer peer(fixture, kind, kFencing);
    const auto lock = peer.obtain("k");
    lock->lock();
    const std::uint64_t token = *lock->token();
    const bool again = lock->try_lock();
    EXPECT_EQ(again, kind != ExclusiveKind::non_reentrant);
    EXPECT_EQ(lock->token(), token);
    EXPECT_EQ(peer.ask({"GET", "holdfast:token:{k}"}).text, std::to_string(token));
    if (again) lock->unlock();
    EXPECT_EQ(lock->token(), token);
    lock->unlock();
  });
}

// The token of the hold is the last that was drawn for it.
TEST_P(Fencing, ALostReplyDrawsAnotherToken) {
  run([](Fixture& fixture, ExclusiveKind kind) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    AnyPeer straight(fixture, kind, kFencing), peer(fixture, kind, kFencing, link.endpoint());
    const auto first = straight.obtain("k");  // makes the script known
    first->lock();
    const std::uint64_t before = *first->token();
    first->unlock();
    straight.ask({"SET", "holdfast:token:{k}", "8000000000000000"});  // every draw shows
    peer.ask({"PING"});
    link.lose_reply_to("EVALSHA", 3);
    const auto lock = peer.obtain("k");
    lock->lock();
    EXPECT_GT(*lock->token(), before);
    EXPECT_GT(*lock->token(), 8000000000000001u);
    EXPECT_EQ(straight.ask({"GET", "holdfast:token:{k}"}).text, std::to_string(*lock->token()));
    lock->unlock();
  });
}

TEST_P(Fencing, TokensRiseThoughTheCounterIsLost) {
  run([](Fixture& fixture, ExclusiveKind kind) {
    AnyPeer peer(fixture, kind, kFencing);
    const auto lock = peer.obtain("k");
    lock->lock();
    std::uint64_t last = *lock->token();
    lock->unlock();
    peer.ask({"DEL", "holdfast:token:{k}"});
    lock->lock();
    EXPECT_GT(*lock->token(), last);
    last = *lock->token();
    peer.ask({"FLUSHALL"});  // as a restart without persistence, the record included
    AnyPeer other(fixture, kind, kFencing);
    const auto next = other.obtain("k");
    next->lock();
    EXPECT_GT(*next->token(), last);
    next->unlock();
    EXPECT_THROW(lock->release(), LockLost);
  });
}

TEST_P(Fencing, AfterAForcedReleaseTheNextTokenIsGreater) {
  run([](Fixture& fixture, ExclusiveKind kind) {
    AnyPeer a(fixture, kind, kFencing), b(fixture, kind, kFencing);
    const auto lock = a.obtain("k"), next = b.obtain("k");
    lock->lock();
    EXPECT_TRUE(next->force_unlock());
    next->lock();
    EXPECT_GT(*next->token(), *lock->token());
    EXPECT_THROW(lock->release(), LockLost);
    next->unlock();
  });
}

TEST_P(Fencing, WithoutFencingThereIsNoToken) {
  run([](Fixture& fixture, ExclusiveKind kind) {
    AnyPeer peer(fixture, kind, {.lease = 60s});
    const auto lock = peer.obtain("k");
    lock->lock();
    EXPECT_EQ(lock->token().has_value(), kind == ExclusiveKind::fenced);  // which always has one
    EXPECT_EQ(peer.ask({"EXISTS", "holdfast:token:{k}"}).integer, kind == ExclusiveKind::fenced ? 1 : 0);
    lock->unlock();
  });
}

// Between a grant whose reply was lost and the repeated question the counter vanishes, too: the holder gets a
// token that is worth something all the same.
TEST(FencingScripts, AskedAgainAfterTheCounterWasLost) {
  for (const Where where : testing::everywhere()) {
    testing::with_fixture(where, [](Fixture& fixture) {
      redis::Client client(fixture.runtime, fixture.network, fixture.options());
      for (const Wire& wire : {reentrant_wire("a", {.fencing = true}), fair_wire("b", {.fencing = true})}) {
        const std::vector<std::string_view> keys(wire.acquire_keys.begin(), wire.acquire_keys.end());
        const std::vector<std::string_view> args{"me:1", "60000", "0", "1"};
        const redis::Reply first = client.eval(*wire.acquire, keys, args).reply;
        ASSERT_EQ(first.items.size(), 3u);
        EXPECT_GT(client.eval(*wire.acquire, keys, args).reply.items[2].integer, first.items[2].integer);
        client.call({"DEL", token_key(wire.key)});
        const redis::Reply then = client.eval(*wire.acquire, keys, args).reply;
        EXPECT_EQ(then.items[0].integer, 1);
        EXPECT_GT(then.items[2].integer, first.items[2].integer) << wire.key;
      }
    });
  }
}

}  // namespace
}  // namespace holdfast
