// A job that is due once in every period: the check finds the periods in which it runs twice or not at all,
// and a mark at the resource makes up for both clocks and locks. And rounds that are interrupted, and lock
// objects that are dropped.
#include <gtest/gtest.h>

#include <memory>

#include "checker/checks/check.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/no_lock.h"
#include "sim/client/workload_kind.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using checker::Outcome;

struct Played {
  checker::History history;
  std::vector<Figure> figures;
  WorkloadStats stats;
  bool finished = false, dropped = false, interrupted = false;

  checker::Verdict judge(std::string_view check) const {
    return checker::find_check(check)->run(history, {.reentrant = true});
  }
  std::int64_t number(std::string_view name) const { return figure(figures, name); }
};

Played play(bool embedded, WorkloadOptions options, Duration time = 60s) {
  Played played;
  const TemporaryFolder folder;
  const std::unique_ptr<World> world =
      embedded ? make_embedded_world({.seed = 5}) : make_real_world({.seed = 5});
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<Cluster> cluster;
  Recorder recorder(*world);
  std::unique_ptr<Workload> workload;
  world->run([&] {
    proxy = std::make_unique<Proxy>(*world);
    if (embedded) proxy->add_rule(make_latency_rule({1ms, 3ms}, world->rng("network")));
    const ClusterOptions servers{.folder = folder.path()};
    cluster = embedded ? make_embedded_cluster(*world, *proxy, servers)
                       : make_real_cluster(*world, *proxy, servers);
    cluster->start();
    for (const auto& node : cluster->nodes()) options.nodes.push_back({node->name(), node->endpoint()});
    workload = make_workload(*world, recorder, options);
    recorder.subscribe({.event = RunEventKind::lock_interrupted},
                       [&](const RunEvent&) { played.interrupted = true; });
    workload->start();
    played.finished = workload->wait_finished(deadline_after(world->harness().runtime().now(), time));
    workload->conclude();
  });
  played.dropped = recorder.reached(kObjectsDropped);
  played.history = recorder.history();
  played.stats = workload->stats();
  played.figures = workload->figures(played.history);
  return played;
}

WorkloadOptions job(SettingValues own) {
  own["period"] = Duration(300ms);
  own["periods"] = 4;
  return {.kind = "scheduled-job", .own = std::move(own), .lock = "lock-interface", .clients = 4};
}

class ScheduledJobTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Worlds, ScheduledJobTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

// Planted: whoever is late by more than the job takes finds the lock free.
TEST_P(ScheduledJobTest, ANodeThatWakesLateRunsItAgain) {
  const Played late =
      play(GetParam(), job({{"skew", DurationRange{0ms, 120ms}}, {"hold", DurationRange{1ms, 2ms}}}));
  EXPECT_TRUE(late.finished);
  const checker::Verdict verdict = late.judge("job-once");
  ASSERT_EQ(verdict.outcome, Outcome::violated) << verdict.reason;
  EXPECT_EQ(verdict.witnesses.front().kind, "twice");
  EXPECT_EQ(late.number("periods"), 4);
  EXPECT_EQ(late.number("skipped"), 0);
  EXPECT_GT(late.number("again"), 0);
  EXPECT_EQ(late.number("amiss"), late.number("again"));
  EXPECT_EQ(late.judge("mutual-exclusion").outcome, Outcome::holds);
}

TEST_P(ScheduledJobTest, AMarkAtTheResourceHolds) {
  const Played marked = play(GetParam(), job({{"skew", DurationRange{0ms, 120ms}},
                                              {"hold", DurationRange{1ms, 2ms}},
                                              {"marks", "at-the-resource"}}));
  EXPECT_EQ(marked.judge("job-once").outcome, Outcome::holds) << marked.judge("job-once").reason;
  EXPECT_EQ(marked.number("amiss"), 0);
  EXPECT_EQ(marked.number("runs"), 4);
}

TEST(ScheduledJob, WithoutSkewOneOfThemRunsIt) {
  const Played even = play(true, job({{"hold", DurationRange{50ms, 60ms}}}));
  EXPECT_EQ(even.judge("job-once").outcome, Outcome::holds) << even.judge("job-once").reason;
  EXPECT_EQ(even.stats.acquired, 4u);
  EXPECT_EQ(even.stats.refused, 12u);
}

// Planted: nobody has the lock, and nobody gets it.
TEST(ScheduledJob, APeriodWithoutAJobIsFound) {
  WorkloadOptions options = job({{"hold", DurationRange{2s, 2s}}});
  options.clients = 1;
  const Played busy = play(true, options, 700ms);  // it ends in the middle of the first job
  EXPECT_FALSE(busy.finished);
  const checker::Verdict verdict = busy.judge("job-once");
  ASSERT_EQ(verdict.outcome, Outcome::violated) << verdict.reason;
  EXPECT_EQ(verdict.witnesses.front().kind, "skipped");
  EXPECT_EQ(busy.number("skipped"), busy.number("periods"));
}

TEST(ScheduledJob, NonsenseIsRefused) {
  const std::unique_ptr<World> world = make_embedded_world({});
  Recorder recorder(*world);
  WorkloadOptions options = job({});
  options.wait = 1s;
  EXPECT_THROW(make_workload(*world, recorder, options), std::invalid_argument);
  options = job({});
  options.interrupts = 30;
  EXPECT_THROW(make_workload(*world, recorder, options), std::invalid_argument);
  options = job({});
  options.own["period"] = Duration(0s);
  EXPECT_THROW(make_workload(*world, recorder, options), std::invalid_argument);
  options = job({});
  options.lock = "multi";
  EXPECT_THROW(make_workload(*world, recorder, options), std::invalid_argument);
}

WorkloadOptions section(Duration hold, std::int64_t rounds) {
  return {.kind = "critical-section",
          .own = {{"hold", DurationRange{hold, hold}}, {"rounds", rounds}},
          .lock = "spring-registry",
          .clients = 2,
          .threads = 2};
}

// The removal of an interrupted unlock meets the record of the next thread.
TEST(InterruptedRounds, AnInterruptedUnlockIsFound) {
  WorkloadOptions options = section(130ms, 8);
  options.interrupts = 100;
  const Played played = play(true, options);
  EXPECT_TRUE(played.interrupted);
  EXPECT_EQ(played.judge("lease-exclusion").outcome, Outcome::violated);
  options.lock = "reentrant";
  const Played hardened = play(true, options);
  EXPECT_TRUE(hardened.interrupted);
  EXPECT_EQ(hardened.judge("lease-exclusion").outcome, Outcome::holds);
  options.lock = "spring-registry";
  options.interrupts = 0;
  const Played calm = play(true, options);
  EXPECT_FALSE(calm.interrupted);
  EXPECT_EQ(calm.judge("lease-exclusion").outcome, Outcome::holds);
}

TEST_P(ScheduledJobTest, RoundsAreInterruptedInBothWorlds) {
  WorkloadOptions options = section(1ms, 5);
  options.interrupts = 100;
  options.lock = "reentrant";
  const Played played = play(GetParam(), options);
  EXPECT_TRUE(played.finished);
  EXPECT_TRUE(played.interrupted);
  EXPECT_EQ(played.stats.released, 20u);
  options.wait = 10s;
  EXPECT_EQ(play(GetParam(), options).stats.released, 20u);
}

// Two objects of one key: the threads of a process do not meet any more.
TEST(DroppedObjects, LetTwoThreadsIn) {
  WorkloadOptions options = section(10ms, 300);
  options.clients = 1;
  options.threads = 4;
  options.think = {30ms, 60ms};
  options.evict = 20ms;
  const Played played = play(true, options);
  EXPECT_TRUE(played.dropped);
  EXPECT_EQ(played.judge("lease-exclusion").outcome, Outcome::violated);
  options.lock = "reentrant";
  const Played hardened = play(true, options);
  EXPECT_TRUE(hardened.dropped);
  EXPECT_EQ(hardened.judge("lease-exclusion").outcome, Outcome::holds);
}

TEST_P(ScheduledJobTest, ObjectsAreDroppedInBothWorlds) {
  for (const char* const lock : {"reentrant", "read-write", "semaphore", "fair"}) {
    WorkloadOptions options = section(1ms, 5);
    options.lock = lock;
    options.think = {40ms, 60ms};
    options.evict = 10ms;
    options.readers = std::string_view(lock) == "read-write" ? 50 : 0;
    const Played played = play(GetParam(), options);
    EXPECT_TRUE(played.finished) << lock;
    EXPECT_TRUE(played.dropped) << lock;
    EXPECT_EQ(played.stats.released, 20u) << lock;
  }
}

TEST(DroppedObjects, NeedARegistry) {
  const std::unique_ptr<World> world = make_embedded_world({});
  Recorder recorder(*world);
  EXPECT_THROW(make_workload(*world, recorder, {.lock = "lock-interface", .evict = 1s}),
               std::invalid_argument);
  EXPECT_THROW(make_workload(*world, recorder, {.evict = 0s}), std::invalid_argument);
}

}  // namespace
}  // namespace holdfast::sim
