// What the proof of the survivor rests on (tools/model/README.md, "Assumptions"), as a property: whatever
// happens to the roles of four servers, real Redis keeps the rules, and the embedded one says the same of it
// field by field. Real Redis is the oracle.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/cluster/testing/role_rules.h"
#include "sim/cluster/testing/role_story.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

std::string show(const RoleStory& story, const RoleReport& report) {
  std::string text;
  for (const std::string& rule : report.broken) text += rule + "\n";
  for (std::size_t i = 0; i < report.seen.size(); ++i) {
    text += (i == 0 ? "at first" : std::to_string(i) + ". " + to_text(story[i - 1])) + report.seen[i] + "\n";
  }
  return text;
}

void compare(const RoleStory& story, const std::string& where) {
  const RoleReport real = play_role_story(/*embedded=*/false, story);
  EXPECT_TRUE(real.broken.empty()) << where << ", real servers\n" << show(story, real);
  const RoleReport ours = play_role_story(/*embedded=*/true, story);
  EXPECT_TRUE(ours.broken.empty()) << where << ", embedded servers\n" << show(story, ours);
  EXPECT_EQ(role_difference(story, ours, real), "") << where;
}
void compare(std::uint64_t seed, std::size_t events) {
  compare(draw_role_story(seed, events), "seed " + std::to_string(seed));
}

TEST(RoleStories, EmbeddedServersKeepTheRules) {
  for (std::uint64_t seed = 1000; seed < 1050; ++seed) {
    const RoleStory story = draw_role_story(seed, 20);
    const RoleReport ours = play_role_story(/*embedded=*/true, story);
    ASSERT_TRUE(ours.broken.empty()) << "seed " << seed << "\n" << show(story, ours);
    ASSERT_EQ(ours.seen.size(), story.size() + 1);
  }
}

// What the embedded servers had otherwise than real ones, when stories were first drawn.
TEST(RoleStories, WhatWasFoundBefore) {
  using enum RoleEventKind;
  // A primary that is demoted keeps its replica until it follows; nobody has a backlog for having tried to.
  compare({{follow, 1, 0},
           {crash, 2},
           {follow, 0, 2},
           {restart_empty, 2},
           {crash, 2},
           {follow, 3, 2},
           {promote, 3},
           {follow, 1, 3}},
          "demoted");
  // A promotion, and a second one, drop replicas; one of a primary changes nothing.
  compare({{follow, 1, 0}, {follow, 2, 1}, {promote, 1}, {follow, 1, 0}, {promote, 1}, {promote, 1}},
          "promoted");
  // A dump knows its place in the stream; a replica that turns to another one knows the stream's database.
  compare({{follow, 1, 0},
           {follow, 2, 1},
           {follow, 2, 0},
           {save, 1},
           {crash, 1},
           {restart_saved, 1},
           {save, 0},
           {crash, 0},
           {restart_saved, 0},
           {crash, 1},
           {crash, 2},
           {flush, 0},
           {crash, 0},
           {restart_saved, 0},
           {restart_empty, 1}},
          "dumps");
}

TEST(RoleStories, TheFirstDifferenceIsTold) {
  const RoleStory story = {{RoleEventKind::save, 0}, {RoleEventKind::flush, 0}};
  const RoleReport real{.seen = {"\n a", "\n b", "\n c"}, .broken = {}};
  EXPECT_EQ(role_difference(story, real, real), "");
  RoleReport ours = real;
  ours.seen[1] = "\n x";
  EXPECT_EQ(role_difference(story, ours, real), "1. save r1\nembedded:\n x\nreal:\n b");
  ours.seen = {"\n a", "\n b"};
  EXPECT_EQ(role_difference(story, ours, real), "1. save r1\n2. flush r1\nembedded: nothing\nreal:\n c");
}

class DrawnRoleStories : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(DrawnRoleStories, AreTheSameOnRealServers) { compare(GetParam(), 10); }
INSTANTIATE_TEST_SUITE_P(Seeds, DrawnRoleStories, ::testing::Values(1, 2, 3, 4));

TEST(LongRoleStories, AreTheSameOnRealServers) {
  for (std::uint64_t seed = 2000; seed < 2100 && !testing::Test::HasFailure(); ++seed) compare(seed, 30);
}

// --- the rules notice what is wrong --------------------------------------------------------------------

// r1 with its replica r2, as they are a second after r2 has joined; then `event`, and what is seen after it.
struct RulesOfAPair {
  static constexpr MonotonicTime kBegun{1h};

  RulesOfAPair() {
    roles.nodes[1].follows = 0;
    roles.nodes[2].running = roles.nodes[3].running = false;
    look[0] = {.running = true,
               .primary = true,
               .incarnation = 1,
               .id = "a",
               .second_id = "",
               .full = 1,
               .replicas = {"r2"},
               .links = {{.id = 7, .age_s = 1}},
               .listed_from = kBegun + 1s,
               .listed_until = kBegun + 1s,
               .bare_wait = 1,
               .wait = 1,
               .first = "quarantine",
               .later = "granted",
               .other = "OTHERCONSTANTS"};
    look[1] = {
        .running = true, .incarnation = 1, .up = true, .id = "a", .second_id = "", .first = "READONLY"};
    rules.emplace(roles, look, kBegun);
    look[0].first = "granted";
    look[0].listed_from = look[0].listed_until = kBegun + 2s;
  }
  std::string after(const RoleEvent& event) {
    if (roles.can(event)) roles.apply(event);
    rules->saw(event, roles, look, kBegun + 1500ms);
    return rules->broken().empty() ? "" : rules->broken().front();
  }
  // r2 is promoted; it follows r1 no more.
  void promote(const std::string& id) {
    look[1].primary = true;
    look[1].id = id;
    look[1].bare_wait = look[1].wait = 0;
    look[1].first = "quarantine";
    look[1].later = "granted";
    look[1].other = "OTHERCONSTANTS";
    look[0].replicas.clear();
    look[0].links.clear();
    look[0].bare_wait = look[0].wait = 0;
  }

  Roles roles;
  RoleLook look{};
  std::optional<RoleRules> rules;
};

constexpr RoleEvent kPromote{RoleEventKind::promote, 1}, kSave{RoleEventKind::save, 0};

TEST(RoleRules, WhatIsAsItShouldBe) {
  EXPECT_EQ(RulesOfAPair().after(kSave), "");
  RulesOfAPair pair;
  pair.promote("b");
  EXPECT_EQ(pair.after(kPromote), "");
}

TEST(RoleRules, AnIdThatWasThereBefore) {
  RulesOfAPair pair;
  pair.promote("a");
  EXPECT_EQ(pair.after(kPromote),
            "event 1, promote r2: r2 is new as a primary, with a replication ID that was there before");
}

TEST(RoleRules, AnIdThatChangesForNoReason) {
  RulesOfAPair pair;
  pair.look[0].id = pair.look[1].id = "b";
  pair.look[0].first = "quarantine";
  EXPECT_EQ(pair.after(kSave),
            "event 1, save r1: r1 has another replication ID, and is neither new nor has its first replica");
}

TEST(RoleRules, ALinkThatOutlivesAPromotion) {
  RulesOfAPair pair;
  pair.roles.nodes[2] = {.running = true, .follows = 1};
  pair.look[2] = pair.look[1];
  pair.look[1].replicas = {"r3"};
  pair.look[1].links = {{.id = 3, .age_s = 1}};
  pair.look[1].full = 1;
  pair.look[1].listed_from = pair.look[1].listed_until = RulesOfAPair::kBegun + 2s;
  ASSERT_EQ(pair.after(kSave), "");
  pair.promote("b");
  pair.look[1].bare_wait = pair.look[1].wait = 1;
  pair.look[2].id = "b";
  EXPECT_EQ(pair.after(kPromote),
            "event 2, promote r2: r2 has changed its role and kept the link of a replica");
}

TEST(RoleRules, AJoinThatIsNotCounted) {
  RulesOfAPair pair;
  pair.look[0].links = {{.id = 8, .age_s = 0}};
  EXPECT_EQ(pair.after({RoleEventKind::break_link, 1}),
            "event 1, break link of r2: r1 has 1 new links, and its count of joins went from 1 to 1");
}

TEST(RoleRules, AReplicaWithAnIdOfItsOwn) {
  RulesOfAPair pair;
  pair.look[1].id = "b";
  EXPECT_EQ(pair.after(kSave), "event 1, save r1: r2 follows r1 and shows another replication ID");
}

TEST(RoleRules, AnAgeThatDoesNotBeginAtTheJoin) {
  RulesOfAPair pair;
  pair.look[0].links = {{.id = 8, .age_s = 2}};  // half a second old
  pair.look[0].partial = 1;
  EXPECT_EQ(pair.after({RoleEventKind::break_link, 1}),
            "event 1, break link of r2: r1 says that a link is 2 s old, and it is 0 to 500 ms");
}

TEST(RoleRules, WaitThatCountsOthers) {
  RulesOfAPair bare, after_a_write;
  bare.look[0].bare_wait = 0;
  EXPECT_EQ(bare.after(kSave),
            "event 1, save r1: r1 has 1 replicas, and WAIT without a command before it says 0");
  after_a_write.look[0].wait = 2;
  EXPECT_EQ(after_a_write.after(kSave), "event 1, save r1: r1 has 1 replicas, and WAIT after a write says 2");
}

TEST(RoleRules, AGuardThatTrustsTooMuch) {
  RulesOfAPair promoted, emptied, quarantined;
  promoted.promote("b");
  promoted.look[1].first = "granted";
  EXPECT_EQ(promoted.after(kPromote),
            "event 1, promote r2: r2 has not granted in this role, and the guard says granted");
  EXPECT_EQ(emptied.after({RoleEventKind::flush, 0}),
            "event 1, flush r1: r1 has not granted in this role, and the guard says granted");
  quarantined.look[0].first = "quarantine";
  EXPECT_EQ(quarantined.after(kSave),
            "event 1, save r1: r1 is as it was when it granted, and the guard says quarantine");
}

TEST(RoleRules, AStrangerAndOtherConstants) {
  RulesOfAPair stranger, constants;
  stranger.look[0].replicas = {"r4"};
  EXPECT_EQ(stranger.after(kSave),
            "event 1, save r1: r1 is followed by a stranger, and the guard says granted, OTHERCONSTANTS");
  constants.look[0].other = "granted";
  EXPECT_EQ(constants.after(kSave),
            "event 1, save r1: r1 was asked with other constants, and the guard says granted");
}

}  // namespace
}  // namespace holdfast::sim
