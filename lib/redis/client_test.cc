// The client against servers with a script instead of a database.
#include "lib/redis/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "lib/testing/fake_server.h"
#include "lib/testing/ports.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::array;
using testing::bulk;
using testing::Command;
using ::testing::ElementsAre;
using testing::FakeServer;
using ::testing::HasSubstr;
using testing::on_ports;
using testing::Peer;
using testing::Ports;
using Kind = Error::Kind;

class ClientOn : public ::testing::TestWithParam<Ports> {
 protected:
  static void run(const std::function<void(Runtime&, Network&)>& body) { on_ports(GetParam(), body); }
};

ClientOptions options(std::initializer_list<const FakeServer*> servers) {
  ClientOptions options;
  int number = 0;
  for (const FakeServer* server : servers) {
    options.nodes.push_back({"r" + std::to_string(++number), server->endpoint()});
  }
  options.connect_timeout = 10s;  // nothing here depends on it, but for tests that say so
  options.command_timeout = 30s;
  options.backoff_min = 1ms;
  options.backoff_max = 5ms;
  options.wait_for_servers = true;
  return options;
}

std::optional<Error> error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

void echo(Peer& peer, const Command& command) { peer.send(bulk(command.back())); }

const std::string kMaster = array({bulk("master"), ":0\r\n", "*0\r\n"});
const std::string kSlave = array({bulk("slave"), bulk("10.0.0.1"), ":1\r\n", bulk("connected"), ":0\r\n"});

TEST_P(ClientOn, CallsAndTellsWhoAnsweredAndWhenItWasSent) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, echo);
    Client client(runtime, network, options({&server}));
    const MonotonicTime before = runtime.now();
    const Answer answer = client.call({"ECHO", "hello"});
    EXPECT_EQ(answer.reply.text, "hello");
    EXPECT_EQ(answer.node, "r1");
    EXPECT_GE(answer.sent_at, before);
    EXPECT_LE(answer.sent_at, runtime.now());
    EXPECT_THAT(server.log(), ElementsAre("1 ECHO hello"));
  });
}

TEST_P(ClientOn, ARepliesCutAtEveryByteIsTheSame) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command&) {
      peer.send_in_pieces(array({":1\r\n", bulk("a\r\nb"), array({"$-1\r\n"}), "+OK\r\n"}));
    });
    Client client(runtime, network, options({&server}));
    for (int i = 0; i < 3; ++i) {
      const Reply reply = client.call({"X"}).reply;
      ASSERT_EQ(reply.items.size(), 4u);
      EXPECT_EQ(reply.items[1].text, "a\r\nb");
      EXPECT_TRUE(reply.items[2].items[0].is_nil());
    }
  });
}

TEST_P(ClientOn, ShakesHands) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command&) { peer.send("+OK\r\n"); });
    ClientOptions with = options({&server});
    with.user = "u";
    with.password = "p";
    with.database = 3;
    with.client_name = "me";
    Client client(runtime, network, with);
    client.call({"PING"});
    EXPECT_THAT(server.log(), ElementsAre("1 AUTH u p", "1 SELECT 3", "1 CLIENT SETNAME me", "1 PING"));
  });
}

TEST_P(ClientOn, AWrongPasswordFailsAtOnce) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command&) {
      peer.send("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    });
    ClientOptions with = options({&server});
    with.password = "secret";
    Client client(runtime, network, with);
    const auto error = error_of([&] { client.call({"PING"}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Kind::unauthorized);
    EXPECT_FALSE(error->may_have_executed());
    EXPECT_THAT(error->what(), HasSubstr("check them in ClientOptions"));
    EXPECT_THAT(error->what(), Not(HasSubstr("secret")));
  });
}

TEST(ClientInVirtualTime, NobodyThereIsUnavailable) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, echo);
    server.stop();
    Client client(runtime, network, options({&server}));
    const auto error = error_of([&] { client.call({"GET", "k"}, {.deadline = runtime.now() + 30ms}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Kind::unavailable);
    EXPECT_EQ(error->command(), "GET");
    EXPECT_EQ(error->node(), "r1");
    EXPECT_FALSE(error->may_have_executed());
    EXPECT_THAT(error->what(), HasSubstr(server.endpoint().to_string() + "): connection refused"));
    EXPECT_THAT(error->what(), HasSubstr("check that the servers run"));
  });
}

TEST_P(ClientOn, WaitsForTheServerToComeBack) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, echo);
    server.stop();
    Client client(runtime, network, options({&server}));
    Task later = runtime.spawn("admin", [&] {
      runtime.sleep_for(20ms);
      server.restart();
    });
    EXPECT_EQ(client.call({"ECHO", "x"}).reply.text, "x");
    later.join();
  });
}

TEST(ClientInVirtualTime, NoReplyByTheDeadline) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer&, const Command&) {});
    Client client(runtime, network, options({&server}));
    const auto error = error_of([&] { client.call({"SET", "k", "v"}, {.deadline = runtime.now() + 30ms}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Kind::timed_out);
    EXPECT_EQ(error->node(), "r1");
    EXPECT_TRUE(error->may_have_executed());
    EXPECT_THAT(error->what(), HasSubstr("r1: SET: no reply by the deadline (it may have been executed)"));
  });
}

TEST_P(ClientOn, ADeadlineInThePastSendsNothing) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, echo);
    Client client(runtime, network, options({&server}));
    const auto cold = error_of([&] { client.call({"SET", "k", "v"}, {.deadline = runtime.now() - 1ms}); });
    ASSERT_TRUE(cold);
    EXPECT_FALSE(cold->may_have_executed());
    client.call({"PING"});
    const auto warm = error_of([&] { client.call({"SET", "k", "v"}, {.deadline = runtime.now() - 1ms}); });
    ASSERT_TRUE(warm);
    EXPECT_EQ(warm->kind(), Kind::timed_out);
    EXPECT_FALSE(warm->may_have_executed());
    EXPECT_THAT(server.log(), ElementsAre("1 PING"));
  });
}

TEST_P(ClientOn, ABrokenConnectionIsAmbiguousAndTheNextCallReconnects) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command& command) {
      if (command[0] == "SET") {
        peer.send("$5\r\nhal");  // breaks in the middle of the reply
        peer.close();
      } else {
        peer.send("+PONG\r\n");
      }
    });
    Client client(runtime, network, options({&server}));
    client.call({"PING"});
    const auto error = error_of([&] { client.call({"SET", "k", "v"}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Kind::disconnected);
    EXPECT_TRUE(error->may_have_executed());
    EXPECT_EQ(client.call({"PING"}).reply.text, "PONG");
    EXPECT_THAT(server.log(), ElementsAre("1 PING", "1 SET k v", "2 PING")) << "SET is not repeated";
  });
}

TEST_P(ClientOn, AServerThatWasRestartedWhileIdleIsNoError) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, echo);
    Client client(runtime, network, options({&server}));
    client.call({"ECHO", "1"});
    server.stop();
    server.restart();
    runtime.sleep_for(5ms);
    EXPECT_EQ(client.call({"ECHO", "2"}).reply.text, "2");
  });
}

TEST_P(ClientOn, NotRespIsSaidSo) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network,
                      [](Peer& peer, const Command&) { peer.send("HTTP/1.1 400 Bad Request\r\n\r\n"); });
    Client client(runtime, network, options({&server}));
    const auto error = error_of([&] { client.call({"PING"}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Kind::protocol);
    EXPECT_THAT(error->what(), HasSubstr("is this a Redis server?"));
  });
}

TEST_P(ClientOn, ErrorRepliesAreThrownWithTheirCode) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command& command) {
      peer.send(command[0] == "EVAL" ? "-ERR user_script:1: half-way\r\n"
                : command[0] == "AUTH"
                    ? "-NOAUTH Authentication required.\r\n"
                    : "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    });
    Client client(runtime, network, options({&server}));
    const auto plain = error_of([&] { client.call({"INCR", "k"}); });
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->kind(), Kind::rejected);
    EXPECT_EQ(plain->code(), "WRONGTYPE");
    EXPECT_FALSE(plain->may_have_executed());
    const auto script = error_of([&] { client.call({"EVAL", "x", "0"}); });
    ASSERT_TRUE(script);
    EXPECT_EQ(script->code(), "ERR");
    EXPECT_TRUE(script->may_have_executed()) << "a script does not roll back";
    const auto noauth = error_of([&] { client.call({"AUTH", "x"}); });
    EXPECT_EQ(noauth->kind(), Kind::unauthorized);
    EXPECT_THAT(noauth->what(), HasSubstr("set user and password in ClientOptions"));
  });
}

TEST_P(ClientOn, EvalFallsBackOnNoscript) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command& command) {
      peer.send(command[0] == "EVALSHA" ? "-NOSCRIPT No matching script. Please use EVAL.\r\n" : ":1\r\n");
    });
    Client client(runtime, network, options({&server}));
    const Script script{"test", "return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"};
    const std::array<std::string_view, 2> keys = {"k1", "k2"};
    const std::array<std::string_view, 1> args = {"a"};
    EXPECT_EQ(client.eval(script, keys, args).reply.integer, 1);
    EXPECT_THAT(server.log(), ElementsAre("1 EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 2 k1 k2 a",
                                          "1 EVAL return 1 2 k1 k2 a"));
  });
}

TEST_P(ClientOn, CallAllIsContiguousAndReturnsErrorsInPlace) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command& command) {
      peer.send(command[0] == "BAD" ? "-ERR no\r\n" : bulk(command.back()));
    });
    Client client(runtime, network, options({&server}));
    std::vector<Task> tasks;
    for (int t = 0; t < 4; ++t) {
      tasks.push_back(runtime.spawn("caller", [&, t] {
        const std::string name = "t" + std::to_string(t);
        const std::vector<std::vector<std::string_view>> commands = {{"A", name}, {"BAD", name}, {"C", name}};
        for (int i = 0; i < 20; ++i) {
          const std::vector<Answer> answers = client.call_all(commands);
          ASSERT_EQ(answers.size(), 3u);
          EXPECT_EQ(answers[0].reply.text, name);
          EXPECT_TRUE(answers[1].reply.is_error());
          EXPECT_EQ(answers[2].reply.text, name);
        }
      }));
    }
    tasks.clear();
    const std::vector<std::string> log = server.log();
    ASSERT_EQ(log.size(), 240u);
    for (std::size_t i = 0; i < log.size(); i += 3) {
      const std::string name = log[i].substr(log[i].size() - 2);
      EXPECT_EQ(log[i], "1 A " + name);
      EXPECT_EQ(log[i + 1], "1 BAD " + name);
      EXPECT_EQ(log[i + 2], "1 C " + name);
    }
  });
}

TEST(ClientInVirtualTime, TooManyInFlightIsUnavailable) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer&, const Command&) {});
    ClientOptions few = options({&server});
    few.max_pending = 1;
    Client client(runtime, network, few);
    error_of([&] { client.call({"A"}, {.deadline = runtime.now() + 30ms}); });  // its reply is still to come
    const auto error = error_of([&] { client.call({"B"}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Kind::unavailable);
    EXPECT_FALSE(error->may_have_executed());
    EXPECT_THAT(error->what(), HasSubstr("max_pending = 1"));
  });
}

// --- several nodes ---------------------------------------------------------------------------------------

// A node whose role the test changes.
struct Node2 {
  Node2(Runtime& runtime, Network& network)
      : server(runtime, network, [this](Peer& peer, const Command& command) {
          if (command[0] == "ROLE") return peer.send(master ? kMaster : kSlave);
          if (command[0] == "SET" && !master) {
            return peer.send("-READONLY You can't write against a read only replica.\r\n");
          }
          peer.send("+OK\r\n");
        }) {}
  std::atomic<bool> master = false;
  FakeServer server;
};

TEST_P(ClientOn, FindsThePrimary) {
  run([](Runtime& runtime, Network& network) {
    Node2 a(runtime, network), b(runtime, network), c(runtime, network);
    c.master = true;
    a.server.stop();
    Client client(runtime, network, options({&a.server, &b.server, &c.server}));
    EXPECT_EQ(client.call({"SET", "k", "v"}).node, "r3");
    EXPECT_THAT(b.server.log(), ElementsAre("1 ROLE"));
  });
}

TEST_P(ClientOn, ReadonlySeeksThePrimaryAgainAndSendsAgain) {
  run([](Runtime& runtime, Network& network) {
    Node2 a(runtime, network), b(runtime, network);
    a.master = true;
    Client client(runtime, network, options({&a.server, &b.server}));
    EXPECT_EQ(client.call({"SET", "k", "1"}).node, "r1");
    a.master = false;
    b.master = true;
    EXPECT_EQ(client.call({"SET", "k", "2"}).node, "r2");
    EXPECT_THAT(a.server.log(), ElementsAre("1 ROLE", "1 SET k 1", "1 SET k 2", "2 ROLE"));
    EXPECT_THAT(b.server.log(), ElementsAre("1 ROLE", "1 SET k 2"));
  });
}

TEST_P(ClientOn, StaysWithAWritableOldPrimaryWhileItsConnectionLives) {
  run([](Runtime& runtime, Network& network) {
    Node2 a(runtime, network), b(runtime, network);
    a.master = true;
    Client client(runtime, network, options({&a.server, &b.server}));
    client.call({"SET", "k", "1"});
    b.master = true;
    runtime.sleep_for(5ms);
    EXPECT_EQ(client.call({"SET", "k", "2"}).node, "r1");
  });
}

TEST_P(ClientOn, ALostPrimaryIsSoughtAmongTheOthers) {
  run([](Runtime& runtime, Network& network) {
    Node2 a(runtime, network), b(runtime, network);
    a.master = true;
    Client client(runtime, network, options({&a.server, &b.server}));
    client.call({"SET", "k", "1"});
    a.server.stop();
    Task promotion = runtime.spawn("admin", [&] {
      runtime.sleep_for(20ms);
      b.master = true;
    });
    runtime.sleep_for(5ms);
    EXPECT_EQ(client.call({"SET", "k", "2"}).node, "r2");
    promotion.join();
  });
}

TEST_P(ClientOn, WhereOneLaneHasFoundThePrimaryTheOthersGo) {
  run([](Runtime& runtime, Network& network) {
    Node2 a(runtime, network), b(runtime, network);
    a.master = true;
    Client client(runtime, network, options({&a.server, &b.server}));
    EXPECT_EQ(client.call({"GET", "k"}, {.lane = Lane::replicas}).node, "r1");
    EXPECT_EQ(client.call({"SET", "k", "1"}).node, "r1");
    a.master = false;
    b.master = true;
    EXPECT_EQ(client.call({"GET", "k"}, {.lane = Lane::replicas}).node, "r1") << "nobody knows it yet";
    EXPECT_EQ(client.call({"SET", "k", "2"}).node, "r2");
    EXPECT_EQ(client.call({"GET", "k"}, {.lane = Lane::replicas}).node, "r2");
    EXPECT_EQ(client.call({"GET", "k"}).node, "r2");
  });
}

TEST(ClientInVirtualTime, NoPrimaryAnywhereNamesEveryNode) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network& network) {
    Node2 a(runtime, network), b(runtime, network);
    b.server.stop();
    Client client(runtime, network, options({&a.server, &b.server}));
    const auto error = error_of([&] { client.call({"SET", "k", "1"}, {.deadline = runtime.now() + 50ms}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Kind::unavailable);
    EXPECT_EQ(error->node(), "");
    EXPECT_FALSE(error->may_have_executed());
    EXPECT_THAT(error->what(), HasSubstr("no primary found"));
    EXPECT_THAT(error->what(), HasSubstr("is a slave"));
    EXPECT_THAT(error->what(), HasSubstr("connection refused"));
  });
}

TEST_P(ClientOn, ASingleNodeIsTakenAsItIs) {
  run([](Runtime& runtime, Network& network) {
    Node2 replica(runtime, network);
    Client client(runtime, network, options({&replica.server}));
    const auto error = error_of([&] { client.call({"SET", "k", "1"}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), "READONLY");
    EXPECT_FALSE(error->may_have_executed());
    EXPECT_THAT(error->what(), HasSubstr("list all nodes"));
    EXPECT_THAT(replica.server.log(), ElementsAre("1 SET k 1"));
  });
}

TEST(ClientInVirtualTime, ASilentNodeCostsOneAttempt) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network& network) {
    FakeServer silent(runtime, network, [](Peer&, const Command&) {});
    Node2 b(runtime, network);
    b.master = true;
    ClientOptions with = options({&silent, &b.server});
    with.connect_timeout = 50ms;
    Client client(runtime, network, with);
    EXPECT_EQ(client.call({"SET", "k", "1"}).node, "r2");
  });
}

// --- background and the end ------------------------------------------------------------------------------

TEST_P(ClientOn, BackgroundCallsWorkAlone) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, echo);
    Client client(runtime, network, options({&server}));
    for (int i = 0; i < 20; ++i) {
      const std::string text = std::to_string(i);
      EXPECT_EQ(client.call({"ECHO", text}, {.background = true}).reply.text, text);
    }
  });
}

TEST_P(ClientOn, ManyTasksMixed) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command& command) {
      if (command.back() == "13:13") return peer.reset();  // once in the middle of it all
      echo(peer, command);
    });
    Client client(runtime, network, options({&server}));
    std::vector<Task> tasks;
    std::atomic<int> right = 0, ambiguous = 0;
    for (int t = 0; t < 24; ++t) {
      tasks.push_back(runtime.spawn("caller", [&, t] {
        for (int i = 0; i < 60; ++i) {
          const std::string text = std::to_string(t) + ":" + std::to_string(i);
          try {
            if (client.call({"ECHO", text}, {.background = t % 4 == 0}).reply.text == text) ++right;
          } catch (const Error& error) {
            EXPECT_EQ(error.kind(), Kind::disconnected) << error.what();
            EXPECT_TRUE(error.may_have_executed());
            ++ambiguous;
          }
        }
      }));
    }
    tasks.clear();
    EXPECT_EQ(right + ambiguous, 24 * 60);
    EXPECT_GE(ambiguous, 1);
    EXPECT_LE(ambiguous, 24);
  });
}

TEST(ClientInVirtualTime, DestroyedRightAfterACallThatGaveUp) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer&, const Command&) {});
    for (const bool background : {false, true}) {
      Client client(runtime, network, options({&server}));
      const auto error =
          error_of([&] { client.call({"A"}, {.deadline = runtime.now() + 20ms, .background = background}); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->kind(), Kind::timed_out);
    }
  });
}

// Nobody answers anywhere, and nobody refuses.
class SilentNetwork final : public Network {
 public:
  explicit SilentNetwork(Runtime& runtime) : runtime_(runtime) {}
  Connected connect(const Endpoint&, MonotonicTime deadline) override {
    runtime_.sleep_until(deadline);
    return {IoStatus::timed_out, nullptr};
  }
  std::unique_ptr<Listener> listen(const Endpoint&) override { return nullptr; }

 private:
  Runtime& runtime_;
};

TEST(ClientInVirtualTime, DestroyedWhileItSeeksWaitsForOneAttemptAtMost) {
  HF_NEEDS_VIRTUAL_TIME();
  std::vector<Node> nodes;
  for (std::uint16_t port = 1; port <= 7; ++port) nodes.push_back({"", {"192.0.2.1", port}});
  ClientOptions several{.nodes = nodes}, sentinels{.sentinels = nodes, .primary_name = "p"},
      cluster{.nodes = nodes};
  cluster.cluster = true;
  for (ClientOptions options : {several, sentinels, cluster}) {
    on_ports(Ports::embedded, [&](Runtime& runtime, Network&) {
      SilentNetwork network(runtime);
      options.connect_timeout = 1s;
      const MonotonicTime begin = runtime.now();
      {
        Client client(runtime, network, options);
        const auto subscription = client.subscribe(
            "c", [](std::string_view) {}, [] {});
        for (const Lane lane : {Lane::shared, Lane::renewals})
          EXPECT_TRUE(
              error_of([&] { client.call({"A"}, {.deadline = runtime.now() + 50ms, .lane = lane}); }));
      }
      EXPECT_LE(runtime.now() - begin, 1100ms) << "the connectors of both lanes began within 100 ms";
    });
  }
}

INSTANTIATE_TEST_SUITE_P(, ClientOn, testing::all_ports(),
                         [](const auto& info) { return testing::to_string(info.param); });

}  // namespace
}  // namespace holdfast::redis
