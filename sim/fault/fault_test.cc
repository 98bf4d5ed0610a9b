#include "sim/fault/fault.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/fault/testing/bench.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Bench;
using testing::Kind;
using testing::Rig;
using testing::Strings;
using testing::Wire;
using testing::with_rig;

class FaultTest : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, FaultTest, ::testing::Values(Kind::embedded, Kind::real),
                         [](const auto& info) { return info.param == Kind::embedded ? "embedded" : "real"; });

TEST(FaultRegistry, EveryKindIsDescribedAndFound) {
  std::set<std::string_view> names;
  for (const FaultKind& kind : all_fault_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_EQ(find_fault_kind(kind.name), &kind);
    EXPECT_FALSE(kind.about.empty());
    EXPECT_TRUE(kind.embedded && kind.real) << kind.name;
    ASSERT_NE(kind.make, nullptr);
    EXPECT_NE(kind.make({.id = "x", .values = {}}), nullptr);
    std::set<std::string_view> keys;
    for (const FaultKey& key : kind.keys) {
      EXPECT_TRUE(keys.insert(key.name).second) << kind.name << "." << key.name;
      EXPECT_FALSE(key.about.empty()) << kind.name << "." << key.name;
      for (const char* taken : {"id", "kind", "enabled", "at", "every", "after", "for", "during"}) {
        EXPECT_NE(key.name, taken) << kind.name;
      }
    }
  }
  EXPECT_EQ(names.size(), 48u);
  EXPECT_EQ(find_fault_kind("no-such"), nullptr);
}

TEST(FaultRegistry, SomeFaultsMeanEitherANodeOrAClient) {
  for (const char* name : {"crash", "clock-step", "clock-strobe", "clock-drift"}) {
    const FaultKind* kind = find_fault_kind(name);
    EXPECT_NE(kind->problem({.id = "x", .values = {}}), "");
    EXPECT_EQ(kind->problem({.id = "x", .values = {{"node", std::string("r1")}}}), "");
    EXPECT_NE(
        kind->problem({.id = "x", .values = {{"node", std::string("r1")}, {"client", std::string("c1")}}}),
        "");
  }
}

TEST(FaultDelay, AddsItsDelayUntilItHeals) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Bench bench(rig);
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      const auto took = [&] {
        const std::int64_t start = rig.world.now_ns();
        EXPECT_EQ(wire.ask("PING"), "+PING");
        return Duration(rig.world.now_ns() - start);
      };
      const Duration plain = took();
      const auto both =
          bench.make("delay", {{"between", std::string("c1")}, {"delay", DurationRange{3ms, 3ms}}});
      const auto jitter = bench.make("delay", {{"and", Strings{"r1", "r2"}},
                                               {"direction", std::string("backward")},
                                               {"delay", DurationRange{1ms, 9ms}}});
      const auto others =
          bench.make("delay", {{"between", std::string("c2")}, {"delay", DurationRange{1s, 1s}}});
      both->act(bench.targets);
      others->act(bench.targets);
      EXPECT_EQ(took(), plain + 6ms);
      jitter->act(bench.targets);
      std::set<Duration> times;
      for (int i = 0; i < 20; ++i) times.insert(took());
      EXPECT_GE(*times.begin(), plain + 7ms);
      EXPECT_LE(*times.rbegin(), plain + 15ms);
      EXPECT_GT(times.size(), 10u);
      both->heal(bench.targets);
      jitter->heal(bench.targets);
      EXPECT_EQ(took(), plain);
    });
  });
}

TEST_P(FaultTest, StallAndPartitionHoldThenLetThrough) {
  for (const char* kind : {"stall", "partition"}) {
    with_rig(GetParam(), [&](Rig& rig) {
      Bench bench(rig);
      rig.as_client([&] {
        Wire wire(rig.client, rig.door);
        EXPECT_EQ(wire.ask("one"), "+one");
        const auto fault = bench.make(kind, {{"between", Strings{"c1", "c2"}}, {"and", Strings{"r1"}}});
        fault->act(bench.targets);
        wire.patience = 50ms;
        EXPECT_EQ(wire.ask("two"), "(silence)");
        EXPECT_EQ(rig.server.commands(), Strings{"one"});
        fault->heal(bench.targets);
        wire.patience = 2s;
        EXPECT_EQ(wire.read_line(), "+two");
      });
    });
  }
}

TEST_P(FaultTest, OneWayPartitions) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      wire.patience = 50ms;
      const auto replies = bench.make(
          "partition",
          {{"between", Strings{"c1"}}, {"and", Strings{"r1"}}, {"direction", std::string("backward")}});
      replies->act(bench.targets);
      EXPECT_EQ(wire.ask("one"), "(silence)");
      EXPECT_EQ(rig.server.commands(), Strings{"one"}) << "requests pass";
      replies->heal(bench.targets);
      wire.patience = 2s;
      EXPECT_EQ(wire.read_line(), "+one");
      wire.patience = 50ms;
      // Told from the node's side: from r1 to c1 is the reply's way.
      const auto same = bench.make("partition", {{"between", Strings{"r1"}},
                                                 {"and", Strings{"c1"}},
                                                 {"direction", std::string("forward")},
                                                 {"heal_by", std::string("reset")}});
      same->act(bench.targets);
      EXPECT_EQ(wire.ask("two"), "(silence)");
      EXPECT_EQ(rig.server.commands(), (Strings{"one", "two"}));
      same->heal(bench.targets);
      EXPECT_EQ(wire.read_line(), "(reset)");
    });
  });
}

TEST_P(FaultTest, CutBreaksWhatExists) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("one"), "+one");
      bench.make("cut", {{"between", Strings{"c2"}}})->act(bench.targets);
      EXPECT_EQ(wire.ask("two"), "+two");
      bench.make("cut", {{"between", Strings{"c1"}}, {"and", Strings{"r1"}}})->act(bench.targets);
      EXPECT_EQ(wire.read_line(), "(reset)");
      EXPECT_EQ(Wire(rig.client, rig.door).ask("three"), "+three");
    });
  });
}

TEST_P(FaultTest, RefuseUntilHealed) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("one"), "+one");
      const auto keep = bench.make("refuse", {{"node", std::string("r1")}, {"keep", true}});
      keep->act(bench.targets);
      EXPECT_EQ(wire.ask("two"), "+two");
      const auto refuse = bench.make("refuse", {{"node", std::string("r1")}, {"from", Strings{"c1"}}});
      refuse->act(bench.targets);
      EXPECT_EQ(wire.read_line(), "(reset)");
      keep->heal(bench.targets);
      Wire refused(rig.client, rig.door);
      if (refused.connected() == IoStatus::ok) {
        EXPECT_EQ(refused.read(1), "(reset)");
      }
      refuse->heal(bench.targets);
      EXPECT_EQ(Wire(rig.client, rig.door).ask("three"), "+three");
    });
  });
}

TEST_P(FaultTest, ResetsAroundARequest) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    rig.as_client([&] {
      const auto before = bench.make("reset-before-request",
                                     {{"command", std::string("set")}, {"client", std::string("c1")}});
      before->act(bench.targets);
      Wire one(rig.client, rig.door);
      EXPECT_EQ(one.ask("get a"), "+a");
      EXPECT_EQ(one.ask("set a 1"), "(reset)");
      rig.client.runtime().sleep_for(20ms);
      EXPECT_EQ(rig.server.commands(), (Strings{"get a", "(reset)"}));

      const auto after = bench.make(
          "reset-after-request",
          {{"command", std::string("SET")}, {"node", std::string("r1")}, {"nth", std::int64_t{2}}});
      after->act(bench.targets);
      Wire two(rig.client, rig.door);
      EXPECT_EQ(two.ask("set a 2"), "+2");
      EXPECT_EQ(two.ask("set a 3"), "(reset)");
      EXPECT_EQ(rig.server.commands().at(3), "set a 3") << "it was executed";
      EXPECT_EQ(Wire(rig.client, rig.door).ask("set a 4"), "+4");

      const auto half = bench.make("reset-mid-reply", {{"count", std::int64_t{0}}});
      half->act(bench.targets);
      for (int i = 0; i < 2; ++i) {
        Wire three(rig.client, rig.door);
        three.send("get abcdef\r\n");
        EXPECT_EQ(three.read(9), "+abc (end)");
      }
      half->heal(bench.targets);
      EXPECT_EQ(Wire(rig.client, rig.door).ask("get a"), "+a");
    });
    const std::uint64_t taken_apart = rig.proxy.stats().messages;
    rig.as_client([&] { Wire(rig.client, rig.door).ask("get a"); });
    EXPECT_EQ(rig.proxy.stats().messages, taken_apart)
        << "a fault that has done its work leaves no rule behind";
  });
}

TEST_P(FaultTest, DropsPublishedMessages) {
  with_rig(
      GetParam(),
      [](Rig& rig) {
        Bench bench(rig);
        rig.as_client([&] {
          bench.make("drop-message", {{"channel", std::string("wake")}, {"nth", std::int64_t{2}}})
              ->act(bench.targets);
          Wire wire(rig.client, rig.door);
          const auto message = [](const std::string& channel, const std::string& text) {
            return "*3\r\n$7\r\nmessage\r\n$4\r\n" + channel + "\r\n$1\r\n" + text + "\r\n";
          };
          wire.send("SUBSCRIBE wake\r\n");
          const std::string expected =
              message("wake", "1") + message("none", "2") + message("none", "3") + message("wake", "5");
          EXPECT_EQ(wire.read(33 + expected.size()).substr(33), expected);
        });
      },
      [](const auto&) {
        std::string reply = "*3\r\n$9\r\nsubscribe\r\n$4\r\nwake\r\n:1\r\n";
        int number = 0;
        for (const char* channel : {"wake", "none", "none", "wake", "wake"}) {
          reply += std::string("*3\r\n$7\r\nmessage\r\n$4\r\n") + channel + "\r\n$1\r\n" +
                   std::to_string(++number) + "\r\n";
        }
        return reply;
      });
}

TEST_P(FaultTest, FrozenReplicationHoldsTheStreamAndItsEndButNotAcknowledgements) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    const Endpoint door = rig.proxy.expose("r1", rig.server.endpoint(), "r2");
    rig.as_client([&] {
      Wire replica(rig.client, door);
      Wire client(rig.client, rig.door);
      EXPECT_EQ(replica.ask("one"), "+one");
      const auto lag = bench.make("replication-lag", {{"node", std::string("r2")}});
      lag->act(bench.targets);
      replica.patience = 50ms;
      EXPECT_EQ(replica.ask("ack"), "(silence)");
      EXPECT_EQ(rig.server.commands().back(), "ack");
      EXPECT_EQ(client.ask("two"), "+two") << "client links are not touched";
      rig.server.process().crash();
      EXPECT_EQ(replica.read(1), "(silence)") << "the end of the dead primary's connection is held back";
      lag->heal(bench.targets);
      replica.patience = 2s;
      EXPECT_EQ(replica.read_line(), "+ack");
      const std::string end = replica.read(1);
      EXPECT_TRUE(end == "(end)" || end == "(reset)") << end;
    });
  });
}

TEST(FaultReplicationLag, WithADelayIsLate) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Bench bench(rig);
    const Endpoint door = rig.proxy.expose("r1", rig.server.endpoint(), "r2");
    bench.make("replication-lag", {{"node", std::string("r2")}, {"delay", DurationRange{7ms, 7ms}}})
        ->act(bench.targets);
    rig.as_client([&] {
      Wire replica(rig.client, door);
      const std::int64_t start = rig.world.now_ns();
      EXPECT_EQ(replica.ask("one"), "+one");
      EXPECT_GE(Duration(rig.world.now_ns() - start), 7ms);
      EXPECT_LT(Duration(rig.world.now_ns() - start), 8ms);
    });
  });
}

// Each link has a stream of its own: what another link carries moves no draw.
TEST_P(FaultTest, MessagesAreLostByProbability) {
  const auto lost = [&](int noise) {
    std::vector<bool> result;
    with_rig(GetParam(), [&](Rig& rig) {
      Bench bench(rig);
      Process& other = rig.world.add_process("c9");
      const auto lose = bench.make("reset-before-request",
                                   {{"command", std::string("SET")}, {"probability", std::int64_t{30}}});
      lose->act(bench.targets);
      for (int i = 0; i < 60; ++i) {
        testing::on(rig.world, other, [&] {
          for (int k = 0; k < noise; ++k) Wire(other, rig.door).ask("set b 1");
        });
        rig.as_client([&] { result.push_back(Wire(rig.client, rig.door).ask("set a 1") == "(reset)"); });
      }
      lose->heal(bench.targets);
      rig.as_client([&] { EXPECT_EQ(Wire(rig.client, rig.door).ask("set a 1"), "+1"); });
    });
    return result;
  };
  const std::vector<bool> alone = lost(0);
  const auto hits = std::count(alone.begin(), alone.end(), true);
  EXPECT_GT(hits, 6);
  EXPECT_LT(hits, 33);
  EXPECT_EQ(lost(2), alone);
}

}  // namespace
}  // namespace holdfast::sim
