// `holdfast bench` as its users meet it, with tiny parameters, and the document that it writes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "lib/testing/folders.h"
#include "lib/testing/server/child_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/lock_kind.h"
#include "tools/bench/bench_load.h"
#include "tools/bench/bench_result.h"

namespace holdfast::tools {
namespace {

struct Ran {
  int exit = -1;
  std::string out;  // both outputs
};

Ran shell(const std::string& line) {
  Ran ran;
  std::FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) ran.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  ran.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}
Ran holdfast(const std::string& arguments, const std::string& before = "") {
  return shell(before + " " + holdfast::testing::build_path("holdfast ") + arguments);
}

nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

// The measurement of that subject in that world, the first of several.
nlohmann::json find(const nlohmann::json& document, const std::string& suite, const std::string& subject,
                    const std::string& world) {
  for (const auto& m : document.at("measurements")) {
    if (m.at("suite") == suite && m.at("subject") == subject && m.at("world") == world) return m;
  }
  return {};
}

TEST(BenchCommand, BadInputIsOneLine) {
  for (const auto& [arguments, said] : std::vector<std::pair<std::string, std::string>>{
           {"bench --locks reentrnt", "did you mean `reentrant`?"},
           {"bench --locks count-down-latch", "unknown lock `count-down-latch`"},  // nobody holds a latch
           {"bench --clients 0", "--clients: 0, expected 1 to 10000"},
           {"bench --clients 10001", "expected 1 to 10000"},
           {"bench --suite contnded", "did you mean `contended`?"},
           {"bench --json /nowhere/x.json", "--json: cannot write /nowhere/x.json"}}) {
    const Ran ran = holdfast(arguments);
    EXPECT_EQ(ran.exit, 64) << arguments;
    EXPECT_NE(ran.out.find(said), std::string::npos) << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
}

TEST(BenchCommand, WithoutAServerItSaysHowToGetOne) {
  const Ran ran = holdfast("bench --world real", "PATH=/nowhere");
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
  const Ran ran = holdfast(line, "PATH=/nowhere");
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto document = read_json(file);
  EXPECT_EQ(document.at("version"), kBenchVersion);
  EXPECT_EQ(document.at("complete"), true);
  EXPECT_EQ(document.at("machine").count("cpu"), 1u);
  const auto alone = find(document, "uncontended", "reentrant", "embedded").at("metrics");
  EXPECT_NEAR(alone.at("commands").at("median").get<double>(), 2, 0.01);
  EXPECT_NEAR(alone.at("round_trips").at("median").get<double>(), 2, 0.3);
  const auto together = find(document, "contended", "reentrant", "embedded").at("metrics");
  EXPECT_GT(together.at("pairs").at("median").get<double>(), 100);
  ASSERT_EQ(holdfast(line).exit, 0);
  EXPECT_EQ(read_json(file).at("measurements"), document.at("measurements"));
}

TEST(BenchCommand, EveryLockIsMeasured) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran = holdfast("bench --suite uncontended --world embedded --quick --json " + file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto document = read_json(file);
  EXPECT_TRUE(document.at("notes").empty()) << document.at("notes");
  EXPECT_GT(document.at("measurements").size(), 20u);
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

TEST(BenchCommand, MeasuresRealServersAndKeepsWhatIsDoneWhenInterrupted) {
  if (find_program("redis-server").empty()) GTEST_SKIP() << "no redis-server on this machine";
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran = holdfast(
      "bench --suite uncontended,contended --world real --locks reentrant --clients 1,2 --seconds 0.05 "
      "--rounds 2 "
      "--no-peers --json " +
      file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto document = read_json(file);
  for (const char* world : {"real/fibers", "real/threads"}) {
    const auto metrics = find(document, "uncontended", "reentrant", world).at("metrics");
    EXPECT_EQ(metrics.at("pairs").at("rounds").size(), 2u);
    // Each round by the limit of the same round.
    const auto limit = find(document, "uncontended", "redis-benchmark", world).at("metrics").at("pairs");
    ASSERT_EQ(limit.at("rounds").size(), 2u);
    for (const std::size_t round : {0, 1}) {
      const double pairs = metrics.at("pairs").at("rounds").at(round).get<double>();
      const double of_limit = metrics.at("of_limit").at("rounds").at(round).get<double>();
      EXPECT_GT(pairs, 0);
      EXPECT_NEAR(of_limit * limit.at("rounds").at(round).get<double>(), pairs, pairs / 1000) << world;
      // Two a pair, and of a pair that was under way at either end of the 50 ms.
      const double commands = metrics.at("commands").at("rounds").at(round).get<double>();
      EXPECT_NEAR(commands, 2, 0.2 + 4 / (pairs * 0.05)) << world;
    }
    // Of one caller: bare round trips between its pairs, and no further commands counted for that.
    EXPECT_EQ(metrics.at("of_trips_by_turns").at("rounds").size(), 2u);
  }
  EXPECT_FALSE(find(document, "contended", "reentrant", "real/fibers").empty());

  // Interrupted when it tells of its progress for the second time: then something has been measured.
  const std::string said = folder.path() + "/said";
  const Ran cut = shell(holdfast::testing::build_path("holdfast") +
                        " bench --suite uncontended --no-peers --locks reentrant --clients 2 --seconds 0.1 "
                        "--rounds 500 --world real --json " +
                        file + " >" + said + " 2>&1 & pid=$!; until grep -q '[1-9][0-9]* of [0-9]* ' " +
                        said + "; do kill -0 $pid || exit 99; sleep 0.05; done; kill -INT $pid; wait $pid");
  EXPECT_EQ(cut.exit, 130) << cut.out;
  const auto partial = read_json(file);
  EXPECT_EQ(partial.at("complete"), false);
  EXPECT_FALSE(partial.at("measurements").empty());
}

// How many processes run in a folder below `path`.
int processes_below(const std::string& path) {
  namespace fs = std::filesystem;
  int found = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::error_code gone;
    const std::string where = fs::read_symlink(entry.path() / "cwd", gone).string();
    if (!gone && where.rfind(path, 0) == 0) ++found;
  }
  return found;
}

// Measurements that would take ten minutes, each cut once the command has said that it began: were one of
// them played to its end, this test would run into its time limit.
TEST(BenchCommand, AnInterruptEndsTheMeasurementThatRuns) {
  if (find_program("redis-server").empty()) GTEST_SKIP() << "no redis-server on this machine";
  for (const char* what :
       {"--suite watchdog --world real --clients 20 --locks reentrant",
        "--suite scale --world real --clients 50 --locks reentrant,fair",
        "--suite contended --world real --clients 20 --locks fair --no-peers",
        "--suite uncontended --world real --clients 5 --locks reentrant --no-peers",
        "--suite contended --world embedded --clients 1000 --locks redisson", "--suite seckill --world real",
        "--suite failover --world real --locks reentrant"}) {
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/r.json", said = folder.path() + "/said";
    const std::string below = folder.path() + "/tmp";
    std::filesystem::create_directory(below);
    const Ran ran =
        shell("TMPDIR=" + below + " " + holdfast::testing::build_path("holdfast") + " bench --seconds 600 " +
              what + " --json " + file + " >" + said + " 2>&1 & pid=$!; until grep -q ' 0 of ' " + said +
              " || grep -q '^0 of ' " + said +
              "; do kill -0 $pid || exit 99; sleep 0.05; done; sleep 0.5; kill -INT $pid; wait $pid");
    EXPECT_EQ(ran.exit, 130) << what << ran.out;
    const auto document = read_json(file);
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
  const Ran ran = holdfast(
      "bench --suite seckill,failover --world embedded --locks reentrant --seeds 2 --clients 3 --quick "
      "--json " +
      file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  std::map<std::string, double> oversold;  // worst seed of "fault/protection"
  const auto document = read_json(file);
  for (const auto& m : document.at("measurements")) {
    if (m.at("suite") != "seckill") continue;
    const auto& p = m.at("parameters");
    oversold[p.at("fault").get<std::string>() + "/" + p.at("protection").get<std::string>()] =
        m.at("metrics").at("oversold").at("high");
  }
  EXPECT_EQ(oversold.at("none/lock"), 0);
  EXPECT_GT(oversold.at("none/no lock"), 0);
  EXPECT_EQ(oversold.at("none/compare-and-set, no lock"), 0);
  EXPECT_GT(oversold.at("holder paused/lock"), 0);
  EXPECT_GT(oversold.at("primary failover/lock"), 0);
  EXPECT_GT(oversold.at("primary failover/lock + token at the write only"), 0);
  EXPECT_EQ(oversold.at("primary failover/lock + token"), 0);
  const auto picture = find(document, "failover", "reentrant", "embedded");
  EXPECT_GT(picture.at("curves").at("grants_per_s").size(), 50u);
  EXPECT_FALSE(picture.at("bands").empty());
}

TEST(BenchCommand, HeldLocksAreRenewedInBatches) {
  if (find_program("redis-server").empty()) GTEST_SKIP() << "no redis-server on this machine";
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran = holdfast(
      "bench --suite watchdog,scale --world real --locks reentrant --clients 20 --seconds 1 --rounds 1 "
      "--json " +
      file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const auto metrics = find(read_json(file), "watchdog", "reentrant", "real/fibers").at("metrics");
  EXPECT_LE(metrics.at("scripts").at("median").get<double>(), 3);
  EXPECT_FALSE(find(read_json(file), "scale", "reentrant", "real/fibers").empty());
}

TEST(PlotCommand, DrawsWhatWasMeasured) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran bench = holdfast(
      "bench --suite uncontended,contended,failover --world embedded --locks reentrant,fair --clients 2 "
      "--quick "
      "--json " +
      file);
  ASSERT_EQ(bench.exit, 0) << bench.out;
  const Ran ran = holdfast("plot " + file + " --out " + folder.path() + "/figures");
  if (ran.exit == 69) GTEST_SKIP() << ran.out;
  ASSERT_EQ(ran.exit, 0) << ran.out;
  for (const char* ending : {"png", "svg"}) {
    std::ifstream figure(folder.path() + "/figures/failover_throughput." + ending);
    EXPECT_TRUE(figure.good()) << ran.out;
  }
}

TEST(PlotCommand, BadInputIsOneLine) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  std::ofstream(file) << "{\"document\": \"holdfast-bench\", \"version\": 7}";
  for (const auto& [arguments, before, exit, said] :
       std::vector<std::tuple<std::string, std::string, int, std::string>>{
           {"plot /nowhere.json", "", 64, "cannot read /nowhere.json"},
           {"plot " + file, "", 64, "document version 7"},
           {"plot " + holdfast::testing::source_path("tools"), "", 64, "no result (*.json)"}}) {
    const Ran ran = holdfast(arguments, before);
    EXPECT_EQ(ran.exit, exit) << arguments;
    EXPECT_NE(ran.out.find(said), std::string::npos) << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
}

TEST(PlotCommand, WithoutMatplotlibItSaysHowToGetIt) {
  const TemporaryFolder folder;
  BenchResult result;
  result.at("uncontended", "reentrant", "embedded", {{"clients", "1"}}).add("pairs", "1/s", 463);
  std::ofstream(folder.path() + "/r.json") << to_json(result);
  std::ofstream(folder.path() + "/matplotlib.py") << "raise ImportError('not here')\n";  // hides the real one
  const Ran ran = holdfast("plot " + folder.path() + "/r.json --out " + folder.path() + "/figures",
                           "PYTHONPATH=" + folder.path() + " ");
  EXPECT_EQ(ran.exit, 69) << ran.out;
  EXPECT_NE(ran.out.find("apt-get install python3-matplotlib"), std::string::npos) << ran.out;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
}

TEST(BenchResult, ADocumentThatCannotBeReadIsExplained) {
  BenchResult result;
  result.at("uncontended", "reentrant", "embedded", {{"clients", "1"}}).add("pairs", "1/s", 463);
  const std::string whole = to_json(result);
  EXPECT_EQ(problem_of_document(whole), "");
  EXPECT_NE(problem_of_document(whole.substr(0, whole.size() / 2)).find("cut short"), std::string::npos);
  EXPECT_EQ(problem_of_document(" \n"), "is empty");
  EXPECT_NE(problem_of_document("hello").find("not JSON"), std::string::npos);
  EXPECT_NE(problem_of_document("{}").find("not a result"), std::string::npos);
  std::string other = whole;
  other.replace(other.find("\"version\": 1"), 12, "\"version\": 7");
  EXPECT_NE(problem_of_document(other).find("document version 7, this one reads 1"), std::string::npos)
      << problem_of_document(other);
}

TEST(BenchResult, MediansAndSpread) {
  const Metric metric{.unit = "1/s", .rounds = {5, 1, 9, 2}};
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
  EXPECT_DOUBLE_EQ(result.jain(), 0.25);
  EXPECT_DOUBLE_EQ(result.min_max_share(), 0);
}

}  // namespace
}  // namespace holdfast::tools
