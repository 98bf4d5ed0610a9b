// `holdfast bench` as its users meet it, with tiny parameters, and the document that it writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "lib/testing/fixture.h"
#include "lib/testing/folders.h"
#include "lib/testing/server/child_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/lock_kind.h"
#include "tools/bench/bench.h"
#include "tools/bench/bench_load.h"
#include "tools/bench/bench_result.h"
#include "tools/bench/metric_table.h"
#include "tools/bench/sale.h"
#include "tools/bench/shortest_lock.h"
#include "tools/bench/testing/run_bench.h"

namespace holdfast::tools {
namespace {

// The measurement of that subject in that world, the first of several.
nlohmann::json find(const nlohmann::json& document, const std::string& suite, const std::string& subject,
                    const std::string& world) {
  for (const auto& m : document.at("measurements")) {
    if (m.at("suite") == suite && m.at("subject") == subject && m.at("world") == world) return m;
  }
  return {};
}

// A load that is cut may turn its end into an error of its own, as a worker that cannot give back does.
// Who waited for it is gone by then.
TEST(RunInterruptible, ALoadThatEndsWithAnErrorWhenItIsCutWakesNobody) {
  for (int run = 0; run < 20; ++run) {
    for (const auto& world : {sim::make_embedded_world({.seed = 1}), sim::make_real_world({})}) {
      int asked = 0;
      bool cut = false;
      std::list<std::vector<char>> over;
      try {
        run_interruptible(
            *world, [&] { return ++asked > 2; },
            [&] {
              struct Unwound {
                bool& cut;
                ~Unwound() { cut = true; }
              } unwound{cut};
              try {
                world->harness().runtime().sleep_for(std::chrono::hours(1));
              } catch (const TaskCancelled&) {
                // Unwinding writes over what has been freed: a wake-up of who has left ends the program.
                for (std::size_t bytes = 16; bytes <= 256; bytes += 16)
                  for (int i = 0; i < 50; ++i) over.emplace_back(bytes, '\xff');
                throw std::runtime_error("could not be given back");
              }
            });
        ADD_FAILURE() << "it was interrupted";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "interrupted");
      }
      EXPECT_TRUE(cut);
    }
  }
}

TEST(RunInterruptible, ErrorsOfTheLoadArePassedOn) {
  const auto world = sim::make_embedded_world({.seed = 1});
  EXPECT_THROW(run_interruptible(*world, nullptr, [] { throw std::out_of_range("load"); }),
               std::out_of_range);
}

TEST(BenchCommand, BadInputIsOneLine) {
  for (const auto& [arguments, said] : std::vector<std::pair<std::string, std::string>>{
           {"bench --locks reentrnt", "did you mean `reentrant`?"},
           {"bench --locks count-down-latch", "unknown lock `count-down-latch`"},  // nobody holds a latch
           {"bench --clients 0", "--clients: 0, expected 1 to 10000"},
           {"bench --clients 10001", "expected 1 to 10000"},
           {"bench --hold 10001", "--hold: 10001, expected 0 to 10000"},
           {"bench --hold=-1", "--hold: -1, expected 0 to 10000"},
           {"bench --suite contnded", "did you mean `contended`?"}}) {
    const Ran ran = run_bench(arguments);
    EXPECT_EQ(ran.exit, 64) << arguments;
    EXPECT_NE(ran.out.find(said), std::string::npos) << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
}

TEST(BenchCommand, WithoutAServerItSaysHowToGetOne) {
  const Ran ran = run_bench("bench --world real", "PATH=/nowhere");
  EXPECT_EQ(ran.exit, 69);
  EXPECT_NE(ran.out.find("apt-get install redis-server"), std::string::npos) << ran.out;
}

TEST(BenchCommand, EmbeddedWorldNeedsNoServerAndIsTheSameEveryTime) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const std::string line =
      "bench --suite uncontended,contended --world embedded --locks reentrant,redlock --clients 3 --quick "
      "--json " +
      file;
  const Ran ran = run_bench(line, "PATH=/nowhere");
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto document = read_result_file(file);
  EXPECT_EQ(document.at("version"), kBenchVersion);
  EXPECT_EQ(document.at("complete"), true);
  EXPECT_EQ(document.at("machine").count("cpu"), 1u);
  const auto alone = find(document, "uncontended", "reentrant", "embedded").at("metrics");
  EXPECT_NEAR(alone.at("commands").at("median").get<double>(), 2, 0.01);
  EXPECT_NEAR(alone.at("round_trips").at("median").get<double>(), 2, 0.3);
  const auto together = find(document, "contended", "reentrant", "embedded").at("metrics");
  EXPECT_GT(together.at("pairs").at("median").get<double>(), 100);
  ASSERT_EQ(run_bench(line).exit, 0);
  EXPECT_EQ(read_result_file(file).at("measurements"), document.at("measurements"));
}

TEST(BenchCommand, EveryLockIsMeasured) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran = run_bench("bench --suite uncontended --world embedded --quick --json " + file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto document = read_result_file(file);
  EXPECT_TRUE(document.at("notes").empty()) << document.at("notes");
  EXPECT_GT(document.at("measurements").size(), 20u);
}

// Who polls asks the more often the longer the holder stays; who is woken by a message does not.
TEST(BenchCommand, TheTimeInsideTheLockCanBeChosen) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran = run_bench(
      "bench --suite contended --world embedded --locks lock-interface,redisson-3.13-reentrant --clients 10 "
      "--hold 20,500 --quick --json " +
      file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto document = read_result_file(file);
  std::map<std::pair<std::string, std::string>, double> commands;
  for (const auto& m : document.at("measurements")) {
    const std::string subject = m.at("subject"), hold = m.at("parameters").at("hold_ms");
    commands[{subject, hold}] = m.at("metrics").at("commands").at("median");
  }
  ASSERT_EQ(commands.size(), 4u);
  const double short_polled = commands.at({"lock-interface", "20"}),
               long_polled = commands.at({"lock-interface", "500"}),
               short_woken = commands.at({"redisson-3.13-reentrant", "20"}),
               long_woken = commands.at({"redisson-3.13-reentrant", "500"});
  EXPECT_GT(long_polled, 5 * short_polled);
  EXPECT_LT(long_woken, 1.5 * short_woken);
}

// One caller's pair is two round trips. Measured by turns with two bare ones, both take the same in virtual
// time.
TEST(BenchLoad, APairCostsTwoRoundTrips) {
  Load load{.kind = sim::find_lock_kind("reentrant"), .length = std::chrono::seconds(2)};
  load.trips_between = true;
  const LoadResult result = run_load_embedded(1, std::chrono::microseconds(500), 1, load);
  EXPECT_GT(result.pairs, 400u);
  EXPECT_NEAR(result.pair.mean() / result.trips.mean(), 1, 0.05);
  EXPECT_NEAR(result.commands / static_cast<double>(result.pairs), 4, 0.05);
}

// The shortest scripts exclude: who asks for what another holds is refused, and nobody releases it for him.
TEST(BenchLoad, TheShortestScriptsAreLocks) {
  for (const char* kind : {"fenced", "fair", "read-write", "semaphore"}) {
    SCOPED_TRACE(kind);
    const ShortestScripts* scripts = find_shortest(kind);
    ASSERT_NE(scripts, nullptr);
    holdfast::testing::with_fixture(
        holdfast::testing::Where::embedded, [&](holdfast::testing::Fixture& fixture) {
          redis::Client client(fixture.runtime, fixture.network, fixture.options());
          ShortestLock a(*scripts, client, "k", "a", std::chrono::seconds(1));
          ShortestLock b(*scripts, client, "k", "b", std::chrono::seconds(1));
          a.acquire();
          EXPECT_THROW(b.acquire(), std::runtime_error);
          EXPECT_THROW(b.release(), std::runtime_error);
          a.release();
          b.acquire();
          fixture.runtime.sleep_for(std::chrono::milliseconds(1100));
          a.acquire();
        });
  }
  EXPECT_EQ(find_shortest("reentrant"), nullptr);
  // Two requests a pair, and both answered.
  const Load load{.what = Load::What::shortest,
                  .kind = sim::find_lock_kind("semaphore"),
                  .callers = 2,
                  .length = std::chrono::seconds(1)};
  const LoadResult result = run_load_embedded(1, std::chrono::microseconds(500), 1, load);
  EXPECT_EQ(result.errors, 0u) << result.first_error;
  EXPECT_NEAR(result.commands / static_cast<double>(result.pairs), 2, 0.05);
}

TEST(BenchCommand, MeasuresRealServersAndKeepsWhatIsDoneWhenInterrupted) {
  if (find_program("redis-server").empty()) GTEST_SKIP() << "no redis-server on this machine";
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran = run_bench(
      "bench --suite uncontended,contended --world real --locks reentrant --clients 1,2 --seconds 0.05 "
      "--rounds 2 "
      "--no-peers --json " +
      file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto document = read_result_file(file);
  for (const char* world : {"real/fibers", "real/threads"}) {
    const auto metrics = find(document, "uncontended", "reentrant", world).at("metrics");
    EXPECT_EQ(metrics.at("pairs").at("rounds").size(), 2u);
    // Each round by the reference of the same round.
    const auto reference = find(document, "uncontended", "redis-benchmark", world).at("metrics").at("pairs");
    ASSERT_EQ(reference.at("rounds").size(), 2u);
    for (const unsigned round : {0U, 1U}) {
      const double pairs = metrics.at("pairs").at("rounds").at(round).get<double>();
      const double of_benchmark = metrics.at("of_benchmark").at("rounds").at(round).get<double>();
      EXPECT_GT(pairs, 0);
      EXPECT_NEAR(of_benchmark * reference.at("rounds").at(round).get<double>(), pairs, pairs / 1000)
          << world;
      // Two a pair, and of a pair that was under way at either end of the 50 ms.
      const double commands = metrics.at("commands").at("rounds").at(round).get<double>();
      EXPECT_NEAR(commands, 2, 0.2 + 4 / (pairs * 0.05)) << world;
    }
    // The bare round trips between the pairs of one caller are not counted as commands.
    EXPECT_EQ(metrics.at("of_trips_by_turns").at("rounds").size(), 2u);
  }
  EXPECT_FALSE(find(document, "contended", "reentrant", "real/fibers").empty());

  // Interrupted when it tells of its progress for the second time: then something has been measured.
  const std::string said = folder.path() + "/said";
  const Ran cut =
      run_shell(holdfast::testing::build_path("holdfast") +
                " bench --suite uncontended --no-peers --locks reentrant --clients 2 --seconds 0.1 "
                "--rounds 500 --world real --json " +
                file + " >" + said + " 2>&1 & pid=$!; until grep -q '[1-9][0-9]* of [0-9]* ' " + said +
                "; do kill -0 $pid || exit 99; sleep 0.05; done; kill -INT $pid; wait $pid");
  EXPECT_EQ(cut.exit, 130) << cut.out;
  const auto partial = read_result_file(file);
  EXPECT_EQ(partial.at("complete"), false);
  EXPECT_FALSE(partial.at("measurements").empty());
}

// Measurements of ten minutes, each interrupted once the command has said that it began.
TEST(BenchCommand, AnInterruptEndsTheMeasurementThatRuns) {
  if (find_program("redis-server").empty()) GTEST_SKIP() << "no redis-server on this machine";
  for (const char* what :
       {"--suite watchdog --world real --clients 20 --locks reentrant",
        "--suite scale --world real --clients 50 --locks reentrant,fair --no-peers",
        "--suite contended --world real --clients 20 --locks fair --no-peers",
        "--suite uncontended --world real --clients 5 --locks reentrant --no-peers",
        "--suite contended --world embedded --clients 1000 --locks redisson-3.13-reentrant",
        "--suite seckill --world real", "--suite failover --world real --locks reentrant"}) {
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/r.json", said = folder.path() + "/said";
    const std::string below = folder.path() + "/tmp";
    std::filesystem::create_directory(below);
    const Ran ran = run_shell(
        "TMPDIR=" + below + " " + holdfast::testing::build_path("holdfast") + " bench --seconds 600 " + what +
        " --json " + file + " >" + said + " 2>&1 & pid=$!; until grep -qE '(^| )[0-9]+ of ' " + said +
        "; do kill -0 $pid || exit 99; sleep 0.05; done; sleep 0.5; kill -INT $pid; wait $pid");
    EXPECT_EQ(ran.exit, 130) << what << ran.out;
    const auto document = read_result_file(file);
    EXPECT_EQ(document.at("complete"), false) << what;
    for (const auto& m : document.at("measurements")) EXPECT_FALSE(m.at("metrics").empty()) << what << m;
    if (std::string(what).find("watchdog") != std::string::npos) {
      EXPECT_TRUE(document.at("measurements").empty()) << "the one that was cut";
    }
    EXPECT_EQ(processes_below(below), 0) << what;
  }
}

TEST(BenchCommand, ASaleBehindALockOversellsWhereTheLockBreaksAndBehindATokenDoesNot) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran = run_bench(
      "bench --suite seckill,failover --world embedded --locks reentrant --seeds 2 --clients 3 --quick "
      "--json " +
      file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  std::map<std::string, double> oversold;  // worst seed of "fault/protection"
  const auto document = read_result_file(file);
  for (const auto& m : document.at("measurements")) {
    if (m.at("suite") != "seckill") continue;
    const auto& p = m.at("parameters");
    oversold[p.at("fault").get<std::string>() + "/" + p.at("protection").get<std::string>()] =
        m.at("metrics").at("oversold").at("high");
  }
  EXPECT_EQ(oversold.at("no-fault/lock"), 0);
  EXPECT_GT(oversold.at("no-fault/no-lock"), 0);
  EXPECT_EQ(oversold.at("no-fault/compare-and-set-alone"), 0);
  EXPECT_GT(oversold.at("holder-paused/lock"), 0);
  EXPECT_GT(oversold.at("primary-failover/lock"), 0);
  EXPECT_GT(oversold.at("primary-failover/token-at-write"), 0);
  EXPECT_EQ(oversold.at("primary-failover/token"), 0);
  const auto picture = find(document, "failover", "reentrant", "embedded");
  EXPECT_GT(picture.at("curves").at("grants_per_s").size(), 50u);
  EXPECT_FALSE(picture.at("bands").empty());
}

TEST(BenchCommand, AFailoverCostsASaleSomethingWhenABuyerSleeps) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran =
      run_bench("bench --suite oversell --world embedded --locks reentrant --quick --json " + file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  std::map<std::string, double> oversold;
  const auto document = read_result_file(file);
  EXPECT_GT(document.at("suite_seconds").at("oversell"), 0);
  for (const auto& m : document.at("measurements")) {
    const auto& p = m.at("parameters");
    oversold[m.at("subject").get<std::string>() + "/" + p.at("fault").get<std::string>() + "/" +
             p.at("protection").get<std::string>()] = m.at("metrics").at("oversold").at("high");
  }
  EXPECT_EQ(oversold.at("reentrant/no-fault/lock"), 0);
  EXPECT_EQ(oversold.at("reentrant/primary-failover/lock"), 0);  // the holder is done before the promotion
  EXPECT_GT(oversold.at("reentrant/failover-slow-buyer/lock"), 0);
  EXPECT_GT(oversold.at("reentrant/failover-slow-buyer/loss-heeded"), 0);
  EXPECT_EQ(oversold.at("reentrant/failover-slow-buyer/token"), 0);
  EXPECT_EQ(oversold.at("no lock/no-fault/no-lock"), 20);  // of 120 buyers for 100 units
}

TEST(BenchCommand, HeldLocksAreRenewedInBatches) {
  if (find_program("redis-server").empty()) GTEST_SKIP() << "no redis-server on this machine";
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran = run_bench(
      "bench --suite watchdog,scale --world real --locks reentrant --clients 20 --seconds 1 --rounds 1 "
      "--no-peers "
      "--json " +
      file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto metrics = find(read_result_file(file), "watchdog", "reentrant", "real/fibers").at("metrics");
  EXPECT_LE(metrics.at("scripts").at("median").get<double>(), 3);
  EXPECT_FALSE(find(read_result_file(file), "scale", "reentrant", "real/fibers").empty());
}

// Without node, whose packages would be asked for over the network.
TEST(BenchCommand, LocksOfOtherLibrariesTakePartInEachSuiteOfLocks) {
  if (find_program("redis-server").empty()) GTEST_SKIP() << "no redis-server on this machine";
  const TemporaryFolder folder, programs;
  for (const char* name : {"redis-server", "python3", "php", "ruby"}) {
    if (const std::string path = find_program(name); !path.empty())
      std::filesystem::create_symlink(path, programs.path() + "/" + name);
  }
  const std::string file = folder.path() + "/r.json";
  const Ran ran = run_bench(
      "bench --suite uncontended,contended,scale --world real --locks reentrant --clients 3 --seconds 0.2 "
      "--rounds 1 --json " +
          file,
      "PATH=" + programs.path());
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto document = read_result_file(file);
  const auto notes = document.at("notes").dump();
  for (const char* of_npm : {"redis-semaphore", "redlock"})
    EXPECT_NE(notes.find(std::string(of_npm) + " is left out: node is not installed"), std::string::npos)
        << notes;
  for (const char* peer : {"redis-py Lock", "Symfony Lock", "redis-rb SET NX"}) {
    if (notes.find(std::string(peer) + " is left out: ") != std::string::npos) continue;  // not here
    for (const char* suite : {"uncontended", "contended", "scale"}) {
      const auto found = find(document, suite, peer, "real/peer");
      ASSERT_FALSE(found.empty()) << suite << ": " << peer << "\n" << ran.out;
      EXPECT_GT(found.at("metrics").at("pairs").at("median"), 0) << suite << ": " << peer;
      EXPECT_GE(found.at("metrics").at("commands").at("median"), 1.5) << suite << ": " << peer;
    }
  }
  EXPECT_EQ(notes.find("redis-py Lock"), std::string::npos) << "the set-up installs it: " << notes;
}

TEST(BenchResult, AMetricIsOneOfTheTable) {
  BenchResult result;
  Measurement& m = result.at("contended", "reentrant", "embedded", {});
  EXPECT_THROW(m.add("speed", 1), std::logic_error);
  EXPECT_THROW(m.add("round_trips", 1), std::logic_error);  // of another suite
  m.add("commands", 3);
  m.add("pairs", 463);
  const auto json = nlohmann::json::parse(to_json(result)).at("measurements").at(0).at("metrics");
  EXPECT_EQ(json.size(), 2u);
  EXPECT_EQ(json.at("commands").at("unit"), "a grant");
  const std::string table = table_of(result, "contended");
  EXPECT_LT(table.find("pairs 1/s"), table.find("commands a grant")) << "in the order of the table";
}

TEST(MetricTable, HasEverySuiteOfTheCommand) {
  ASSERT_EQ(metric_table().size(), all_suites().size());
  for (std::size_t i = 0; i < all_suites().size(); ++i)
    EXPECT_EQ(metric_table()[i].name, all_suites()[i].name);
}

TEST(SaleStories, EveryLockIsPossibleBehindTheLockAloneButAQuorumUnderAFailover) {
  for (const SaleStory& story : sale_stories()) {
    EXPECT_EQ(protection_name(story.protections.front()), "lock");
    EXPECT_EQ(story.protections.size(), 7u) << story.file;
    for (const sim::LockKind& kind : sim::all_lock_kinds()) {
      if (kind.make == nullptr) continue;
      const bool fits = possible(story.protections.front(), kind);
      EXPECT_EQ(fits, !(kind.quorum && story.fault == "primary-failover")) << kind.name << " " << story.fault;
      if (!fits) continue;
      const sim::Scenario scenario =
          sale_scenario(story, story.protections.front(), {.kind = &kind, .buyers = 5, .stock = 3});
      EXPECT_EQ(scenario.lock, &kind);
      EXPECT_EQ(scenario.workload.clients, 5);
      EXPECT_EQ(sim::get_or(scenario.workload.own, "stock", std::int64_t{0}), 3);
      const bool failover = story.fault == "primary-failover";
      EXPECT_EQ(scenario.cluster.nodes.size(), kind.quorum || kind.survives_failover ? 3u
                                               : failover                            ? 2u
                                                                                     : 1u);
      EXPECT_EQ(scenario.cluster.topology == sim::Topology::primary_replica,
                failover || kind.survives_failover);
      const auto follows = [](const sim::FaultPlan& fault) {
        return fault.enabled && fault.config.id == "follow";
      };
      EXPECT_EQ(std::any_of(scenario.faults.begin(), scenario.faults.end(), follows),
                failover && kind.survives_failover);
    }
  }
}

TEST(BenchResult, MediansAndSpread) {
  const Metric metric{.rounds = {5, 1, 9, 2}};
  EXPECT_DOUBLE_EQ(metric.mean(), 4.25);
  EXPECT_DOUBLE_EQ(metric.median(), 3.5);
  EXPECT_DOUBLE_EQ(metric.low(), 1);
  EXPECT_DOUBLE_EQ(metric.high(), 9);
}

TEST(BenchLoad, FairnessIndices) {
  LoadResult result;
  EXPECT_EQ(result.jain(), 0);
  result.grants = {4, 4, 4, 4};
  EXPECT_DOUBLE_EQ(result.jain(), 1);
  EXPECT_DOUBLE_EQ(result.min_max_share(), 1);
  result.grants = {0, 8, 0, 0};
  EXPECT_EQ(result.starved(), 3);
  EXPECT_DOUBLE_EQ(result.jain(), 0.25);
  EXPECT_DOUBLE_EQ(result.min_max_share(), 0);
}

}  // namespace
}  // namespace holdfast::tools
