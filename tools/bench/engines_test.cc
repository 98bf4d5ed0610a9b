// The suite `engines`: locks of Redis, PostgreSQL, etcd and ZooKeeper, each with servers of its own.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "lib/testing/server/child_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/lock_kind.h"
#include "sim/comparators/engine.h"
#include "tools/bench/testing/run_bench.h"

namespace holdfast::tools {
namespace {

constexpr const char* kShortEngines =
    "bench --suite engines --clients 3 --rounds 1 --seconds 0.5 --locks reentrant,survivor";

TEST(BenchEngines, LocksOfOurServersAreMeasuredAsThoseOfOtherEnginesAre) {
  if (find_program("redis-server").empty()) GTEST_SKIP() << "no redis-server on this machine";
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran ran = run_bench(std::string(kShortEngines) + ",spin --json " + file);
  ASSERT_EQ(ran.exit, 0) << ran.out;
  EXPECT_NE(ran.out.find("engines: no row is of spin"), std::string::npos) << ran.out;
  const nlohmann::json document = read_result_file(file);
  int synced = 0, rows = 0;
  for (const auto& m : document.at("measurements")) {
    ++rows;
    synced += m.at("subject") == "reentrant, synced to disk" ? 1 : 0;
    const auto& metrics = m.at("metrics");
    EXPECT_GT(metrics.at("pairs").at("median"), 0) << m;
    if (m.at("parameters").at("keys") == "one each") {
      EXPECT_GT(metrics.at("server_cpu").at("median"), 0) << m;
    }
    // A survivor's lease is a second here, which a machine that stands still may outlast.
    if (m.at("subject") != "survivor, two replicas") {
      EXPECT_EQ(metrics.at("errors").at("median"), 0) << m;
    }
    const bool busy = m.at("parameters").at("clients") == "3" && m.at("parameters").at("keys") == "one";
    EXPECT_EQ(metrics.contains("of_alone"), busy) << m;
    EXPECT_EQ(metrics.contains("p99_by_fair_share"), busy) << m;
    if (m.at("subject") == "reentrant") {
      EXPECT_EQ(metrics.at("of_reentrant").at("median"), 1) << m;
    }
  }
  EXPECT_EQ(rows, 3 * 4);  // survivor; reentrant, and once more with a disk
  EXPECT_EQ(synced, 4);
}

// Each engine that is on this machine: all its locks work under load, and leave no process behind.
TEST(BenchEngines, LocksOfOtherEnginesAreMeasured) {
  std::string locks;
  for (const sim::Engine& engine : sim::all_engines()) {
    if (!engine.missing().empty()) continue;
    for (const sim::LockKind& lock : engine.locks) locks += "," + std::string(lock.name);
  }
  if (locks.empty()) GTEST_SKIP() << "no other engine on this machine (" << sim::kInstallComparators << ")";
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));  // PostgreSQL is another user
  const std::string file = folder.path() + "/r.json";
  const Ran ran =
      run_bench(std::string(kShortEngines) + locks + " --json " + file, "TMPDIR=" + folder.path());
  ASSERT_EQ(ran.exit, 0) << ran.out;
  const nlohmann::json document = read_result_file(file);
  EXPECT_EQ(document.at("notes"), nlohmann::json::array()) << ran.out;
  for (const auto& m : document.at("measurements")) {
    EXPECT_GT(m.at("metrics").at("pairs").at("median"), 0) << m;
    if (m.at("parameters").at("keys") == "one each") {
      EXPECT_GT(m.at("metrics").at("server_cpu").at("median"), 0) << m;
    }
    EXPECT_EQ(m.at("metrics").at("errors").at("median"), 0) << m;
    EXPECT_GT(m.at("metrics").at("of_reentrant").at("median"), 0) << m;
  }
  for (const sim::Engine& engine : sim::all_engines()) {
    if (!engine.missing().empty()) continue;
    const std::string version = document.at("versions").value(engine.name, "");
    EXPECT_NE(version.find('.'), std::string::npos) << engine.name << ": " << version;
  }
  EXPECT_EQ(processes_below(folder.path()), 0);
}

TEST(BenchEngines, ALockOfAnotherEngineBelongsToOneSuite) {
  const Ran all = run_bench("bench --locks pg-advisory");
  EXPECT_EQ(all.exit, 64);
  EXPECT_NE(all.out.find("--locks: `pg-advisory` is measured by `--suite engines` and no other"),
            std::string::npos)
      << all.out;
}

TEST(BenchEngines, AMissingEngineIs69WhereItIsNamedAndElseANote) {
  if (find_program("redis-server").empty()) GTEST_SKIP() << "no redis-server on this machine";
  const TemporaryFolder nothing;
  std::string without;
  for (const char* variable : {"HOLDFAST_POSTGRESQL", "HOLDFAST_ETCD", "HOLDFAST_ZOOKEEPER"})
    without += std::string(variable) + "=" + nothing.path() + " ";
  for (const sim::Engine& engine : sim::all_engines()) {
    const std::string lock(engine.locks.front().name);
    const Ran ran = run_bench("bench --suite engines --locks " + lock, without);
    EXPECT_EQ(ran.exit, 69) << ran.out;
    EXPECT_NE(ran.out.find(sim::kInstallComparators), std::string::npos) << ran.out;
  }
  const Ran ran = run_bench("bench --suite engines --quick --clients 2 --seconds 0.1", without);
  EXPECT_EQ(ran.exit, 0) << ran.out;
  EXPECT_NE(ran.out.find("note: etcd-lock is left out: "), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace holdfast::tools
