// What a wrong address, a wrong password or a wrong server comes to: a typed error with a clear text, at
// once.
//
// "At once" is shown without a clock: the deadline of every call is an hour away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "lib/redis/client.h"
#include "lib/redis/url.h"
#include "lib/testing/fake_server.h"
#include "lib/testing/ports.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using holdfast::RedisProcess;
using holdfast::TemporaryFolder;
using testing::array;
using testing::bulk;
using testing::Command;
using ::testing::ElementsAre;
using testing::FakeServer;
using testing::greeting;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::on_ports;
using testing::Peer;
using testing::Ports;
using Kind = Error::Kind;

class FirstContact : public ::testing::TestWithParam<Ports> {
 protected:
  static void run(const std::function<void(Runtime&, Network&)>& body) { on_ports(GetParam(), body); }
};

ClientOptions to(const std::vector<Endpoint>& endpoints) {
  ClientOptions options;
  for (const Endpoint& endpoint : endpoints) options.nodes.push_back({"", endpoint});
  options.connect_timeout = 60s;
  options.command_timeout = 1h;
  return options;
}

Error failure_of(Runtime& runtime, Network& network, const ClientOptions& options,
                 std::initializer_list<std::string_view> command = {"SET", "k", "v"}) {
  Client client(runtime, network, options);
  try {
    client.call(command);
  } catch (const Error& error) {
    EXPECT_FALSE(error.may_have_executed()) << error.what();
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(Kind::timed_out, "", "", "", false, "none");
}

TEST_P(FirstContact, TheGreetingComesAfterThePasswordAndBeforeTheRest) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(
        runtime, network,
        [](Peer& peer, const Command& command) {
          peer.send(command[0] == "HELLO" ? greeting("6.2.0") : "+OK\r\n");
        },
        {"127.0.0.1", 0}, FakeServer::Greets::no);
    ClientOptions with = to({server.endpoint()});
    with.password = "p";
    with.database = 3;
    with.client_name = "me";
    Client client(runtime, network, with);
    client.call({"PING"});
    client.call({"PING"});
    EXPECT_THAT(server.log(), ElementsAre("1 AUTH p", "1 HELLO", "1 SELECT 3", "1 CLIENT SETNAME me",
                                          "1 INFO memory", "1 PING", "1 PING"));
  });
}

// As a server does that speaks TLS, when somebody does not.
TEST_P(FirstContact, WhoEndsItWithoutAWordMaySpeakTls) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(
        runtime, network, [](Peer& peer, const Command&) { peer.close(); }, {"127.0.0.1", 0},
        FakeServer::Greets::no);
    ClientOptions options = to({server.endpoint()});
    options.command_timeout = 1s;
    EXPECT_THAT(failure_of(runtime, network, options).what(),
                HasSubstr("where the server speaks TLS, write rediss://"));
    options = to({});
    options.sentinels = {{"", server.endpoint()}};
    options.command_timeout = 1s;
    EXPECT_THAT(failure_of(runtime, network, options).what(),
                HasSubstr("where the server speaks TLS, write rediss://"));
  });
}

TEST_P(FirstContact, WhoIsNoRedisOrTooOldIsToldOf) {
  struct Case {
    std::string answer;  // to everything
    Kind kind;
    std::string text;
  };
  const std::vector<Case> cases = {
      {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", Kind::protocol, "it speaks HTTP"},
      {"SSH-2.0-OpenSSH_9.2p1\r\n", Kind::protocol, "it speaks SSH"},
      {std::string("\x15\x03\x03\x00\x02\x02\x0a", 7), Kind::protocol, "it speaks TLS: write rediss://"},
      {"garbage\r\n", Kind::protocol, "is this a Redis server?"},
      {"+OK\r\n", Kind::protocol, "is this a Redis server?"},
      {array({bulk("a"), bulk("b")}), Kind::protocol, "is this a Redis server?"},
      {"-ERR unknown command `HELLO`, with args beginning with: \r\n", Kind::unsupported, "6.2 or newer"},
      {"-ERR wrong number of arguments for 'hello' command\r\n", Kind::unsupported, "6.2 or newer"},
      {greeting("6.0.16"), Kind::unsupported, "is Redis 6.0.16: Redis 6.2 or newer is needed"},
      {greeting("5.0.14"), Kind::unsupported, "is Redis 5.0.14"},
      {greeting("7.0.15", "sentinel"), Kind::unsupported, "is a Sentinel"},
      {greeting("7.0.15", "cluster"), Kind::unsupported, "Redis Cluster"},
      {"-NOAUTH HELLO must be called with the client already authenticated\r\n", Kind::unauthorized,
       "asks for a password"},
      {"-DENIED Redis is running in protected mode\r\n", Kind::unauthorized, "does not let this machine in"},
  };
  run([&](Runtime& runtime, Network& network) {
    for (const Case& one : cases) {
      FakeServer server(
          runtime, network, [&](Peer& peer, const Command&) { peer.send(one.answer); }, {"127.0.0.1", 0},
          FakeServer::Greets::no);
      const Error error = failure_of(runtime, network, to({server.endpoint()}));
      EXPECT_EQ(error.kind(), one.kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(one.text));
      EXPECT_EQ(error.node(), server.endpoint().to_string());
      EXPECT_EQ(error.command(), "SET");
    }
  });
}

// One line that says what to do, once for a client; with `strict` no call goes there.
TEST_P(FirstContact, AServerThatEvictsKeysIsWarnedOf) {
  struct Case {
    std::string info;
    bool warned;
  };
  const std::vector<Case> cases = {
      {bulk("# Memory\r\nmaxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\n"), true},
      {bulk("maxmemory_policy:volatile-ttl\r\nmaxmemory:1\r\n"), true},
      {bulk("maxmemory:1048576\r\nmaxmemory_policy:noeviction\r\n"), false},
      {bulk("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n"), false},
      {bulk("used_maxmemory:7\r\nold_maxmemory_policy:allkeys-lru\r\n"), false},
      {"-NOPERM this user has no permissions to run the 'info' command\r\n", false},
      {"+OK\r\n", false},
  };
  run([&](Runtime& runtime, Network& network) {
    for (const Case& one : cases) {
      FakeServer server(
          runtime, network,
          [&](Peer& peer, const Command& command) {
            peer.send(command[0] == "HELLO"  ? greeting("7.0.15")
                      : command[0] == "INFO" ? one.info
                                             : "+OK\r\n");
          },
          {"127.0.0.1", 0}, FakeServer::Greets::no);
      std::vector<std::string> warnings;
      ClientOptions with = to({server.endpoint()});
      with.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
      Client client(runtime, network, with);
      client.call({"SET", "k", "v"});
      client.eval({"s", "return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"}, {}, {},
                  {.lane = Lane::renewals});  // another connection
      ASSERT_EQ(warnings.size(), one.warned ? 1u : 0u) << one.info;
      with.strict = true;
      if (!one.warned) {
        Client(runtime, network, with).call({"SET", "k", "v"});
        continue;
      }
      EXPECT_THAT(warnings[0], HasSubstr(server.endpoint().to_string() + ": the server evicts keys"));
      EXPECT_THAT(warnings[0], HasSubstr("set noeviction"));
      const Error error = failure_of(runtime, network, with);
      EXPECT_EQ(error.kind(), Kind::unsupported) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("evicts keys"));
    }
  });
}

TEST_P(FirstContact, NewerServersAreTaken) {
  run([](Runtime& runtime, Network& network) {
    for (const std::string version : {"6.2.0", "6.10.1", "7.4.0", "8.0.3", "255.255.255", "unstable"}) {
      FakeServer server(
          runtime, network,
          [&](Peer& peer, const Command& command) {
            peer.send(command[0] == "HELLO" ? greeting(version) : "+OK\r\n");
          },
          {"127.0.0.1", 0}, FakeServer::Greets::no);
      Client client(runtime, network, to({server.endpoint()}));
      EXPECT_EQ(client.call({"PING"}).reply.text, "OK") << version;
    }
  });
}

TEST_P(FirstContact, NobodyThereFailsAtOnceUnlessAskedToWait) {
  run([](Runtime& runtime, Network& network) {
    FakeServer one(runtime, network, [](Peer& peer, const Command&) { peer.send("+OK\r\n"); });
    FakeServer two(runtime, network, [](Peer& peer, const Command&) { peer.send("+OK\r\n"); });
    one.stop();
    two.stop();
    const Error error = failure_of(runtime, network, to({one.endpoint()}));
    EXPECT_EQ(error.kind(), Kind::unreachable);
    EXPECT_THAT(error.what(), HasSubstr(one.endpoint().to_string() + ": connection refused"));
    EXPECT_THAT(error.what(), HasSubstr("check that the servers run"));

    const Error both = failure_of(runtime, network, to({one.endpoint(), two.endpoint()}));
    EXPECT_EQ(both.kind(), Kind::unreachable);
    EXPECT_THAT(both.what(), HasSubstr(one.endpoint().to_string()));
    EXPECT_THAT(both.what(), HasSubstr(two.endpoint().to_string()));

    ClientOptions patient = to({one.endpoint()});
    patient.wait_for_servers = true;
    patient.backoff_max = 5ms;
    Client client(runtime, network, patient);
    Task later = runtime.spawn("admin", [&] {
      runtime.sleep_for(10ms);
      one.restart();
    });
    EXPECT_EQ(client.call({"PING"}).reply.text, "OK");
    later.join();
  });
}

// Once it was there, a server that is gone for a moment is waited for.
TEST_P(FirstContact, AServerThatWasThereIsWaitedFor) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command&) { peer.send("+OK\r\n"); });
    ClientOptions with = to({server.endpoint()});
    with.backoff_max = 5ms;
    Client client(runtime, network, with);
    client.call({"PING"});
    server.stop();
    Task later = runtime.spawn("admin", [&] {
      runtime.sleep_for(10ms);
      server.restart();
    });
    std::string answer;
    while (answer.empty()) {
      try {
        answer = client.call({"PING"}).reply.text;
      } catch (const Error& error) {  // it had not seen yet that the connection is gone
        ASSERT_EQ(error.kind(), Kind::disconnected) << error.what();
      }
    }
    EXPECT_EQ(answer, "OK");
    later.join();
  });
}

// One that is being replaced does not hide the primary.
TEST_P(FirstContact, OneHopelessNodeOfASetDoesNotStopTheOthers) {
  run([](Runtime& runtime, Network& network) {
    FakeServer old(
        runtime, network, [](Peer& peer, const Command&) { peer.send("-ERR unknown command\r\n"); },
        {"127.0.0.1", 0}, FakeServer::Greets::no);
    FakeServer primary(runtime, network, [](Peer& peer, const Command& command) {
      peer.send(command[0] == "ROLE" ? array({bulk("master"), ":0\r\n", "*0\r\n"}) : "+OK\r\n");
    });
    Client client(runtime, network, to({old.endpoint(), primary.endpoint()}));
    EXPECT_EQ(client.call({"SET", "k", "v"}).node, primary.endpoint().to_string());
  });
}

TEST_P(FirstContact, ASubscriptionAsksAfterTheKeepAliveInterval) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command& command) {
      if (command[0] == "SUBSCRIBE") peer.send(array({bulk("subscribe"), bulk(command[1]), ":1\r\n"}));
      if (command[0] == "PING") peer.send(array({bulk("pong"), bulk("")}));
    });
    ClientOptions with = to({server.endpoint()});
    with.keep_alive = 5ms;
    Client client(runtime, network, with);
    const auto subscription = client.subscribe(
        "c", [](std::string_view) {}, [] {});
    server.wait_for(3);  // with the command timeout of an hour it would not come
    EXPECT_EQ(server.log().at(1), "1 PING");
  });
}

INSTANTIATE_TEST_SUITE_P(, FirstContact, testing::all_ports(),
                         [](const auto& info) { return testing::to_string(info.param); });

class FirstContactAndRealRedis : public FirstContact {};

TEST_P(FirstContactAndRealRedis, PasswordReplicaDatabaseAndSocket) {
  run([](Runtime& runtime, Network& network) {
    TemporaryFolder folder, other;
    const std::string socket = folder.path() + "/s";
    RedisProcess server(runtime, network, {.folder = folder.path(), .settings = {"--unixsocket", socket}});
    server.start();
    const std::string port = std::to_string(server.endpoint().port);
    Client(runtime, network, options_from_url("unix://" + socket + "?db=1")).call({"SET", "k", "1"});
    Client client(runtime, network, options_from_url("redis://localhost:" + port + "/1"));
    EXPECT_EQ(client.call({"GET", "k"}).reply.text, "1");

    RedisProcess replica(runtime, network, {.folder = other.path()});
    replica.start({"--replicaof", "127.0.0.1 " + port});
    const Error alone = failure_of(runtime, network, to({replica.endpoint()}));
    EXPECT_EQ(alone.code(), "READONLY");
    EXPECT_THAT(alone.what(), HasSubstr("list all nodes of the set"));

    server.call({"ACL", "SETUSER", "me", "on", ">pw", "~*", "&*", "+@all"});
    server.call({"CONFIG", "SET", "requirepass", "top"});
    const auto failing = [&](const std::string& credentials) {
      ClientOptions with = options_from_url("redis://" + credentials + "127.0.0.1:" + port);
      with.command_timeout = 1h;
      return failure_of(runtime, network, with);
    };
    EXPECT_EQ(failing("").kind(), Kind::unauthorized);
    EXPECT_EQ(failing("").code(), "NOAUTH");
    EXPECT_EQ(failing("me:hunter2@").kind(), Kind::unauthorized);
    EXPECT_THAT(failing("me:hunter2@").what(), HasSubstr("check them in ClientOptions"));
    EXPECT_THAT(failing("me:hunter2@").what(), Not(HasSubstr("hunter2")));
    EXPECT_EQ(Client(runtime, network, options_from_url("redis://me:pw@127.0.0.1:" + port))
                  .call({"ACL", "WHOAMI"})
                  .reply.text,
              "me");
  });
}

TEST_P(FirstContactAndRealRedis, AHostThatDoesNotExist) {
  run([](Runtime& runtime, Network& network) {
    ClientOptions with = options_from_url("redis://host.invalid");  // RFC 6761: never exists
    const Error error = failure_of(runtime, network, with);
    EXPECT_EQ(error.kind(), Kind::unreachable);
    EXPECT_THAT(error.what(), HasSubstr("host.invalid:6379: host unreachable"));
  });
}

INSTANTIATE_TEST_SUITE_P(, FirstContactAndRealRedis, ::testing::ValuesIn(holdfast::testing::on_real_time()),
                         [](const auto& info) { return testing::to_string(info.param); });

}  // namespace
}  // namespace holdfast::redis
