// Faults that damage, slow down or reorder what passes: on a fake server behind the proxy, in both worlds.
#include <gtest/gtest.h>

#include <set>

#include "sim/cluster/cluster.h"
#include "sim/fault/fault.h"
#include "sim/fault/testing/acting.h"
#include "sim/proxy/testing/rig.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Acting;
using testing::Kind;
using testing::on;
using testing::Rig;
using testing::Wire;
using testing::with_rig;

class NoCluster final : public Cluster {
 public:
  void start() override {}
  const std::vector<std::unique_ptr<ClusterNode>>& nodes() const override { return none_; }
  const std::vector<std::unique_ptr<ClusterNode>>& sentinels() const override { return none_; }
  void demote(const std::string&, const std::string&) override {}
  void handed_over(const std::string&, const std::string&) override {}

 private:
  std::vector<std::unique_ptr<ClusterNode>> none_;
};

struct Bench {
  explicit Bench(Rig& rig_)
      : rig(rig_),
        rng(rig.world.rng("fault/test")),
        targets{.world = rig.world,
                .cluster = cluster,
                .proxy = rig.proxy,
                .client = [this](std::string_view) { return &rig.client; },
                .rng = rng,
                .hit = [this] { ++hits; }} {}
  std::unique_ptr<Acting> make(std::string_view kind, SettingValues values = {}) {
    return std::make_unique<Acting>(kind, std::move(values));
  }

  Rig& rig;
  NoCluster cluster;
  Rng rng;
  int hits = 0;
  FaultTargets targets;
};

class NetworkFault : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, NetworkFault, ::testing::Values(Kind::embedded, Kind::real),
                         [](const auto& info) { return info.param == Kind::embedded ? "embedded" : "real"; });

TEST_P(NetworkFault, AReplyIsDamagedInItsTypeItsLengthOrItsEnd) {
  const auto damaged = [](const char* where, const char* value) {
    std::string got;
    with_rig(
        GetParam(),
        [&](Rig& rig) {
          Bench bench(rig);
          const auto corrupt = bench.make("corrupt-bytes", {{"where", std::string(where)}});
          corrupt->act(bench.targets);
          rig.as_client([&] {
            Wire wire(rig.client, rig.door);
            wire.send("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
            got = wire.read(std::string_view(value).size());
            EXPECT_EQ(wire.ask("GET k"), std::string(value).substr(0, std::string_view(value).find('\r')))
                << "the next one is whole";
          });
          EXPECT_EQ(bench.hits, 1);
        },
        [&](const auto&) { return std::string(value); });
    return got;
  };
  EXPECT_EQ(damaged("type", "+OK\r\n"), "?OK\r\n");
  EXPECT_EQ(damaged("end", "+OK\r\n"), "+OK\r?");
  EXPECT_EQ(damaged("length", "+OK\r\n"), "+OK\r?") << "it has no length";
  EXPECT_EQ(damaged("length", ":17\r\n"), ":x7\r\n");
  EXPECT_EQ(damaged("length", "$-1\r\n"), "$-x\r\n");
}

TEST_P(NetworkFault, ARequestIsDamagedButBeginsAsOne) {
  for (const char* const where : {"type", "length"}) {
    std::string got;
    with_rig(GetParam(),
             [&](Rig& rig) {
               Bench bench(rig);
               bench.make("corrupt-bytes", {{"of", std::string("request")}, {"where", std::string(where)}})
                   ->act(bench.targets);
               rig.as_client([&] {
                 Wire wire(rig.client, rig.door);
                 wire.send("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
                 got = wire.read(1);
               });
               EXPECT_EQ(bench.hits, 1);
               EXPECT_EQ(rig.server.commands().empty() || rig.server.commands().front() != "GET k", true);
             },
             {});
  }
}

// `p` is drawn from the seed: about so many, and the same ones each time.
TEST_P(NetworkFault, MessagesAreMetByAProbabilityInMillionths) {
  const auto lost = [] {
    std::vector<bool> result;
    with_rig(GetParam(), [&](Rig& rig) {
      Bench bench(rig);
      const auto lose = bench.make("reset-before-request", {{"p", std::int64_t{250'000}}});
      lose->act(bench.targets);
      for (int i = 0; i < 80; ++i)
        rig.as_client([&] { result.push_back(Wire(rig.client, rig.door).ask("set a 1") == "(reset)"); });
      lose->heal(bench.targets);
      rig.as_client([&] { EXPECT_EQ(Wire(rig.client, rig.door).ask("set a 1"), "+1"); });
    });
    return result;
  };
  const std::vector<bool> once = lost();
  const auto hits = std::count(once.begin(), once.end(), true);
  EXPECT_GT(hits, 6);
  EXPECT_LT(hits, 36);
  EXPECT_EQ(lost(), once);
}

TEST_P(NetworkFault, SomeMessagesAreLateByProbability) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    bench
        .make("delay", {{"p", std::int64_t{300'000}},
                        {"direction", std::string("forward")},
                        {"between", std::string("c1")},
                        {"delay", DurationRange{60ms, 60ms}}})
        ->act(bench.targets);
    int late = 0;
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      for (int i = 0; i < 40; ++i) {
        const MonotonicTime since = rig.client.runtime().now();
        EXPECT_EQ(wire.ask("set a 1"), "+1");
        late += rig.client.runtime().now() - since >= 60ms ? 1 : 0;
      }
    });
    EXPECT_GT(late, 3);
    EXPECT_LT(late, 37);
  });
}

TEST_P(NetworkFault, ALinkCarriesSoManyBytesASecond) {
  const std::string value(4000, 'v');
  with_rig(
      GetParam(),
      [&](Rig& rig) {
        Bench bench(rig);
        const auto slow = bench.make("bandwidth", {{"between", std::string("c1")},
                                                   {"direction", std::string("backward")},
                                                   {"bytes_per_second", std::int64_t{10'000}}});
        slow->act(bench.targets);
        rig.as_client([&] {
          Wire wire(rig.client, rig.door);
          wire.patience = 5s;
          const MonotonicTime since = rig.client.runtime().now();
          EXPECT_EQ(wire.ask("get k"), "+" + value);
          EXPECT_GE(rig.client.runtime().now() - since, 390ms);
        });
        slow->heal(bench.targets);
        rig.as_client([&] {
          Wire wire(rig.client, rig.door);
          const MonotonicTime since = rig.client.runtime().now();
          EXPECT_EQ(wire.ask("get k"), "+" + value);
          if (GetParam() == Kind::embedded) {
            EXPECT_LT(rig.client.runtime().now() - since, 100ms);
          }
        });
      },
      [&](const auto&) { return "+" + value + "\r\n"; });
}

TEST_P(NetworkFault, WhatWaitsForBandwidthGoesOnWhenThereIsEnough) {
  const std::string value(4'000, 'v');
  with_rig(
      GetParam(),
      [&](Rig& rig) {
        Bench bench(rig);
        const auto slow = bench.make(
            "bandwidth", {{"between", std::string("c1")}, {"bytes_per_second", std::int64_t{100}}});
        slow->act(bench.targets);
        rig.as_client([&] {
          Wire wire(rig.client, rig.door);
          wire.send("get k\r\n");
          rig.client.runtime().sleep_for(300ms);
          on(rig.world, rig.world.harness(), [&] { slow->heal(bench.targets); });
          wire.patience = 20s;
          const std::string all = "+" + value + "\r\n";
          EXPECT_EQ(wire.read(all.size()), all) << "it would take 40 s";
        });
      },
      [&](const auto&) { return "+" + value + "\r\n"; });
}

TEST_P(NetworkFault, TheEndOfAConnectionArrivesLate) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    bench
        .make("slow-close", {{"between", std::string("c1")},
                             {"direction", std::string("forward")},
                             {"delay", DurationRange{300ms, 300ms}}})
        ->act(bench.targets);
    std::int64_t closed_ns = 0;
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("set a 1"), "+1");
      closed_ns = rig.world.now_ns();
    });
    rig.sleep(1s);
    ASSERT_EQ(rig.server.arrivals().size(), 2u);
    EXPECT_GE(rig.server.arrivals().back().time_ns - closed_ns, 290'000'000);
  });
}

TEST_P(NetworkFault, AReplyWaitsForALaterOneOnAnotherConnection) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    const auto reorder = bench.make("reorder-replies", {{"command", std::string("GET")}});
    reorder->act(bench.targets);
    rig.as_client([&] {
      Wire one(rig.client, rig.door), two(rig.client, rig.door);
      EXPECT_EQ(two.ask("set b 1"), "+1");
      one.send("get first\r\n");
      EXPECT_TRUE(one.read_line().ends_with("(silence)")) << "it is held";
      EXPECT_EQ(bench.hits, 0);
      EXPECT_EQ(two.ask("set c 2"), "+2");
      EXPECT_EQ(one.read_line(), "+first") << "now it comes";
      EXPECT_EQ(bench.hits, 1);
      one.send("get again\r\n");
      EXPECT_TRUE(one.read_line().ends_with("(silence)"));
    });
    rig.as_client([&] {  // who has one connection only is not met
      EXPECT_EQ(Wire(rig.client, rig.door).ask("get alone"), "+alone");
    });
    reorder->heal(bench.targets);
  });
}

TEST_P(NetworkFault, ACommandStandsStillAndOtherConnectionsPass) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    const auto hold = bench.make("hold-message", {{"command", std::string("GET")}, {"nth", std::int64_t{2}}});
    hold->act(bench.targets);
    rig.as_client([&] {
      Wire one(rig.client, rig.door), two(rig.client, rig.door);
      EXPECT_EQ(one.ask("get early"), "+early") << "the first one passes";
      EXPECT_EQ(bench.hits, 0);
      one.send("get late\r\nset behind\r\n");
      EXPECT_TRUE(one.read_line().ends_with("(silence)"));
      EXPECT_EQ(bench.hits, 1);
      EXPECT_EQ(two.ask("get other"), "+other");
      EXPECT_EQ(rig.server.commands(), (std::vector<std::string>{"get early", "get other"}));
      on(rig.world, rig.world.harness(), [&] { hold->heal(bench.targets); });
      EXPECT_EQ(one.read_line(2), "+late+behind") << "in their order";
      EXPECT_EQ(bench.hits, 1);
    });
  });
}

TEST_P(NetworkFault, AnAnswerStandsStillAndItsCommandIsExecuted) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    const auto hold = bench.make("hold-message", {{"phase", std::string("reply")}});
    hold->act(bench.targets);
    rig.as_client([&] {
      Wire one(rig.client, rig.door), two(rig.client, rig.door);
      one.send("set late\r\n");
      EXPECT_TRUE(one.read_line().ends_with("(silence)"));
      one.send("set behind\r\n");
      EXPECT_EQ(two.ask("set other"), "+other");
      EXPECT_EQ(rig.server.commands(), (std::vector<std::string>{"set late", "set behind", "set other"}));
      on(rig.world, rig.world.harness(), [&] { hold->heal(bench.targets); });
      EXPECT_EQ(one.read_line(2), "+late+behind");
    });
  });
}

}  // namespace
}  // namespace holdfast::sim
