#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "lib/redis/client.h"
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
using testing::on_ports;
using testing::Peer;
using testing::Ports;

std::string message(std::string_view channel, std::string_view payload) {
  return array({bulk("message"), bulk(channel), bulk(payload)});
}

// What a Redis node says to the commands of this test.
void answer(Peer& peer, const Command& command, bool master = true) {
  if (command[0] == "ROLE") return peer.send(array({bulk(master ? "master" : "slave"), ":0\r\n", "*0\r\n"}));
  if (command[0] == "SUBSCRIBE") return peer.send(array({bulk("subscribe"), bulk(command[1]), ":1\r\n"}));
  if (command[0] == "UNSUBSCRIBE") return peer.send(array({bulk("unsubscribe"), bulk(command[1]), ":0\r\n"}));
  if (command[0] == "PING") return peer.send(array({bulk("pong"), bulk("")}));
  peer.send("+OK\r\n");
}
void answer_as_master(Peer& peer, const Command& command) { answer(peer, command); }

// Counts what the callbacks say, and lets the test wait for it.
class Events {
 public:
  explicit Events(Runtime& runtime) : mutex_(runtime), changed_(runtime) {}
  void add(std::string text) {
    const std::unique_lock lock(mutex_);
    seen_.push_back(std::move(text));
    changed_.notify_all();
  }
  std::vector<std::string> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, kNever, [&] { return seen_.size() >= count; });
    return seen_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<std::string> seen_;
};

class PubsubOn : public ::testing::TestWithParam<Ports> {
 protected:
  static void run(const std::function<void(Runtime&, Network&)>& body) { on_ports(GetParam(), body); }
};

ClientOptions options(std::initializer_list<const FakeServer*> servers) {
  ClientOptions options;
  for (const FakeServer* server : servers) options.nodes.push_back({"", server->endpoint()});
  options.backoff_min = 1ms;
  options.backoff_max = 5ms;
  options.connect_timeout = 10s;
  options.command_timeout = 30s;
  return options;
}

std::unique_ptr<Subscription> listen(Client& client, Events& events, const std::string& channel,
                                     const std::string& name = "") {
  return client.subscribe(
      channel,
      [&events, name](std::string_view payload) { events.add(name + "got " + std::string(payload)); },
      [&events, name] { events.add(name + "subscribed"); });
}

TEST_P(PubsubOn, DeliversAndUnsubscribes) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, answer_as_master);
    Client client(runtime, network, options({&server}));
    Events events(runtime);
    {
      const auto one = listen(client, events, "c", "1 ");
      EXPECT_THAT(events.wait(1), ElementsAre("1 subscribed"));
      server.broadcast(message("c", "hello") + message("other", "no"));
      EXPECT_THAT(events.wait(2), ElementsAre("1 subscribed", "1 got hello"));
      auto two = listen(client, events, "c", "2 ");  // the same channel: told as well, the first not again
      events.wait(3);
      server.broadcast(message("c", "x"));
      EXPECT_THAT(events.wait(5),
                  ElementsAre("1 subscribed", "1 got hello", "2 subscribed", "1 got x", "2 got x"));
      two.reset();
      auto three = listen(client, events, "d", "3 ");
      events.wait(6);
      three.reset();
      server.wait_for(4);
      EXPECT_THAT(server.log(),
                  ElementsAre("1 SUBSCRIBE c", "1 SUBSCRIBE c", "1 SUBSCRIBE d", "1 UNSUBSCRIBE d"));
    }
    const auto again = listen(client, events, "c");
    EXPECT_EQ(events.wait(7).back(), "subscribed");
    EXPECT_EQ(server.connections(), 2u) << "the connection lived only as long as somebody listened";
  });
}

TEST_P(PubsubOn, WarnsOnceWhereItMayNotListen) {
  run([](Runtime& runtime, Network& network) {
    Events refusals(runtime), warnings(runtime);
    FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
      if (command[0] != "SUBSCRIBE") return answer_as_master(peer, command);
      peer.send("-NOPERM this user has no permissions to access one of the channels used as arguments\r\n");
      refusals.add(command[1]);
    });
    ClientOptions with = options({&server});
    with.on_warning = [&](std::string_view text) { warnings.add(std::string(text)); };
    Client client(runtime, network, with);
    Events events(runtime);
    const auto subscription = listen(client, events, "c");
    EXPECT_GE(refusals.wait(3).size(), 3u) << "it is asked again: rights can be given";
    const std::vector<std::string> told = warnings.wait(0);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_THAT(told[0], ::testing::HasSubstr("does not let this user listen (NOPERM this user has no"));
    EXPECT_THAT(told[0], ::testing::HasSubstr("give the user SUBSCRIBE, PING and the channels"));
  });
}

// One of two channels is refused, after the other was confirmed.
TEST(PubsubInVirtualTime, ARefusedChannelIsAskedForEverMoreSeldomAndTakesNoOtherAlong) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [&](Runtime& runtime, Network& network) {
    int asked = 0;
    bool permitted = false;
    FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
      if (command[0] == "SUBSCRIBE" && command[1] == "z") {
        ++asked;
        if (!permitted) return peer.send("-NOPERM no such channel\r\n");
      }
      answer_as_master(peer, command);
    });
    ClientOptions with = options({&server});
    with.backoff_max = 100ms;
    with.command_timeout = 300ms;  // and PINGs between
    with.on_warning = [](std::string_view) {};
    Client client(runtime, network, with);
    Events events(runtime);
    const auto denied = listen(client, events, "z", "z "), other = listen(client, events, "a", "a ");
    runtime.sleep_for(2s);
    EXPECT_GE(asked, 20) << "rights can be given";
    EXPECT_LE(asked, 60) << "once each 50 to 100 ms, after 8 quicker ones";
    EXPECT_EQ(server.connections(), 1u);
    EXPECT_THAT(events.wait(1), ElementsAre("a subscribed"));
    server.broadcast(message("a", "is called"));
    EXPECT_THAT(events.wait(2), ElementsAre("a subscribed", "a got is called"));
    permitted = true;
    EXPECT_EQ(events.wait(3).back(), "z subscribed");
    const int then = asked;
    runtime.sleep_for(1s);
    EXPECT_EQ(asked, then);
    EXPECT_EQ(server.connections(), 1u);
  });
}

// Errors name no channel: whose they are is told by their order alone.
TEST(PubsubInVirtualTime, WhoWaitsForAnAnswerIsNotTakenForWhoWasRefused) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [&](Runtime& runtime, Network& network) {
    bool permitted = true;
    FakeServer server(runtime, network, [&](Peer& peer, const Command& command) {
      if (command[0] == "UNSUBSCRIBE") return peer.send("-NOPERM this user may not\r\n");
      if (command[0] == "SUBSCRIBE" && command[1] == "z" && !permitted) return peer.send("-NOPERM no\r\n");
      answer_as_master(peer, command);
    });
    ClientOptions with = options({&server});
    with.on_warning = [](std::string_view) {};
    Client client(runtime, network, with);
    Events events(runtime);
    const auto a = listen(client, events, "a", "a ");
    auto z = listen(client, events, "z", "z ");
    events.wait(2);
    // All at once: to leave is refused, as well as to come back, while another comes.
    permitted = false;
    z.reset();
    const auto b = listen(client, events, "b", "b "), again = listen(client, events, "z", "z "),
               c = listen(client, events, "c", "c ");
    EXPECT_THAT(events.wait(4), ElementsAre("a subscribed", "z subscribed", "b subscribed", "c subscribed"));
    runtime.sleep_for(20ms);
    EXPECT_EQ(events.wait(0).size(), 4u) << "z is not in force";
    permitted = true;
    EXPECT_EQ(events.wait(5).back(), "z subscribed");
    EXPECT_EQ(server.connections(), 1u);
  });
}

TEST_P(PubsubOn, SubscribesAgainAfterALoss) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, answer_as_master);
    Client client(runtime, network, options({&server}));
    Events events(runtime);
    const auto a = listen(client, events, "a");
    const auto b = listen(client, events, "b");
    events.wait(2);
    server.reset_all();
    EXPECT_THAT(events.wait(4), ElementsAre("subscribed", "subscribed", "subscribed", "subscribed"));
    server.stop();
    runtime.sleep_for(10ms);
    server.restart();
    events.wait(6);
    server.broadcast(message("b", "still here"));
    EXPECT_EQ(events.wait(7).back(), "got still here");
  });
}

TEST_P(PubsubOn, FollowsThePrimaryOfTheCalls) {
  run([](Runtime& runtime, Network& network) {
    std::atomic<int> master = 1;
    const auto node = [&](int number) {
      return [&master, number](Peer& peer, const Command& command) {
        if (command[0] == "SET" && master != number) return peer.send("-READONLY no\r\n");
        answer(peer, command, master == number);
      };
    };
    FakeServer first(runtime, network, node(1)), second(runtime, network, node(2));
    Client client(runtime, network, options({&first, &second}));
    Events events(runtime);
    const auto subscription = listen(client, events, "c");
    events.wait(1);
    master = 2;  // the old connection stays open: only the calls notice
    client.call({"SET", "k", "v"});
    events.wait(2);
    EXPECT_THAT(second.log(), ::testing::Contains(::testing::HasSubstr("SUBSCRIBE c")));
  });
}

// The old primary answers it when the calls have gone elsewhere already.
TEST(PubsubInVirtualTime, FollowsTheCallsAlsoWhileItConnects) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network& network) {
    std::atomic<int> master = 1;
    std::atomic<bool> late = false;
    FakeServer first(runtime, network, [&](Peer& peer, const Command& command) {
      if (command[0] == "ROLE" && peer.number() == 2) {
        while (!late) runtime.sleep_for(1ms);
        return answer(peer, command, true);  // what it was when it was asked
      }
      if (command[0] == "SET" && master != 1) return peer.send("-READONLY no\r\n");
      answer(peer, command, master == 1);
    });
    FakeServer second(runtime, network,
                      [&](Peer& peer, const Command& command) { answer(peer, command, master == 2); });
    Client client(runtime, network, options({&first, &second}));
    client.call({"SET", "k", "v"});
    Events events(runtime);
    const auto subscription = listen(client, events, "c");
    while (first.connections() < 2) runtime.sleep_for(1ms);
    master = 2;
    client.call({"SET", "k", "v"});
    runtime.sleep_for(10ms);
    late = true;
    events.wait(1);
    EXPECT_THAT(second.log(), ::testing::Contains(::testing::HasSubstr("SUBSCRIBE c")));
    EXPECT_THAT(first.log(), ::testing::Not(::testing::Contains(::testing::HasSubstr("SUBSCRIBE c"))));
    const std::size_t before = first.connections();
    client.call({"SET", "k", "v"});
    EXPECT_EQ(first.connections(), before) << "the calls are not led back";
  });
}

TEST_P(PubsubOn, TheCallsFollowItToThePrimary) {
  run([](Runtime& runtime, Network& network) {
    std::atomic<int> master = 1;
    const auto node = [&](int number) {
      return [&master, number](Peer& peer, const Command& command) {
        if (command[0] == "PING" && master != number) return peer.close();  // the subscription's keep-alive
        answer(peer, command, master == number);
      };
    };
    FakeServer first(runtime, network, node(1)), second(runtime, network, node(2));
    ClientOptions with = options({&first, &second});
    with.keep_alive = 20ms;
    for (std::size_t i = 0; i < 2; ++i) with.nodes[i].name = i == 0 ? "r1" : "r2";
    Client client(runtime, network, with);
    Events events(runtime);
    EXPECT_EQ(client.call({"GET", "k"}).node, "r1");
    const auto subscription = listen(client, events, "c");
    events.wait(1);
    master = 2;  // the connection of the calls stays open
    events.wait(2);
    EXPECT_EQ(client.call({"GET", "k"}).node, "r2");
  });
}

TEST(PubsubInVirtualTime, ASilentPeerIsNoticed) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, [](Peer& peer, const Command& command) {
      if (command[0] == "PING" && peer.number() == 1) return;  // dead, but the connection stands
      answer(peer, command);
    });
    ClientOptions quick = options({&server});
    quick.command_timeout = 20ms;
    quick.connect_timeout = 200ms;
    Client client(runtime, network, quick);
    Events events(runtime);
    const auto subscription = listen(client, events, "c");
    events.wait(2);
    server.wait_for(4);  // SUBSCRIBE, PING, SUBSCRIBE on the second, whose PINGs are answered
    EXPECT_THAT(server.log()[1], "1 PING");
    EXPECT_THAT(server.log()[2], "2 SUBSCRIBE c");
    server.wait_for(6);
    EXPECT_EQ(server.connections(), 2u);
  });
}

TEST_P(PubsubOn, MayBeDroppedFromItsOwnCallback) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, answer_as_master);
    Client client(runtime, network, options({&server}));
    Events events(runtime);
    std::unique_ptr<Subscription> subscription;
    std::atomic<bool> ready = false;
    subscription = client.subscribe(
        "c",
        [&](std::string_view) {
          subscription.reset();
          events.add("gone");
        },
        [&] { events.add("subscribed"); });
    ready = true;
    events.wait(1);
    server.broadcast(message("c", "1") + message("c", "2"));
    EXPECT_THAT(events.wait(2), ElementsAre("subscribed", "gone"));
  });
}

TEST_P(PubsubOn, ComeAndGoByManyTasks) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, answer_as_master);
    Client client(runtime, network, options({&server}));
    std::vector<Task> tasks;
    for (int t = 0; t < 6; ++t) {
      tasks.push_back(runtime.spawn("caller", [&, t] {
        for (int i = 0; i < 15; ++i) {
          Events events(runtime);
          const auto one = listen(client, events, "c" + std::to_string((t + i) % 3));
          if (i % 3 != 0) events.wait(1);
        }
      }));
    }
    tasks.clear();
  });
}

TEST_P(PubsubOn, AClientMayGoBeforeItsSubscriptions) {
  run([](Runtime& runtime, Network& network) {
    FakeServer server(runtime, network, answer_as_master);
    Events events(runtime);
    std::unique_ptr<Subscription> subscription;
    {
      Client client(runtime, network, options({&server}));
      subscription = listen(client, events, "c");
      events.wait(1);
    }
    subscription.reset();
  });
}

INSTANTIATE_TEST_SUITE_P(, PubsubOn, testing::all_ports(),
                         [](const auto& info) { return testing::to_string(info.param); });

}  // namespace
}  // namespace holdfast::redis
