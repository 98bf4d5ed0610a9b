// `holdfast plot` as its users meet it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "lib/testing/server/temporary_folder.h"
#include "tools/bench/bench_result.h"
#include "tools/bench/testing/run_bench.h"

namespace holdfast::tools {
namespace {

TEST(PlotCommand, DrawsWhatWasMeasured) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  const Ran bench = run_bench(
      "bench --suite uncontended,contended,failover --world embedded --locks reentrant,fair --clients 2 "
      "--quick --json " +
      file);
  ASSERT_EQ(bench.exit, 0) << bench.out;
  const Ran ran = run_bench("plot " + file + " --out " + folder.path() + "/figures");
  if (ran.exit == 69) GTEST_SKIP() << ran.out;
  ASSERT_EQ(ran.exit, 0) << ran.out;
  for (const char* ending : {"png", "svg"}) {
    std::ifstream figure(folder.path() + "/figures/failover_embedded." + ending);
    EXPECT_TRUE(figure.good()) << ran.out;
  }
}

TEST(PlotCommand, BadInputIsOneLine) {
  const TemporaryFolder folder;
  const std::string other = folder.path() + "/other.json", odd = folder.path() + "/odd.json";
  const std::string cut = folder.path() + "/cut.json";
  std::ofstream(other) << "{\"document\": \"holdfast-bench\", \"version\": 7}";
  std::ofstream(odd) << "{\"document\": \"holdfast-bench\", \"version\": 2, \"measurements\": [[]]}";
  std::ofstream(cut) << "{\"document\": ";
  for (const auto& [arguments, said] : std::vector<std::pair<std::string, std::string>>{
           {"plot /nowhere.json", "/nowhere.json: No such file"},
           {"plot " + other, "document version 7, expected 2"},
           {"plot " + odd, "odd.json: `command` is missing"},
           {"plot " + cut, "cut.json:1:14: is not whole JSON"},
           {"plot " + holdfast::testing::source_path("tools"), "no result (*.json)"}}) {
    const Ran ran = run_bench(arguments);
    EXPECT_EQ(ran.exit, 64) << arguments;
    EXPECT_NE(ran.out.find(said), std::string::npos) << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
}

TEST(PlotCommand, WithoutMatplotlibItSaysHowToGetIt) {
  const TemporaryFolder folder;
  BenchResult result;
  result.at("uncontended", "reentrant", "embedded", {{"clients", "1"}, {"connections", "shared"}})
      .add("pairs", 463);
  std::ofstream(folder.path() + "/r.json") << to_json(result);
  std::ofstream(folder.path() + "/matplotlib.py") << "raise ImportError('not here')\n";  // hides the real one
  const Ran ran = run_bench("plot " + folder.path() + "/r.json --out " + folder.path() + "/figures",
                            "PYTHONPATH=" + folder.path() + " ");
  EXPECT_EQ(ran.exit, 69) << ran.out;
  EXPECT_NE(ran.out.find("apt-get install python3-matplotlib"), std::string::npos) << ran.out;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
}

}  // namespace
}  // namespace holdfast::tools
