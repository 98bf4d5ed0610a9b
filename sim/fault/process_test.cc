// Faults of processes: servers and clients that are paused, killed, started again, and their clocks.
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

class FaultOfProcess : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, FaultOfProcess, ::testing::Values(Kind::embedded, Kind::real),
                         [](const auto& info) { return info.param == Kind::embedded ? "embedded" : "real"; });

TEST(FaultProcesses, NodesAreToldWhatToDo) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Bench bench(rig);
    const auto play = [&](std::string_view kind, SettingValues values) {
      bench.cluster.log.clear();
      bench.told.clear();
      const auto fault = bench.make(kind, std::move(values));
      fault->act(bench.targets);
      bench.cluster.log.push_back("|");
      fault->heal(bench.targets);
      return bench.cluster.log;
    };
    const FaultValue r1 = std::string("r1");
    const FaultValue c1 = std::string("c1");
    EXPECT_EQ(play("crash", {{"node", r1}}), (Strings{"crash", "|", "restart"}));
    EXPECT_EQ(bench.told, (Strings{"crashed r1", "restarted r1"}));
    EXPECT_EQ(play("crash", {{"node", r1}, {"disk", std::string("lose")}}),
              (Strings{"crash", "|", "restart empty"}));
    EXPECT_EQ(play("power-loss", {{"node", r1}}), (Strings{"lose power", "|", "restart"}));
    EXPECT_EQ(play("clock-drift", {{"node", r1}, {"ppm", std::int64_t{500}}}),
              (Strings{"drift 500", "|", "drift 0"}));
    EXPECT_EQ(play("demote", {{"node", r1}, {"primary", std::string("r2")}}), (Strings{"demote r1 r2", "|"}));
    EXPECT_EQ(play("crash", {{"client", c1}}), (Strings{"crash c1", "|", "restart c1"}));
    EXPECT_EQ(bench.told, (Strings{"crashed c1", "restarted c1"}));
    EXPECT_EQ(play("restart", {{"node", r1}}), (Strings{"crash", "restart", "|"}));
    EXPECT_EQ(bench.told, (Strings{"crashed r1", "restarted r1"}));
    EXPECT_EQ(play("promote", {{"node", r1}}), (Strings{"promote", "|"}));
    EXPECT_EQ(bench.told, Strings{"promoted r1"});
    EXPECT_EQ(play("pause-server", {{"node", r1}}), (Strings{"pause", "|", "resume"}));
    EXPECT_EQ(bench.told, (Strings{"paused r1", "resumed r1"}));
    EXPECT_EQ(play("clock-step", {{"node", r1}, {"by", Duration(-300ms)}}),
              (Strings{"step -300", "|", "step 300"}));
    EXPECT_EQ(bench.told, (Strings{"clock-stepped r1", "clock-stepped r1"}));
    EXPECT_THROW(play("promote", {{"node", std::string("r9")}}), std::runtime_error);
    bench.cluster.nodes().front()->crash();
    EXPECT_EQ(play("crash", {{"node", r1}}), Strings{"|"}) << "already dead: this act killed nobody";
    EXPECT_EQ(play("power-loss", {{"node", r1}}), (Strings{"lose power", "|"}))
        << "its kernel lives until now";
    EXPECT_EQ(play("pause-server", {{"node", r1}}), Strings{"|"}) << "who is dead is not paused";
    EXPECT_EQ(bench.told, Strings{});
  });
}

// Acts overlap: what one act did is undone by its own healing, whatever other acts did meanwhile.
TEST(FaultProcesses, EachActIsHealedByItself) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Bench bench(rig);
    const FaultValue r1 = std::string("r1");
    ClusterNode& node = *bench.cluster.nodes().front();
    const auto pause = bench.make("pause-server", {{"node", r1}});
    const auto crash = bench.make("crash", {{"node", r1}});
    pause->act(bench.targets);
    crash->act(bench.targets);
    crash->heal(bench.targets);  // another process, which nobody paused
    bench.cluster.log.clear();
    pause->heal(bench.targets);
    EXPECT_EQ(bench.cluster.log, Strings{});

    const auto again = bench.make("restart", {{"node", r1}});
    crash->act(bench.targets);
    again->act(bench.targets);
    node.crash();
    bench.cluster.log.clear();
    crash->heal(bench.targets);
    EXPECT_EQ(bench.cluster.log, Strings{}) << "what this act killed was started long ago";
  });
}

TEST_P(FaultOfProcess, TwoPausesOfOneClientEndOneByOne) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    const auto longer = bench.make("pause-client", {{"client", std::string("c1")}});
    const auto shorter = bench.make("pause-client", {{"client", std::string("c1")}});
    longer->act(bench.targets);
    shorter->act(bench.targets);
    shorter->heal(bench.targets);
    EXPECT_TRUE(rig.client.paused());
    longer->heal(bench.targets);
    EXPECT_FALSE(rig.client.paused());
    EXPECT_EQ(bench.told, (Strings{"paused c1", "paused c1", "resumed c1", "resumed c1"}));
  });
}

TEST(FaultProcesses, ClientsArePausedAsAWholeOrTheirWatchdogsOnly) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Bench bench(rig);
    int work = 0, renewals = 0;
    rig.client.start("client", [&] {
      for (;; ++work) rig.client.runtime().sleep_for(10ms);
    });
    rig.client.start("watchdog", [&] {
      for (;; ++renewals) rig.client.runtime().sleep_for(10ms);
    });
    const auto elapse = [&] {
      work = renewals = 0;
      rig.sleep(105ms);
    };
    const auto whole = bench.make("pause-client", {{"client", std::string("c1")}});
    const auto watchdog = bench.make("pause-watchdog", {{"client", std::string("c1")}});
    elapse();
    EXPECT_GE(std::min(work, renewals), 9);
    watchdog->act(bench.targets);
    elapse();
    EXPECT_GE(work, 9);
    EXPECT_EQ(renewals, 0);
    whole->act(bench.targets);
    elapse();
    EXPECT_EQ(work + renewals, 0);
    watchdog->heal(bench.targets);
    whole->heal(bench.targets);
    elapse();
    EXPECT_GE(std::min(work, renewals), 9);
  });
}

TEST_P(FaultOfProcess, AClientsWallClockJumpsAndJumpsBack) {
  with_rig(GetParam(), [](Rig& rig) {
    Bench bench(rig);
    const auto ahead = [&] {
      return rig.client.runtime().wall_now() - rig.world.harness().runtime().wall_now();
    };
    const Duration before = ahead();
    const auto step = bench.make("clock-step", {{"client", std::string("c1")}, {"by", Duration(10s)}});
    step->act(bench.targets);
    EXPECT_GT(ahead() - before, 9s);
    step->heal(bench.targets);
    EXPECT_LT(ahead() - before, 1s);
  });
}

}  // namespace
}  // namespace holdfast::sim
