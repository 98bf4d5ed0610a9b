#include "sim/proxy/proxy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/testing/server/certificates.h"
#include "lib/testing/server/temporary_folder.h"
#include "lib/tls/tls_network.h"
#include "sim/proxy/testing/rig.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Kind;
using testing::only;
using testing::Rig;
using testing::Wire;
using testing::with_rig;
using Strings = std::vector<std::string>;

class ProxyTest : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, ProxyTest, ::testing::Values(Kind::embedded, Kind::real),
                         [](const auto& info) { return info.param == Kind::embedded ? "embedded" : "real"; });

TEST_P(ProxyTest, PassesWithoutTakingMessagesApart) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("echo one"), "+one");
      EXPECT_EQ(wire.ask("echo two"), "+two");
      const std::string large(300000, 'x');
      wire.patience = 5s;
      wire.send("*2\r\n$4\r\nECHO\r\n$300000\r\n" + large + "\r\n");
      EXPECT_EQ(wire.read_line(), "+" + large);
      wire.stream().finish_writing();
      EXPECT_EQ(wire.read(1), "(end)") << "the server closes when its client is done";
    });
    EXPECT_EQ(rig.server.commands().back(), "(end)");
    EXPECT_EQ(rig.proxy.stats().messages, 0u);
    EXPECT_EQ(rig.proxy.stats().connections, 1u);
  });
}

TEST_P(ProxyTest, KnowsWhoConnectsToWhom) {
  with_rig(GetParam(), [](Rig& rig) {
    Strings links;
    rig.proxy.watch([&](const Message& message) {
      links.push_back(message.link.from + ">" + message.link.to +
                      (message.link.replication ? " replication" : ""));
    });
    const Endpoint replica_door = rig.proxy.expose("r1", rig.server.endpoint(), "r2");
    rig.as_client([&] {
      Wire(rig.client, rig.door).ask("a");
      Wire(rig.client, replica_door).ask("b");
    });
    EXPECT_EQ(links, (Strings{"c1>r1", "c1>r1"})) << "replication links are not watched";
  });
}

TEST_P(ProxyTest, EndsTheTlsOfClients) {
  with_rig(GetParam(), [](Rig& rig) {
    const TemporaryFolder folder;
    const holdfast::testing::CertificateAuthority ca(folder.path(), "ca");
    const holdfast::testing::Certificate shown = ca.issue({.name = "proxy", .hosts = {"redis.test"}});
    rig.proxy.end_tls({.certificate_file = shown.certificate_file, .key_file = shown.key_file});
    const Endpoint door = rig.proxy.expose("r2", rig.server.endpoint());
    const Endpoint replica_door = rig.proxy.expose("r2", rig.server.endpoint(), "r3");
    Strings seen;
    rig.proxy.watch([&](const Message& message) {
      if (message.direction == Direction::request) seen.emplace_back(message.command);
    });
    rig.as_client([&] {
      const auto met = [&](const std::string& ca_file) {
        TlsNetwork network(rig.client.runtime(), rig.client.network(),
                           {.ca_file = ca_file, .server_name = "redis.test"});
        const MonotonicTime deadline = rig.client.runtime().now() + 5s;
        const Connected connected = network.connect(door, deadline);
        if (!connected.stream) return std::string(to_string(connected.status));
        EXPECT_TRUE(connected.stream->write("PING\r\n", deadline).ok());
        std::string answer(7, ' ');
        std::size_t had = 0;
        while (had < answer.size()) {
          const IoResult got = connected.stream->read({&answer[had], answer.size() - had}, deadline);
          if (!got.ok()) return std::string(to_string(got.status));
          had += got.bytes;
        }
        return answer;
      };
      EXPECT_EQ(met(ca.file()), "+PING\r\n");
      EXPECT_EQ(seen, (Strings{"PING"})) << "rules see commands";
      const holdfast::testing::CertificateAuthority other(folder.path(), "other");
      EXPECT_EQ(met(other.file()), to_string(IoStatus::untrusted));
      EXPECT_NE(Wire(rig.client, door).ask("PING"), "+PING") << "plain, where TLS is expected";
      EXPECT_EQ(Wire(rig.client, replica_door).ask("PING"), "+PING") << "a replica speaks plain";
      EXPECT_EQ(Wire(rig.client, rig.door).ask("PING"), "+PING") << "a door from before";
    });
  });
}

TEST(ProxyDelay, IsExactInVirtualTime) {
  with_rig(Kind::embedded, [](Rig& rig) {
    const auto round_trip = [&](Wire& wire) {
      const std::int64_t start = rig.world.now_ns();
      EXPECT_EQ(wire.ask("PING"), "+PING");
      return Duration(rig.world.now_ns() - start);
    };
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      const Duration plain = round_trip(wire);
      const RuleId there = rig.proxy.add_rule(make_delay_rule(only(Direction::request), {5ms, 5ms}, Rng(1)));
      EXPECT_EQ(round_trip(wire), plain + 5ms);
      const RuleId back = rig.proxy.add_rule(make_delay_rule(only(Direction::reply), {1ms, 1ms}, Rng(1)));
      EXPECT_EQ(round_trip(wire), plain + 6ms);
      rig.proxy.remove_rule(there);
      EXPECT_EQ(round_trip(wire), plain + 1ms);
      rig.proxy.remove_rule(back);
      EXPECT_EQ(round_trip(wire), plain);
      rig.proxy.add_rule(make_latency_rule({1ms, 3ms}, Rng(1)));
      for (int i = 0; i < 50; ++i) {
        const Duration took = round_trip(wire);
        EXPECT_GE(took, plain + 2ms);
        EXPECT_LE(took, plain + 6ms);
      }
    });
    EXPECT_EQ(rig.proxy.stats().messages, 0u) << "rules on bytes need no messages";
  });
}

TEST(ProxyDelay, KeepsOrderAndIsNoThrottle) {
  with_rig(Kind::embedded, [](Rig& rig) {
    rig.proxy.add_rule(make_delay_rule(only(Direction::request), {0ms, 20ms}, Rng(7)));
    Strings sent;
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      for (int i = 0; i < 200; ++i) {
        sent.push_back("n " + std::to_string(i));
        wire.send(sent.back() + "\r\n");
        rig.client.runtime().sleep_for(1ms);
      }
      rig.client.runtime().sleep_for(20ms);
      EXPECT_EQ(rig.server.commands(), sent);
      EXPECT_LE(rig.server.arrivals().back().time_ns, rig.server.arrivals().front().time_ns + (230ms / 1ns));
    });
  });
}

TEST_P(ProxyTest, HoldKeepsEverythingBackTheEndIncluded) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("one"), "+one");
      const RuleId hold = rig.proxy.add_rule(make_hold_rule(only(Direction::reply)));
      wire.patience = 50ms;
      EXPECT_EQ(wire.ask("two"), "(silence)");
      rig.server.process().crash();
      EXPECT_EQ(wire.read(1), "(silence)") << "the end of the connection is held too";
      rig.proxy.release_held(hold);
      EXPECT_EQ(wire.read(1), "(silence)") << "the rule holds on";
      rig.proxy.remove_rule(hold);
      wire.patience = 1s;
      EXPECT_EQ(wire.read_line(), "+two");
      const std::string end = wire.read(1);
      EXPECT_TRUE(end == "(end)" || end == "(reset)") << end;
    });
  });
}

TEST_P(ProxyTest, AHoldBeforeTheConnectionKeepsItSilent) {
  with_rig(GetParam(), [](Rig& rig) {
    const RuleId hold = rig.proxy.add_rule(make_hold_rule(all_links()));
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      wire.patience = 50ms;
      EXPECT_EQ(wire.ask("late"), "(silence)");
      EXPECT_TRUE(rig.server.commands().empty());
      rig.proxy.remove_rule(hold);
      wire.patience = 1s;
      EXPECT_EQ(wire.read_line(), "+late");
    });
  });
}

TEST(ProxyHold, TakesInUpToItsLimitAndLosesNothing) {
  with_rig(Kind::embedded, [](Rig& rig) {
    const RuleId hold = rig.proxy.add_rule(make_hold_rule(only(Direction::request)));
    const std::string chunk = "*2\r\n$4\r\nECHO\r\n$1048560\r\n" + std::string(1048560, 'x') + "\r\n";
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      std::size_t taken = 0;
      for (IoStatus status = IoStatus::ok; status == IoStatus::ok; ++taken) {
        ASSERT_LT(taken, 200u) << "no bound";
        status = wire.send(chunk);
      }
      EXPECT_GE(taken * chunk.size(), Proxy::kHoldLimit);
      rig.proxy.remove_rule(hold);
      wire.patience = 10s;
      for (std::size_t i = 0; i + 1 < taken; ++i) ASSERT_EQ(wire.read(1048560 + 3).size(), 1048560u + 3u);
    });
  });
}

TEST_P(ProxyTest, AServerThatDiesEndsItsConnections) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("one"), "+one");
      rig.server.process().crash();
      wire.patience = 2s;
      const std::string end = wire.read(1);
      EXPECT_TRUE(end == "(end)" || end == "(reset)") << end;
      Wire later(rig.client, rig.door);
      if (later.connected() == IoStatus::ok) {
        later.patience = 2s;
        EXPECT_EQ(later.read(1), "(reset)") << "nobody listens there any more";
      }
    });
  });
}

TEST_P(ProxyTest, ADoorLeadsWhereItsServerIsNow) {
  with_rig(GetParam(), [](Rig& rig) {
    testing::FakeServer other(rig.world, "r1-moved", [](const auto&) { return "+moved\r\n"; });
    rig.as_client([&] {
      Wire before(rig.client, rig.door);
      EXPECT_EQ(before.ask("a"), "+a");
      rig.proxy.redirect("r1", other.endpoint());
      EXPECT_EQ(before.ask("b"), "+b");
      EXPECT_EQ(Wire(rig.client, rig.door).ask("c"), "+moved");
    });
  });
}

TEST_P(ProxyTest, RefusesNewConnectionsOnly) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.as_client([&] {
      Wire before(rig.client, rig.door);
      EXPECT_EQ(before.ask("a"), "+a");
      const RuleId refuse =
          rig.proxy.add_rule(make_refuse_rule([](const Link& link) { return link.from == "c1"; }));
      Wire refused(rig.client, rig.door);
      if (refused.connected() == IoStatus::ok) {
        refused.patience = 2s;
        EXPECT_EQ(refused.read(1), "(reset)");
      }
      EXPECT_EQ(before.ask("b"), "+b");
      rig.proxy.remove_rule(refuse);
      EXPECT_EQ(Wire(rig.client, rig.door).ask("c"), "+c");
    });
  });
}

TEST_P(ProxyTest, ResetLinksBreaksExistingConnections) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("a"), "+a");
      EXPECT_EQ(rig.proxy.reset_links([](const Link& link) { return link.from == "other"; }), 0u);
      EXPECT_EQ(wire.ask("b"), "+b");
      EXPECT_EQ(rig.proxy.reset_links([](const Link& link) { return link.from == "c1"; }), 1u);
      wire.patience = 2s;
      EXPECT_EQ(wire.read(1), "(reset)");
      EXPECT_EQ(Wire(rig.client, rig.door).ask("c"), "+c");
    });
    rig.sleep(20ms);
    EXPECT_EQ(rig.server.commands(), (Strings{"a", "b", "(reset)", "c", "(end)"}));
  });
}

// --- connections as TCP has them ------------------------------------------------------------------------

TEST_P(ProxyTest, WhoConnectsThroughAPartitionGetsNoAnswerUntilItHeals) {
  with_rig(GetParam(), [](Rig& rig) {
    Runtime& runtime = rig.client.runtime();
    const RuleId cut = rig.proxy.add_rule(make_partition_rule([](const Link& link) {
      return Lanes{.request = false, .reply = link.from == "c1"};  // one way is enough
    }));
    const std::uint64_t before = rig.proxy.stats().connections;
    std::int64_t took_ms = 0;
    bool over = false;
    rig.client.start("patient", [&] {
      const MonotonicTime start = runtime.now();
      Wire wire(rig.client, rig.door);  // waits 5 s
      took_ms = (runtime.now() - start) / 1ms;
      wire.patience = 2s;
      EXPECT_EQ(wire.ask("late"), "+late");
      over = true;
    });
    rig.as_client([&] {
      EXPECT_EQ(rig.client.network().connect(rig.door, deadline_after(runtime.now(), 300ms)).status,
                IoStatus::timed_out);
      Process& other = rig.world.add_process("c2");
      rig.world.harness().runtime().sleep_for(1ms);
      EXPECT_EQ(rig.proxy.stats().connections, before) << "nothing was accepted";
      EXPECT_EQ(other.network().connect(rig.door, deadline_after(other.runtime().now(), 5s)).status,
                IoStatus::ok);
    });
    rig.proxy.heal_rule(cut);
    while (!over) rig.sleep(5ms);
    EXPECT_GE(took_ms, 900) << "by the first repetition";
  });
}

TEST_P(ProxyTest, ADeadServerRefusesAtOnceAndADeadMachineIsSilent) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("one"), "+one");
      rig.proxy.set_node("r1", NodeState::down);
      EXPECT_EQ(Wire(rig.client, rig.door).connected(), IoStatus::refused);
      EXPECT_EQ(wire.ask("two"), "+two") << "what exists goes on until the server ends it";
      rig.proxy.set_node("r1", NodeState::up);
      EXPECT_EQ(Wire(rig.client, rig.door).ask("three"), "+three");

      Wire idle(rig.client, rig.door);
      EXPECT_EQ(idle.ask("idle"), "+idle");
      rig.proxy.set_node("r1", NodeState::off);
      rig.server.process().crash();
      wire.patience = idle.patience = 50ms;
      EXPECT_EQ(wire.ask("four"), "(silence)");
      EXPECT_EQ(idle.read(1), "(silence)") << "not even the end of the stream";
      Runtime& runtime = rig.client.runtime();
      EXPECT_EQ(rig.client.network().connect(rig.door, deadline_after(runtime.now(), 100ms)).status,
                IoStatus::timed_out);
      rig.proxy.set_node("r1", NodeState::down);  // it boots
      wire.patience = idle.patience = 2s;
      EXPECT_EQ(wire.read(1), "(reset)") << "its request was sent again";
      EXPECT_EQ(idle.ask("hello"), "(reset)") << "nobody knows this connection any more";
      EXPECT_EQ(Wire(rig.client, rig.door).connected(), IoStatus::refused);
    });
  });
}

TEST(ProxyHealing, WhatWaitedArrivesAsItIsSentAgain) {
  const auto arrivals = [](std::uint64_t seed) {
    std::vector<std::int64_t> ms;
    const auto world = make_embedded_world({.seed = seed});
    world->run([&] {
      Proxy proxy(*world);
      testing::FakeServer server(*world, "r1");
      const Endpoint door = proxy.expose("r1", server.endpoint());
      Process& client = world->add_process("c1");
      testing::on(*world, client, [&] {
        std::vector<std::unique_ptr<Wire>> wires;
        for (int i = 0; i < 8; ++i) wires.push_back(std::make_unique<Wire>(client, door));
        client.runtime().sleep_for(1ms);
        const RuleId cut = proxy.add_rule(make_partition_rule(all_links()));
        const std::int64_t cut_at = world->now_ns();
        for (const auto& wire : wires) wire->send("a\r\n");
        client.runtime().sleep_for(10ms);
        for (const auto& wire : wires) wire->send("b\r\n");
        client.runtime().sleep_for(4990ms);
        EXPECT_TRUE(server.commands().empty());
        proxy.heal_rule(cut);
        for (const auto& wire : wires) {
          wire->patience = 6s;
          EXPECT_EQ(wire->read_line(2), "+a+b");
        }
        std::string all;
        for (const testing::Arrival& arrival : server.arrivals()) {
          ms.push_back((arrival.time_ns - cut_at) / 1'000'000);
          all += arrival.command;
        }
        EXPECT_EQ(all, "abababababababab") << "each connection at once, and none with another";
        EXPECT_GE(ms.front(), 5000);
        EXPECT_LE(ms.back(), 10'300);
        EXPECT_GE(ms.back() - ms.front(), 100);
      });
    });
    return ms;
  };
  EXPECT_EQ(arrivals(1), arrivals(1));
  EXPECT_NE(arrivals(1), arrivals(2));
}

}  // namespace
}  // namespace holdfast::sim
