#include "lib/lock/store/replica_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast {
namespace {

using Names = std::vector<std::string>;

MonotonicTime at(int seconds) { return MonotonicTime(std::chrono::seconds(seconds)); }

std::vector<FollowingReplica> replicas(const Names& names) {
  std::vector<FollowingReplica> all;
  for (const std::string& name : names) all.push_back({.address = name, .online = true});
  return all;
}

// What it says after looks at one primary.
struct Watched {
  void saw(std::int64_t joined, const Names& names, int second) {
    watch.saw({"one", joined}, replicas(names), at(second), at(second));
  }
  Names since(std::int64_t joined, int second) const { return watch.followed({"one", joined}, at(second)); }
  ReplicaWatch watch;
};

TEST(ReplicaWatch, WhoIsThereWhenNobodyJoinsStayed) {
  Watched of;
  of.saw(2, {"a:1", "b:1"}, 5);
  of.saw(2, {"a:1", "b:1"}, 9);
  EXPECT_EQ(of.since(2, 5), (Names{"a:1", "b:1"}));
  EXPECT_EQ(of.since(2, 4), Names{}) << "nobody looked before";
  EXPECT_EQ(of.watch.followed_the_last(at(5)), 2u);
}

TEST(ReplicaWatch, WhoJoinsIsYoungAndTheOthersStayOld) {
  Watched of;
  of.saw(1, {"a:1"}, 5);
  of.saw(2, {"a:1", "b:1"}, 9);
  EXPECT_EQ(of.since(2, 8), Names{"a:1"});
  EXPECT_EQ(of.since(2, 9), (Names{"a:1", "b:1"}));
}

// One left, and came back: the joins are more than those whom nobody had seen before.
TEST(ReplicaWatch, WhoMayHaveBeenAwayIsYoung) {
  Watched back, one_of_two;
  back.saw(2, {"a:1", "b:1"}, 5);
  back.saw(3, {"a:1", "b:1"}, 9);
  EXPECT_EQ(back.since(3, 8), Names{});
  one_of_two.saw(1, {"a:1"}, 5);
  one_of_two.saw(3, {"a:1", "b:1"}, 9);
  EXPECT_EQ(one_of_two.since(3, 8), Names{});
}

TEST(ReplicaWatch, FromWhenOnAMajorityWasThere) {
  Watched of;
  EXPECT_EQ(of.watch.so_many_since(1), kNever);
  of.saw(1, {"a:1"}, 5);
  of.saw(2, {"a:1", "b:1"}, 9);
  of.saw(3, {"a:1", "b:1", "c:1"}, 7);
  EXPECT_EQ(of.watch.so_many_since(1), at(5));
  EXPECT_EQ(of.watch.so_many_since(2), at(7));
  EXPECT_EQ(of.watch.so_many_since(3), at(9));
  EXPECT_EQ(of.watch.so_many_since(4), kNever);
}

TEST(ReplicaWatch, WhoLeftIsForgotten) {
  Watched of;
  of.saw(2, {"a:1", "b:1"}, 5);
  of.saw(2, {"a:1"}, 6);
  of.saw(3, {"a:1", "b:1"}, 9);
  EXPECT_EQ(of.since(3, 8), Names{"a:1"});
}

TEST(ReplicaWatch, AnotherPrimaryBeginsAnew) {
  Watched of;
  of.saw(2, {"a:1", "b:1"}, 5);
  of.watch.saw({"two", 2}, replicas({"a:1", "b:1"}), at(9), at(9));
  EXPECT_EQ(of.since(2, 9), Names{});
  EXPECT_EQ(of.watch.followed({"two", 2}, at(8)), Names{});
  EXPECT_EQ(of.watch.followed({"two", 2}, at(9)), (Names{"a:1", "b:1"}));
  of.saw(2, {"a:1", "b:1"}, 10);
  EXPECT_EQ(of.since(2, 9), Names{}) << "nobody has watched the first one meanwhile";
}

TEST(ReplicaWatch, AnEarlierLookThatIsToldLateChangesNothing) {
  Watched of;
  of.saw(2, {"a:1", "b:1"}, 5);
  of.watch.saw({"one", 1}, replicas({"a:1"}), at(4), at(6));
  EXPECT_EQ(of.since(2, 5), (Names{"a:1", "b:1"}));
  EXPECT_EQ(of.since(1, 9), Names{}) << "it was another stint";
}

// CONFIG RESETSTAT: it is watched anew, and not for ever taken for what it was.
TEST(ReplicaWatch, ACountThatBeginsAnewBeginsAnotherStint) {
  Watched of;
  of.saw(2, {"a:1", "b:1"}, 5);
  of.saw(0, {"a:1", "b:1"}, 6);
  EXPECT_EQ(of.since(0, 5), Names{});
  EXPECT_EQ(of.since(0, 6), (Names{"a:1", "b:1"}));
}

// A link that is dead and its successor: which of them has acknowledged cannot be told.
TEST(ReplicaWatch, WhoIsThereTwiceDoesNotCount) {
  Watched of;
  of.saw(2, {"a:1", "b:1"}, 5);
  of.saw(3, {"a:1", "b:1", "b:1"}, 6);
  EXPECT_EQ(of.since(3, 9), Names{"a:1"});
  EXPECT_EQ(of.since(3, 5), Names{}) << "nor who joined";
  of.saw(3, {"a:1", "b:1"}, 7);
  EXPECT_EQ(of.since(3, 6), Names{"a:1"});
}

TEST(ReplicaWatch, ReadsWhatInfoSays) {
  const std::string info =
      "# Replication\r\nrole:master\r\nconnected_slaves:2\r\n"
      "slave0:ip=127.0.0.1,port=7001,state=online,offset=1234,lag=0\r\n"
      "slave1:ip=::1,port=7002,state=wait_bgsave,offset=0,lag=3\r\n"
      "master_replid:0f\r\nmaster_repl_offset:1250\r\n";
  const std::vector<FollowingReplica> found = replicas_in(info);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].address, "127.0.0.1:7001");
  EXPECT_TRUE(found[0].online);
  EXPECT_EQ(found[0].offset, 1234);
  EXPECT_EQ(found[1].address, "::1:7002");
  EXPECT_FALSE(found[1].online);
  EXPECT_EQ(info_value(info, "master_repl_offset"), "1250");
  EXPECT_EQ(info_value(info, "repl_offset"), "") << "the end of another name";
  EXPECT_EQ(info_value(info, "slave2"), "");
}

}  // namespace
}  // namespace holdfast
