// What a hunt sees inside the servers: branches of scripts, states of records; looking moves nothing.
#include "sim/hunt/server_watch.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "sim/hunt/draw_case.h"
#include "sim/hunt/trial.h"
#include "sim/redis/keyspace_witness.h"
#include "sim/redis/script_witness.h"
#include "sim/redis/testing/local_server.h"

namespace holdfast::sim {
namespace {

using std::chrono::milliseconds;

Scenario of_lock(const std::string& kind) {
  return parse_scenarios("schema = 1\nname = \"w\"\n[lock]\nkind = \"" + kind +
                             "\"\nlease = \"900ms\"\n[workload]\nkind = \"critical-section\"\n"
                             "[[expect]]\ncheck = \"lease-exclusion\"\n",
                         "w.toml")
      .front();
}

// A server that is looked into.
struct Watched {
  explicit Watched(const std::string& kind = "reentrant", embedded::KeyspaceWitness* next = nullptr)
      : scenario(of_lock(kind)) {
    watch.begins(*world);
    server.engine.set_witness(watch.witness("r1", next));
  }
  std::set<std::uint64_t> news() {
    std::set<std::uint64_t> words;
    for (const Feature& feature : watch.take_features()) words.insert(feature.hash);
    return words;
  }

  std::unique_ptr<World> world = make_embedded_world({});
  Scenario scenario;
  ServerWatch watch{scenario};
  embedded::LocalServer server;
};

TEST(HuntServerWatch, ALineAfterAnotherIsABranch) {
  Watched one;
  const auto run = [&](const char* argument) {
    one.server.call({"EVAL", "local n = 0\nif ARGV[1] == 'a' then\n  n = 1\nend\nreturn n", "0", argument});
    return one.news().size();
  };
  EXPECT_EQ(run("b"), 3u) << "lines 1, 2, 5";
  EXPECT_EQ(run("b"), 0u);
  EXPECT_EQ(run("a"), 2u) << "2 to 3, 3 to 5";
  EXPECT_EQ(run("a"), 0u);
}

TEST(HuntServerWatch, AnotherScriptHasBranchesOfItsOwn) {
  Watched one;
  one.server.call({"EVAL", "return 1", "0"});
  EXPECT_EQ(one.news().size(), 1u);
  one.server.call({"EVAL", "return 2", "0"});
  EXPECT_EQ(one.news().size(), 1u);
}

// Scripts that run for long take their time as before, and can be killed; of their lines no more is told.
TEST(HuntServerWatch, AScriptWithoutAnEndIsStillEnded) {
  struct Counting final : embedded::KeyspaceWitness, embedded::ScriptWitness {
    void changed(embedded::Engine&, std::string_view, Cause) override {}
    void loaded(embedded::Engine&) override {}
    void begins(std::string_view) override { ++scripts; }
    void line(int) override { ++lines; }
    int scripts = 0, lines = 0;
  } counting;
  embedded::LocalServer server;
  server.engine.set_witness(&counting);
  EXPECT_EQ(server.call({"EVAL", "while true do\n local x = 1\n end", "0"}), "");
  server.pass(std::chrono::seconds(6));
  EXPECT_EQ(server.call({"SCRIPT", "KILL"}, 2), "+OK\r\n");
  server.pass(milliseconds(1));
  EXPECT_NE(server.take(1).find("killed"), std::string::npos);
  EXPECT_EQ(counting.lines, embedded::kLinesTold);
  EXPECT_EQ(server.call({"EVAL", "return 1", "0"}), ":1\r\n");
  EXPECT_EQ(counting.lines, embedded::kLinesTold + 1) << "the next script is told from its beginning";
  EXPECT_EQ(counting.scripts, 2);
}

TEST(HuntServerWatch, StatesAreNewNamesAreNot) {
  const auto story = [](const std::string& first, const std::string& second, const std::string& key) {
    Watched one;
    one.server.call({"SET", key, first, "PX", "900"});
    one.server.call({"DEL", key});
    one.server.call({"SET", key, second, "PX", "900"});
    return one.news();
  };
  const auto plain = story("u1:1", "u2:2", "stock:1");
  EXPECT_EQ(plain, story("u7:7", "u8:8", "stock:2"));
  EXPECT_NE(plain, story("u1:1", "u1:1", "stock:1")) << "the same owner again";
  EXPECT_NE(plain, story("u1:1", "u1:2", "stock:1")) << "another of the same process";
}

TEST(HuntServerWatch, WhatIsLeftOfTheLeaseAndHowManyWaitAreStates) {
  Watched one;
  one.server.call({"SET", "k", "u1:1", "PX", "900"});
  one.news();
  one.server.call({"PEXPIRE", "k", "850"});
  EXPECT_EQ(one.news().size(), 1u) << "from a whole lease to more than two thirds";
  one.server.call({"PEXPIRE", "k", "880"});
  EXPECT_EQ(one.news().size(), 1u) << "from more than two thirds to these";
  one.server.call({"PEXPIRE", "k", "860"});
  EXPECT_TRUE(one.news().empty());
  one.server.call({"PEXPIRE", "k", "100"});
  EXPECT_FALSE(one.news().empty());
  one.server.call({"ZADD", "holdfast:fair:queue:{k}", "1", "a"});
  EXPECT_FALSE(one.news().empty());
  one.server.call({"ZADD", "holdfast:fair:queue:{k}", "2", "b"});
  EXPECT_FALSE(one.news().empty());
}

// Else each number of them would be kept as a case that shows something new.
TEST(HuntServerWatch, OfManyLocksBesideEachOtherTheirNumberIsNoNews) {
  Watched one;
  const auto set = [&](int number) {
    one.server.call({"SET", "k" + std::to_string(number), "u1:1", "PX", "900"});
    return !one.news().empty();
  };
  for (int number = 0; number < 16; ++number) EXPECT_TRUE(set(number)) << number;
  for (int number = 16; number < 40; ++number) EXPECT_FALSE(set(number)) << number;
  for (int number = 39; number > 0; --number) one.server.call({"DEL", "k" + std::to_string(number)});
  one.news();
  one.server.call({"RPUSH", "k1", "a"});
  EXPECT_FALSE(one.news().empty()) << "of a few it is";
}

TEST(HuntServerWatch, WhoLooksAlreadyIsToldFirst) {
  struct Other final : embedded::KeyspaceWitness {
    void changed(embedded::Engine&, std::string_view key, Cause) override { keys.emplace_back(key); }
    void loaded(embedded::Engine&) override { ++loads; }
    std::vector<std::string> keys;
    int loads = 0;
  } other;
  Watched one("reentrant", &other);
  one.server.call({"SET", "k", "u1:1"});
  EXPECT_EQ(other.keys, std::vector<std::string>{"k"});
  EXPECT_EQ(other.loads, 1);
}

TEST(HuntServerWatch, LookingMovesNothing) {
  for (const char* const lock : {"fair", "semaphore", "redisson-3.13-reentrant", "redlock"}) {
    const HuntCase one{.document = draw_case(ground_of(*find_lock_kind(lock)), Rng::derive(3, lock)),
                       .seed = 5};
    const Trial watched = try_case(one, {.features = true});
    EXPECT_EQ(watched.trace, try_case(one).trace) << lock;
    EXPECT_TRUE(std::is_sorted(watched.features.begin(), watched.features.end(),
                               [](const Feature& a, const Feature& b) { return a.at_ns < b.at_ns; }));
    const Trial again = try_case(one, {.features = true});
    ASSERT_EQ(watched.features.size(), again.features.size());
    for (std::size_t i = 0; i < again.features.size(); ++i)
      EXPECT_EQ(watched.features[i].hash, again.features[i].hash) << lock;
  }
}

}  // namespace
}  // namespace holdfast::sim
