// What Toxiproxy documents, played by a client of it from npm (toxiproxy_node/play.js) against the programs.
#include <gtest/gtest.h>

#include <filesystem>

#include "lib/testing/folders.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

TEST(ToxiproxyExamples, AreAsTheyAreDocumented) {
  const std::string folder = holdfast::testing::source_path("tools/proxy/toxiproxy_node");
  const bool there = std::filesystem::exists(folder + "/node_modules/toxiproxy-node-client") &&
                     run_shell("command -v node curl").exit == 0;
  if (!there) GTEST_SKIP() << "no client: tools/setup/setup --clients installs it";
  const TemporaryFolder work;
  const Ran ran = run_shell(
      "set -m; cd " + work.path() + "; " + kTool + " redis --port 0 > redis.out & redis=$!; cd " +
      work.path() + "; " + kTool + " proxy --api 127.0.0.1:0 > out & proxy=$!\ncd " + work.path() +
      "; until grep -q listens redis.out && grep -q http out; do sleep 0.01; done\n"
      "port=$(sed -n 's,.*listens at 127.0.0.1:\\([0-9]*\\).*,\\1,p' redis.out | head -1)\n"
      "node " +
      folder +
      "/play.js $(sed -n 's,.*\\(http://[0-9.:]*\\);.*,\\1,p' out) 127.0.0.1:$port; echo it ended $?\n"
      "kill $redis $proxy; wait");
  EXPECT_TRUE(ran.says("all as expected\nit ended 0\n")) << ran.out << ran.err;
  EXPECT_FALSE(ran.says("NOT AS EXPECTED"));
}

}  // namespace
}  // namespace holdfast::tools
