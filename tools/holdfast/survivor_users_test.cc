// The users that `holdfast survivor` makes and looks at, on three real servers.
#include "tools/holdfast/survivor_users.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/testing/fake_server.h"
#include "lib/testing/folders.h"
#include "tools/holdfast/testing/run_tool.h"
#include "tools/holdfast/testing/survivor_set.h"

namespace holdfast::tools {
namespace {

using namespace std::chrono_literals;
namespace files = std::filesystem;

const std::string kPassword = "HOLDFAST_CLIENT_PASSWORD=secret";

// What `pattern` finds in the sources of the locks and the client, in small letters.
std::set<std::string> in_sources(const std::string& extension, const std::regex& pattern) {
  std::set<std::string> found;
  for (const char* const room : {"lib/lock", "lib/redis"}) {
    for (const auto& entry : files::recursive_directory_iterator(holdfast::testing::source_path(room))) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != extension || name.ends_with("_test.cc")) continue;
      // Of Sentinels and of a Cluster, and tables of errors and of commands of others.
      if (name.starts_with("cluster_") || name == "sentinels.cc" || name == "failure.cc" ||
          name == "hash_slot.cc")
        continue;
      const std::string text = read_text(entry.path().string());
      for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
        std::string word = (*at)[1].str();
        if ((*at)[2].length() > 0) word += "|" + (*at)[2].str();
        std::transform(word.begin(), word.end(), word.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        found.insert(word);
      }
    }
  }
  return found;
}

TEST(SurvivorUsers, ClientsMayDoWhatTheSourcesSendAndNothingElse) {
  std::set<std::string> sent = in_sources(".lua", std::regex("call\\('(\\w+)'"));
  EXPECT_GT(sent.size(), 20U);
  // In braces, or handed to what sends it; of CLIENT with its second word.
  sent.merge(in_sources(".cc", std::regex("\\{\"([A-Z]{2,})\"(?:, \"(SETNAME|LIST)\")?")));
  sent.merge(in_sources(".cc", std::regex("send\\(lock, \"([A-Z]+)\"()")));
  // Outside a Cluster, of which no survivor is a part.
  for (const char* const extension : {".h", ".cc"}) {
    sent.merge(in_sources(extension, std::regex("sharded\\(\\) \\? \"[A-Z]+\" : \"([A-Z]+)\"()")));
  }
  std::set<std::string> expected;
  for (const std::string& command : sent) {
    // The login needs no right; the second of the two stands for "EVALSHA" or, at need, the text.
    if (command != "auth" && command != "hello") expected.insert(command);
  }
  expected.insert("eval");
  std::set<std::string> rights;
  for (const Right& right : client_rights()) rights.emplace(right.rule);
  EXPECT_EQ(rights, expected);
}

// Three servers, two of which follow the first, with constants.
struct Users : SurvivorSet {
  explicit Users(int count = 3, const PerServer& per_server = {}) : SurvivorSet(count, per_server) {
    follow(1, 0);
    follow(2, 0);
  }
  std::string init = "survivor init --longest-lease 1s" + members();
  std::string status = "survivor status" + members();

  void everywhere(std::initializer_list<std::string> command) {
    for (const auto& server : servers) server->call(command);
  }
  bool knows(std::size_t server, const std::string& user) {
    return !servers.at(server)->call({"ACL", "GETUSER", user}).is_nil();
  }
  std::string refused_to(std::size_t server, const std::string& user, std::vector<std::string_view> command) {
    redis::Client client(runtime, network,
                         options_for(address(server), {.user = user, .password = "secret"}));
    try {
      client.call(redis::Arguments(command));
      return "";
    } catch (const redis::Error& error) {
      return error.code().empty() ? error.what() : error.code();
    }
  }
};

// One after the other has it, and the second waits for the first; a hold outlives its first lease.
void change_hands(Runtime& runtime, Lock& first, Lock& second) {
  ASSERT_TRUE(first.try_lock_for(30s));
  std::jthread waits([&] {
    EXPECT_TRUE(second.try_lock_for(30s));
    second.unlock();
  });
  const auto until = first.valid_until();
  for (int i = 0; i < 3000 && first.valid_until() == until; ++i) runtime.sleep_for(10ms);
  EXPECT_NE(first.valid_until(), until) << "it is not renewed";
  first.unlock();
  waits.join();
}

TEST(SurvivorUsers, EveryLockWorksAsTheUserOfTheClients) {
  Users set;
  Ran ran = holdfast(set.init + " --client-user app", kPassword);
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(ran.says("user app made on " + set.address(i) + "; a restart forgets it")) << ran.out;
  ran = holdfast(set.status + " --client-user app");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;

  const auto client_of = [&](const std::string& name) {
    redis::ClientOptions options{
        .user = "app", .password = "secret", .client_name = name, .keep_alive = 100ms};
    for (std::size_t i = 0; i < 3; ++i) options.nodes.push_back({"", set.servers[i]->endpoint()});
    return std::make_unique<redis::Client>(set.runtime, set.network, options);
  };
  const auto one = client_of("one"), two = client_of("two");
  const LockOptions plain{.lease = 1s, .fencing = true};
  LockOptions survives = plain;
  survives.survivor =
      SurvivorOptions{.members = {set.address(0), set.address(1), set.address(2)}, .longest_lease = 1s};
  const auto try_kind = [&](const auto& make, const std::string& key) {
    auto ours = make(*one), theirs = make(*two);
    const auto first = ours->obtain(key), second = theirs->obtain(key);
    change_hands(set.runtime, *first, *second);
  };
  try_kind([&](redis::Client& client) { return std::make_unique<ReentrantLocks>(client, survives); }, "a");
  try_kind([&](redis::Client& client) { return std::make_unique<NonReentrantLocks>(client, survives); }, "b");
  try_kind([&](redis::Client& client) { return std::make_unique<SpinLocks>(client, survives); }, "c");
  try_kind([&](redis::Client& client) { return std::make_unique<FencedLocks>(client, survives); }, "d");
  try_kind([&](redis::Client& client) { return std::make_unique<FairLocks>(client, survives); }, "e");
  for (const bool fair : {false, true}) {
    const ReadWriteOptions options{.lock = survives, .fair = fair};
    const std::string key = fair ? "f" : "g";
    try_kind([&](redis::Client& client) { return std::make_unique<ReadWriteLocks>(client, options); }, key);
    ReadWriteLocks locks(*one, options), others(*two, options);
    const auto lock = locks.obtain(key), other = others.obtain(key);
    lock->lock();
    lock->downgrade();
    EXPECT_TRUE(other->try_lock_shared_for(30s));
    other->unlock_shared();
    lock->unlock_shared();
  }
  // What is beside them, without survival.
  try_kind([&](redis::Client& client) { return std::make_unique<ReentrantLocks>(client, plain); }, "h");
  try_kind(
      [&](redis::Client& client) {
        return std::make_unique<Semaphores>(client, SemaphoreOptions{.lock = plain, .permits = 1});
      },
      "i");
  {
    Semaphores semaphores(*one, {.lock = plain, .permits = 1});
    const auto semaphore = semaphores.obtain("i");
    semaphore->set_permits(3);
    EXPECT_EQ(semaphore->free_permits(), 3);
    CountDownLatch latch(*one, "j"), other(*two, "j");
    EXPECT_TRUE(latch.set(1));
    std::jthread waits([&] { EXPECT_TRUE(latch.await_for(30s)); });
    EXPECT_EQ(other.count_down(), 0);
    waits.join();
    EXPECT_TRUE(latch.set(2));
    EXPECT_TRUE(latch.set(2) || latch.count() == 2);
  }
  // Nothing was refused them, not even what they can do without.
  for (std::size_t i = 0; i < 3; ++i) {
    const redis::Reply log = set.servers[i]->call({"ACL", "LOG"});
    EXPECT_TRUE(log.items.empty()) << set.address(i) << ": " << log.items[0].items.at(7).text;
  }
  const std::vector<std::vector<std::string_view>> forbidden = {{"CONFIG", "RESETSTAT"},
                                                                {"CONFIG", "GET", "save"},
                                                                {"CONFIG", "SET", "save", ""},
                                                                {"SWAPDB", "0", "1"},
                                                                {"DEBUG", "RELOAD"},
                                                                {"FLUSHALL"},
                                                                {"FLUSHDB"},
                                                                {"REPLICAOF", "NO", "ONE"},
                                                                {"FAILOVER"},
                                                                {"SHUTDOWN"},
                                                                {"ACL", "USERS"},
                                                                {"KEYS", "*"},
                                                                {"SCAN", "0"},
                                                                {"MONITOR"},
                                                                {"SCRIPT", "FLUSH"},
                                                                {"CLIENT", "KILL", "TYPE", "replica"},
                                                                {"SUBSCRIBE", "others"},
                                                                {"RESTORE", "a", "0", "b"}};
  for (const auto& command : forbidden) EXPECT_EQ(set.refused_to(0, "app", command), "NOPERM") << command[0];
}

TEST(SurvivorUsers, AreKeptWhereTheServerCanKeepThem) {
  Users set(3, [](int i, RedisProcessOptions& options) {
    files::create_directories(options.folder + "/acl");
    if (i == 0) {
      const std::string users = options.folder + "/acl/users";
      std::ofstream(users) << "user default on nopass ~* &* +@all\n";
      options.settings.insert(options.settings.end(), {"--aclfile", users});
    }
    if (i == 1) {
      options.configuration = options.folder + "/redis.conf";
      std::ofstream(options.configuration) << "maxmemory-policy noeviction\n";
    }
  });
  Ran ran = holdfast(set.init + " --client-user app", kPassword);
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("user app made on " + set.address(0) + ", and kept in " + set.folder.path() +
                       "/0/acl/users\n"))
      << ran.out;
  EXPECT_TRUE(ran.says("user app made on " + set.address(1) + ", and kept in " + set.folder.path() +
                       "/1/redis.conf\n"))
      << ran.out;
  EXPECT_TRUE(ran.says("user app made on " + set.address(2) +
                       "; a restart forgets it: the server has neither an aclfile nor a configuration file"))
      << ran.out;
  for (const std::size_t i : {0U, 1U, 2U}) {
    set.servers[i]->kill();
    set.servers[i]->start();
  }
  EXPECT_TRUE(set.knows(0, "app"));
  EXPECT_TRUE(set.knows(1, "app"));
  EXPECT_FALSE(set.knows(2, "app"));
  set.follow(1, 0);
  set.follow(2, 0);

  ran = holdfast(set.status + " --client-user app");
  EXPECT_EQ(ran.exit, 1) << ran.out;
  EXPECT_TRUE(ran.says("✗ " + set.address(2) +
                       " has no user app who can log in: holdfast survivor init --client-user"))
      << ran.out;
  EXPECT_FALSE(ran.says(set.address(1) + " has no user")) << ran.out;
  EXPECT_EQ(holdfast(set.status).exit, 0) << "nobody asked for it";
  // Again, with another password: who was there is set anew.
  ran = holdfast(set.init + " --client-user app", "HOLDFAST_CLIENT_PASSWORD=other");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("user app set anew on " + set.address(0) + ", and kept in ")) << ran.out;
  EXPECT_TRUE(ran.says("user app made on " + set.address(2))) << ran.out;
  EXPECT_EQ(set.refused_to(0, "app", {"PING"}), "WRONGPASS");
  EXPECT_EQ(holdfast(set.status + " --client-user app").exit, 0);

  // What should be kept and is not: the set is as it should be until somebody restarts, and the exit tells.
  files::remove_all(set.folder.path() + "/0/acl");
  ran = holdfast(set.init + " --client-user app", kPassword);
  EXPECT_EQ(ran.exit, 1) << ran.out;
  EXPECT_TRUE(ran.says("✗ user app on " + set.address(0) + ": a restart forgets it: ")) << ran.out;
  EXPECT_TRUE(ran.says("all members have it")) << ran.out;
  EXPECT_EQ(set.refused_to(2, "app", {"PING"}), "");

  // Half a user is none.
  set.servers[2]->call({"ACL", "SETUSER", "app", "-wait", "-publish"});
  ran = holdfast(set.status + " --client-user app");
  EXPECT_EQ(ran.exit, 1) << ran.out;
  EXPECT_TRUE(ran.says(set.address(2) + " does not let the user app do wait and publish: ")) << ran.out;
  set.servers[2]->call({"ACL", "SETUSER", "app", "+wait", "+publish", "off"});
  ran = holdfast(set.status + " --client-user app");
  EXPECT_TRUE(ran.says(set.address(2) + " has no user app who can log in")) << ran.out;
  set.servers[2]->call({"ACL", "SETUSER", "app", "on", "resetkeys", "~orders:*"});
  ran = holdfast(set.status + " --client-user app");
  EXPECT_TRUE(ran.says(set.address(2) + " does not let the user app do eval, evalsha, ")) << ran.out;
  set.servers[2]->call({"ACL", "SETUSER", "app", "~*", "resetpass"});
  ran = holdfast(set.status + " --client-user app");
  EXPECT_TRUE(ran.says(set.address(2) + " has no user app who can log in")) << ran.out;
}

TEST(SurvivorUsers, WhoMayMakeTwoOwnersIsNamed) {
  Users set(3, [](int i, RedisProcessOptions& options) {
    // As Redis is without being told otherwise.
    if (i != 2) options.settings.insert(options.settings.end(), {"--enable-debug-command", "no"});
  });
  set.everywhere({"ACL", "SETUSER", "root", "on", ">root", "~*", "+@all"});
  set.everywhere({"ACL", "SETUSER", "gone", "off", ">gone", "~*", "+@all"});
  set.everywhere({"ACL", "SETUSER", "keyless", "on", "~*", "+@all"});
  set.everywhere(
      {"ACL", "SETUSER", "tidy", "on", ">tidy", "~*", "+@all", "-config|resetstat", "-swapdb", "-debug"});
  set.servers[1]->call({"ACL", "SETUSER", "swaps", "on", ">swaps", "+swapdb"});
  const auto expect_told = [&](const Ran& ran, const std::string& both, const std::string& third) {
    EXPECT_EQ(ran.exit, 0) << "it is a warning: " << ran.out << ran.err;
    EXPECT_TRUE(ran.says("! the user default, as whom everybody logs in who names none, may do " + both))
        << ran.out;
    EXPECT_TRUE(ran.says("! the user default, as whom everybody logs in who names none, may do " + third))
        << ran.out;
    EXPECT_TRUE(ran.says("! the user swaps may do SWAPDB on " + set.address(1) + ": ")) << ran.out;
    for (const std::string nobody : {"gone", "keyless", "tidy"})
      EXPECT_FALSE(ran.says("user " + nobody)) << ran.out;
  };
  const std::string both = "CONFIG RESETSTAT and SWAPDB on " + set.address(0) + " and " + set.address(1);
  const std::string third = "CONFIG RESETSTAT, SWAPDB and DEBUG on " + set.address(2);
  Ran ran = holdfast(set.init);
  expect_told(ran, both, third);
  EXPECT_TRUE(ran.says("! the user root may do " + both)) << ran.out;
  expect_told(holdfast(set.status), both, third);
  // Who asks knows of himself.
  ran = holdfast(set.status + " --user root", "HOLDFAST_REDIS_PASSWORD=root");
  expect_told(ran, both, third);
  EXPECT_FALSE(ran.says("user root")) << ran.out;

  // As the page says it.
  set.everywhere({"ACL", "SETUSER", "default", "-config|resetstat", "-swapdb", "-debug"});
  set.servers[1]->call({"ACL", "DELUSER", "swaps"});
  ran = holdfast(set.status + " --user root", "HOLDFAST_REDIS_PASSWORD=root");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_FALSE(ran.says("!")) << ran.out;
  // One who may ask for the state, and not for users.
  set.everywhere(
      {"ACL", "SETUSER", "looks", "on", ">looks", "~*", "+info", "+time", "+get", "+scan", "+pttl"});
  ran = holdfast(set.status + " --user looks", "HOLDFAST_REDIS_PASSWORD=looks");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("! who may do what on " + set.address(0) + " is not known: ")) << ran.out;
  ran = holdfast(set.status + " --client-user app --user looks", "HOLDFAST_REDIS_PASSWORD=looks");
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("✗ " + set.address(0) + " does not say whether it has the user app")) << ran.out;
}

TEST(SurvivorUsers, AnOldServerCannotSay) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  redis::testing::FakeServer old(runtime, network, [](auto& peer, const auto& command) {
    const std::string& what = command.at(1);
    if (what == "WHOAMI") return peer.send("$7\r\ndefault\r\n");
    if (what == "USERS") return peer.send("*1\r\n$7\r\ndefault\r\n");
    if (what == "GETUSER") return peer.send("*2\r\n$5\r\nflags\r\n*2\r\n+on\r\n+nopass\r\n");
    if (what == "GET") return peer.send("*0\r\n");
    peer.send("-ERR Unknown subcommand or wrong number of arguments for 'DRYRUN'. Try ACL HELP.\r\n");
  });
  const std::string address = old.endpoint().to_string();
  const std::vector<std::string> warnings =
      warnings_of(survey_users(runtime, network, {address}, Access{}, ""));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with("who may do what on " + address + " is not known: ")) << warnings[0];
  EXPECT_TRUE(warnings[0].ends_with("(Redis 7.0 and newer know it)")) << warnings[0];
}

// Where an administrator took commands away, nobody may send them.
TEST(SurvivorUsers, WhatAServerDoesNotKnowNobodyMayDo) {
  Users set(3, [](int, RedisProcessOptions& options) {
    options.settings.insert(options.settings.end(), {"--rename-command", "SWAPDB", ""});
  });
  const Ran ran = holdfast(set.status);
  EXPECT_TRUE(ran.says(" may do CONFIG RESETSTAT and DEBUG on all members: ")) << ran.out;
}

TEST(SurvivorUsers, NobodyElsesUserIsTaken) {
  Users set;
  const auto refused = [&](const std::string& why) {
    const Ran ran = holdfast(set.init + " --client-user app", kPassword);
    EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
    EXPECT_TRUE(ran.says(why)) << ran.out;
    EXPECT_TRUE(ran.says("nothing was changed")) << ran.out;
    EXPECT_FALSE(set.knows(0, "app")) << ran.out;
    EXPECT_TRUE(set.servers[0]->call({"GET", "holdfast:survivor"}).is_nil());
  };
  set.servers[1]->call({"ACL", "SETUSER", "app", "+get", "+incr"});
  refused("✗ " + set.address(1) +
          " has a user app who may do more than clients need (+incr): expected one for clients only");
  set.servers[1]->call({"ACL", "SETUSER", "app", "reset", "(+get ~*)"});
  refused(set.address(1) + " has a user app who may do more than clients need (selectors)");
  set.servers[1]->call({"ACL", "DELUSER", "app"});
  set.servers[2]->call({"CONFIG", "SET", "masteruser", "app"});
  refused("✗ " + set.address(2) +
          " logs in at its primary as app (masteruser): expected one for clients only");
  set.servers[2]->call({"CONFIG", "SET", "masteruser", ""});

  // Where one member does not let it be made, the constants wait.
  set.everywhere({"ACL", "SETUSER", "half", "on", ">half", "~*", "+@all"});
  set.servers[1]->call({"ACL", "SETUSER", "half", "-acl|setuser"});
  Ran ran =
      holdfast(set.init + " --client-user app --user half", kPassword + " HOLDFAST_REDIS_PASSWORD=half");
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("✗ user app on " + set.address(1) + ": ")) << ran.out;
  EXPECT_TRUE(ran.says("the constants were not touched: run the same command again")) << ran.out;
  EXPECT_TRUE(set.servers[0]->call({"GET", "holdfast:survivor"}).is_nil());
  ran = holdfast(set.init + " --client-user app", kPassword);
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

TEST(SurvivorUsers, ALeavingMemberLosesTheUserOfTheClients) {
  Users set(4);
  ASSERT_EQ(holdfast(set.init + " --client-user app", kPassword).exit, 0);
  set.follow(3, 0);
  const std::string others = " --members " + set.address(0) + "," + set.address(1) + "," + set.address(3);
  Ran ran = holdfast("survivor init --change --longest-lease 1s --client-user app" + others, kPassword);
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("user app made on " + set.address(3))) << ran.out;
  EXPECT_TRUE(ran.says("user app taken away from " + set.address(2))) << ran.out;
  EXPECT_TRUE(set.knows(3, "app"));
  EXPECT_FALSE(set.knows(2, "app"));
  EXPECT_TRUE(set.knows(1, "app"));
}

}  // namespace
}  // namespace holdfast::tools
