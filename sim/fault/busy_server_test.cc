// Servers that answer nothing else for a while: they run an endless script, or load their data.
#include <gtest/gtest.h>

#include "sim/fault/testing/servers.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Kind;
using testing::Servers;
using testing::Wire;

class BusyServer : public testing::ServersTest {};
INSTANTIATE_TEST_SUITE_P(Worlds, BusyServer, ::testing::Values(Kind::embedded, Kind::real),
                         testing::world_name);

constexpr std::string_view kBusy =
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
constexpr std::string_view kLoading = "-LOADING Redis is loading the dataset in memory";

TEST_P(BusyServer, AScriptKeepsAServerBusyUntilTheLastActIsHealed) {
  play(Persistence::none, [](Servers& servers) {
    const SettingValues node = {{"node", std::string("r1")}};
    int hits = 0;
    servers.targets.hit = [&hits] { ++hits; };
    const auto first = servers.make("busy-script", node), second = servers.make("busy-script", node);
    first->act(servers.targets);
    EXPECT_EQ(hits, 0) << "no client has asked";
    EXPECT_EQ(servers.ask("r2", "PING"), "+PONG");
    EXPECT_EQ(hits, 0) << "another node's answer";
    EXPECT_EQ(servers.ask("r1", "SET k 1"), kBusy);
    EXPECT_EQ(hits, 1);
    second->act(servers.targets);
    first->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "PING"), kBusy) << "the other act is still in force";
    second->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":0");
    const int told = hits;
    EXPECT_EQ(servers.ask("r1", "EVAL \"return{err='BUSY no'}\" 0"), "-BUSY no");
    EXPECT_EQ(hits, told) << "it is over";
  });
}

TEST_P(BusyServer, UntilTheThresholdABusyServerAnswersNobody) {
  play(Persistence::none, [](Servers& servers) {
    const auto busy =
        servers.make("busy-script", {{"node", std::string("r1")}, {"threshold", Duration(300ms)}});
    bool acts = false;
    servers.world.harness().start("nemesis", [&] {
      busy->act(servers.targets);
      acts = true;
    });
    while (servers.ask("r1", "PING", 100ms) == "+PONG") servers.world.harness().runtime().sleep_for(1ms);
    EXPECT_EQ(servers.ask("r1", "PING"), kBusy);
    while (!acts) servers.world.harness().runtime().sleep_for(1ms);
    busy->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "PING"), "+PONG");
  });
}

TEST_P(BusyServer, AnAdministratorWaitsForAServerThatIsBusy) {
  play(Persistence::none, [](Servers& servers) {
    Runtime& harness = servers.world.harness().runtime();
    const SettingValues node = {{"node", std::string("r1")}};
    const auto busy = servers.make("busy-script", node), full = servers.make("memory-full", node);
    busy->act(servers.targets);
    bool is_full = false;
    servers.world.harness().start("nemesis", [&] {
      full->act(servers.targets);
      is_full = true;
    });
    harness.sleep_for(50ms);
    EXPECT_FALSE(is_full);
    busy->heal(servers.targets);
    while (!is_full) harness.sleep_for(1ms);
    EXPECT_TRUE(servers.ask("r1", "SET k 1").starts_with("-OOM"));
  });
}

TEST_P(BusyServer, WhoDiesTakesItsScriptAlong) {
  play(Persistence::none, [](Servers& servers) {
    const SettingValues node = {{"node", std::string("r1")}};
    const auto busy = servers.make("busy-script", node), again = servers.make("busy-script", node);
    busy->act(servers.targets);
    servers.make("restart", node)->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "PING"), "+PONG");
    again->act(servers.targets);
    busy->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "PING"), kBusy) << "healed was the script of the incarnation before";
    again->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "PING"), "+PONG");
  });
}

// The restart meets every moment of the act: while the threshold is set, while the script is sent, while it
// is looked at.
TEST_P(BusyServer, WhoIsStartedAgainMeanwhileIsFreeAfterwards) {
  if (GetParam() != Kind::embedded) GTEST_SKIP() << "moments can be chosen in the embedded world only";
  for (Duration moment = 0us; moment < 4ms; moment += 25us) {
    play(Persistence::none, [moment](Servers& servers) {
      Runtime& harness = servers.world.harness().runtime();
      const SettingValues node = {{"node", std::string("r1")}};
      const auto busy = servers.make("busy-script", node), loading = servers.make("loading", node);
      bool acts = false;
      servers.world.harness().start("nemesis", [&] {
        busy->act(servers.targets);
        acts = true;
      });
      harness.sleep_for(moment);
      loading->act(servers.targets);
      harness.sleep_for(20ms);
      loading->heal(servers.targets);
      while (!acts) harness.sleep_for(1ms);
      busy->heal(servers.targets);
      harness.sleep_for(20ms);
      EXPECT_EQ(servers.ask("r1", "PING"), "+PONG") << moment.count() << " ns";
    });
  }
}

// Whoever asks for the script may lose his connection before it runs.
TEST_P(BusyServer, AServerThatLoadsItsDataIsBusyAfterwards) {
  const int cuts =
      GetParam() == Kind::embedded ? 50 : 4;  // more than a few in a row end the test's own calls
  play(Persistence::none, [cuts](Servers& servers) {
    Runtime& harness = servers.world.harness().runtime();
    const SettingValues node = {{"node", std::string("r1")}};
    const auto loading = servers.make("loading", node), busy = servers.make("busy-script", node),
               cut = servers.make("kill-connection", node);
    loading->act(servers.targets);
    bool acts = false;
    servers.world.harness().start("nemesis", [&] {
      busy->act(servers.targets);
      acts = true;
    });
    for (int i = 0; i < cuts; ++i) {
      cut->act(servers.targets);
      harness.sleep_for(1ms + 7us);
    }
    EXPECT_FALSE(acts);
    loading->heal(servers.targets);
    while (!acts) harness.sleep_for(1ms);
    const std::string answer = servers.ask("r1", "PING");
    EXPECT_TRUE(answer == kBusy || answer == "+PONG")
        << answer;  // the script died with who had asked to load
    busy->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "PING"), "+PONG");
  });
}

void load_for_a_while(Servers& servers, bool keeps) {
  const SettingValues node = {{"node", std::string("r1")}};
  int hits = 0;
  servers.targets.hit = [&hits] { ++hits; };
  EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
  const auto loading = servers.make("loading", node);
  loading->act(servers.targets);
  EXPECT_EQ(hits, 0);
  EXPECT_EQ(servers.ask("r1", "PING"), kLoading);
  EXPECT_EQ(hits, 1);
  EXPECT_EQ(servers.ask("r1", "GET k"), kLoading);
  EXPECT_EQ(servers.ask("r1", "EVAL return(1) 0"), kLoading);
  EXPECT_EQ(servers.ask("r1", "REPLICAOF NO ONE"), kLoading);
  EXPECT_EQ(servers.ask("r1", "ROLE"), "*3");
  EXPECT_EQ(servers.ask("r1", "SUBSCRIBE channel"), "*3");
  std::string transaction;
  testing::on(servers.world, servers.client, [&] {
    Wire wire = servers.wire("r1");
    for (const char* line : {"MULTI", "SET k 2", "EXEC"}) transaction += wire.ask(line) + "\n";
  });
  EXPECT_EQ(transaction, "+OK\n" + std::string(kLoading) +
                             "\n-EXECABORT Transaction discarded because of previous errors.\n");
  loading->heal(servers.targets);
  EXPECT_EQ(servers.ask("r1", "EXISTS k"), keeps ? ":1" : ":0");
  EXPECT_TRUE(servers.comes_to("r1", "DBSIZE", keeps ? ":1" : ":0"));
  EXPECT_EQ(servers.ask("r1", "SET k 2"), "+OK");
  // Nothing of it is left: the next start is an ordinary one.
  servers.make("restart", node)->act(servers.targets);
  EXPECT_EQ(servers.ask("r1", "EXISTS k"), keeps ? ":1" : ":0");
  EXPECT_TRUE(servers.comes_to("r2", "EXISTS k", keeps ? ":1" : ":0"));
  // Whoever is killed while it loads does not load when it is started again.
  const auto crash = servers.make("crash", node);
  loading->act(servers.targets);
  crash->act(servers.targets);
  crash->heal(servers.targets);
  EXPECT_EQ(servers.ask("r1", "SET k 3"), "+OK");
  loading->heal(servers.targets);
  EXPECT_EQ(servers.ask("r1", "SET k 4"), "+OK");
}

TEST_P(BusyServer, AServerLoadsItsAppendOnlyFileForAWhile) {
  play(Persistence::aof_always, [](Servers& servers) { load_for_a_while(servers, true); });
}

TEST_P(BusyServer, AServerThatKeepsNothingLoadsForAWhile) {
  play(Persistence::none, [](Servers& servers) { load_for_a_while(servers, false); });
}

TEST_P(BusyServer, AReplicaLoadsBeforeItFollows) {
  play(Persistence::rdb, [](Servers& servers) {
    const auto loading = servers.make("loading", {{"node", std::string("r2")}});
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    loading->act(servers.targets);
    EXPECT_EQ(servers.ask("r2", "GET k"), kLoading);
    EXPECT_EQ(servers.ask("r2", "ROLE"), "*5");
    loading->heal(servers.targets);
    EXPECT_TRUE(servers.comes_to("r2", "EXISTS k", ":1"));
  });
}

}  // namespace
}  // namespace holdfast::sim
