// `holdfast proxy --record`, judged while it grows, and `holdfast proxy top`: the programs, as users run
// them.
#include <gtest/gtest.h>

#include <string>

#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

// A Redis with a password and a proxy before it, both in the background, in a folder of their own; `then`
// runs beside them. $pid is the proxy, $api its API, $at where it listens; `as NAME COMMAND...` is a client
// of that name that speaks to it, $redis is the server itself.
Ran beside_a_proxy(const std::string& flags, const std::string& then) {
  const TemporaryFolder folder;
  return run_shell(
      "set -m; cd " + folder.path() + "\n" +                                              //
      kTool + " redis --port 0 --config requirepass=hunter2 > redis.out & server=$!\n" +  //
      "until grep -qs listens redis.out; do sleep 0.01; done\n" +
      "redis=$(sed -n 's,.*listens at 127.0.0.1:\\([0-9]*\\).*,\\1,p' redis.out | head -1)\n" +  //
      kTool + " proxy --listen 127.0.0.1:0 --upstream 127.0.0.1:$redis --api 127.0.0.1:0 " + flags +
      " > out 2> err & pid=$!\n" +  //
      "until grep -qs http out err; do sleep 0.01; done\n" +
      "at=$(sed -n 's,.*listens at 127.0.0.1:\\([0-9]*\\) for.*,\\1,p' out err)\n" +
      "api=$(sed -n 's,.*http://\\([0-9.:]*\\);.*,\\1,p' out err)\n" +
      "as() { name=$1; shift; printf 'AUTH hunter2\\nCLIENT SETNAME %s\\n%s\\n' $name \"$*\" | "
      "redis-cli -p $at | tail -1; }\n" +
      then + "\nkill $pid 2>/dev/null; wait $pid 2>/dev/null; kill $server; wait $server 2>/dev/null; true");
}

const std::string kFollow = kTool + " check rec.jsonl --follow --ascii > verdict 2> told";

TEST(ProxyRecord, ADoubleGrantIsFoundWhileTheProxyRuns) {
  const Ran ran = beside_a_proxy(
      "--record rec.jsonl",
      kFollow + " & check=$!\n" +
          "as alice SET stock token-a NX PX 60000; as bob SET stock token-b NX PX 60000\n" +
          "redis-cli -a hunter2 --no-auth-warning -p $redis FLUSHALL\n"  // nobody who watches sees that
          "as bob SET stock token-b NX PX 60000\n" +
          "wait $check; echo the check $?; kill -0 $pid && echo the proxy runs; cat verdict");
  EXPECT_TRUE(ran.says("the check 1\nthe proxy runs\n")) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("FAIL lease-exclusion")) << ran.out;
  EXPECT_TRUE(ran.says("stock was granted to bob")) << ran.out;
  EXPECT_TRUE(ran.says("followed until the first violation")) << ran.out;
}

TEST(ProxyRecord, ARunThatIsCleanPassesWhenTheProxyEnds) {
  const Ran ran = beside_a_proxy(
      "--record rec.jsonl",
      kFollow + " & check=$!\n" +
          "for i in 1 2 3 4 5; do as alice SET stock token-$i NX PX 60000; as alice DEL stock; done\n" +
          "as bob SET stock token-b NX PX 60000; as alice SET stock token-a NX PX 60000\n" +
          "kill $pid; wait $check; echo the check $?; cat verdict out; cat rec.jsonl");
  EXPECT_TRUE(ran.says("the check 0\n")) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("followed until its writer ended")) << ran.out;
  EXPECT_TRUE(ran.says("6 claims, no two overlap")) << ran.out;
  EXPECT_TRUE(ran.says("recorded    rec.jsonl: ")) << ran.out;
}

TEST(ProxyRecord, AWriterThatIsKilledIsFollowedToItsLastLine) {
  const Ran ran = beside_a_proxy(
      "--record rec.jsonl", "as alice SET stock token-a NX PX 60000\n" + kFollow +
                                " & check=$!\nkill -KILL $pid; wait $check; echo the check $?; cat verdict");
  EXPECT_TRUE(ran.says("the check 0\n")) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("followed until its writer was gone, which did not say that it ended")) << ran.out;
}

// Also where it comes before the first line was read. (The shell's child catches the signal, too, until it
// has become the command.)
TEST(ProxyRecord, CtrlCTellsWhatWasFound) {
  const Ran ran = beside_a_proxy(
      "--record rec.jsonl", "as alice SET stock token-a NX PX 60000\n" + kFollow +
                                " & check=$!\nuntil grep -q '^holdfast' /proc/$check/comm && "
                                "grep -q 'SigCgt:.*[2367abef]$' /proc/$check/status; do sleep 0.01; done\n" +
                                "kill -INT $check; wait $check; echo the check $?; cat verdict");
  EXPECT_TRUE(ran.says("the check 130\n")) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("followed until Ctrl-C")) << ran.out;
  EXPECT_TRUE(ran.says("ok lease-exclusion")) << ran.out;
}

TEST(ProxyRecord, APipeCarriesItToACheck) {
  const std::string all =
      "mkfifo begin; (" + kTool +
      " redis --port 0 > redis.out & echo $! > server; "
      "until grep -qs listens redis.out; do sleep 0.01; done; echo > begin) & read x < begin\n"
      "redis=$(sed -n 's,.*listens at 127.0.0.1:\\([0-9]*\\).*,\\1,p' redis.out | head -1)\n"
      "(" +
      kTool +
      " proxy --listen 127.0.0.1:0 --upstream 127.0.0.1:$redis --api 127.0.0.1:0 --record - 2> err; "
      "echo the proxy $? > ended) | " +
      kTool +
      " check - --follow --ascii > verdict & both=$!\n"
      "until grep -qs http err; do sleep 0.01; done\n"
      "at=$(sed -n 's,.*listens at 127.0.0.1:\\([0-9]*\\) for.*,\\1,p' err)\n"
      "redis-cli -p $at SET stock a NX PX 60000; redis-cli -p $redis FLUSHALL\n"
      "redis-cli -p $at SET stock b NX PX 60000; until grep -qs FAIL verdict; do sleep 0.01; done\n"
      "until test -e ended; do redis-cli -p $at SET other c NX PX 60000 > more; done\n"
      "wait $both; kill $(cat server); cat verdict ended err";
  const TemporaryFolder folder;
  const Ran ran = run_shell("set -m; cd " + folder.path() + "\n" + all);
  EXPECT_TRUE(ran.says("FAIL lease-exclusion")) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("the proxy 74\n")) << "nobody reads its recording any more: " << ran.out;
  EXPECT_TRUE(ran.says("--record -: cannot be written (Broken pipe)")) << ran.out;
}

// Whatever the proxy prints, writes and answers.
TEST(ProxyRecord, NoPasswordAndNoTokenIsShownAnywhere) {
  const Ran ran = beside_a_proxy("--record rec.jsonl --recogniser set-nx",
                                 "curl -s http://$api/traffic?keys=true > keys0\n"
                                 "as alice SET stock token-a NX PX 60000 > answers\n"
                                 "as bob HELLO 2 AUTH default hunter2 >> answers\n"
                                 "as bob EVAL \\\"return 1\\\" 0 token-a >> answers\n"
                                 "for path in traffic?keys=true metrics proxies version nowhere; do curl -s "
                                 "http://$api/$path; echo; done\n" +
                                     kTool + " proxy top --once --keys --interval 50ms --api $api\n" + kTool +
                                     " proxy top --once --json --keys --interval 50ms --api $api\nkill $pid; "
                                     "wait $pid; cat out err rec.jsonl");
  EXPECT_TRUE(ran.says("stock")) << "names of locks are shown, where they are asked for: " << ran.out;
  EXPECT_TRUE(ran.says("held by alice")) << ran.out;
  EXPECT_TRUE(ran.says("\"key\":\"stock\",\"id\":\"alice-1\"")) << ran.out;
  for (const char* secret : {"hunter2", "token-a"})
    EXPECT_FALSE(ran.says(secret)) << secret << "\n" << ran.out;
}

TEST(ProxyRecord, TwoDoNotRecordInOneFile) {
  const Ran ran = beside_a_proxy("--record rec.jsonl",
                                 kTool +
                                     " proxy --api 127.0.0.1:0 --record rec.jsonl; echo the other $?; "
                                     "head -c 400 rec.jsonl");
  EXPECT_TRUE(ran.says("the other 74")) << ran.out;
  EXPECT_NE(ran.err.find("another process records there"), std::string::npos) << ran.err;
  EXPECT_TRUE(ran.says("recording.begun")) << "the first one's file is as it was: " << ran.out;
}

TEST(ProxyRecord, ARecogniserOfOnesOwn) {
  const Ran ran = beside_a_proxy(
      "",
      "cat > own.toml <<'END'\nname = \"own\"\nabout = \"counts\"\n[[pattern]]\ndoes = \"acquire\"\n"
      "command = \"INCR $key\"\nlease = \"1h\"\ndone = [\"1\"]\nrefused = [\"number\"]\nEND\n" +
          kTool +
          " proxy --listen 127.0.0.1:0 --upstream 127.0.0.1:$redis --api 127.0.0.1:0 --recogniser own.toml > "
          "out2 "
          "& other=$!\nuntil grep -qs http out2; do sleep 0.01; done\n"
          "at=$(sed -n 's,.*listens at 127.0.0.1:\\([0-9]*\\) for.*,\\1,p' out2)\n"
          "api2=$(sed -n 's,.*http://\\([0-9.:]*\\);.*,\\1,p' out2)\n"
          "as alice INCR turnstile; curl -s http://$api2/traffic; kill $other; wait $other");
  EXPECT_TRUE(ran.says("\"key\":\"turnstile\"")) << ran.out << ran.err;
  const auto refused = [](const std::string& flags, const std::string& why) {
    const Ran other = holdfast("proxy " + flags);
    EXPECT_EQ(other.exit, 64) << flags;
    EXPECT_NE(other.err.find(why), std::string::npos) << other.err;
  };
  refused("--recogniser set-nxx", "unknown recogniser `set-nxx`, expected ");
  refused("--recogniser none.toml", "this file cannot be opened");
}

TEST(ProxyTop, ShowsWhatGoesThroughARunningProxy) {
  const Ran ran =
      beside_a_proxy("", "(while test ! -e enough; do as worker PING > /dev/null; done) & load=$!\n" + kTool +
                             " proxy top --once --interval 300ms --api $api; echo top $?\n" + kTool +
                             " proxy top --json --interval 100ms --api $api > lines & top=$!\n"
                             "until grep -q commands_per_second lines; do sleep 0.01; done; kill -INT $top; "
                             "wait $top; echo lines $?\n"
                             "touch enough; wait $load; grep -m1 commands_per_second lines");
  EXPECT_TRUE(ran.says("top 0\n")) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("lines 130\n")) << ran.out;
  EXPECT_TRUE(ran.says("proxy redis  127.0.0.1:")) << ran.out;
  EXPECT_TRUE(ran.says("worker ")) << ran.out;
  EXPECT_TRUE(ran.says("\"commands_per_second\":")) << ran.out;
  EXPECT_FALSE(ran.says("\x1b")) << "no steering of a terminal where there is none";
}

TEST(ProxyTop, SaysThatNoProxyAnswers) {
  Ran ran = holdfast("proxy top --api 127.0.0.1:1");
  EXPECT_EQ(ran.exit, 69);
  EXPECT_NE(
      ran.err.find("proxy top: http://127.0.0.1:1: nothing listens there, expected the API of a `holdfast "
                   "proxy`"),
      std::string::npos)
      << ran.err;
  ran = beside_a_proxy("", kTool + " proxy top --once --api 127.0.0.1:$redis; echo top $?");
  EXPECT_TRUE(ran.says("top 69")) << "a Redis is no proxy: " << ran.out << ran.err;
  ran = beside_a_proxy("", kTool +
                               " proxy top --interval 20ms --api $api > lines & top=$!\n"
                               "until test -s lines; do sleep 0.01; done; kill $pid; wait $pid; wait $top; "
                               "echo top $?");
  EXPECT_TRUE(ran.says("top 69")) << ran.out;
  EXPECT_NE(ran.err.find("no proxy answers there any more"), std::string::npos) << ran.err;
}

TEST(ProxyTop, ItsFlagsAreItsOwn) {
  const auto refused = [](const std::string& arguments, const std::string& why) {
    const Ran ran = holdfast(arguments);
    EXPECT_EQ(ran.exit, 64) << arguments;
    EXPECT_EQ(ran.err, "holdfast: " + why + "\n");
  };
  refused("proxy --once", "proxy: --once is a flag of `holdfast proxy top`");
  refused("proxy top --record x", "proxy: --record is no flag of `holdfast proxy top`");
  refused("proxy top --interval soon",
          "proxy: --interval: `soon`, expected a time from 10ms to 24h, such as 1s");
  refused("check --follow a b", "a: no such file");
}

}  // namespace
}  // namespace holdfast::tools
