// `holdfast proxy` as its users meet it: it says what is wrong with its flags, and ends when it is told to.
#include <gtest/gtest.h>

#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

TEST(ProxyCommand, SaysWhatIsWrongWithAFlag) {
  const auto refused = [](const std::string& flags, const std::string& why) {
    const Ran ran = holdfast("proxy " + flags);
    EXPECT_EQ(ran.exit, 64) << flags;
    EXPECT_EQ(ran.err, "holdfast: proxy: " + why + "\n");
  };
  refused("--listen 127.0.0.1:0", "--listen and --upstream go together");
  refused("--api here", "--api: `here` is no HOST:PORT such as 127.0.0.1:6379");
  refused("--api 0.0.0.0:0", "--api: `0.0.0.0:0` is not of this machine alone; --anywhere allows it");
  refused("--listen 127.0.0.1:0 --upstream localhost:0",
          "--upstream: `localhost:0` has no port to connect to");
  refused("--tls-key a.key", "--tls-certificate and --tls-key go together, and --tls-ca with both");
  refused("--upstream-ca ca.pem",
          "--upstream-ca, --upstream-name, --upstream-certificate and --upstream-key say how servers are "
          "spoken to "
          "by TLS: add --upstream-tls");
  refused("--upstream-tls --upstream-ca /no/such.pem", "TLS: ca_file: there is no file `/no/such.pem`");
}

// In a folder of its own: `holdfast proxy` and `then` ($pid; $api: its API), until it has ended.
Ran while_it_serves(const std::string& then) {
  const TemporaryFolder folder;
  return run_shell(
      "set -m; cd " + folder.path() + "; " + kTool +
      " proxy --listen 127.0.0.1:0 --upstream 127.0.0.1:1 --api 127.0.0.1:0 > out & pid=$!; cd " +
      folder.path() + "\nwhile ! grep -q API out; do sleep 0.01; done\n" +
      "api=$(sed -n 's,.*http://\\([0-9.:]*\\);.*,\\1,p' out)\n" + then + "\nwait $pid; echo it ended $?");
}

TEST(ProxyCommand, EndsWithTheCodeOfItsSignal) {
  EXPECT_TRUE(while_it_serves("kill -INT $pid").says("it ended 130"));
  EXPECT_TRUE(while_it_serves("kill -TERM $pid").says("it ended 0"));
}

TEST(ProxyCommand, APortInUseIsMissing) {
  const Ran ran = while_it_serves(kTool + " proxy --api $api; echo the other $?; kill $pid");
  EXPECT_TRUE(ran.says("the other 69")) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("--api HOST:0 takes a free port"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace holdfast::tools
