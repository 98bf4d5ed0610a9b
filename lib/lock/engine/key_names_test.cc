// Names beside a key: no two keys share one, and each lies in the slot of its key.
#include "lib/lock/engine/key_names.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <vector>

#include "lib/lock/engine/checked_options.h"
#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/peer.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;

// Every text of `alphabet` up to that length, but the empty one.
std::vector<std::string> all_texts(std::string_view alphabet, std::size_t longest) {
  std::vector<std::string> texts{""};
  for (std::size_t from = 0; from < texts.size() && texts[from].size() < longest; ++from) {
    for (const char c : alphabet) texts.push_back(texts[from] + c);
  }
  texts.erase(texts.begin());
  return texts;
}

TEST(KeyNames, TheThreeForms) {
  EXPECT_EQ(token_key("stock:42"), "holdfast:token:{stock:42}");
  EXPECT_EQ(token_key("a{b"), "holdfast:token:{a{b}");
  EXPECT_EQ(token_key("{x}"), "holdfast:token::{x}");
  EXPECT_EQ(token_key("a{b}c{d}"), "holdfast:token::a{b}c{d}");
  EXPECT_EQ(beside_key("holdfast:fair:queue", "k"), "holdfast:fair:queue:{k}");
  for (const std::string key : {"x}y", "{}x", "}", "{}", "}{a", "{}{a}"}) {
    const std::string name = token_key(key);
    EXPECT_TRUE(name.starts_with("holdfast:token:{")) << name;
    EXPECT_TRUE(name.ends_with("}:" + key)) << name;
    EXPECT_LT(name.size(), key.size() + 30) << name;
    EXPECT_EQ(name, token_key(key));
  }
}

TEST(KeyNames, NoTwoKeysShareAName) {
  std::map<std::string, std::string> key_of;
  // ':' and the digits of a tag are what could make one form look like another.
  std::vector<std::string> keys = all_texts("{}:a", 6);
  for (const std::string& key : all_texts("{}:0", 5)) keys.push_back(key);
  for (const std::string& key : all_texts("{}a", 7)) keys.push_back(key);
  for (const std::string& key : keys) {
    const auto [known, fresh] = key_of.emplace(beside_key("holdfast:token", key), key);
    EXPECT_EQ(known->second, key) << known->first;
    // A key that is made of a name is a key of its own, too.
    const std::string again = beside_key("holdfast:token", known->first);
    EXPECT_FALSE(key_of.contains(again)) << again;
  }
}

// Clients of all versions have to find the same one, whoever has looked for it before.
TEST(KeyNames, TheTagIsTheLeastNumberOfTheSlot) {
  for (const std::string key : {"x}y", "}", "{}a", "b}c", "x}y"}) {
    int least = 0;
    while (hash_slot(std::to_string(least)) != hash_slot(key)) ++least;
    EXPECT_EQ(beside_key("holdfast:token", key), "holdfast:token:{" + std::to_string(least) + "}:" + key);
  }
}

TEST(KeyNames, TheSlotIsThatOfTheKey) {
  for (const std::string& key : all_texts("{}:a", 6)) {
    EXPECT_EQ(hash_slot(beside_key("holdfast:rw:line", key)), hash_slot(key)) << key;
  }
  EXPECT_TRUE(rc::check("drawn keys", [] {
    const auto piece =
        rc::gen::element<std::string>("{", "}", "::", "}:", ":{", "7", "holdfast:", "x", "\xff");
    const auto draw = rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(piece));
    std::string one, two;
    for (const std::string& part : *draw) one += part;
    for (const std::string& part : *draw) two += part;
    RC_ASSERT(hash_slot(beside_key("holdfast:token", one)) == hash_slot(one));
    RC_ASSERT((beside_key("holdfast:token", one) == beside_key("holdfast:token", two)) == (one == two));
  }));
}

// Whatever slot a key lies in, a tag is found.
TEST(KeyNames, EverySlotHasAShortTag) {
  std::vector<bool> seen(16384);
  std::size_t found = 0, number = 0;
  for (; found < seen.size(); ++number) {
    const std::uint16_t slot = hash_slot(std::to_string(number));
    found += seen[slot] ? 0 : 1;
    seen[slot] = true;
  }
  EXPECT_LT(number, 1'000'000u);
}

// Against the server's own: CLUSTER KEYSLOT needs cluster mode.
TEST(KeyNames, SlotsAreThoseOfTheServer) {
  EXPECT_EQ(hash_slot("123456789"), 0x31c3 & 0x3fff);  // the check value of CRC-16/XMODEM
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  const TemporaryFolder folder;
  RedisProcessOptions options;
  options.folder = folder.path();
  options.settings = {"--cluster-enabled", "yes"};
  RedisProcess server(runtime, network, options);
  server.start();
  std::vector<std::string> keys = all_texts("{}a", 4);
  for (const char* key : {"stock:42", "foo{bar}{zap}", "foo{{bar}}zap", "a{b", "x}y", "\xff\x01"}) {
    keys.emplace_back(key);
  }
  for (const std::string& key : keys) {
    const std::string name = token_key(key);
    EXPECT_EQ(server.call({"CLUSTER", "KEYSLOT", key}).integer, hash_slot(key)) << key;
    EXPECT_EQ(server.call({"CLUSTER", "KEYSLOT", name}).integer, hash_slot(key)) << name;
  }
}

TEST(KeyNames, NoLockIsNamedLikeThem) {
  EXPECT_THROW(checked_key("holdfast:token:{k}"), std::invalid_argument);
  EXPECT_THROW(checked_key("holdfast:"), std::invalid_argument);
  EXPECT_NO_THROW(checked_key("holdfast"));
  EXPECT_NO_THROW(checked_key("shop:holdfast:token"));
}

class KeyNamesTest : public ::testing::TestWithParam<Where> {};
INSTANTIATE_TEST_SUITE_P(Ports, KeyNamesTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// `x` and `{x}` lie in one slot, and are two locks: what happens to one changes nothing of the other.
TEST_P(KeyNamesTest, KeysThatLookAlikeAreTwoLocks) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    testing::Peer<FairLocks> a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s}),
        c(fixture, {.lease = 60s});
    const auto plain = a.locks.obtain("x"), tagged = b.locks.obtain("{x}"), waits = c.locks.obtain("{x}");
    plain->lock();
    tagged->lock();
    Task waiter = fixture.runtime.spawn("client", [&] {
      waits->lock();
      waits->unlock();
    });
    c.observer.wait_for(LockEvent::Kind::queued);
    plain->release();
    EXPECT_TRUE(tagged->is_held_by_me());
    EXPECT_EQ(c.observer.count(LockEvent::Kind::acquired), 0u);
    EXPECT_EQ(a.ask({"EXISTS", "x"}).integer, 0);
    tagged->release();
    waiter.join();
  });
}

TEST_P(KeyNamesTest, SemaphoresThatLookAlikeCountForThemselves) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    Semaphores locks(client, {.lock = {.lease = 60s}, .permits = 1});
    const auto plain = locks.obtain("s"), tagged = locks.obtain("{s}");
    plain->acquire();
    EXPECT_FALSE(plain->try_acquire());
    EXPECT_TRUE(tagged->try_acquire());
    EXPECT_FALSE(tagged->try_acquire());
    plain->release();
    EXPECT_FALSE(tagged->try_acquire());
    EXPECT_TRUE(plain->try_acquire());
    plain->release();
    tagged->release();
  });
}

}  // namespace
}  // namespace holdfast
