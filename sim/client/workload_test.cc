// Workloads end to end against a real server behind the proxy, and (embedded_workload_test.cc) in virtual
// time.
#include "sim/client/workload.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "checker/checks/check.h"
#include "checker/holds/holds.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/no_lock.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using checker::EventType;
using checker::Function;

struct Outcome {
  WorkloadStats stats;
  checker::History history;
  std::optional<std::int64_t> stock;
  bool finished = false;
};

SettingValues section(Duration least, Duration most, std::int64_t rounds) {
  return {{"hold", DurationRange{least, most}}, {"rounds", rounds}};
}

using Script = std::function<void(World&, Workload&, Recorder&)>;

Outcome play(bool embedded, WorkloadOptions options, const Script& script = {}) {
  Outcome outcome;
  const TemporaryFolder folder;
  const std::unique_ptr<World> world =
      embedded ? make_embedded_world({.seed = 11}) : make_real_world({.seed = 11});
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<Cluster> cluster;
  Recorder recorder(*world);
  std::unique_ptr<Workload> workload;
  world->run([&] {
    proxy = std::make_unique<Proxy>(*world);
    const ClusterOptions servers{.folder = folder.path()};
    cluster = embedded ? make_embedded_cluster(*world, *proxy, servers)
                       : make_real_cluster(*world, *proxy, servers);
    cluster->start();
    for (const auto& node : cluster->nodes()) options.nodes.push_back({node->name(), node->endpoint()});
    workload = make_workload(*world, recorder, options);
    workload->start();
    if (script) script(*world, *workload, recorder);
    outcome.finished = workload->wait_finished(deadline_after(world->harness().runtime().now(), 300s));
    checker::CheckContext context;
    workload->tell(context);
    outcome.stock = context.final_stock;
  });
  outcome.stats = workload->stats();
  outcome.history = recorder.history();
  return outcome;
}

std::size_t count(const checker::History& history, EventType type, Function f) {
  std::size_t found = 0;
  for (const auto& event : history.events()) found += event.type == type && event.f == f ? 1 : 0;
  return found;
}

// Holds of one key, in the order of the history: at most one at a time. (The checks of checker/ say more.)
void expect_exclusion(const checker::History& history) {
  checker::Symbol holder = 0;
  for (const auto& event : history.events()) {
    if (event.f == Function::acquire && event.type == EventType::ok) {
      EXPECT_EQ(holder, 0u) << history.text(event.id) << " while " << history.text(holder);
      holder = event.id;
    }
    if (event.f == Function::release && event.type == EventType::invoke) holder = 0;
  }
}

class WorkloadTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Worlds, WorkloadTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

TEST_P(WorkloadTest, SeckillSellsTheStockOnce) {
  for (const char* lock : {"reentrant", "lock-interface", "get-del-unlock"}) {
    WorkloadOptions options{.own = {{"stock", 8}}, .lock = lock, .clients = 3, .think = {1ms, 5ms}};
    const Outcome outcome = play(GetParam(), options);
    EXPECT_TRUE(outcome.finished) << lock;
    EXPECT_EQ(outcome.stats.sold, 8u) << lock;
    EXPECT_EQ(outcome.stock, 0) << lock;
    EXPECT_EQ(count(outcome.history, EventType::ok, Function::sell), 8u) << lock;
    EXPECT_EQ(count(outcome.history, EventType::ok, Function::acquire), outcome.stats.acquired) << lock;
    expect_exclusion(outcome.history);
    for (const auto& event : outcome.history.events()) {
      if (event.f != Function::acquire || event.type != EventType::ok) continue;
      EXPECT_NE(event.id, 0u);
      EXPECT_GT(event.valid_until_ns, event.time_ns) << lock;
      EXPECT_EQ(outcome.history.text(event.node), "r1") << lock;
    }
  }
}

TEST_P(WorkloadTest, CriticalSectionWithThreads) {
  WorkloadOptions options{
      .kind = "critical-section", .own = section(0ms, 1ms, 5), .clients = 2, .threads = 4};
  const Outcome outcome = play(GetParam(), options);
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.stats.acquired, 40u);
  EXPECT_EQ(outcome.stats.released, 40u);
  expect_exclusion(outcome.history);
}

// One hold, however deep: the inner grants and releases name the same acquisition.
TEST_P(WorkloadTest, ALockIsTakenInsideItself) {
  for (const char* lock : {"reentrant", "redisson-3.13-reentrant"}) {
    WorkloadOptions options{
        .kind = "critical-section", .own = section(0ms, 1ms, 3), .lock = lock, .clients = 2};
    options.own["depth"] = 3;
    const Outcome outcome = play(GetParam(), options);
    EXPECT_EQ(outcome.stats.acquired, 18u) << lock;
    EXPECT_EQ(outcome.stats.released, 18u) << lock;
    const std::vector<checker::Hold> holds = checker::build_holds(outcome.history, true);
    EXPECT_EQ(holds.size(), 6u) << lock;
    for (const checker::Hold& hold : holds) EXPECT_EQ(hold.end, checker::HoldEnd::released) << lock;
    EXPECT_EQ(checker::find_check("mutual-exclusion")->run(outcome.history, {.reentrant = true}).outcome,
              checker::Outcome::holds)
        << lock;
    for (const auto& event : outcome.history.events()) {
      const bool granted = event.f == Function::acquire && event.type == EventType::ok;
      EXPECT_TRUE(event.id != 0 || !(granted || event.f == Function::release)) << lock;
    }
  }
}

// The reading begins before the writing ends, and others read beside it.
TEST_P(WorkloadTest, AWriterBecomesAReader) {
  for (const char* lock : {"read-write", "redisson-3.13-read-write"}) {
    WorkloadOptions options{
        .kind = "critical-section", .own = section(1ms, 2ms, 4), .lock = lock, .clients = 2};
    options.own["downgrade"] = true;
    options.fencing = find_lock_kind(lock)->tokens;
    const Outcome outcome = play(GetParam(), options);
    EXPECT_TRUE(outcome.finished) << lock;
    EXPECT_EQ(outcome.stats.acquired, 16u) << lock;
    EXPECT_EQ(outcome.stats.released, 16u) << lock;
    const std::vector<checker::Hold> holds = checker::build_holds(outcome.history, true);
    ASSERT_EQ(holds.size(), 16u) << lock;
    std::map<checker::Symbol, std::vector<const checker::Hold*>> by_owner;
    for (const checker::Hold& hold : holds) {
      EXPECT_EQ(hold.end, checker::HoldEnd::released) << lock;
      by_owner[hold.owner].push_back(&hold);
    }
    for (const auto& [owner, its] : by_owner) {
      for (std::size_t i = 0; i < its.size(); ++i) EXPECT_EQ(its[i]->shared, i % 2 == 1) << lock;
      for (std::size_t i = 0; i + 1 < its.size(); i += 2) {
        EXPECT_LE(its[i + 1]->from_ns, its[i]->to_ns) << lock;
        EXPECT_LT(its[i]->to_ns, its[i + 1]->to_ns) << lock;
      }
    }
    std::vector<const char*> checks = {"mutual-exclusion", "progress"};
    if (options.fencing)
      checks.insert(checks.end(), {"fencing-monotonic", "lease-exclusion", "told-in-time"});
    for (const char* const check : checks) {
      const checker::CheckContext context{
          .reentrant = true, .lease_ns = 30'000'000'000, .run_ended_by_itself = true};
      EXPECT_EQ(checker::find_check(check)->run(outcome.history, context).outcome, checker::Outcome::holds)
          << lock << ": " << check;
    }
  }
}

TEST_P(WorkloadTest, TheFirstClientsWriteAndTheOthersRead) {
  WorkloadOptions options{.kind = "critical-section",
                          .own = section(0ms, 1ms, 3),
                          .lock = "read-write",
                          .clients = 3,
                          .writers = 1};
  const Outcome outcome = play(GetParam(), options);
  const std::vector<checker::Hold> holds = checker::build_holds(outcome.history, true);
  EXPECT_EQ(holds.size(), 9u);
  for (const checker::Hold& hold : holds) EXPECT_EQ(hold.shared, hold.client != "c1") << hold.client;
}

// Its object of the lock may have gone from the registry by the time that it only reads.
TEST_P(WorkloadTest, AWriterThatReadsOnKeepsItsObject) {
  WorkloadOptions options{.kind = "critical-section",
                          .own = section(5ms, 10ms, 6),
                          .lock = "read-write",
                          .on_lost = OnLost::abort,
                          .clients = 2,
                          .evict = 1ms};
  options.own["downgrade"] = true;
  const Outcome outcome = play(GetParam(), options);
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.stats.released, 24u);
}

// Whoever asks is told no by the lock before it writes; who does not ask writes.
TEST_P(WorkloadTest, WhoAsksBeforeTheWriteWritesNothingAfterTheLease) {
  for (const OnLost on_lost : {OnLost::ask, OnLost::ignore}) {
    WorkloadOptions options{.own = {{"stock", 2}, {"rounds", 1}},
                            .lease = 100ms,
                            .renew = false,
                            .on_lost = on_lost,
                            .clients = 1,
                            .think = {300ms, 300ms}};
    const Outcome outcome = play(GetParam(), options);
    const bool asks = on_lost == OnLost::ask;
    EXPECT_EQ(outcome.stats.aborted, asks ? 1u : 0u);
    EXPECT_EQ(outcome.stats.sold, asks ? 0u : 1u);
    EXPECT_EQ(outcome.stock, asks ? 2 : 1);
  }
}

TEST_P(WorkloadTest, RenewalsAreInTheHistory) {
  WorkloadOptions options{
      .kind = "critical-section", .own = section(2s, 2s, 1), .lease = 1200ms, .clients = 1};
  const Outcome outcome = play(GetParam(), options);
  EXPECT_GE(count(outcome.history, EventType::ok, Function::renew), 3u);
  EXPECT_EQ(count(outcome.history, EventType::ok, Function::lost), 0u);
  EXPECT_EQ(outcome.stats.released, 1u);
}

TEST_P(WorkloadTest, ALossIsTold) {
  WorkloadOptions options{.kind = "critical-section",
                          .own = section(100s, 100s, 1),
                          .lease = 100ms,
                          .renew = false,
                          .on_lost = OnLost::abort,
                          .clients = 1};
  const Outcome outcome = play(GetParam(), options);  // abort: it does not stay for 100 s
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(count(outcome.history, EventType::ok, Function::lost), 1u);
  EXPECT_EQ(outcome.stats.lost, 1u);
}

// The client that crashes in its critical section keeps the others out for its lease, and comes back.
TEST_P(WorkloadTest, CrashAndRestart) {
  WorkloadOptions options{.own = {{"stock", 4}}, .lease = 300ms, .clients = 2, .think = {1ms, 2ms}};
  const Outcome outcome = play(GetParam(), options, [](World& world, Workload& workload, Recorder& recorder) {
    Parker& parker = world.harness().runtime().parker();
    bool crashed = false;
    recorder.subscribe({.event = RunEventKind::lock_granted, .nth = 2}, [&](const RunEvent& event) {
      workload.crash(event.client);
      crashed = true;
      parker.unpark();
    });
    while (!crashed) parker.park_until(kNever);
    for (const std::string& name : workload.clients()) workload.restart(name);
  });
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.stock, 0);
  EXPECT_EQ(outcome.stats.sold, 4u);
  EXPECT_EQ(count(outcome.history, EventType::info, Function::crash), 1u);
  bool renamed = false;
  for (const auto& event : outcome.history.events()) {
    renamed = renamed || outcome.history.text(event.process).ends_with("/0#1");
  }
  EXPECT_TRUE(renamed);
}

TEST_P(WorkloadTest, OwnKeysDoNotMeet) {
  WorkloadOptions options{
      .kind = "critical-section", .own = section(1ms, 1ms, 3), .clients = 2, .threads = 2, .wait = 10s};
  options.own["own_keys"] = true;
  const Outcome outcome = play(GetParam(), options);
  EXPECT_EQ(outcome.stats.acquired, 12u);
  EXPECT_EQ(outcome.stats.refused, 0u);
}

// The first thread of c1 and the second of c2 lock the key itself, the others the one in braces.
TEST_P(WorkloadTest, TwinKeysAreTwoLocks) {
  WorkloadOptions options{
      .kind = "critical-section", .own = section(1ms, 1ms, 3), .clients = 2, .threads = 2, .wait = 10s};
  options.own["twin_keys"] = true;
  const Outcome outcome = play(GetParam(), options);
  std::map<std::string, int> grants;
  for (const checker::Event& event : outcome.history.events()) {
    if (event.f == Function::acquire && event.type == EventType::ok)
      ++grants[std::string(outcome.history.text(event.key))];
  }
  EXPECT_EQ(grants, (std::map<std::string, int>{{options.key, 6}, {"{" + options.key + "}", 6}}));
}

// One holds for a second, the other gives up after what it was told, not after the 5 s of its publication.
TEST_P(WorkloadTest, AWaitTimeoutReachesTheLock) {
  WorkloadOptions options{.kind = "critical-section",
                          .own = section(1s, 1s, 1),
                          .lock = "annotation",
                          .wait_timeout = 150ms,
                          .clients = 2};
  const Outcome outcome = play(GetParam(), options);
  EXPECT_EQ(outcome.stats.acquired, 1u);
  EXPECT_EQ(outcome.stats.failed, 1u);
  options.wait_timeout.reset();
  EXPECT_EQ(play(GetParam(), options).stats.acquired, 2u);
}

checker::Outcome verdict(std::string_view check, const Outcome& outcome, std::int64_t stock) {
  return checker::find_check(check)
      ->run(outcome.history, {.initial_stock = stock, .final_stock = outcome.stock})
      .outcome;
}
constexpr auto kHolds = checker::Outcome::holds, kViolated = checker::Outcome::violated;

TEST_P(WorkloadTest, BuyersWhoDoNotLookTakeTheStockBelowZero) {
  WorkloadOptions options{
      .own = {{"stock", 2}, {"below_zero", true}, {"rounds", 2}}, .clients = 3, .think = {1ms, 5ms}};
  const Outcome below = play(GetParam(), options);
  EXPECT_TRUE(below.finished);
  EXPECT_EQ(below.stats.sold, 6u);
  EXPECT_EQ(below.stock, -4);
  EXPECT_EQ(verdict("negative-stock", below, 2), kViolated);
  EXPECT_EQ(verdict("lost-update", below, 2), kHolds);
  options.own.erase("below_zero");
  const Outcome looked = play(GetParam(), options);
  EXPECT_EQ(looked.stats.sold, 2u);
  EXPECT_EQ(looked.stock, 0);
  EXPECT_EQ(verdict("negative-stock", looked, 2), kHolds);
  EXPECT_EQ(verdict("oversell", looked, 2), kHolds);
}

TEST_P(WorkloadTest, ABuyerThatHasEnoughGoes) {
  WorkloadOptions options{.own = {{"stock", 10}, {"each", 2}}, .clients = 3, .think = {1ms, 5ms}};
  const Outcome all = play(GetParam(), options);
  EXPECT_TRUE(all.finished);
  EXPECT_EQ(all.stats.sold, 6u);
  EXPECT_EQ(all.stock, 4);
  // What is refused is tried again.
  options.lock = "lock-interface-reentrant";  // everybody is granted it
  options.own["write"] = "compare-and-set";
  const Outcome refused = play(GetParam(), options);
  EXPECT_EQ(refused.stats.sold, 6u);
  EXPECT_GT(refused.stats.conflicts, 0u);
  EXPECT_EQ(refused.stock, 4);
}

// The lock is sound, and the next holder reads what the one before has not committed yet.
TEST_P(WorkloadTest, ATransactionThatCommitsAfterTheReleaseLosesUpdates) {
  WorkloadOptions options{
      .own = {{"stock", 12}, {"commit_after", DurationRange{20ms, 30ms}}}, .clients = 3, .think = {1ms, 5ms}};
  options.own["commit"] = "after-release";
  const Outcome after = play(GetParam(), options);
  EXPECT_TRUE(after.finished);
  EXPECT_EQ(verdict("lost-update", after, 12), kViolated);
  EXPECT_EQ(verdict("effects-inside-hold", after, 12), kViolated);
  EXPECT_EQ(verdict("mutual-exclusion", after, 12), kHolds);
  EXPECT_EQ(verdict("lease-exclusion", after, 12), kHolds);
  // A commit that is refused is no sale.
  options.own["write"] = "compare-and-set";
  const Outcome compared = play(GetParam(), options);
  EXPECT_EQ(verdict("lost-update", compared, 12), kHolds);
  EXPECT_EQ(compared.stats.sold, 12u);
  EXPECT_GT(compared.stats.conflicts, 0u);
  EXPECT_EQ(count(compared.history, EventType::fail, Function::sell), compared.stats.conflicts);
  options.own["write"] = "blind";
  options.own["commit"] = "under-lock";
  const Outcome under = play(GetParam(), options);
  EXPECT_EQ(verdict("lost-update", under, 12), kHolds);
  EXPECT_EQ(verdict("effects-inside-hold", under, 12), kHolds);
  EXPECT_EQ(under.stats.sold, 12u);
}

// Nothing is written that is not there, and the shop tells each buyer that he bought.
TEST_P(WorkloadTest, WhoConfirmsWhateverHappenedOversells) {
  WorkloadOptions options{.own = {{"stock", 2}, {"confirm", "always"}, {"rounds", 2}}, .clients = 3};
  const Outcome swallowed = play(GetParam(), options, [](World&, Workload& workload, Recorder& recorder) {
    workload.wait_finished(kNever);
    EXPECT_TRUE(recorder.reached("confirmed-unwritten"));
  });
  EXPECT_EQ(swallowed.stock, 0);
  EXPECT_EQ(count(swallowed.history, EventType::ok, Function::write), 2u);
  EXPECT_EQ(count(swallowed.history, EventType::ok, Function::sell), 6u);
  EXPECT_EQ(verdict("oversell", swallowed, 2), kViolated);
  EXPECT_EQ(verdict("negative-stock", swallowed, 2), kHolds);
}

std::size_t left(const checker::History& history) {
  std::size_t found = 0;
  for (const auto& event : history.events()) {
    found += event.f == Function::other && history.text(event.error) == checker::kLeft ? 1 : 0;
  }
  return found;
}

// Without a lock some sales find the stock changed: an error, and only those rounds release.
TEST_P(WorkloadTest, OnErrorOnlyAFailedRoundIsReleased) {
  WorkloadOptions options{.own = {{"stock", 8}, {"write", "compare-and-set"}},
                          .own_lock = &no_lock_kind(),
                          .clients = 3,
                          .think = {1ms, 5ms},
                          .release = Release::on_error};
  const Outcome outcome = play(GetParam(), options);
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.stats.sold, 8u);
  EXPECT_GT(outcome.stats.conflicts, 0u);
  EXPECT_EQ(outcome.stats.released, outcome.stats.conflicts);
  EXPECT_EQ(left(outcome.history), outcome.stats.acquired - outcome.stats.conflicts);
}

TEST_P(WorkloadTest, IfHeldOnlyWhatIsStillHeldIsReleased) {
  for (const bool in_time : {true, false}) {
    WorkloadOptions options{.kind = "critical-section",
                            .own = in_time ? section(0ms, 0ms, 1) : section(300ms, 300ms, 1),
                            .lease = in_time ? 30s : 100ms,
                            .renew = false,
                            .clients = 1,
                            .release = Release::if_held};
    const Outcome outcome = play(GetParam(), options);
    EXPECT_EQ(outcome.stats.released, in_time ? 1u : 0u);
    EXPECT_EQ(outcome.stats.lost, in_time ? 0u : 1u);
    const std::vector<checker::Hold> holds = checker::build_holds(outcome.history, true);
    ASSERT_EQ(holds.size(), 1u);
    EXPECT_NE(holds[0].end, checker::HoldEnd::never);
  }
}

// A release that is left out: the watchdog keeps the lock for nobody, as long as the process lives.
TEST_P(WorkloadTest, ALockThatIsLeftIsKeptByTheWatchdog) {
  for (const Release release : {Release::on_error, Release::always}) {
    WorkloadOptions options{.kind = "critical-section",
                            .own = section(1ms, 1ms, 1),
                            .lock = "redisson-3.13-reentrant",
                            .lease = 150ms,
                            .clients = 1,
                            .think = {1s, 1s},
                            .release = release};
    const Outcome outcome = play(GetParam(), options);
    const checker::CheckContext context{.reentrant = true, .lease_ns = 150'000'000};
    EXPECT_EQ(checker::find_check("no-abandoned-hold")->run(outcome.history, context).outcome,
              release == Release::always ? checker::Outcome::holds : checker::Outcome::violated);
  }
}

TEST(WorkloadOptionsTest, NonsenseIsRefused) {
  const std::unique_ptr<World> world = make_embedded_world({});
  Recorder recorder(*world);
  EXPECT_THROW(make_workload(*world, recorder, {.lock = "no-such-lock"}), std::invalid_argument);
  EXPECT_THROW(make_workload(*world, recorder, {.clients = 0}), std::invalid_argument);
  EXPECT_THROW(make_workload(*world, recorder, {.own = {{"write", "token"}}, .lock = "lock-interface"}),
               std::invalid_argument);
  EXPECT_THROW(make_workload(*world, recorder, {.kind = "no-such-workload"}), std::invalid_argument);
  EXPECT_THROW(make_workload(*world, recorder, {.own = {{"depth", 3}}}), std::invalid_argument)
      << "a key of another workload";
  for (const SettingValues& own : {SettingValues{{"below_zero", true}}, {{"confirm", "always"}}}) {
    EXPECT_THROW(make_workload(*world, recorder, {.own = own}), std::invalid_argument) << "without end";
  }
  EXPECT_THROW(make_workload(*world, recorder, {.own = {{"stock", "3"}}}), std::invalid_argument)
      << "a value of another type";
  SettingValues inner = section(1ms, 1ms, 1);
  inner["inner_lease"] = Duration(1s);
  EXPECT_THROW(make_workload(*world, recorder, {.kind = "critical-section", .own = inner}),
               std::invalid_argument)
      << "an acquire of `reentrant` takes no lease of its own";
  EXPECT_THROW(make_workload(*world, recorder, {.kind = "count-down"}), std::invalid_argument) << "no latch";
}

}  // namespace
}  // namespace holdfast::sim
