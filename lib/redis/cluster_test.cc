// A client of a Redis Cluster: where calls go, what it does with MOVED, ASK and CLUSTERDOWN, and who replaces
// whom. Against fake nodes, so that each answer is what the test says; on real servers:
// sim/cluster/redis_cluster_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/redis/client.h"
#include "lib/redis/hash_slot.h"
#include "lib/testing/fake_server.h"
#include "lib/testing/ports.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::array;
using testing::bulk;
using testing::Command;
using testing::FakeServer;
using testing::greeting;
using ::testing::HasSubstr;
using testing::on_ports;
using testing::Peer;
using testing::Ports;
using Kind = Error::Kind;

// "k0" of node 0 and so on: keys in the first, second and last third of the slots.
std::string key_of(std::size_t node) {
  for (int i = 0;; ++i) {
    std::string key = "k" + std::to_string(i);
    if (hash_slot(key) * 3u / kHashSlots == node) return key;
  }
}

// Three nodes, each with a third of the slots, unless `owner` says otherwise.
class Town {
 public:
  static constexpr std::size_t kNodes = 3;

  Town(Runtime& runtime, Network& network) : mutex_(runtime) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      nodes_[i] = std::make_unique<FakeServer>(
          runtime, network, [this, i](Peer& peer, const Command& command) { answer(i, peer, command); },
          Endpoint{"127.0.0.1", 0}, FakeServer::Greets::no);
    }
    for (std::size_t i = 0; i < kNodes; ++i) owner_[i] = i;
  }
  ~Town() {
    for (const auto& node : nodes_) node->stop();  // before what their handlers use
  }

  FakeServer& node(std::size_t i) { return *nodes_[i]; }
  std::string name(std::size_t i) { return nodes_[i]->endpoint().to_string(); }
  ClientOptions options(std::initializer_list<std::size_t> known = {0}) {
    ClientOptions options;
    for (const std::size_t i : known) options.nodes.push_back({"", nodes_[i]->endpoint()});
    options.cluster = true;
    options.command_timeout = 1h;
    return options;
  }
  // That third of the slots belongs to `node`, and everybody knows it.
  void give(std::size_t third, std::size_t node) {
    const std::scoped_lock lock(mutex_);
    owner_[third] = node;
  }
  // In place of the answer to the next commands with a key at `node`.
  void next(std::size_t node, std::vector<std::string> answers) {
    const std::scoped_lock lock(mutex_);
    next_[node] = std::move(answers);
  }
  // That node says so of the cluster, whatever the others say.
  void stale(std::size_t node, std::size_t third, std::size_t owner, std::string state, int epoch) {
    const std::scoped_lock lock(mutex_);
    stale_[node] = {third, owner, std::move(state), epoch};
  }
  void epoch(int epoch) { epoch_ = epoch; }
  // From now on they announce themselves as 192.0.2.0 to 192.0.2.2, port 6379.
  void move_away() { away_ = true; }
  Endpoint announced(std::size_t i) {
    return away_ ? Endpoint{"192.0.2." + std::to_string(i), 6379} : nodes_[i]->endpoint();
  }
  // From now on these are replicas of the first third's owner.
  void replicas(std::vector<Endpoint> at) {
    const std::scoped_lock lock(mutex_);
    replicas_ = std::move(at);
  }
  void mode(std::string mode) {
    const std::scoped_lock lock(mutex_);
    mode_ = std::move(mode);
  }
  // What came with a key, or ASKING, in order.
  std::vector<std::string> calls(std::size_t node) {
    const std::scoped_lock lock(mutex_);
    return calls_[node];
  }
  std::string moved(const std::string& key, std::size_t to) {
    return "-MOVED " + std::to_string(hash_slot(key)) + " " + announced(to).to_string() + "\r\n";
  }

 private:
  struct Stale {
    std::size_t third, owner;
    std::string state;
    int epoch;
  };

  std::string slots(std::array<std::size_t, 3> owner) {
    std::string out = "*3\r\n";
    for (std::size_t third = 0; third < 3; ++third) {
      const std::size_t first = (third * kHashSlots + 2) / 3, last = ((third + 1) * kHashSlots + 2) / 3 - 1;
      std::vector<Endpoint> nodes = {announced(owner[third])};
      if (third == 0) nodes.insert(nodes.end(), replicas_.begin(), replicas_.end());
      out += "*" + std::to_string(2 + nodes.size()) + "\r\n:" + std::to_string(first) +
             "\r\n:" + std::to_string(last) + "\r\n";
      for (const Endpoint& at : nodes)
        out += array({bulk(at.host), ":" + std::to_string(at.port) + "\r\n", bulk("id")});
    }
    return out;
  }

  void answer(std::size_t node, Peer& peer, const Command& command) {
    std::string out;
    {
      const std::scoped_lock lock(mutex_);
      out = answer_of(node, command);
    }
    peer.send(out);
  }

  std::string answer_of(std::size_t node, const Command& command) {
    if (command[0] == "HELLO") return greeting("7.0.15", mode_);
    if (command[0] == "INFO") return bulk("# Memory\r\nmaxmemory:0\r\n");
    const auto stale = stale_.find(node);
    if (command[0] == "CLUSTER" && mode_ != "cluster")
      return "-ERR This instance has cluster support disabled\r\n";
    if (command[0] == "CLUSTER" && command[1] == "INFO") {
      const bool own = stale != stale_.end();
      return bulk("cluster_state:" + (own ? stale->second.state : "ok") + "\r\ncluster_current_epoch:" +
                  std::to_string(own ? stale->second.epoch : epoch_.load()) + "\r\n");
    }
    if (command[0] == "CLUSTER") {
      std::array<std::size_t, 3> owner = owner_;
      if (stale != stale_.end()) owner[stale->second.third] = stale->second.owner;
      return slots(owner);
    }
    if (command[0] == "SUBSCRIBE") return array({bulk("subscribe"), bulk(command[1]), ":1\r\n"});
    if (command[0] == "UNSUBSCRIBE") return array({bulk("unsubscribe"), bulk(command[1]), ":0\r\n"});
    std::string line;
    for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
    calls_[node].push_back(line);
    if (command[0] == "ASKING") {
      asking_[node] = true;
      return "+OK\r\n";
    }
    const bool asking = std::exchange(asking_[node], false);
    if (!next_[node].empty()) {
      const std::string out = next_[node].front();
      next_[node].erase(next_[node].begin());
      if (!out.empty()) return out;
    }
    if (command.size() > 1 && command[0] != "WAIT" && !asking) {
      const std::size_t third = hash_slot(command[1]) * 3u / kHashSlots;
      if (owner_[third] != node) return moved(command[1], owner_[third]);
    }
    if (command[0] == "SSUBSCRIBE") return array({bulk("ssubscribe"), bulk(command[1]), ":1\r\n"});
    return bulk("node" + std::to_string(node));
  }

  Mutex mutex_;
  std::array<std::unique_ptr<FakeServer>, kNodes> nodes_;
  std::array<std::size_t, 3> owner_{};
  std::vector<Endpoint> replicas_;
  std::map<std::size_t, std::vector<std::string>> next_, calls_;
  std::map<std::size_t, bool> asking_;
  std::map<std::size_t, Stale> stale_;
  std::atomic<int> epoch_ = 1;
  std::atomic<bool> away_ = false;
  std::string mode_ = "cluster";
};

class ClusterClient : public ::testing::TestWithParam<Ports> {
 protected:
  static void run(const std::function<void(Runtime&, Network&, Town&)>& body) {
    on_ports(GetParam(), [&](Runtime& runtime, Network& network) {
      Town town(runtime, network);
      body(runtime, network, town);
    });
  }
};

Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "it did not throw";
  return {Kind::protocol, "", "", "", false, ""};
}

// What is on its way when a node dies may have been executed. The next call is not.
void lose_connection(Client& client, const std::string& key) {
  try {
    client.call({"GET", key}, {.deadline = client.runtime().now() + 5ms});
  } catch (const Error&) {
  }
}

TEST_P(ClusterClient, ACallGoesToTheNodeOfItsSlot) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    for (std::size_t node = 0; node < 3; ++node) {
      const std::string key = key_of(node);
      const Answer answer = client.call({"GET", key});
      EXPECT_EQ(answer.reply.text, "node" + std::to_string(node));
      EXPECT_EQ(answer.node, town.name(node));
      EXPECT_EQ(town.calls(node), std::vector<std::string>{"GET " + key}) << "nobody was asked in vain";
      EXPECT_EQ(client.node_of(key) == client.node_of(key_of(0)), node == 0);
    }
    EXPECT_THAT(client.call({"PING"}).reply.text, HasSubstr("node"));
  });
}

TEST_P(ClusterClient, MovedIsFollowedAndRemembered) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string key = key_of(0);
    EXPECT_EQ(client.call({"GET", key}).reply.text, "node0");
    town.give(0, 2);
    EXPECT_EQ(client.call({"GET", key}).reply.text, "node2");
    EXPECT_EQ(town.calls(0).size(), 2u);
    EXPECT_EQ(client.call({"GET", key}).reply.text, "node2");
    EXPECT_EQ(town.calls(0).size(), 2u) << "the old node is not asked again";
  });
}

// The map, MOVED and ASK tell addresses that nobody can connect to.
TEST_P(ClusterClient, ToldAddressesMayBeReachedElsewhere) {
  run([](Runtime& runtime, Network& network, Town& town) {
    ClientOptions options = town.options();
    options.remap_address = [&](const Endpoint& told) {
      for (std::size_t i = 0; i < Town::kNodes; ++i) {
        if (told == town.announced(i)) return town.node(i).endpoint();
      }
      return told;
    };
    town.move_away();
    Client client(runtime, network, options);
    for (std::size_t node = 0; node < Town::kNodes; ++node) {
      const Answer answer = client.call({"GET", key_of(node)});
      EXPECT_EQ(answer.reply.text, "node" + std::to_string(node));
      EXPECT_EQ(answer.node, node == 0 ? town.name(0) : town.announced(node).to_string());
    }
    town.give(1, 2);
    EXPECT_EQ(client.call({"GET", key_of(1)}).reply.text, "node2");
    const std::string key = key_of(0);
    town.next(0, {"-ASK " + std::to_string(hash_slot(key)) + " 192.0.2.1:6379\r\n"});
    town.next(1, {bulk("for now")});
    EXPECT_EQ(client.call({"GET", key}).reply.text, "for now");
  });
}

// All slots of that node, not only the one that was asked for.
TEST_P(ClusterClient, AfterMovedTheMapIsAskedForAnew) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string key = key_of(0);
    std::string other;
    for (int i = 0; other.empty(); ++i) {
      const std::string next = "x" + std::to_string(i);
      if (hash_slot(next) != hash_slot(key) && hash_slot(next) * 3u / kHashSlots == 0) other = next;
    }
    client.call({"GET", key});
    town.give(0, 2);
    client.call({"GET", key});
    const std::size_t here = client.node_of(key);
    while (client.node_of(other) != here) runtime.sleep_for(1ms);
    EXPECT_EQ(client.call({"GET", other}).reply.text, "node2");
    EXPECT_EQ(town.calls(0).size(), 2u);
  });
}

// A node that has just one address announces none.
TEST_P(ClusterClient, MovedWithoutAHostMeansTheSameHost) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string key = key_of(0);
    client.call({"GET", key});
    town.give(0, 1);
    town.next(0, {"-MOVED 1 :" + std::to_string(town.node(1).endpoint().port) + "\r\n"});
    EXPECT_EQ(client.call({"GET", key}).reply.text, "node1");
  });
}

TEST_P(ClusterClient, AskIsFollowedOnce) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string key = key_of(0);
    client.call({"GET", key});
    town.next(0, {"-ASK " + std::to_string(hash_slot(key)) + " " + town.name(1) + "\r\n"});
    EXPECT_EQ(client.call({"GET", key}).reply.text, "node1");
    EXPECT_EQ(town.calls(1), (std::vector<std::string>{"ASKING", "GET " + key}));
    EXPECT_EQ(client.call({"GET", key}).reply.text, "node0") << "the slot is still there";
  });
}

TEST_P(ClusterClient, IsNotSentAroundForEver) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string key = key_of(0);
    client.call({"GET", key});
    const std::vector<std::string> to0(10, town.moved(key, 0)), to1(10, town.moved(key, 1));
    town.next(0, to1);
    town.next(1, to0);
    const Error error = error_of([&] { client.call({"GET", key}); });
    EXPECT_EQ(error.kind(), Kind::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("more than 5 times"));
    EXPECT_FALSE(error.may_have_executed());
    EXPECT_EQ(town.calls(0).size() + town.calls(1).size(), 1u + 6u);
  });
}

TEST_P(ClusterClient, KeysInDifferentSlotsAreRefusedAndNothingIsSent) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const Script script{"s", "return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"};
    const std::string a = key_of(0), b = key_of(1);
    const std::array<std::string_view, 2> keys = {a, b};
    const Error error = error_of([&] { client.eval(script, keys, {}); });
    EXPECT_EQ(error.kind(), Kind::rejected);
    EXPECT_EQ(error.code(), "CROSSSLOT");
    EXPECT_FALSE(error.may_have_executed());
    EXPECT_THAT(error.what(), HasSubstr("one hash tag"));
    for (std::size_t node = 0; node < 3; ++node) EXPECT_TRUE(town.calls(node).empty());
  });
}

TEST_P(ClusterClient, AGroupGoesOutInPiecesAndWaitStaysWithItsWrite) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string a = key_of(0), b = key_of(1);
    const std::vector<std::vector<std::string_view>> commands = {
        {"SET", a, "1"}, {"WAIT", "1", "10"}, {"SET", b, "2"}, {"SET", a, "3"}};
    const std::vector<Answer> answers = client.call_all(commands);
    ASSERT_EQ(answers.size(), 4u);
    EXPECT_EQ(answers[0].reply.text, "node0");
    EXPECT_EQ(answers[2].reply.text, "node1");
    EXPECT_EQ(town.calls(0), (std::vector<std::string>{"SET " + a + " 1", "WAIT 1 10", "SET " + a + " 3"}));
    EXPECT_EQ(town.calls(1), std::vector<std::string>{"SET " + b + " 2"});
  });
}

// What was done is not done again: the caller sees what became of each.
TEST_P(ClusterClient, AGroupThatWasDoneInPartIsNotSentAgain) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string a = key_of(0);
    client.call({"GET", a});
    town.next(0, {"", town.moved(a, 1)});
    const std::vector<std::vector<std::string_view>> commands = {{"SET", a, "1"}, {"SET", a, "2"}};
    const std::vector<Answer> answers = client.call_all(commands);
    EXPECT_EQ(answers[0].reply.text, "node0");
    ASSERT_TRUE(answers[1].reply.is_error());
    const Error error = client.refusal("SET", answers[1]);
    EXPECT_EQ(error.kind(), Kind::unavailable);
    EXPECT_TRUE(error.worth_another_attempt());
    EXPECT_TRUE(town.calls(1).empty());
  });
}

TEST_P(ClusterClient, APrimaryThatIsGoneIsReplacedByWhoHasItsSlots) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string key = key_of(0);
    EXPECT_EQ(client.call({"GET", key}).reply.text, "node0");
    town.node(0).stop();
    lose_connection(client, key);
    const Task election = runtime.spawn("election", [&] {
      runtime.sleep_for(30ms);
      town.give(0, 2);
      town.epoch(2);
    });
    EXPECT_EQ(client.call({"GET", key}).reply.text, "node2");
    EXPECT_EQ(client.call({"GET", key_of(1)}).reply.text, "node1");
  });
}

// Notes whom somebody wants to connect to. Nobody is at 192.0.2.1.
class NotingNetwork final : public Network {
 public:
  NotingNetwork(Runtime& runtime, Network& network) : network_(network), mutex_(runtime) {}
  Connected connect(const Endpoint& to, MonotonicTime deadline) override {
    {
      const std::scoped_lock lock(mutex_);
      noted_.push_back(to);
    }
    if (to.host == "192.0.2.1") return {IoStatus::refused, nullptr};
    return network_.connect(to, deadline);
  }
  std::unique_ptr<Listener> listen(const Endpoint& at) override { return network_.listen(at); }
  std::vector<Endpoint> noted() {
    const std::scoped_lock lock(mutex_);
    return noted_;
  }

 private:
  Network& network_;
  Mutex mutex_;
  std::vector<Endpoint> noted_;
};

// Many addresses that were replaced may swallow what is sent to them: each costs connect_timeout.
TEST_P(ClusterClient, WhoIsNamedNoMoreIsAskedLast) {
  run([](Runtime& runtime, Network& network, Town& town) {
    std::vector<std::unique_ptr<FakeServer>> gone;
    std::vector<Endpoint> at;
    for (int i = 0; i < 20; ++i) {
      gone.push_back(std::make_unique<FakeServer>(runtime, network,
                                                  [](Peer& peer, const Command&) { peer.send("-ERR\r\n"); }));
      at.push_back(gone.back()->endpoint());
    }
    for (const auto& server : gone) server->stop();
    NotingNetwork noting(runtime, network);
    Client client(runtime, noting, town.options());
    town.replicas(at);
    client.call({"GET", key_of(0)});
    town.replicas({});
    // Says nothing of where to: the map is asked for.
    const auto ask_for_the_map = [&] {
      town.next(0, {"-MOVED 1 ?:0\r\n"});
      EXPECT_EQ(client.call({"GET", key_of(0)}).reply.text, "node0");
    };
    ask_for_the_map();
    const std::size_t before = noting.noted().size();
    for (int i = 0; i < 20; ++i) ask_for_the_map();
    const std::vector<Endpoint> noted = noting.noted();
    EXPECT_GE(noted.size(), before + 20);
    for (std::size_t i = before; i < noted.size(); ++i)
      EXPECT_EQ(std::count(at.begin(), at.end(), noted[i]), 0) << noted[i].to_string();
    // None of those that are named is there: perhaps one of the others is.
    gone.back()->restart();
    for (std::size_t node = 0; node < Town::kNodes; ++node) town.node(node).stop();
    lose_connection(client, key_of(0));
    gone.back()->wait_for(1);
  });
}

TEST_P(ClusterClient, AReplicaTooManyIsNotKnownAndTheRestIs) {
  run([](Runtime& runtime, Network& network, Town& town) {
    NotingNetwork noting(runtime, network);
    std::vector<Endpoint> many;
    for (std::uint16_t port = 1; port <= 5000; ++port) many.push_back({"192.0.2.1", port});
    town.replicas(many);
    Client full(runtime, noting, town.options({0, 1, 2}));
    EXPECT_EQ(full.call({"GET", key_of(2)}).reply.text, "node2");
    // Of this one the table is full before the primaries of the other slots come.
    Client client(runtime, noting, town.options());
    const Error error = error_of([&] { client.call({"GET", "k"}); });
    EXPECT_EQ(error.kind(), Kind::protocol);
    EXPECT_THAT(error.what(), HasSubstr("4097th address"));
  });
}

TEST_P(ClusterClient, WaitsForAClusterThatIsDownForNow) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string key = key_of(0);
    town.next(0, {"-CLUSTERDOWN The cluster is down\r\n", "-TRYAGAIN Multiple keys\r\n",
                  "-CLUSTERDOWN Hash slot not served\r\n"});
    EXPECT_EQ(client.call({"GET", key}).reply.text, "node0");
    town.next(0, std::vector<std::string>(10'000, "-CLUSTERDOWN The cluster is down\r\n"));
    const Error error = error_of([&] { client.call({"GET", key}, {.deadline = runtime.now() + 50ms}); });
    EXPECT_FALSE(error.may_have_executed());
    EXPECT_TRUE(error.worth_another_attempt());
    EXPECT_THAT(error.what(), HasSubstr("CLUSTERDOWN"));
  });
}

// It was cut off and knows it; or it does not know it yet, but its epoch is an old one.
TEST_P(ClusterClient, ANodeThatWasCutOffMisleadsNobody) {
  run([](Runtime& runtime, Network& network, Town& town) {
    town.give(0, 2);
    town.epoch(5);
    town.stale(0, 0, 0, "fail", 4);
    for (int i = 0; i < 10; ++i) {
      Client client(runtime, network, town.options({0, 1, 2}));
      EXPECT_EQ(client.call({"GET", key_of(0)}).reply.text, "node2");
    }
    EXPECT_TRUE(town.calls(0).empty());
    Client client(runtime, network, town.options({0, 1, 2}));
    client.call({"GET", key_of(0)});
    town.stale(0, 0, 0, "ok", 4);
    for (int i = 0; i < 10; ++i) {
      town.next(1, {"-MOVED 1 " + town.name(1) + "\r\n"});  // the map is asked for again
      EXPECT_EQ(client.call({"GET", key_of(1)}).reply.text, "node1");
      EXPECT_EQ(client.call({"GET", key_of(0)}).reply.text, "node2");
    }
    EXPECT_TRUE(town.calls(0).empty());
  });
}

TEST_P(ClusterClient, SaysWhatIsNoCluster) {
  run([](Runtime& runtime, Network& network, Town& town) {
    town.mode("standalone");
    Client client(runtime, network, town.options());
    Error error = error_of([&] { client.call({"GET", "k"}); });
    EXPECT_EQ(error.kind(), Kind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("is no node of a Redis Cluster"));
    town.mode("cluster");
    ClientOptions plain = town.options();
    plain.cluster = false;
    Client single(runtime, network, plain);
    error = error_of([&] { single.call({"GET", "k"}); });
    EXPECT_EQ(error.kind(), Kind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("set ClientOptions::cluster"));
  });
}

TEST_P(ClusterClient, NobodyThereIsToldAtOnce) {
  run([](Runtime& runtime, Network& network, Town& town) {
    const ClientOptions options = town.options({0, 1});
    for (std::size_t node = 0; node < 3; ++node) town.node(node).stop();
    Client client(runtime, network, options);
    const Error error = error_of([&] { client.call({"GET", "k"}); });
    EXPECT_EQ(error.kind(), Kind::unreachable);
    EXPECT_THAT(error.what(), HasSubstr("check that the servers run"));
  });
}

TEST_P(ClusterClient, AStopRequestEndsTheWaitForANode) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    client.call({"GET", key_of(0)});
    town.node(0).stop();
    lose_connection(client, key_of(0));
    std::stop_source stop;
    const Task stopper = runtime.spawn("stopper", [&] {
      runtime.sleep_for(30ms);
      stop.request_stop();
    });
    const Error error = error_of([&] { client.call({"GET", key_of(0)}, {.stop = stop.get_token()}); });
    EXPECT_EQ(error.kind(), Kind::interrupted);
  });
}

TEST_P(ClusterClient, ASubscriptionGoesToTheNodeOfItsChannelAndFollowsItsSlot) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string channel = key_of(0);
    const auto heard = [&](std::size_t node) {
      for (const std::string& line : town.node(node).log()) {
        if (line.find("SUBSCRIBE " + channel) != std::string::npos) return true;
      }
      return false;
    };
    client.call({"GET", channel});
    std::atomic<int> in_force = 0;
    std::atomic<bool> message = false;
    const auto subscription = client.subscribe(
        channel, [&](std::string_view) { message = true; }, [&] { ++in_force; });
    while (in_force < 1) runtime.sleep_for(1ms);
    EXPECT_TRUE(heard(0));
    town.give(0, 2);
    town.epoch(2);
    town.node(0).stop();
    while (in_force < 2) runtime.sleep_for(1ms);
    EXPECT_TRUE(heard(2));
    EXPECT_FALSE(heard(1));
    town.node(2).broadcast(array({bulk("message"), bulk(channel), bulk("hello")}));
    while (!message) runtime.sleep_for(1ms);
  });
}

// What a sharded subscription has heard, and where it came into force.
struct Heard {
  explicit Heard(Runtime& runtime) : mutex(runtime) {}

  std::unique_ptr<Subscription> to(Client& client, const std::string& channel) {
    return client.subscribe_sharded(
        channel,
        [this](std::string_view message) {
          const std::scoped_lock lock(mutex);
          messages.emplace_back(message);
        },
        [this](std::string_view node) {
          const std::scoped_lock lock(mutex);
          in_force.emplace_back(node);
        });
  }
  std::vector<std::string> nodes() {
    const std::scoped_lock lock(mutex);
    return in_force;
  }
  void await(Runtime& runtime, std::size_t times) {
    while (nodes().size() < times) runtime.sleep_for(1ms);
  }
  void await_message(Runtime& runtime, const std::string& message) {
    for (;;) {
      {
        const std::scoped_lock lock(mutex);
        if (!messages.empty() && messages.back() == message) return;
      }
      runtime.sleep_for(1ms);
    }
  }

  Mutex mutex;
  std::vector<std::string> messages, in_force;
};

std::size_t count(Town& town, std::size_t node, const std::string& line) {
  const std::vector<std::string> calls = town.calls(node);
  return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), line));
}

TEST_P(ClusterClient, AShardedSubscriptionIsWhereItsSlotIs) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string here = key_of(0), there = key_of(2);
    Heard heard(runtime), other(runtime);
    // Nothing is known of the Cluster yet.
    auto subscription = heard.to(client, here);
    heard.await(runtime, 1);
    EXPECT_EQ(heard.nodes(), std::vector<std::string>{town.name(0)});
    const auto second = other.to(client, there);
    other.await(runtime, 1);
    EXPECT_EQ(other.nodes(), std::vector<std::string>{town.name(2)});
    town.node(0).broadcast(array({bulk("smessage"), bulk(here), bulk("hello")}));
    heard.await_message(runtime, "hello");

    // The slot goes, and the node says so.
    town.give(0, 1);
    town.epoch(2);
    town.node(0).broadcast(array({bulk("sunsubscribe"), bulk(here), ":0\r\n"}));
    heard.await(runtime, 2);
    EXPECT_EQ(heard.nodes().back(), town.name(1));
    town.node(1).broadcast(array({bulk("smessage"), bulk(here), bulk("again")}));
    heard.await_message(runtime, "again");
    town.node(0).broadcast(array({bulk("smessage"), bulk(here), bulk("late")}));

    // The node dies, and another one has its slots.
    town.give(0, 2);
    town.epoch(3);
    town.node(1).stop();
    heard.await(runtime, 3);
    EXPECT_EQ(heard.nodes().back(), town.name(2));
    EXPECT_EQ(other.nodes().size(), 1u) << "the other one stayed";
    subscription.reset();
    {
      const std::scoped_lock lock(heard.mutex);
      EXPECT_EQ(heard.messages, (std::vector<std::string>{"hello", "again"}));
    }
    while (count(town, 2, "SUNSUBSCRIBE " + here) < 1) runtime.sleep_for(1ms);
  });
}

TEST_P(ClusterClient, AShardedSubscriptionGoesWhereMovedSends) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string channel = key_of(0);
    client.call({"GET", channel});
    // The map says 0 still, whomever one asks.
    for (std::size_t node = 0; node < Town::kNodes; ++node) town.stale(node, 0, 0, "ok", 1);
    town.give(0, 1);
    Heard heard(runtime);
    const auto subscription = heard.to(client, channel);
    heard.await(runtime, 1);
    EXPECT_EQ(heard.nodes().front(), town.name(1));
    runtime.sleep_for(200ms);
    EXPECT_EQ(heard.nodes().size(), 1u) << "a map that is no newer than MOVED sends it nowhere";
    EXPECT_EQ(count(town, 0, "SSUBSCRIBE " + channel), 1u);
    EXPECT_EQ(count(town, 2, "SSUBSCRIBE " + channel), 0u);
  });
}

// Two channels of one slot: both are sent on, and each hears its own.
TEST_P(ClusterClient, ChannelsOfOneSlotMoveTogether) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string tag = "{" + key_of(0) + "}";
    client.call({"GET", tag});
    town.give(0, 1);
    Heard a(runtime), b(runtime);
    const auto first = a.to(client, tag + "a");
    const auto second = b.to(client, tag + "b");
    a.await(runtime, 1);
    b.await(runtime, 1);
    while (a.nodes().back() != town.name(1) || b.nodes().back() != town.name(1)) runtime.sleep_for(1ms);
    town.node(1).broadcast(array({bulk("smessage"), bulk(tag + "b"), bulk("hello")}));
    b.await_message(runtime, "hello");
    const std::scoped_lock lock(a.mutex);
    EXPECT_TRUE(a.messages.empty());
  });
}

TEST_P(ClusterClient, ANodeWithoutShardedChannelsGetsPlainOnes) {
  run([](Runtime& runtime, Network& network, Town& town) {
    Client client(runtime, network, town.options());
    const std::string tag = "{" + key_of(0) + "}";
    client.call({"GET", tag});
    const std::string unknown = "-ERR unknown command `SSUBSCRIBE`, with args beginning with: `x`, \r\n";
    town.next(0, {unknown, unknown});
    Heard a(runtime), b(runtime);
    const auto first = a.to(client, tag + "a");
    const auto second = b.to(client, tag + "b");
    a.await(runtime, 1);
    b.await(runtime, 1);
    EXPECT_EQ(a.nodes().front(), "");
    town.node(0).broadcast(array({bulk("message"), bulk(tag + "b"), bulk("hello")}));
    b.await_message(runtime, "hello");
    EXPECT_EQ(b.nodes().front(), "");
  });
}

INSTANTIATE_TEST_SUITE_P(, ClusterClient, testing::all_ports(),
                         [](const auto& info) { return testing::to_string(info.param); });

}  // namespace
}  // namespace holdfast::redis
