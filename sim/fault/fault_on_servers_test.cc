// Faults on a primary with a replica, as a scenario plays them.
#include <gtest/gtest.h>

#include "sim/fault/testing/servers.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Kind;
using testing::Servers;
using testing::Wire;

class FaultOnServers : public testing::ServersTest {};
INSTANTIATE_TEST_SUITE_P(Worlds, FaultOnServers, ::testing::Values(Kind::embedded, Kind::real),
                         testing::world_name);

// The story of the house: what the primary acknowledged never reaches the replica that is promoted.
TEST_P(FaultOnServers, AFrozenReplicaIsPromotedWithoutTheLastWrites) {
  play(Persistence::none, [](Servers& servers) {
    EXPECT_EQ(servers.ask("r1", "SET before 1"), "+OK");
    ASSERT_TRUE(servers.comes_to("r2", "EXISTS before", ":1"));
    const auto lag = servers.make("replication-lag", {{"node", std::string("r2")}});
    lag->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET after 1"), "+OK");
    const auto crash = servers.make("crash", {{"node", std::string("r1")}});
    crash->act(servers.targets);
    servers.make("promote", {{"node", std::string("r2")}})->act(servers.targets);
    EXPECT_EQ(servers.ask("r2", "EXISTS before"), ":1");
    EXPECT_EQ(servers.ask("r2", "EXISTS after"), ":0");
    EXPECT_EQ(servers.ask("r2", "SET after 2"), "+OK") << "it is a primary";
    lag->heal(servers.targets);
    EXPECT_EQ(servers.ask("r2", "GET after"), "$1") << "what was held came too late";
    EXPECT_EQ(servers.ask("r1", "PING"), "(connection refused)") << "nobody is there";
    crash->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS before"), ":0") << "without persistence nothing is kept";
  });
}

TEST_P(FaultOnServers, AThawedReplicaCatchesUp) {
  play(Persistence::none, [](Servers& servers) {
    const auto lag = servers.make("replication-lag", {{"node", std::string("r2")}});
    lag->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    EXPECT_EQ(servers.ask("r2", "EXISTS k"), ":0");
    lag->heal(servers.targets);
    EXPECT_TRUE(servers.comes_to("r2", "EXISTS k", ":1"));
  });
}

TEST_P(FaultOnServers, ADiskIsKeptOrLost) {
  play(Persistence::aof_always, [](Servers& servers) {
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    const auto crash = servers.make("crash", {{"node", std::string("r1")}});
    crash->act(servers.targets);
    crash->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
    const auto lose = servers.make("crash", {{"node", std::string("r1")}, {"disk", std::string("lose")}});
    lose->act(servers.targets);
    lose->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":0");
  });
}

TEST_P(FaultOnServers, AServerIsKilledAgainWhileItStarts) {
  play(Persistence::none, [](Servers& servers) {
    Runtime& harness = servers.world.harness().runtime();
    const auto restart = servers.make("restart", {{"node", std::string("r1")}});
    const auto crash = servers.make("crash", {{"node", std::string("r1")}});
    bool over = false;
    servers.world.harness().start("nemesis", [&] {
      restart->act(servers.targets);
      over = true;
    });
    while (servers.cluster.find("r1")->running() && !over) harness.sleep_for(100us);
    while (!servers.cluster.find("r1")->running() && !over) harness.sleep_for(100us);
    crash->act(servers.targets);
    while (!over) harness.sleep_for(1ms);
    EXPECT_FALSE(servers.cluster.find("r1")->running());
    crash->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
  });
}

TEST_P(FaultOnServers, APausedServerAnswersLate) {
  play(Persistence::none, [](Servers& servers) {
    testing::on(servers.world, servers.client, [&] {
      Wire wire = servers.wire("r1");
      EXPECT_EQ(wire.ask("PING"), "+PONG");
      const auto pause = servers.make("pause-server", {{"node", std::string("r1")}});
      pause->act(servers.targets);
      wire.patience = 100ms;
      EXPECT_EQ(wire.ask("SET k 1"), "(silence)");
      pause->heal(servers.targets);
      wire.patience = 2s;
      EXPECT_EQ(wire.read_line(), "+OK") << "it executes what has queued up";
    });
  });
}

TEST_P(FaultOnServers, APauseDiesWithItsProcessAndPausesCount) {
  play(Persistence::none, [](Servers& servers) {
    const auto pause = servers.make("pause-server", {{"node", std::string("r1")}});
    const auto other = servers.make("pause-server", {{"node", std::string("r1")}});
    const auto crash = servers.make("crash", {{"node", std::string("r1")}});
    pause->act(servers.targets);
    crash->act(servers.targets);
    crash->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK") << "a new process, which nobody paused";
    other->act(servers.targets);
    pause->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 2", 50ms), "(silence)") << "the pause of this process goes on";
    pause->act(servers.targets);
    other->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 3", 50ms), "(silence)") << "paused twice";
    pause->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 4"), "+OK");
  });
}

TEST_P(FaultOnServers, AStepForwardEndsLeases) {
  play(Persistence::none, [](Servers& servers) {
    EXPECT_EQ(servers.ask("r1", "SET k 1 PX 30000"), "+OK");
    const auto step = servers.make("clock-step", {{"node", std::string("r1")}, {"by", Duration(10s)}});
    step->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
    const auto more = servers.make("clock-step", {{"node", std::string("r1")}, {"by", Duration(25s)}});
    more->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":0");
    more->heal(servers.targets);
    step->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 1 PX 30000"), "+OK");
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
  });
}

TEST_P(FaultOnServers, AReplyThatIsLostWasExecuted) {
  play(Persistence::none, [](Servers& servers) {
    servers.make("reset-after-request", {{"command", std::string("SET")}})->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "(reset)");
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
    servers.make("reset-before-request", {{"command", std::string("DEL")}})->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "DEL k"), "(reset)");
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
  });
}

TEST_P(FaultOnServers, APublishedMessageIsLost) {
  play(Persistence::none, [](Servers& servers) {
    servers.make("drop-message", {{"client", std::string("c1")}})->act(servers.targets);
    testing::on(servers.world, servers.client, [&] {
      Wire listener = servers.wire("r1");
      listener.send("SUBSCRIBE wake\r\n");
      EXPECT_EQ(listener.read(33), "*3\r\n$9\r\nsubscribe\r\n$4\r\nwake\r\n:1\r\n");
      Wire speaker = servers.wire("r1");
      EXPECT_EQ(speaker.ask("PUBLISH wake lost"), ":1");
      EXPECT_EQ(speaker.ask("PUBLISH wake here"), ":1");
      EXPECT_EQ(listener.read(37), "*3\r\n$7\r\nmessage\r\n$4\r\nwake\r\n$4\r\nhere\r\n");
    });
  });
}

TEST_P(FaultOnServers, APowerLossTakesWhatWasNotSynced) {
  play(Persistence::aof_everysec, [](Servers& servers) {
    Runtime& harness = servers.world.harness().runtime();
    const auto second = [&] { return harness.wall_now().time_since_epoch() / 1s; };
    EXPECT_EQ(servers.ask("r1", "SET old 1"), "+OK");
    harness.sleep_for(2500ms);
    // On a busy machine the sync of the first write may be late and take the second along: once more then.
    bool lost = false;
    for (int attempt = 0; attempt < 20 && !lost; ++attempt) {
      const std::string key = "new" + std::to_string(attempt);
      const auto before = second();
      EXPECT_EQ(servers.ask("r1", "SET first 1"), "+OK") << "the first of its second may be synced at once";
      harness.sleep_for(20ms);
      EXPECT_EQ(servers.ask("r1", "SET " + key + " 1"), "+OK");
      const auto power = servers.make("power-loss", {{"node", std::string("r1")}});
      power->act(servers.targets);
      EXPECT_FALSE(servers.cluster.find("r1")->running());
      const bool in_one_second = second() == before;
      power->heal(servers.targets);
      EXPECT_EQ(servers.ask("r1", "EXISTS old"), ":1");
      lost = in_one_second && servers.ask("r1", "EXISTS " + key) == ":0";
    }
    EXPECT_TRUE(lost);
    EXPECT_EQ(servers.ask("r1", "SET new 1"), "+OK");
    const auto crash = servers.make("crash", {{"node", std::string("r1")}});
    crash->act(servers.targets);
    crash->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS new"), ":1") << "the kernel has what a process wrote";
    servers.make("crash", {{"node", std::string("r1")}})->act(servers.targets);
    servers.make("power-loss", {{"node", std::string("r1")}})->act(servers.targets);
    servers.cluster.find("r1")->restart(true);
    EXPECT_EQ(servers.ask("r1", "EXISTS old"), ":1");
  });
}

TEST_P(FaultOnServers, APowerLossTakesNothingThatWasSyncedBeforeItsReply) {
  play(Persistence::aof_always, [](Servers& servers) {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(servers.ask("r1", "INCR k"), ":" + std::to_string(i + 1));
    const auto power = servers.make("power-loss", {{"node", std::string("r1")}});
    power->act(servers.targets);
    power->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "INCR k"), ":11");
  });
}

TEST_P(FaultOnServers, APowerLossTakesWhatTheKernelKept) {
  play(Persistence::aof_no, [](Servers& servers) {
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    servers.world.harness().runtime().sleep_for(1500ms);
    const auto crash = servers.make("crash", {{"node", std::string("r1")}});
    crash->act(servers.targets);
    crash->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
    if (servers.world.embedded()) {
      servers.world.harness().runtime().sleep_for(32s);
      EXPECT_EQ(servers.ask("r1", "SET late 1"), "+OK");
    }
    const auto power = servers.make("power-loss", {{"node", std::string("r1")}});
    power->act(servers.targets);
    power->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), servers.world.embedded() ? ":1" : ":0");
    EXPECT_EQ(servers.ask("r1", "EXISTS late"), ":0");
  });
}

TEST_P(FaultOnServers, ADemotedPrimaryForgetsWhatItAloneHad) {
  play(Persistence::none, [](Servers& servers) {
    EXPECT_EQ(servers.ask("r1", "SET before 1"), "+OK");
    ASSERT_TRUE(servers.comes_to("r2", "EXISTS before", ":1"));
    servers.make("promote", {{"node", std::string("r2")}})->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET only-here 1"), "+OK") << "nobody told it";
    EXPECT_EQ(servers.ask("r2", "SET there 1"), "+OK");
    servers.make("demote", {{"node", std::string("r1")}, {"primary", std::string("r2")}})
        ->act(servers.targets);
    ASSERT_TRUE(servers.comes_to("r1", "EXISTS there", ":1"));
    EXPECT_EQ(servers.ask("r1", "EXISTS only-here before"), ":1");
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "-READONLY You can't write against a read only replica.");
    const auto crash = servers.make("crash", {{"node", std::string("r1")}});
    crash->act(servers.targets);
    EXPECT_THROW(servers.cluster.demote("r1", "r2"), std::runtime_error);
    servers.make("demote", {{"node", std::string("r1")}, {"primary", std::string("r2")}})
        ->act(servers.targets);  // a dead node is not demoted, and that is no error of the run
    crash->heal(servers.targets);
    EXPECT_TRUE(servers.comes_to("r1", "EXISTS there", ":1")) << "it follows whom it followed";
    EXPECT_THROW(servers.cluster.demote("r1", "r1"), std::runtime_error);
  });
}

TEST_P(FaultOnServers, APrimaryWithoutItsReplicasRefusesWrites) {
  ClusterOptions options{.topology = Topology::primary_replica, .nodes = {"r1", "r2"}};
  options.min_replicas_to_write = 1;
  options.min_replicas_max_lag = 1s;
  play(options, [](Servers& servers) {
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    const auto apart =
        servers.make("partition", {{"between", std::string("r1")}, {"and", std::string("r2")}});
    apart->act(servers.targets);
    servers.world.harness().runtime().sleep_for(1500ms);
    EXPECT_TRUE(servers.comes_to("r1", "SET k 1", "-NOREPLICAS Not enough good replicas to write."));
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
    apart->heal(servers.targets);
    EXPECT_TRUE(servers.comes_to("r1", "SET k 1", "+OK"));
    servers.make("promote", {{"node", std::string("r2")}})->act(servers.targets);
    EXPECT_EQ(servers.ask("r2", "SET k 1"), "-NOREPLICAS Not enough good replicas to write.")
        << "it has no replica of its own";
  });
}

TEST_P(FaultOnServers, AFastClockGainsUntilItHeals) {
  play(Persistence::none, [](Servers& servers) {
    Runtime& harness = servers.world.harness().runtime();
    const auto ms = [](auto time) { return time.time_since_epoch() / 1ms; };
    // How far the server is ahead, at least and at most.
    const auto ahead = [&] {
      const auto before = ms(harness.wall_now());
      const std::string reply =
          servers.ask("r1", "EVAL \"local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000\" 0");
      const std::int64_t shown = std::stoll(reply.substr(1));
      return std::pair{shown - ms(harness.wall_now()), shown - before};
    };
    const auto drift =
        servers.make("clock-drift", {{"node", std::string("r1")}, {"ppm", std::int64_t{1'000'000}}});
    drift->act(servers.targets);
    harness.sleep_for(1s);
    EXPECT_GE(ahead().second, 990);
    drift->heal(servers.targets);
    const auto [least, most] = ahead();
    harness.sleep_for(1s);
    const auto [later_least, later_most] = ahead();
    EXPECT_LE(later_least, most + 10);
    EXPECT_GE(later_most, least - 10);
    const auto crash = servers.make("crash", {{"node", std::string("r1")}});
    crash->act(servers.targets);
    crash->heal(servers.targets);
    EXPECT_GE(ahead().second, least - 10) << "the clock is the machine's";
    EXPECT_LE(ahead().first, most + 10);
  });
}

TEST_P(FaultOnServers, AStepOutlivesTheServerOnce) {
  play(Persistence::none, [](Servers& servers) {
    const auto hours = [&] {
      const std::string reply = servers.ask("r1", "EVAL \"return redis.call('TIME')[1] / 3600\" 0");
      return std::stoll(reply.substr(1)) -
             servers.world.harness().runtime().wall_now().time_since_epoch() / 1h;
    };
    servers.make("clock-step", {{"node", std::string("r1")}, {"by", Duration(10h)}})->act(servers.targets);
    EXPECT_NEAR(static_cast<double>(hours()), 10, 1);
    const auto crash = servers.make("crash", {{"node", std::string("r1")}});
    crash->act(servers.targets);
    crash->heal(servers.targets);
    EXPECT_NEAR(static_cast<double>(hours()), 10, 1);
  });
}

// --- commands of an administrator, and answers of a server in trouble --------------------------------------

TEST_P(FaultOnServers, WithoutMemoryWritesAreRefusedUntilTheLastActIsHealed) {
  play(Persistence::none, [](Servers& servers) {
    const SettingValues node = {{"node", std::string("r1")}};
    const auto first = servers.make("memory-full", node), second = servers.make("memory-full", node);
    first->act(servers.targets);
    second->act(servers.targets);
    EXPECT_TRUE(servers.ask("r1", "SET k 1").starts_with("-OOM"));
    EXPECT_EQ(servers.ask("r1", "DEL k"), ":0") << "what frees memory is not refused";
    first->heal(servers.targets);
    EXPECT_TRUE(servers.ask("r1", "SET k 1").starts_with("-OOM")) << "the other act is still in force";
    second->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
  });
}

TEST_P(FaultOnServers, AReplicaHasNoReadOnlyMoment) {
  play(Persistence::none, [](Servers& servers) {
    int hits = 0;
    servers.targets.hit = [&] { ++hits; };
    const auto moment = servers.make("read-only-moment", {{"node", std::string("r2")}});
    moment->act(servers.targets);
    moment->heal(servers.targets);
    EXPECT_EQ(hits, 0);
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    EXPECT_TRUE(servers.comes_to("r2", "EXISTS k", ":1")) << "it still follows its primary";
  });
}

TEST_P(FaultOnServers, APrimaryThatIsAReplicaForAMomentKeepsWhatItHas) {
  play(Persistence::none, [](Servers& servers) {
    EXPECT_EQ(servers.ask("r1", "SET k 1"), "+OK");
    const auto moment = servers.make("read-only-moment", {{"node", std::string("r1")}});
    moment->act(servers.targets);
    EXPECT_TRUE(servers.ask("r1", "SET k 2").starts_with("-READONLY"));
    moment->heal(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
    EXPECT_EQ(servers.ask("r1", "SET k 2"), "+OK");
    // Whoever is demoted meanwhile stays a replica.
    moment->act(servers.targets);
    servers.make("promote", {{"node", std::string("r2")}})->act(servers.targets);
    servers.make("demote", {{"node", std::string("r1")}, {"primary", std::string("r2")}})
        ->act(servers.targets);
    moment->heal(servers.targets);
    EXPECT_TRUE(servers.ask("r1", "SET k 3").starts_with("-READONLY"));
  });
}

TEST_P(FaultOnServers, ScriptsAreForgotten) {
  play(Persistence::none, [](Servers& servers) {
    const std::string loaded = servers.ask("r1", "SCRIPT LOAD return(1)");  // the length of its digest
    EXPECT_EQ(loaded, "$40");
    const std::string digest = "930269f31393d0be681588b6ab08dccee7d6bb67";
    EXPECT_EQ(servers.ask("r1", "EVALSHA " + digest + " 0"), ":1");
    servers.make("script-flush", {{"node", std::string("r1")}})->act(servers.targets);
    EXPECT_TRUE(servers.ask("r1", "EVALSHA " + digest + " 0").starts_with("-NOSCRIPT"));
  });
}

TEST_P(FaultOnServers, OneKeyIsEvicted) {
  play(Persistence::none, [](Servers& servers) {
    int hits = 0;
    servers.targets.hit = [&hits] { ++hits; };
    servers.ask("r1", "SET k 1");
    servers.ask("r1", "ZADD beside 5 member");
    const auto evict =
        servers.make("evict-key", {{"node", std::string("r1")}, {"key", std::string("beside")}});
    evict->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "EXISTS beside"), ":0");
    EXPECT_EQ(servers.ask("r1", "EXISTS k"), ":1");
    EXPECT_EQ(hits, 1);
    evict->act(servers.targets);
    EXPECT_EQ(hits, 1) << "it was gone before";
  });
}

TEST_P(FaultOnServers, OneKeyHasNoEndAnyMore) {
  play(Persistence::none, [](Servers& servers) {
    int hits = 0;
    servers.targets.hit = [&hits] { ++hits; };
    servers.ask("r1", "SET k 1 PX 60000");
    servers.ask("r1", "SET other 1 PX 60000");
    const auto persist =
        servers.make("persist-key", {{"node", std::string("r1")}, {"key", std::string("k")}});
    persist->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "PTTL k"), ":-1");
    EXPECT_NE(servers.ask("r1", "PTTL other"), ":-1");
    EXPECT_EQ(hits, 1);
    persist->act(servers.targets);
    servers.ask("r1", "DEL k");
    persist->act(servers.targets);
    EXPECT_EQ(hits, 1) << "it had no end before, or was not there";
  });
}

// Another fault throws everybody out, this one's own connection, too: it asks anew.
TEST_P(FaultOnServers, ScriptsAreForgottenThoughConnectionsAreKilledMeanwhile) {
  play(Persistence::none, [](Servers& servers) {
    for (int us = 0; us <= 300; us += 10) {
      bool over = false;
      servers.world.harness().start("nemesis", [&] {
        servers.make("kill-connection", {{"node", std::string("r1")}})->act(servers.targets);
        over = true;
      });
      servers.world.harness().runtime().sleep_for(us * 1us);
      EXPECT_NO_THROW(servers.make("script-flush", {{"node", std::string("r1")}})->act(servers.targets))
          << us << " us later";
      while (!over) servers.world.harness().runtime().sleep_for(1ms);
    }
  });
}

TEST_P(FaultOnServers, ConnectionsThatAServerKillsEndAndNewOnesWork) {
  play(Persistence::none, [](Servers& servers) {
    std::string before, after;
    testing::on(servers.world, servers.client, [&] {
      Wire wire = servers.wire("r1");
      before = wire.ask("PING");
      servers.make("kill-connection", {{"node", std::string("r1")}})->act(servers.targets);
      after = wire.ask("PING");
    });
    EXPECT_EQ(before, "+PONG");
    EXPECT_NE(after, "+PONG");
    EXPECT_EQ(servers.ask("r1", "PING"), "+PONG");
  });
}

TEST_P(FaultOnServers, ARequestIsAnsweredByAnErrorAndNotExecuted) {
  play(Persistence::none, [](Servers& servers) {
    const auto busy = servers.make("error-reply", {{"command", std::string("SET")},
                                                   {"nth", std::int64_t{2}},
                                                   {"error", std::string("BUSY a script runs")}});
    busy->act(servers.targets);
    EXPECT_EQ(servers.ask("r1", "SET a 1"), "+OK");
    EXPECT_EQ(servers.ask("r1", "SET b 1"), "-BUSY a script runs");
    EXPECT_EQ(servers.ask("r1", "EXISTS a"), ":1");
    EXPECT_EQ(servers.ask("r1", "EXISTS b"), ":0");
    EXPECT_EQ(servers.ask("r1", "SET b 1"), "+OK") << "one was met";
  });
}

// --- a server that is busy, or loads ------------------------------------------------------------------

}  // namespace
}  // namespace holdfast::sim
