// Recording: it changes nothing of the run, and has what stood at the moments that known stories are about.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "lib/testing/folders.h"
#include "sim/replay/record_run.h"
#include "sim/replay/write_page.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using Kind = Replay::Kind;

Scenario scenario_of(const std::string& file, const std::string& variant = "") {
  return read_scenario(testing::source_path("scenarios/") + file + ".toml", variant, {});
}

std::string page_of(const Replay& replay) {
  std::ostringstream page;
  write_page(replay, "holdfast replay x.toml", page);
  return page.str();
}

// What stands after the last step at or before `at_ns`.
struct Standing {
  std::map<std::size_t, Replay::Server> servers;
  std::map<std::pair<std::string, std::string>, Replay::Record> records;  // server, key
  std::map<std::size_t, Replay::Belief> beliefs;
  std::set<std::uint32_t> flying;
};
Standing at(const Replay& replay, std::int64_t at_ns) {
  Standing now;
  for (const Replay::Step& step : replay.steps) {
    if (step.at_ns > at_ns) break;
    switch (step.kind) {
      case Kind::record: {
        const Replay::Record& record = replay.records[step.at];
        const std::pair key(replay.servers[record.server], record.key);
        now.records[key] = record;
        if (record.type.empty()) now.records.erase(key);
        break;
      }
      case Kind::server: now.servers[replay.standings[step.at].server] = replay.standings[step.at]; break;
      case Kind::belief: now.beliefs[replay.beliefs[step.at].thread] = replay.beliefs[step.at]; break;
      case Kind::came: now.flying.insert(step.at); break;
      case Kind::went: now.flying.erase(step.at); break;
      default: break;
    }
  }
  return now;
}

TEST(Recording, ChangesNothingOfTheRun) {
  // One of each topology, and the faults that do most to links, servers and clocks.
  for (const char* const file : {"primary_failover_double_grant", "storm", "overlapping_faults", "fork",
                                 "cluster_election", "sentinel_failover"}) {
    const Scenario scenario = scenario_of(file);
    const Recorded recorded = record_run(scenario, {.seed = 3});
    const RunResult bare = run_once(scenario, {.seed = 3});
    EXPECT_EQ(recorded.run.trace, bare.trace) << file;
    EXPECT_EQ(recorded.run.length_ns, bare.length_ns) << file;
    EXPECT_EQ(page_of(recorded.replay), page_of(record_run(scenario, {.seed = 3}).replay)) << file;
  }
}

// The promoted replica grants what the dead primary has granted already: the moment at which the second owner
// is there.
TEST(Recording, HasBothRecordsOfADoubleGrant) {
  const Replay replay = record_run(scenario_of("primary_failover_double_grant"), {.seed = 7}).replay;
  ASSERT_FALSE(replay.places.empty());
  const Replay::Place& place = replay.places.front();
  EXPECT_EQ(place.check, "lease-exclusion");
  EXPECT_EQ(place.kind, "double-grant");
  ASSERT_EQ(place.threads.size(), 2U);
  EXPECT_EQ(replay.servers, (std::vector<std::string>{"r1", "r2"}));

  const Standing now = at(replay, place.at_ns);
  std::map<std::string, std::string> claims;  // by id, of those who believe that they hold it
  for (const auto& [thread, belief] : now.beliefs) {
    for (const Replay::Claim& claim : belief.claims) {
      if (claim.state == Replay::Claimed::holding && claim.key == place.key && *claim.until_ns > place.at_ns)
        claims[claim.id] = replay.threads[thread];
    }
  }
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(now.servers.at(0).standing, Replay::Standing::down);
  EXPECT_EQ(now.servers.at(1).standing, Replay::Standing::primary);
  std::set<std::string> owners;
  for (const char* const server : {"r1", "r2"}) {
    const auto record = now.records.find({server, place.key});
    ASSERT_NE(record, now.records.end()) << server;
    EXPECT_EQ(record->second.type, "string");
    ASSERT_EQ(record->second.elements.size(), 1U);
    EXPECT_TRUE(claims.contains(record->second.elements[0].owner)) << record->second.elements[0].owner;
    owners.insert(record->second.elements[0].owner);
    ASSERT_TRUE(record->second.expires);
    const std::int64_t left_ns = *record->second.expires * 1'000'000 -
                                 now.servers.at(server == std::string("r1") ? 0 : 1).clock_ns - place.at_ns;
    if (server == std::string("r2")) {
      EXPECT_GT(left_ns, 4'900'000'000);  // of 5 s
      EXPECT_LE(left_ns, 5'001'000'000);
    }
  }
  EXPECT_EQ(owners.size(), 2U);

  // Before the crash both ran, and the grant was held back on its way to the replica.
  const Standing before = at(replay, place.first_ns);
  EXPECT_EQ(before.servers.at(0).standing, Replay::Standing::primary);
  EXPECT_EQ(before.servers.at(1).standing, Replay::Standing::replica);
  EXPECT_TRUE(before.records.contains({"r1", place.key}));
  EXPECT_FALSE(before.records.contains({"r2", place.key}));
  const auto held = std::find_if(before.flying.begin(), before.flying.end(), [&](std::uint32_t message) {
    const Replay::Message& one = replay.messages[message];
    return one.replication && one.meant == Action::Kind::hold &&
           one.text.find("SET " + place.key + " <") != std::string::npos;
  });
  EXPECT_NE(held, before.flying.end());
}

TEST(Recording, TellsOfMessagesFromTheirComingToTheirEnd) {
  const Replay replay =
      record_run(scenario_of("primary_failover_double_grant", "no-failover"), {.seed = 7}).replay;
  std::map<std::uint32_t, std::int64_t> came;
  std::size_t delivered = 0, scripts = 0;
  std::int64_t last_ns = 0;
  for (const Replay::Step& step : replay.steps) {
    EXPECT_GE(step.at_ns, last_ns) << "in order";
    last_ns = step.at_ns;
    if (step.kind == Kind::came) {
      EXPECT_TRUE(came.emplace(step.at, step.at_ns).second);
    } else if (step.kind == Kind::went) {
      ASSERT_TRUE(came.contains(step.at));
      const Replay::Message& message = replay.messages[step.at];
      // [network] latency, and what lies before it in its lane.
      if (message.meant == Action::Kind::pass) {
        EXPECT_GE(step.at_ns - came[step.at], message.delay_ns) << message.text;
      }
      came.erase(step.at);
      delivered += message.fate == Fate::delivered;
      scripts += message.text.starts_with("EVALSHA reentrant_");
    }
  }
  EXPECT_GT(delivered, 100U);
  EXPECT_GT(scripts, 5U) << "scripts have the names of their files";
}

TEST(Recording, TellsOfEachDecisionWhatItComesTo) {
  const Scenario scenario = scenario_of("primary_failover_double_grant");
  Decisions decisions({}, /*keep=*/true);
  run_once(scenario, {.seed = 7, .decisions = &decisions});
  const Replay replay = record_run(scenario, {.seed = 7}).replay;
  ASSERT_GT(replay.drawings.size(), 100U);
  std::size_t latencies = 0;
  for (const Replay::Drawing& one : replay.drawings) {
    const auto& drawn = decisions.drawn().at(one.stream);
    ASSERT_LT(one.number, drawn.size());
    EXPECT_EQ(one.drawn, drawn[one.number]) << one.stream << ' ' << one.number;
    EXPECT_FALSE(one.fixed);
    latencies +=
        one.stream.starts_with("network/") && one.drawn.low == 200'000 && one.drawn.high == 2'000'000;
  }
  EXPECT_GT(latencies, 50U);
}

// With a file of decisions it goes as that file says, and says which they are.
TEST(Recording, GoesAsTheDecisionsSay) {
  const Scenario scenario = scenario_of("storm");
  Changes changes;
  changes.fixed["network/c1/r1/request"][2] = 1'234'567;
  changes.reseeds = {{.at_ns = 200'000'000, .seed = 9}};
  Decisions decisions(changes);
  const std::uint64_t trace = run_once(scenario, {.seed = 5, .decisions = &decisions}).trace;
  const Recorded recorded = record_run(scenario, {.seed = 5, .changes = changes});
  EXPECT_EQ(recorded.run.trace, trace);
  EXPECT_NE(recorded.run.trace, run_once(scenario, {.seed = 5}).trace);
  std::size_t fixed = 0;
  for (const Replay::Drawing& one : recorded.replay.drawings) fixed += one.fixed;
  EXPECT_EQ(fixed, 1U);
}

TEST(Recording, IsCutAtOneMomentAndSaysSo) {
  const Scenario scenario = scenario_of("storm");
  const Recorded whole = record_run(scenario, {.seed = 2});
  EXPECT_FALSE(whole.replay.cut_ns);
  const Recorded cut = record_run(scenario, {.seed = 2, .most_steps = 2'000});
  EXPECT_EQ(cut.run.trace, whole.run.trace);
  ASSERT_TRUE(cut.replay.cut_ns);
  EXPECT_LT(cut.replay.end_ns, whole.replay.end_ns);
  for (const Replay::Step& step : cut.replay.steps) EXPECT_LE(step.at_ns, *cut.replay.cut_ns);
  const Replay keyless = record_run(scenario, {.seed = 2, .most_keys = 0}).replay;
  EXPECT_GT(keyless.keys_left_out, 0U);
  EXPECT_TRUE(keyless.records.empty());
}

TEST(Recording, ThePageLoadsNothing) {
  Scenario scenario = scenario_of("primary_failover_double_grant");
  scenario.about = "</script><script>alert(1)</script>";
  const std::string page = page_of(record_run(scenario, {.seed = 7}).replay);
  for (const char* const reference :
       {"http:", "https:", " src=", "@import", "url(", "fetch(", "XMLHttp", "//cdn"})
    EXPECT_EQ(page.find(reference), std::string::npos) << reference;
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("/*DATA*/"), std::string::npos);
  EXPECT_LT(page.size(), 2'000'000U);
}

}  // namespace
}  // namespace holdfast::sim
