// The client against real redis-server processes.
#include <gtest/gtest.h>

#include <atomic>

#include "lib/redis/client.h"
#include "lib/testing/ports.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using holdfast::RedisProcess;
using holdfast::TemporaryFolder;
using testing::on_ports;
using testing::Ports;

class ClientAndRealRedis : public ::testing::TestWithParam<Ports> {
 protected:
  static void run(const std::function<void(Runtime&, Network&)>& body) { on_ports(GetParam(), body); }
};

ClientOptions options(std::initializer_list<const RedisProcess*> servers) {
  ClientOptions options;
  for (const RedisProcess* server : servers) options.nodes.push_back({"", server->endpoint()});
  options.command_timeout = 30s;
  options.connect_timeout = 10s;
  return options;
}

std::string code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code() + (error.may_have_executed() ? " maybe" : " not");
  }
  return "no error";
}

const Script kAdd{"add", "return redis.call('INCRBY', KEYS[1], ARGV[1])",
                  "6d88f6d35e81a2a5a7d0ae5fd5a2bd0bca5e5ed1"};

TEST_P(ClientAndRealRedis, ScriptsErrorsAndManyTasks) {
  run([](Runtime& runtime, Network& network) {
    TemporaryFolder folder;
    RedisProcess server(runtime, network, {.folder = folder.path()});
    server.start();
    server.call({"CONFIG", "SET", "requirepass", "pw"});
    ClientOptions with = options({&server});
    EXPECT_EQ(code_of([&] { Client(runtime, network, with).call({"GET", "k"}); }), "NOAUTH not");
    with.password = "wrong";
    EXPECT_THROW(Client(runtime, network, with).call({"GET", "k"}), Error);
    with.password = "pw";
    with.client_name = "holdfast-test";
    with.database = 2;
    Client client(runtime, network, with);
    EXPECT_EQ(client.call({"CLIENT", "GETNAME"}).reply.text, "holdfast-test");
    EXPECT_EQ(code_of([&] { client.call({"NOSUCH"}); }), "ERR not");
    EXPECT_EQ(code_of([&] { client.call({"EVAL", "return redis.call('NOSUCH')", "0"}); }), "ERR maybe");
    client.call({"SET", "text", "x"});
    EXPECT_EQ(code_of([&] { client.call({"LPUSH", "text", "y"}); }), "WRONGTYPE not");
    // A SHA-1 that the server cannot know: EVAL with the text each time.
    const std::array<std::string_view, 1> key = {"n"}, two = {"2"};
    EXPECT_EQ(client.eval(kAdd, key, two).reply.integer, 2);
    EXPECT_EQ(client.eval(kAdd, key, two).reply.integer, 4);

    std::vector<Task> tasks;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 16; ++t) {
      tasks.push_back(runtime.spawn("caller", [&, t] {
        const std::string mine = "k" + std::to_string(t);
        for (int i = 1; i <= 200; ++i) {
          if (client.call({"INCR", mine}, {.background = t % 4 == 0}).reply.integer != i) ++wrong;
        }
      }));
    }
    tasks.clear();
    EXPECT_EQ(wrong, 0);
  });
}

TEST_P(ClientAndRealRedis, OneThatEvictsKeysIsWarnedOf) {
  run([](Runtime& runtime, Network& network) {
    TemporaryFolder folder;
    RedisProcess server(runtime, network, {.folder = folder.path()});
    server.start();
    std::vector<std::string> warnings;
    ClientOptions with = options({&server});
    with.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    server.call({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
    Client(runtime, network, with).call({"PING"});
    EXPECT_TRUE(warnings.empty()) << "without a limit nothing is evicted: " << warnings[0];
    server.call({"CONFIG", "SET", "maxmemory", "1gb"});
    Client(runtime, network, with).call({"PING"});
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("maxmemory-policy volatile-lru"), std::string::npos) << warnings[0];
    with.strict = true;
    EXPECT_THROW(Client(runtime, network, with).call({"PING"}), Error);
    server.call({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    Client(runtime, network, with).call({"PING"});
    EXPECT_EQ(warnings.size(), 1u);
  });
}

// Errors of SUBSCRIBE and UNSUBSCRIBE name no channel.
TEST_P(ClientAndRealRedis, AChannelThatIsRefusedTakesNoOtherAlong) {
  run([](Runtime& runtime, Network& network) {
    TemporaryFolder folder;
    RedisProcess server(runtime, network, {.folder = folder.path()});
    server.start();
    server.call(
        {"ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "-unsubscribe", "resetchannels", "&a*"});
    ClientOptions with = options({&server});
    with.user = "app";
    with.password = "pw";
    with.backoff_max = 20ms;
    std::atomic<int> warnings = 0, a = 0, left = 0, z = 0, heard = 0;
    with.on_warning = [&](std::string_view) { ++warnings; };
    const auto until = [&](const std::atomic<int>& count, int least) {
      for (int i = 0; i < 20'000 && count < least; ++i) runtime.sleep_for(1ms);
      EXPECT_GE(count, least);
    };
    Client client(runtime, network, with);
    const auto listen = [&](const char* channel, std::atomic<int>& in_force) {
      return client.subscribe(
          channel, [&](std::string_view) { ++heard; }, [&] { ++in_force; });
    };
    const auto first = listen("a", a);
    auto leaves = listen("a-while", left);
    const auto refused = listen("z", z);
    until(left, 1);
    until(warnings, 1);
    leaves.reset();  // that it may not either
    const auto again = listen("a", a);
    until(a, 2);
    server.call({"PUBLISH", "a", "to both"});
    until(heard, 2);
    EXPECT_EQ(z, 0);
    server.call({"ACL", "SETUSER", "app", "&z"});
    until(z, 1);
    server.call({"PUBLISH", "z", "to one"});
    until(heard, 3);
    EXPECT_EQ(a, 2) << "subscribed again: the connection was another";
    EXPECT_EQ(warnings, 1);
  });
}

TEST_P(ClientAndRealRedis, FollowsAPromotion) {
  run([](Runtime& runtime, Network& network) {
    TemporaryFolder one, two;
    RedisProcess a(runtime, network, {.folder = one.path()}), b(runtime, network, {.folder = two.path()});
    a.start();
    b.start(
        {"--replicaof", "127.0.0.1 " + std::to_string(a.endpoint().port), "--repl-diskless-sync-delay", "0"});
    Client client(runtime, network, options({&b, &a}));
    EXPECT_EQ(client.call({"SET", "k", "1"}).node, a.endpoint().to_string());

    Mutex mutex(runtime);
    Condition changed(runtime);
    int subscribed = 0;
    std::string got;
    const auto subscription = client.subscribe(
        "news",
        [&](std::string_view payload) {
          const std::unique_lock lock(mutex);
          got = payload;
          changed.notify_all();
        },
        [&] {
          const std::unique_lock lock(mutex);
          ++subscribed;
          changed.notify_all();
        });
    const auto wait_for = [&](auto done) {
      std::unique_lock lock(mutex);
      ASSERT_TRUE(changed.wait_until(lock, runtime.now() + 60s, done));
    };
    wait_for([&] { return subscribed >= 1; });

    // The roles are exchanged: READONLY on the living connection.
    b.call({"REPLICAOF", "NO", "ONE"});
    a.call({"REPLICAOF", "127.0.0.1", std::to_string(b.endpoint().port)});
    EXPECT_EQ(client.call({"SET", "k", "2"}).node, b.endpoint().to_string());
    wait_for([&] { return subscribed >= 2; });
    b.call({"PUBLISH", "news", "hello"});
    wait_for([&] { return got == "hello"; });

    // And back, by a kill.
    b.kill();
    a.call({"REPLICAOF", "NO", "ONE"});
    runtime.sleep_for(5ms);
    for (;;) {
      try {
        EXPECT_EQ(client.call({"SET", "k", "3"}).node, a.endpoint().to_string());
        break;
      } catch (const Error& error) {
        EXPECT_TRUE(error.may_have_executed());  // the kill was not seen yet when it was sent
      }
    }
    wait_for([&] { return subscribed >= 3; });
  });
}

INSTANTIATE_TEST_SUITE_P(, ClientAndRealRedis, ::testing::ValuesIn(holdfast::testing::on_real_time()),
                         [](const auto& info) { return testing::to_string(info.param); });

}  // namespace
}  // namespace holdfast::redis
