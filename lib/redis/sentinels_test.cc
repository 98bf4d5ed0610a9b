// The client finds its primary through Sentinels, also when some are gone, stale, or wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "lib/redis/client.h"
#include "lib/testing/fake_server.h"
#include "lib/testing/ports.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::array;
using testing::bulk;
using testing::Command;
using testing::FakeServer;
using ::testing::HasSubstr;
using testing::on_ports;
using testing::Peer;
using testing::Ports;
using Kind = Error::Kind;

class Sentinels : public ::testing::TestWithParam<Ports> {
 protected:
  static void run(const std::function<void(Runtime&, Network&)>& body) { on_ports(GetParam(), body); }
};

// A server with that ROLE, which answers SET with its name.
std::unique_ptr<FakeServer> server(Runtime& runtime, Network& network, const std::string& name,
                                   const std::atomic<bool>& primary) {
  return std::make_unique<FakeServer>(runtime, network, [name, &primary](Peer& peer, const Command& command) {
    if (command[0] == "ROLE")
      return peer.send(array({bulk(primary ? "master" : "slave"), ":0\r\n", "*0\r\n"}));
    if (!primary) return peer.send("-READONLY You can't write against a read only replica.\r\n");
    peer.send(bulk(name));
  });
}

// What a Sentinel says; whom it names, and what it refuses with, may change while it serves.
struct Says {
  std::atomic<const FakeServer*> primary;
  std::atomic<int> epoch = 0;
  std::atomic<const char*> refuses = nullptr;
};

std::unique_ptr<FakeServer> sentinel(Runtime& runtime, Network& network, const Says& says) {
  return std::make_unique<FakeServer>(runtime, network, [&says](Peer& peer, const Command& command) {
    if (command[0] == "AUTH") return peer.send(command.back() == "secret" ? "+OK\r\n" : "-WRONGPASS no\r\n");
    if (const char* const refusal = says.refuses) return peer.send(refusal);
    if (command[0] == "SUBSCRIBE") return peer.send(array({bulk("subscribe"), bulk(command[1]), ":1\r\n"}));
    const Endpoint primary = says.primary.load()->endpoint();
    if (command.back() != "mymaster")
      return peer.send(command[1] == "MASTER" ? "-ERR No such master\r\n" : "*-1\r\n");
    if (command[1] == "MASTER") {
      return peer.send(
          array({bulk("name"), bulk("mymaster"), bulk("config-epoch"), bulk(std::to_string(says.epoch))}));
    }
    peer.send(array({bulk(primary.host), bulk(std::to_string(primary.port))}));
  });
}

ClientOptions asking(std::initializer_list<const FakeServer*> sentinels) {
  ClientOptions options;
  for (const FakeServer* one : sentinels) options.sentinels.push_back({"", one->endpoint()});
  options.command_timeout = 1h;
  return options;
}

TEST_P(Sentinels, NameThePrimary) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> primary = true;
    const auto redis = server(runtime, network, "r1", primary);
    const Says says{.primary = redis.get()};
    const auto one = sentinel(runtime, network, says);
    ClientOptions options = asking({one.get()});
    Client unnamed(runtime, network, options);
    EXPECT_EQ(unnamed.call({"SET", "k", "v"}).node, redis->endpoint().to_string());
    options.nodes = {{"r1", redis->endpoint()}};
    Client named(runtime, network, options);
    EXPECT_EQ(named.call({"SET", "k", "v"}).node, "r1");
  });
}

// They name an address of their own network.
TEST_P(Sentinels, NameAnAddressThatIsReachedElsewhere) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> primary = true;
    const auto redis = server(runtime, network, "r1", primary);
    const auto one = std::make_unique<FakeServer>(runtime, network, [](Peer& peer, const Command& command) {
      if (command[1] == "MASTER") return peer.send(array({bulk("config-epoch"), bulk("1")}));
      peer.send(array({bulk("192.0.2.7"), bulk("6379")}));
    });
    ClientOptions options = asking({one.get()});
    options.remap_address = [&](const Endpoint& told) {
      return told == Endpoint{"192.0.2.7", 6379} ? redis->endpoint() : told;
    };
    Client unnamed(runtime, network, options);
    EXPECT_EQ(unnamed.call({"SET", "k", "v"}).node, "192.0.2.7:6379");
    options.nodes = {{"r1", redis->endpoint()}};
    Client named(runtime, network, options);
    EXPECT_EQ(named.call({"SET", "k", "v"}).node, "r1");
  });
}

// Whoever begins: two of three outvote the one that missed the switch, though its old primary still says that
// it is one.
TEST_P(Sentinels, OneThatIsStaleMisleadsNobody) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> primary = true;
    const auto old = server(runtime, network, "old", primary), now = server(runtime, network, "now", primary);
    const Says stale{.primary = old.get(), .epoch = 3}, fresh{.primary = now.get(), .epoch = 4};
    const auto a = sentinel(runtime, network, stale), b = sentinel(runtime, network, fresh),
               c = sentinel(runtime, network, fresh);
    for (int i = 0; i < 20; ++i) {
      Client client(runtime, network, asking({a.get(), b.get(), c.get()}));
      EXPECT_EQ(client.call({"SET", "k", "v"}).reply.text, "now");
    }
  });
}

TEST_P(Sentinels, OneThatLivesIsEnough) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> primary = true;
    const auto redis = server(runtime, network, "r1", primary);
    const Says says{.primary = redis.get()};
    const auto a = sentinel(runtime, network, says), b = sentinel(runtime, network, says),
               c = sentinel(runtime, network, says);
    const ClientOptions options = asking({a.get(), b.get(), c.get()});
    a->stop();
    c->stop();
    Client client(runtime, network, options);
    EXPECT_EQ(client.call({"SET", "k", "v"}).reply.text, "r1");
  });
}

// The node that they name is a replica (still, or by now): they are asked again until one says that it is the
// primary.
TEST_P(Sentinels, WhatTheyNameMustSayItIsThePrimary) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> yes = true, no = false;
    const auto replica = server(runtime, network, "replica", no), redis = server(runtime, network, "r2", yes);
    Says says{.primary = replica.get()};
    const auto one = sentinel(runtime, network, says);
    Client client(runtime, network, asking({one.get()}));
    const Task later = runtime.spawn("later", [&] {
      replica->wait_for(2);  // asked for its ROLE twice
      says.primary = redis.get();
    });
    EXPECT_EQ(client.call({"SET", "k", "v"}).reply.text, "r2");
  });
}

TEST_P(Sentinels, AreAskedAgainWhenThePrimaryWasDemoted) {
  run([](Runtime& runtime, Network& network) {
    std::atomic<bool> first = true, second = false;
    const auto r1 = server(runtime, network, "r1", first), r2 = server(runtime, network, "r2", second);
    Says says{.primary = r1.get()};
    const auto one = sentinel(runtime, network, says);
    Client client(runtime, network, asking({one.get()}));
    EXPECT_EQ(client.call({"SET", "k", "v"}).reply.text, "r1");
    first = false;
    second = true;
    says.primary = r2.get();
    EXPECT_EQ(client.call({"SET", "k", "v"}).reply.text, "r2");
  });
}

std::string switched(const std::string& name) {
  return array({bulk("message"), bulk("+switch-master"), bulk(name + " 127.0.0.1 1 127.0.0.1 2")});
}

// One that seeks, asked twice in vain: it tries again in an hour, or when it hears of a switch.
ClientOptions patient(std::initializer_list<const FakeServer*> sentinels) {
  ClientOptions options = asking(sentinels);
  options.backoff_min = options.backoff_max = 1h;
  options.command_timeout = 10h;
  return options;
}

TEST_P(Sentinels, ASwitchThatTheyTellOfIsFollowedAtOnce) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> yes = true, no = false;
    const auto replica = server(runtime, network, "replica", no), redis = server(runtime, network, "r2", yes);
    Says says{.primary = replica.get()};
    const auto one = sentinel(runtime, network, says);
    Client client(runtime, network, patient({one.get()}));
    const Task later = runtime.spawn("later", [&] {
      replica->wait_for(2);
      one->broadcast(switched("another"));  // of which this client wants nothing
      says.primary = redis.get();
      one->broadcast(switched("mymaster"));
    });
    const MonotonicTime begin = runtime.now();
    EXPECT_EQ(client.call({"SET", "k", "v"}).reply.text, "r2");
    EXPECT_LT(runtime.now() - begin, 30min);
    EXPECT_THAT(one->log(), ::testing::Contains(HasSubstr("SUBSCRIBE +switch-master")).Times(1));
    // Twice in vain, once at the switch: two questions each time.
    EXPECT_THAT(one->log(), ::testing::Contains(HasSubstr("SENTINEL")).Times(6));
  });
}

// The first that is heard knows the newest configuration, and may be the only one yet.
TEST_P(Sentinels, WhoToldOfASwitchIsAskedFirst) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> yes = true, no = false;
    const auto replica = server(runtime, network, "replica", no), redis = server(runtime, network, "r2", yes);
    std::vector<std::unique_ptr<Says>> says;
    std::vector<std::unique_ptr<FakeServer>> sentinels;
    ClientOptions options = patient({});
    for (int i = 0; i < 5; ++i) {
      says.emplace_back(new Says{.primary = replica.get(), .epoch = 1});
      sentinels.push_back(sentinel(runtime, network, *says.back()));
      options.sentinels.push_back({"", sentinels.back()->endpoint()});
    }
    const auto heard = [&]() -> std::size_t {
      for (std::size_t i = 0; i < sentinels.size(); ++i) {
        for (const std::string& line : sentinels[i]->log()) {
          if (line.find("SUBSCRIBE") != std::string::npos) return i;
        }
      }
      return sentinels.size();
    };
    Client client(runtime, network, options);
    const Task later = runtime.spawn("later", [&] {
      replica->wait_for(2);
      const std::size_t teller = heard();
      ASSERT_LT(teller, sentinels.size());
      says[teller]->epoch = 2;
      says[teller]->primary = redis.get();
      sentinels[teller]->broadcast(switched("mymaster"));
    });
    const MonotonicTime begin = runtime.now();
    EXPECT_EQ(client.call({"SET", "k", "v"}).reply.text, "r2");
    EXPECT_LT(runtime.now() - begin, 30min);
  });
}

// Each answer comes a second after its question; a message that nobody asked for, at once.
class FarStream final : public Stream {
 public:
  FarStream(Runtime& runtime, std::unique_ptr<Stream> stream)
      : runtime_(runtime), stream_(std::move(stream)) {}
  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    const IoResult got = stream_->read(into, deadline);
    const MonotonicTime now = runtime_.now();
    if (now < asked_at_ + 1s) runtime_.sleep_for(asked_at_ + 1s - now);
    return got;
  }
  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    asked_at_ = runtime_.now();
    return stream_->write(bytes, deadline);
  }
  void finish_writing() noexcept override { stream_->finish_writing(); }
  void close() noexcept override { stream_->close(); }
  void reset() noexcept override { stream_->reset(); }
  Endpoint local() const override { return stream_->local(); }
  Endpoint peer() const override { return stream_->peer(); }

 private:
  Runtime& runtime_;
  const std::unique_ptr<Stream> stream_;
  MonotonicTime asked_at_ = MonotonicTime::min();
};
class FarNetwork final : public Network {
 public:
  FarNetwork(Runtime& runtime, Network& network) : runtime_(runtime), network_(network) {}
  Connected connect(const Endpoint& to, MonotonicTime deadline) override {
    Connected connected = network_.connect(to, deadline);
    if (connected.stream)
      connected.stream = std::make_unique<FarStream>(runtime_, std::move(connected.stream));
    return connected;
  }
  std::unique_ptr<Listener> listen(const Endpoint& at) override { return network_.listen(at); }

 private:
  Runtime& runtime_;
  Network& network_;
};

// Three Sentinels, of which the client hears one, and two servers. `denied`: the others know a newer
// configuration, with the first server.
void hear_of_a_switch(Ports ports, bool denied,
                      const std::function<void(const std::string&, Duration)>& then) {
  on_ports(ports, [&](Runtime& runtime, Network& near) {
    FarNetwork network(runtime, near);
    std::atomic<bool> first = false, second = true;
    const auto r1 = server(runtime, near, "r1", first), r2 = server(runtime, near, "r2", second);
    std::vector<std::unique_ptr<Says>> says;
    std::vector<std::unique_ptr<FakeServer>> sentinels;
    ClientOptions options = patient({});
    options.connect_timeout = 1min;
    for (int i = 0; i < 3; ++i) {
      says.emplace_back(new Says{.primary = r1.get(), .epoch = 1});
      sentinels.push_back(sentinel(runtime, near, *says.back()));
      options.sentinels.push_back({"", sentinels.back()->endpoint()});
    }
    Client client(runtime, network, options);
    MonotonicTime told_at;
    const Task later = runtime.spawn("later", [&] {
      r1->wait_for(2);  // asked for its ROLE, in vain
      runtime.sleep_for(10s);
      for (std::size_t i = 0; i < 3; ++i) {
        const auto log = sentinels[i]->log();
        const bool heard = std::any_of(log.begin(), log.end(), [](const std::string& line) {
          return line.find("SUBSCRIBE") != std::string::npos;
        });
        if (heard || denied) says[i]->epoch = heard ? 2 : 3;
        if (heard) says[i]->primary = r2.get();
      }
      first = denied;
      told_at = runtime.now();
      const Endpoint to = r2->endpoint();
      for (const auto& one : sentinels) {
        one->broadcast(array({bulk("message"), bulk("+switch-master"),
                              bulk("mymaster 127.0.0.1 1 " + to.host + ' ' + std::to_string(to.port))}));
      }
    });
    const std::string name = client.call({"SET", "k", "v"}).reply.text;
    then(name, runtime.now() - told_at);
  });
}

// While the Sentinels are asked whether it is true, the client shakes hands with the new primary; then it
// calls.
TEST(SentinelsInVirtualTime, TwoRoundTripsAfterASwitchWasToldOfTheCallIsAnswered) {
  hear_of_a_switch(Ports::embedded, false, [](const std::string& name, Duration took) {
    EXPECT_EQ(name, "r2");
    EXPECT_LT(took, 2s + 10ms);
  });
}

// The server that is told of says that it is a primary, but more than half of the Sentinels know better.
TEST(SentinelsInVirtualTime, WhatOneTellsIsNotBelievedAgainstTheOthers) {
  hear_of_a_switch(Ports::embedded, true, [](const std::string& name, Duration took) {
    EXPECT_EQ(name, "r1");
    EXPECT_LT(took, 3s + 10ms);  // to that one nobody was connected yet
  });
}

TEST_P(Sentinels, AClientThatSeeksEndsAtOnce) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> no = false;
    const auto replica = server(runtime, network, "replica", no);
    Says says{.primary = replica.get()};
    const auto one = sentinel(runtime, network, says);
    const MonotonicTime begin = runtime.now();
    {
      Client client(runtime, network, patient({one.get()}));
      EXPECT_THROW(client.call({"SET", "k", "v"}, {.deadline = runtime.now() + 100ms}), Error);
    }
    EXPECT_LT(runtime.now() - begin, 30min);
  });
}

// The Sentinel that is heard goes: another one is, after the back-off.
TEST_P(Sentinels, WhoIsHeardMayGo) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> yes = true, no = false;
    const auto replica = server(runtime, network, "replica", no), redis = server(runtime, network, "r2", yes);
    Says says{.primary = replica.get()};
    const auto one = sentinel(runtime, network, says);
    ClientOptions options = asking({one.get()});
    options.backoff_max = 20ms;
    Client client(runtime, network, options);
    const Task later = runtime.spawn("later", [&] {
      replica->wait_for(2);
      one->reset_all();
      replica->wait_for(4);
      says.primary = redis.get();
    });
    EXPECT_EQ(client.call({"SET", "k", "v"}).reply.text, "r2");
  });
}

// Without a clock: the deadline is an hour away.
TEST_P(Sentinels, WhatAPersonMustMendIsToldAtOnce) {
  run([](Runtime& runtime, Network& network) {
    const auto fails = [&](const ClientOptions& options) {
      Client client(runtime, network, options);
      try {
        client.call({"SET", "k", "v"});
      } catch (const Error& error) {
        EXPECT_FALSE(error.may_have_executed());
        return error;
      }
      ADD_FAILURE() << "no error";
      return Error(Kind::timed_out, "", "", "", false, "none");
    };
    const std::atomic<bool> primary = true;
    const auto redis = server(runtime, network, "r1", primary);
    Says says{.primary = redis.get()};
    const auto one = sentinel(runtime, network, says);
    ClientOptions options = asking({one.get()});
    options.primary_name = "other";
    Error error = fails(options);
    EXPECT_EQ(error.kind(), Kind::unreachable);
    EXPECT_THAT(error.what(), HasSubstr("knows no primary `other`"));
    options = asking({one.get()});
    says.refuses = "-NOAUTH Authentication required.\r\n";
    error = fails(options);
    EXPECT_EQ(error.kind(), Kind::unauthorized);
    EXPECT_THAT(error.what(), HasSubstr("sentinel_password"));
    says.refuses = "-ERR unknown command 'SENTINEL', with args beginning with: \r\n";
    error = fails(options);
    EXPECT_EQ(error.kind(), Kind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("is no Sentinel"));
    says.refuses = "HTTP/1.1 400 Bad Request\r\n";
    EXPECT_EQ(fails(options).kind(), Kind::protocol);
    one->stop();
    EXPECT_EQ(fails(options).kind(), Kind::unreachable);
  });
}

TEST_P(Sentinels, GetAPasswordOfTheirOwn) {
  run([](Runtime& runtime, Network& network) {
    const std::atomic<bool> primary = true;
    const auto redis = server(runtime, network, "r1", primary);
    const Says says{.primary = redis.get()};
    const auto one = sentinel(runtime, network, says);
    ClientOptions options = asking({one.get()});
    options.sentinel_password = "secret";
    Client client(runtime, network, options);
    EXPECT_EQ(client.call({"SET", "k", "v"}).reply.text, "r1");
    EXPECT_EQ(one->log().front(), "1 AUTH secret");
    for (const std::string& line : redis->log()) EXPECT_EQ(line.find("secret"), std::string::npos) << line;
  });
}

INSTANTIATE_TEST_SUITE_P(, Sentinels, testing::all_ports(),
                         [](const auto& info) { return std::string(testing::to_string(info.param)); });

}  // namespace
}  // namespace holdfast::redis
