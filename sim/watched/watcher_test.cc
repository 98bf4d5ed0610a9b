// What the wire shows of a lock, beside what its client tells of it.
#include "sim/watched/watcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "checker/checks/check.h"
#include "sim/client/workload.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/rules.h"
#include "sim/scenario/parse_recogniser.h"
#include "sim/world/world.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using checker::EventType;
using checker::Function;
using checker::History;

struct Case {
  std::string lock, recogniser;
  bool readers = false;
  int servers = 1;  // more than one: independent ones
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.lock; }

struct Both {
  History told, watched;
  std::uint64_t unread = 0;
};

enum class Trouble { none, records_vanish, minority_forgets, client_dies, grants_destroyed };

Both play(const Case& test, std::uint64_t seed, Trouble trouble) {
  Both both;
  const std::unique_ptr<World> world = make_embedded_world({.seed = seed});
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<Cluster> cluster;
  Recorder told(*world), watched(*world);
  Watcher watcher(watched, *find_recogniser(test.recogniser), static_cast<std::size_t>(test.servers));
  std::unique_ptr<Workload> workload;
  world->run([&] {
    proxy = std::make_unique<Proxy>(*world);
    ClusterOptions servers;
    if (test.servers > 1) servers.topology = Topology::independent;
    for (int i = 2; i <= test.servers; ++i) servers.nodes.push_back("r" + std::to_string(i));
    cluster = make_embedded_cluster(*world, *proxy, servers);
    cluster->start();
    proxy->watch([&](const Message& message) { watcher.see(message); });
    proxy->watch_fates(
        [&](const Link&, std::uint64_t exchange, Fate fate) { watcher.became(exchange, fate); });
    SettingValues own{{"hold", DurationRange{1ms, 300ms}}, {"rounds", std::int64_t{6}}};
    WorkloadOptions options{.kind = "critical-section",
                            .own = own,
                            .lock = test.lock,
                            .lease = 2s,
                            .clients = 4,
                            .think = {0ms, 200ms}};
    if (test.readers) options.readers = 50;
    options.independent = test.servers > 1;
    for (const auto& node : cluster->nodes()) options.nodes.push_back({node->name(), node->endpoint()});
    if (trouble == Trouble::grants_destroyed) {
      NthMessage destroyed;
      destroyed.which = [](const Link&) { return Lanes{.request = false, .reply = true}; };
      destroyed.matches = [](const Message& message) {
        return message.command == "SET" && message.reply != nullptr && message.reply->text == "OK";
      };
      destroyed.count = 0;
      destroyed.chance = {1, 3};
      destroyed.draws = Rng(seed);
      destroyed.action = {.kind = Action::Kind::reset};
      proxy->add_rule(make_nth_message_rule(destroyed));
    }
    workload = make_workload(*world, told, options);
    workload->start();
    Runtime& runtime = world->harness().runtime();
    if (trouble == Trouble::records_vanish || trouble == Trouble::minority_forgets) {
      std::vector<std::unique_ptr<redis::Client>> straight;
      for (const redis::Node& node : options.nodes) {
        straight.push_back(std::make_unique<redis::Client>(runtime, world->harness().network(),
                                                           redis::ClientOptions{.nodes = {node}}));
        if (trouble == Trouble::minority_forgets) break;
      }
      for (int i = 0; i < 8; ++i) {
        runtime.sleep_for(150ms);
        for (const auto& server : straight) server->call({"FLUSHALL"});
      }
    } else if (trouble == Trouble::client_dies) {
      runtime.sleep_for(400ms);
      workload->crash("c1");
      watcher.gone("c1");
      checker::Event crash;
      crash.type = EventType::info;
      crash.f = Function::crash;
      crash.process = watched.history().intern("c1");
      watched.append(crash);
    }
    static_cast<void>(workload->wait_finished(deadline_after(runtime.now(), 300s)));
  });
  both.told = told.history();
  both.watched = with_late_events(watched.history(), watcher.given_up());
  both.unread = watcher.unread();
  return both;
}

std::size_t count(const History& history, EventType type, Function f) {
  return static_cast<std::size_t>(std::ranges::count_if(
      history.events(), [&](const auto& event) { return event.type == type && event.f == f; }));
}

checker::Outcome judge(const History& history, std::string_view check, bool reentrant = false) {
  return checker::find_check(check)->run(history, {.reentrant = reentrant}).outcome;
}

class Watched : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Layouts, Watched,
                         ::testing::Values(Case{"lock-interface", "set-nx"}, Case{"get-del-unlock", "set-nx"},
                                           Case{"lock-interface-watchdog-blind", "set-nx"},
                                           Case{"annotation", "set-nx"}, Case{"spring-registry", "spring"},
                                           Case{"redisson-3.13-reentrant", "redisson"},
                                           Case{"redisson-3.13-fair", "redisson"},
                                           Case{"redisson-3.13-read-write", "redisson", true},
                                           Case{"redlock-classic", "redlock", false, 3},
                                           Case{"redlock-classic", "redlock", false, 5},
                                           Case{"redlock-classic", "redsync", false, 3},
                                           Case{"lock-interface", "sidekiq-lock"}),
                         [](const auto& info) {
                           std::string name = info.param.lock + "-by-" + info.param.recogniser;
                           if (info.param.servers > 1) name += "-" + std::to_string(info.param.servers);
                           std::ranges::replace_if(
                               name, [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

TEST_P(Watched, SeesTheGrantsThatAreTold) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const Both both = play(GetParam(), seed, Trouble::none);
    const std::size_t grants = count(both.told, EventType::ok, Function::acquire);
    EXPECT_GT(grants, 4u);
    EXPECT_EQ(count(both.watched, EventType::ok, Function::acquire), grants);
    EXPECT_EQ(count(both.watched, EventType::ok, Function::release),
              count(both.told, EventType::ok, Function::release));
    EXPECT_EQ(judge(both.watched, "mutual-exclusion"), checker::Outcome::holds);
    EXPECT_EQ(judge(both.watched, "lease-exclusion"), checker::Outcome::holds);
    EXPECT_EQ(both.unread, 0u);
  }
}

// The record of a holder vanishes now and then: whoever comes next is granted what somebody holds.
TEST_P(Watched, AgreesWithWhatIsToldWhenGrantsOverlap) {
  int violated = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const Both both = play(GetParam(), seed, Trouble::records_vanish);
    for (const char* check : {"mutual-exclusion", "lease-exclusion"}) {
      EXPECT_EQ(judge(both.watched, check), judge(both.told, check)) << check;
      violated += judge(both.watched, check) == checker::Outcome::violated ? 1 : 0;
    }
  }
  EXPECT_GT(violated, 40);
}

// Of several servers the first forgets now and then: whoever comes next has its vote, and no majority.
TEST(WatchedMajority, AVoteIsNoGrant) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    const Both both = play({"redlock-classic", "redlock", false, 3}, seed, Trouble::minority_forgets);
    EXPECT_EQ(count(both.watched, EventType::ok, Function::acquire),
              count(both.told, EventType::ok, Function::acquire));
    EXPECT_EQ(judge(both.watched, "mutual-exclusion"), checker::Outcome::holds);
    EXPECT_EQ(judge(both.watched, "lease-exclusion"), checker::Outcome::holds);
  }
}

TEST_P(Watched, WhoDiesHoldsNothing) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const Both both = play(GetParam(), seed, Trouble::client_dies);
    EXPECT_EQ(judge(both.watched, "mutual-exclusion"), checker::Outcome::holds);
    EXPECT_EQ(judge(both.watched, "lease-exclusion"), checker::Outcome::holds);
  }
}

// One grant in three is destroyed on its way to its client, which never learns of it.
TEST(WatchedAnswers, AGrantThatNeverArrivedIsNoGrant) {
  std::size_t destroyed = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    const Both both = play({"lock-interface", "set-nx"}, seed, Trouble::grants_destroyed);
    EXPECT_EQ(count(both.watched, EventType::ok, Function::acquire),
              count(both.told, EventType::ok, Function::acquire));
    destroyed += count(both.watched, EventType::info, Function::acquire);
    for (const char* check : {"mutual-exclusion", "lease-exclusion"}) {
      EXPECT_EQ(judge(both.watched, check), judge(both.told, check)) << check;
    }
  }
  EXPECT_GT(destroyed, 25u);
}

}  // namespace
}  // namespace holdfast::sim
