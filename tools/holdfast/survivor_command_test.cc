// `holdfast survivor` on three real servers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/holdfast/survivor_survey.h"
#include "tools/holdfast/testing/run_tool.h"
#include "tools/holdfast/testing/survivor_set.h"

namespace holdfast::tools {
namespace {

using namespace std::chrono_literals;

TEST(SurvivorCommand, SetsUpRefusesAndTells) {
  SurvivorSet set(4);
  const std::string init = "survivor init --longest-lease 2s" + set.members();
  const std::string status = "survivor status" + set.members();

  Ran ran = holdfast(init);
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("are primaries: make all but one of them replicas")) << ran.out;
  EXPECT_TRUE(ran.says("nothing was changed")) << ran.out;
  EXPECT_TRUE(set.servers[0]->call({"GET", "holdfast:survivor"}).is_nil());

  set.follow(1, 0);
  set.follow(2, 0);
  set.servers[1]->call({"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"});
  ran = holdfast(init);
  EXPECT_EQ(ran.exit, 1);
  EXPECT_TRUE(ran.says(set.address(1) + " may evict locks: its maxmemory-policy is volatile-ttl")) << ran.out;
  set.servers[1]->call({"CONFIG", "SET", "maxmemory-policy", "noeviction"});

  set.follow(3, 0);
  ran = holdfast(init);
  EXPECT_EQ(ran.exit, 1);
  EXPECT_TRUE(ran.says("has the replica " + set.address(3) + ", which is no member")) << ran.out;
  set.servers[3]->call({"REPLICAOF", "NO", "ONE"});
  while (set.servers[0]->call({"INFO", "replication"}).text.find("slave2:") != std::string::npos) {
    set.runtime.sleep_for(10ms);
  }

  ran = holdfast(status);
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("no mark: `holdfast survivor init` sets it up")) << ran.out;

  ran = holdfast(init);
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("all members have it; the first grant is 2.125s away") ||
              ran.says("all members have it; the first grant is 2125ms away"))
      << ran.out;
  ran = holdfast(init);
  EXPECT_EQ(ran.exit, 0) << ran.out;
  EXPECT_TRUE(ran.says("it was set up before")) << ran.out;

  ran = holdfast(status);
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("longest lease 2s, drift 10000 ppm, skew 100ms")) << ran.out;
  EXPECT_TRUE(ran.says("of its own time as the primary")) << ran.out;
  EXPECT_TRUE(ran.says("as the primary's")) << ran.out;
  EXPECT_TRUE(ran.says("quarantine  ")) << ran.out;

  // What is held is told; what is no lock is not.
  set.servers[0]->call({"SET", "orders", "01234567-89ab-cdef-0123-456789abcdef:7", "PX", "60000"});
  set.servers[0]->call({"SET", "note", "nothing"});
  ran = holdfast(status);
  EXPECT_TRUE(ran.says("held        1\n  orders  by 01234567-89ab-cdef-0123-456789abcdef:7, ")) << ran.out;

  // Other constants only when that is meant.
  const std::string longer = "survivor init --longest-lease 3s" + set.members();
  ran = holdfast(longer);
  EXPECT_EQ(ran.exit, 1) << ran.out;
  EXPECT_TRUE(ran.says("to change them: holdfast survivor init --change")) << ran.out;
  ran = holdfast(longer + " --change");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("longest lease 3s")) << ran.out;
  ran = holdfast(init + " --change");
  EXPECT_EQ(ran.exit, 0) << ran.out;
  EXPECT_TRUE(ran.says("the first grant is 3.135s away") || ran.says("the first grant is 3135ms away"))
      << "as long as the longer one asks for: " << ran.out;

  // The fourth server in the place of the third.
  set.follow(3, 0);
  const std::string others = " --members " + set.address(0) + "," + set.address(1) + "," + set.address(3);
  ran = holdfast("survivor init --longest-lease 2s" + others);
  EXPECT_EQ(ran.exit, 1) << ran.out;
  ran = holdfast("survivor init --change --longest-lease 2s" + others);
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says(set.address(2) + " is no member any more: nothing is granted as long as it follows"))
      << ran.out;
  ran = holdfast("survivor status" + others);
  EXPECT_EQ(ran.exit, 1) << ran.out;
  set.servers[2]->call({"REPLICAOF", "NO", "ONE"});
  while (set.servers[0]->call({"INFO", "replication"}).text.find("slave2:") != std::string::npos) {
    set.runtime.sleep_for(10ms);
  }
  ran = holdfast("survivor status" + others);
  EXPECT_EQ(ran.exit, 0) << ran.out;
  set.follow(2, 0);
  ran = holdfast(init + " --change");
  EXPECT_EQ(ran.exit, 0) << "and back: " << ran.out << ran.err;
  set.servers[3]->call({"REPLICAOF", "NO", "ONE"});

  // A member that has gone elsewhere; how it announces itself there is another question.
  set.follow(2, 3);
  ran = holdfast(status);
  EXPECT_EQ(ran.exit, 1) << ran.out;
  EXPECT_TRUE(ran.says(set.address(2) + " follows " + set.address(3) + ", not " + set.address(0))) << ran.out;
  EXPECT_FALSE(ran.says("announces itself")) << ran.out;

  // A member that is away.
  set.servers[2]->kill();
  ran = holdfast(status);
  EXPECT_EQ(ran.exit, 69) << ran.out;
  EXPECT_TRUE(ran.says(set.address(2) + " cannot be asked: INFO: " + set.address(2) + ": connection refused"))
      << ran.out;

  // A primary that is new in its role says so.
  set.servers[0]->kill();
  set.servers[1]->call({"REPLICAOF", "NO", "ONE"});
  ran = holdfast(status);
  EXPECT_TRUE(ran.says("of an earlier primary: it begins a quarantine")) << ran.out;
  EXPECT_TRUE(ran.says("0 of 2 replicas follow the primary, 1 are needed: nothing is granted")) << ran.out;
}

TEST(SurvivorCommand, SaysWhatIsWrongWithItsFlags) {
  const auto wrong = [](const std::string& arguments, const std::string& why) {
    const Ran ran = holdfast("survivor " + arguments);
    EXPECT_EQ(ran.exit, 64) << arguments << ": " << ran.out;
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
  };
  const std::string three = " --members a:1,b:2,c:3";
  wrong("status", "--members");
  wrong("look" + three, "init");
  wrong("init --members a:1,b,c:3", "the member 'b', expected \"host:port\"");
  wrong("init --members a:1,a:1,c:3", "a:1 is named twice");
  wrong("init --longest-lease soon" + three, "`soon`, expected a time such as 10s");
  wrong("init --longest-lease 100ms --skew 90ms" + three, "more than half of such a lease");
  wrong("init --client-user app" + three,
        "--client-user: no password, expected one in $HOLDFAST_CLIENT_PASSWORD");
  wrong("init --client-user default" + three, "--client-user: `default`, expected another name");
  wrong("status --client-user ops --user ops" + three,
        "--client-user: `ops`, expected another name than --user");
  wrong("status --client-user 'two words'" + three,
        "--client-user: `two words`, expected a name without blanks");
  wrong("status --client-user ''" + three, "expected a name without blanks");
  wrong("init --client-password secret" + three, "--client-password");
  wrong("status --change" + three, "--change is a flag of `holdfast survivor init`");
}

TEST(SurvivorMark, IsReadAsItIsWritten) {
  EXPECT_FALSE(parse_mark(""));
  EXPECT_FALSE(parse_mark("abc"));
  EXPECT_FALSE(parse_mark("abc 12"));
  const auto mark = parse_mark("abc 12 1 2000 10000 100 a:1 b:2 ");
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->replication_id, "abc");
  EXPECT_EQ(mark->quarantine_ends, 12);
  EXPECT_EQ(mark->constants, " 1 2000 10000 100 a:1 b:2 ");
  EXPECT_EQ(members_in(mark->constants), (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(quarantine_in(mark->constants), 2125ms);
  const std::string by_lag = " 1 2000 10000 100 by-lag a:1 b:2 ";
  EXPECT_EQ(members_in(by_lag), members_in(mark->constants));
  EXPECT_EQ(describe_constants(by_lag),
            "longest lease 2s, drift 10000 ppm, skew 100ms, acknowledged by lag, members a:1 b:2");
  EXPECT_EQ(quarantine_in(" 2 2000 10000 100 a:1 "), 0ms);
}

}  // namespace
}  // namespace holdfast::tools
