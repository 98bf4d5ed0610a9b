// Faults that are an administrator's commands, on a primary with a replica: FAILOVER, CLIENT PAUSE, SHUTDOWN.
#include <gtest/gtest.h>

#include "sim/fault/testing/servers.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Kind;
using testing::Servers;

class AdministratorFault : public testing::ServersTest {};
INSTANTIATE_TEST_SUITE_P(Worlds, AdministratorFault, ::testing::Values(Kind::embedded, Kind::real),
                         testing::world_name);

SettingValues of_r1() { return {{"node", std::string("r1")}}; }

bool is_silence(const std::string& answer) { return answer.ends_with("(silence)"); }

// What its effects were, as "promoted r2".
struct Effects {
  std::vector<std::string> told;
  void listen(Servers& servers) {
    servers.targets.tell = [this](const FaultEffect& effect) {
      told.push_back(std::string(checker::to_string(effect.what)) + " " + effect.party);
    };
  }
};

TEST_P(AdministratorFault, AFailoverLosesNothingAndTurnsTheRoles) {
  play(Persistence::none, [](Servers& servers) {
    Effects effects;
    effects.listen(servers);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    servers.make("failover", of_r1())->act(servers.targets);
    EXPECT_EQ(effects.told, (std::vector<std::string>{"promoted r2", "demoted r1"}));
    EXPECT_EQ(servers.ask("r2", "EXISTS k"), ":1");
    EXPECT_EQ(servers.ask("r2", "SET after 1"), "+OK");
    EXPECT_TRUE(servers.comes_to("r1", "EXISTS after", ":1")) << "it follows the new primary";
    EXPECT_TRUE(servers.ask("r1", "SET k 2").starts_with("-READONLY"));
    // It comes back as what it is now.
    const auto crash = servers.make("crash", of_r1());
    crash->act(servers.targets);
    crash->heal(servers.targets);
    EXPECT_TRUE(servers.comes_to("r1", "EXISTS after", ":1"));
    EXPECT_TRUE(servers.ask("r1", "SET k 2").starts_with("-READONLY"));
  });
}

TEST_P(AdministratorFault, AFailoverWaitsForTheReplicaAndHoldsBackWriters) {
  play(Persistence::none, [](Servers& servers) {
    Effects effects;
    effects.listen(servers);
    const auto lag = servers.make("replication-lag", {{"node", std::string("r2")}});
    lag->act(servers.targets);
    effects.told.clear();
    EXPECT_EQ(servers.ask("r1", "SET late 1"), "+OK");
    const auto failover = servers.make("failover", of_r1());
    bool over = false;
    servers.world.harness().start("nemesis", [&] {
      failover->act(servers.targets);
      over = true;
    });
    bool waits = false;
    for (int i = 0; i < 1000 && !waits; ++i) waits = is_silence(servers.ask("r1", "SET more 1", 300ms));
    EXPECT_TRUE(waits) << "writers wait";
    EXPECT_EQ(servers.ask("r1", "EXISTS late"), ":1") << "readers do not";
    EXPECT_FALSE(over);
    lag->heal(servers.targets);
    while (!over) servers.world.harness().runtime().sleep_for(1ms);
    EXPECT_EQ(effects.told, (std::vector<std::string>{"caught-up r2", "promoted r2", "demoted r1"}));
    EXPECT_EQ(servers.ask("r2", "EXISTS late"), ":1");
  });
}

TEST_P(AdministratorFault, AFailoverGivesUpWhenItsTimeIsOver) {
  play(Persistence::none, [](Servers& servers) {
    Effects effects;
    servers.make("replication-lag", {{"node", std::string("r2")}})->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET late 1"), "+OK");
    effects.listen(servers);
    SettingValues keys = of_r1();
    keys["timeout"] = Duration(300ms);
    servers.make("failover", keys)->act(servers.targets);
    EXPECT_EQ(effects.told, std::vector<std::string>{});
    EXPECT_EQ(servers.ask("r1", "SET more 1"), "+OK") << "it is the primary still";
  });
}

TEST_P(AdministratorFault, AFailoverOfWhoIsNoPrimaryMeetsNobody) {
  play(Persistence::none, [](Servers& servers) {
    Effects effects;
    effects.listen(servers);
    EXPECT_NO_THROW(servers.make("failover", {{"node", std::string("r2")}})->act(servers.targets));
    EXPECT_EQ(effects.told, std::vector<std::string>{});
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
  });
}

TEST_P(AdministratorFault, AForcedFailoverLosesWhatTheReplicaHadNot) {
  play(Persistence::none, [](Servers& servers) {
    Effects effects;
    EXPECT_EQ(servers.ask("r1", "SET before 1"), "+OK");
    ASSERT_TRUE(servers.comes_to("r2", "EXISTS before", ":1"));
    servers.make("replication-lag", {{"node", std::string("r2")}})->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET late 1"), "+OK");
    effects.listen(servers);
    SettingValues keys = of_r1();
    keys["to"] = std::string("r2");
    keys["timeout"] = Duration(300ms);
    keys["force"] = true;
    servers.make("failover", keys)->act(servers.targets);
    EXPECT_EQ(effects.told, (std::vector<std::string>{"promoted r2", "demoted r1"}));
    EXPECT_EQ(servers.ask("r2", "EXISTS before"), ":1");
    EXPECT_EQ(servers.ask("r2", "EXISTS late"), ":0");
    EXPECT_TRUE(servers.comes_to("r1", "EXISTS late", ":0")) << "it has what the new primary has";
  });
}

TEST_P(AdministratorFault, APauseOfWritersHoldsBackNobodyElse) {
  play(Persistence::none, [](Servers& servers) {
    EXPECT_EQ(servers.ask("r1", "SET k 1 PX 400"), "+OK");
    const auto pause = servers.make("client-pause", of_r1());
    servers.targets.lasts = 60s;
    pause->act(servers.targets);
    EXPECT_TRUE(is_silence(servers.ask("r1", "SET k 2", 300ms)));
    EXPECT_EQ(servers.ask("r1", "PING"), "+PONG");
    pause->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 3"), "+OK");
  });
}

TEST_P(AdministratorFault, APauseOfAllEndsByItself) {
  play(Persistence::none, [](Servers& servers) {
    SettingValues keys = of_r1();
    keys["of"] = std::string("all");
    const auto pause = servers.make("client-pause", keys);
    servers.targets.lasts = 500ms;
    const MonotonicTime since = servers.world.harness().runtime().now();
    pause->act(servers.targets);
    EXPECT_TRUE(is_silence(servers.ask("r1", "GET k", 200ms)));
    pause->heal(servers.targets);
    EXPECT_GE(servers.world.harness().runtime().now() - since, 490ms);
    EXPECT_EQ(servers.ask("r1", "SET k 3"), "+OK");
  });
}

TEST_P(AdministratorFault, AShutdownSavesOrNot) {
  for (const bool saves : {true, false}) {
    play(Persistence::rdb, [&](Servers& servers) {
      Effects effects;
      effects.listen(servers);
      EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
      SettingValues keys = of_r1();
      keys["save"] = std::string(saves ? "as-set" : "no");
      const auto shutdown = servers.make("shutdown", keys);
      shutdown->act(servers.targets);
      EXPECT_FALSE(servers.cluster.find("r1")->running());
      EXPECT_EQ(servers.ask("r1", "PING"), "(connection refused)");
      EXPECT_EQ(servers.ask("r2", "EXISTS k"), ":1") << "it waited for its replica";
      shutdown->heal(servers.targets);
      EXPECT_EQ(servers.ask("r1", "EXISTS k"), saves ? ":1" : ":0");
      EXPECT_EQ(effects.told, (std::vector<std::string>{"crashed r1", "restarted r1"}));
    });
  }
}

TEST_P(AdministratorFault, AShutdownDoesNotWaitWhenItIsToldNotTo) {
  play(Persistence::none, [](Servers& servers) {
    servers.make("replication-lag", {{"node", std::string("r2")}})->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET late 1"), "+OK");
    SettingValues keys = of_r1();
    keys["now"] = true;
    const MonotonicTime since = servers.world.harness().runtime().now();
    servers.make("shutdown", keys)->act(servers.targets);
    if (servers.world.embedded()) {
      EXPECT_LT(servers.world.harness().runtime().now() - since, 500ms);
    }
    EXPECT_EQ(servers.ask("r2", "EXISTS late"), ":0");
  });
}

// A replica that waits for the answer of a primary which is out of reach is gone all the same.
TEST_P(AdministratorFault, AShutdownDoesNotWaitForAPrimaryThatIsOutOfReach) {
  play(Persistence::none, [](Servers& servers) {
    const auto partition =
        servers.make("partition", {{"between", std::string("r1")}, {"and", std::string("r2")}});
    partition->act(servers.targets);
    const SettingValues r2 = {{"node", std::string("r2")}};
    servers.make("restart", r2)->act(servers.targets);
    servers.world.harness().runtime().sleep_for(100ms);
    const MonotonicTime since = servers.world.harness().runtime().now();
    servers.make("shutdown", r2)->act(servers.targets);
    if (servers.world.embedded()) {
      EXPECT_LT(servers.world.harness().runtime().now() - since, 500ms);
    }
    EXPECT_FALSE(servers.cluster.find("r2")->running());
    partition->heal(servers.targets);
  });
}

}  // namespace
}  // namespace holdfast::sim
