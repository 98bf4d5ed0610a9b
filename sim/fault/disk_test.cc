// Faults of disks, and of what replicas have: on servers, in both worlds.
#include <gtest/gtest.h>

#include "sim/fault/testing/servers.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Kind;
using testing::Servers;

class DiskFault : public testing::ServersTest {
 protected:
  void play_single(Persistence persistence, const std::function<void(Servers&)>& body) {
    play(ClusterOptions{.persistence = persistence}, body);
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, DiskFault, ::testing::Values(Kind::embedded, Kind::real),
                         testing::world_name);

SettingValues of(const char* node) { return {{"node", std::string(node)}}; }
constexpr const char* kMisconf = "-MISCONF Errors writing to the AOF file: No space left on device";

TEST_P(DiskFault, AFullDiskRefusesWritesFromTheSecondOn) {
  play_single(Persistence::aof_everysec, [](Servers& servers) {
    int hits = 0;
    servers.targets.hit = [&] { ++hits; };
    EXPECT_EQ(servers.ask("r1", "SET before 1"), "+OK");
    const auto full = servers.make("disk-full", of("r1"));
    full->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "GET before"), "$1");
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK") << "found out only when it is to be kept";
    EXPECT_EQ(servers.ask("r1", "SET k 2"), kMisconf);
    EXPECT_EQ(servers.ask("r1", "PING"), kMisconf);
    EXPECT_EQ(servers.ask("r1", "EVAL \"return redis.call('SET','k','3')\" 0").substr(0, 8), "-MISCONF");
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
    EXPECT_EQ(hits, 3);
    full->heal(servers.targets);
    EXPECT_TRUE(servers.comes_to("r1", "SET k 4", "+OK"));
    const auto crash = servers.make("crash", of("r1"));
    crash->act(servers.targets);
    crash->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1") << "it was written when there was space";
  });
}

TEST_P(DiskFault, WhatAFullDiskDidNotTakeIsLostInACrash) {
  play_single(Persistence::aof_everysec, [](Servers& servers) {
    EXPECT_EQ(servers.ask("r1", "SET before 1"), "+OK");
    const auto full = servers.make("disk-full", of("r1"));
    full->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    const auto crash = servers.make("crash", of("r1"));
    crash->act(servers.targets);
    crash->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS before"), ":1");
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":0");
    full->heal(servers.targets);
  });
}

TEST_P(DiskFault, AServerThatSyncsAlwaysEndsWithoutAnAnswer) {
  play_single(Persistence::aof_always, [](Servers& servers) {
    std::vector<std::string> told;
    servers.targets.tell = [&](const FaultEffect& effect) {
      told.push_back(std::string(checker::to_string(effect.what)) + " " + effect.party);
    };
    EXPECT_EQ(servers.ask("r1", "SET before 1"), "+OK");
    const auto full = servers.make("disk-full", of("r1"));
    full->act(servers.targets);
    EXPECT_FALSE(servers.ask("r1", "SET k 1").starts_with("+"));
    for (int i = 0; i < 1000 && told.empty(); ++i) servers.world.harness().runtime().sleep_for(10ms);
    EXPECT_EQ(told, std::vector<std::string>{"crashed r1"});
    EXPECT_EQ(servers.ask("r1", "PING"), "(connection refused)");
    full->heal(servers.targets);
    EXPECT_EQ(told.back(), "restarted r1");
    EXPECT_EQ(servers.ask("r1", "EXISTS before"), ":1");
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
  });
}

// Another fault starts it while its disk is full: it ends again, and comes back when there is space.
TEST_P(DiskFault, AServerThatIsStartedMeanwhileEndsAndComesBackAsWell) {
  play_single(Persistence::aof_always, [](Servers& servers) {
    std::vector<std::string> told;
    servers.targets.tell = [&](const FaultEffect& effect) {
      told.push_back(std::string(checker::to_string(effect.what)) + " " + effect.party);
    };
    EXPECT_EQ(servers.ask("r1", "SET before 1"), "+OK");
    const auto crash = servers.make("crash", of("r1")), full = servers.make("disk-full", of("r1"));
    crash->act(servers.targets);
    full->act(servers.targets);
    crash->heal(servers.targets);
    told.clear();
    EXPECT_FALSE(servers.ask("r1", "SET k 1").starts_with("+"));
    for (int i = 0; i < 1000 && told.empty(); ++i) servers.world.harness().runtime().sleep_for(10ms);
    ASSERT_EQ(told, std::vector<std::string>{"crashed r1"});
    full->heal(servers.targets);
    EXPECT_EQ(told.back(), "restarted r1");
    EXPECT_EQ(servers.ask("r1", "EXISTS before"), ":1");
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
  });
}

TEST_P(DiskFault, AServerThatSyncsAlwaysAnswersLate) {
  play_single(Persistence::aof_always, [](Servers& servers) {
    const auto took = [&](const char* command) {
      const MonotonicTime since = servers.world.harness().runtime().now();
      servers.ask("r1", command);
      return servers.world.harness().runtime().now() - since;
    };
    SettingValues keys = of("r1");
    keys["delay"] = Duration(400ms);
    const auto slow = servers.make("slow-fsync", keys);
    slow->act(servers.targets);
    EXPECT_GE(took("SET k 1"), 400ms);
    if (servers.world.embedded()) {
      EXPECT_LT(took("GET k"), 100ms) << "nothing to sync";
    }
    slow->heal(servers.targets);
    if (servers.world.embedded()) {
      EXPECT_LT(took("SET k 2"), 100ms);
    }
    EXPECT_EQ(servers.ask("r1", "SET k 3"), "+OK");
  });
}

// Who waits for a sync is answered when the disk is well again, not when that sync would have ended.
TEST_P(DiskFault, ASyncThatIsUnderWayEndsWithTheTrouble) {
  play_single(Persistence::aof_always, [](Servers& servers) {
    Runtime& runtime = servers.world.harness().runtime();
    SettingValues keys = of("r1");
    keys["delay"] = Duration(60s);
    const auto slow = servers.make("slow-fsync", keys);
    slow->act(servers.targets);
    const MonotonicTime since = runtime.now();
    servers.world.harness().start("nemesis", [&] {
      runtime.sleep_for(300ms);
      slow->heal(servers.targets);
    });
    EXPECT_EQ(servers.ask("r1", "SET k 1", 30s), "+OK");
    EXPECT_GE(runtime.now() - since, 300ms);
  });
}

// Another thread syncs; meanwhile writes are put off, and only the memory of the server has them.
TEST_P(DiskFault, WritesThatAreBehindASlowSyncAreLostInACrash) {
  play_single(Persistence::aof_everysec, [](Servers& servers) {
    SettingValues keys = of("r1");
    keys["delay"] = Duration(20s);
    const auto slow = servers.make("slow-fsync", keys);
    Runtime& runtime = servers.world.harness().runtime();
    runtime.sleep_for(1200ms);
    slow->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET first 1"), "+OK");  // written, and its sync begins
    runtime.sleep_for(1300ms);
    EXPECT_EQ(servers.ask("r1", "SET second 1"), "+OK");
    const auto crash = servers.make("crash", of("r1"));
    crash->act(servers.targets);
    slow->heal(servers.targets);
    crash->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS first"), ":1");
    EXPECT_EQ(servers.ask("r1", "EXISTS second"), ":0");
  });
}

TEST_P(DiskFault, AReplicaAnswersWithWhatItHadAndCatchesUp) {
  play(Persistence::none, [](Servers& servers) {
    int hits = 0;
    servers.targets.hit = [&] { ++hits; };
    const auto stale = servers.make("stale-reads", of("r2"));
    stale->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    EXPECT_EQ(hits, 0) << "nobody has read there";
    EXPECT_EQ(servers.ask("r2", "EXISTS k"), ":0");
    EXPECT_EQ(hits, 1);
    stale->heal(servers.targets);
    EXPECT_TRUE(servers.comes_to("r2", "EXISTS k", ":1"));
  });
}

TEST_P(DiskFault, AReplicaIsSentEverythingAgainAndAgain) {
  play(Persistence::none, [](Servers& servers) {
    int hits = 0;
    servers.targets.hit = [&] { ++hits; };
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    SettingValues keys = of("r2");
    keys["pause"] = Duration(1500ms);
    const auto storm = servers.make("full-resync", keys);
    storm->act(servers.targets);
    for (int i = 0; i < 3000 && hits < 3; ++i) servers.world.harness().runtime().sleep_for(10ms);
    EXPECT_GE(hits, 3);
    storm->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET after 1"), "+OK");
    EXPECT_TRUE(servers.comes_to("r2", "EXISTS after", ":1"));
    EXPECT_EQ(servers.ask("r2", "EXISTS k"), ":1");
    const std::string info =
        servers.cluster.find("r1")->administer(std::vector<std::string>{"INFO", "stats"});
    const std::size_t at = info.find("sync_full:");
    ASSERT_NE(at, std::string::npos);
    EXPECT_GE(std::stoi(info.substr(at + 10)), 3) << info.substr(at, 20);
  });
}

// A pause of all is over when the server answers: by PING it would answer an error.
TEST_P(DiskFault, APauseOfAllEndsWhereTheDiskIsFull) {
  play_single(Persistence::aof_everysec, [](Servers& servers) {
    const auto full = servers.make("disk-full", of("r1"));
    const auto pause =
        servers.make("client-pause", {{"node", std::string("r1")}, {"of", std::string("all")}});
    full->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    EXPECT_EQ(servers.ask("r1", "PING"), kMisconf);
    servers.targets.lasts = 100ms;
    pause->act(servers.targets);
    pause->heal(servers.targets);
    full->heal(servers.targets);
    EXPECT_TRUE(servers.comes_to("r1", "SET k 2", "+OK"));
  });
}

}  // namespace
}  // namespace holdfast::sim
