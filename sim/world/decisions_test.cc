// What a run draws: by name, each stream apart, and what differs from what the seed gives.
#include "sim/world/decisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "sim/world/world.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::uint64_t> draws(Rng rng, int count = 4) {
  std::vector<std::uint64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(rng.between(10, 1'000'000));
  return values;
}

TEST(Decisions, WithNothingChangedTheSeedDecides) {
  Decisions plain, kept({}, /*keep=*/true);
  const std::vector<std::uint64_t> wanted = draws(Rng::derive(7, "a"));
  EXPECT_EQ(draws(plain.stream(7, "a")), wanted);
  EXPECT_EQ(draws(kept.stream(7, "a")), wanted) << "keeping moves nothing";
  EXPECT_TRUE(plain.drawn().empty());
}

TEST(Decisions, KeepsWhatWasDrawnByStreamAndNumber) {
  Decisions decisions({}, /*keep=*/true);
  Rng a = decisions.stream(7, "a");
  const std::uint64_t word = a.next(), number = a.between(3, 9);
  const bool happens = a.chance(1, 2);
  Rng below = a.child("b");
  const std::uint64_t other = below.between(0, 5);
  EXPECT_THAT(decisions.drawn(),
              ElementsAre(Pair("a", ElementsAre(Drawn{Drawn::Kind::word, 0, UINT64_MAX, word},
                                                Drawn{Drawn::Kind::number, 3, 9, number},
                                                Drawn{Drawn::Kind::chance, 0, 1, happens ? 1u : 0u})),
                          Pair("a/b", ElementsAre(Drawn{Drawn::Kind::number, 0, 5, other}))));
}

TEST(Decisions, FixingOneLeavesTheOthersAsTheyWere) {
  std::vector<std::uint64_t> wanted = draws(Rng::derive(7, "a"));
  wanted[1] = 12;
  Decisions decisions({.fixed = {{"a", {{1, 12}}}}});
  EXPECT_EQ(draws(decisions.stream(7, "a")), wanted);
  EXPECT_EQ(draws(decisions.stream(7, "b")), draws(Rng::derive(7, "b")));
}

TEST(Decisions, AValueThatCannotBeDrawnBecomesTheNearest) {
  Decisions decisions({.fixed = {{"a", {{0, 3}, {1, 2'000'000}, {2, 7}}}}});
  Rng rng = decisions.stream(7, "a");
  EXPECT_EQ(rng.between(10, 20), 10u);
  EXPECT_EQ(rng.between(10, 20), 20u);
  EXPECT_FALSE(rng.chance(0, 5)) << "what never happens does not happen";
}

TEST(Decisions, AChanceIsFixedAsWhetherItHappens) {
  Decisions decisions({.fixed = {{"a", {{0, 1}, {1, 0}}}}});
  Rng rng = decisions.stream(7, "a");
  EXPECT_TRUE(rng.chance(1, 1'000'000));
  EXPECT_FALSE(rng.chance(999'999, 1'000'000));
}

TEST(Decisions, WhoSteersIsAskedForWhatIsNotFixed) {
  Decisions decisions({.fixed = {{"a", {{1, 4}}}}});
  std::vector<std::string> asked;
  decisions.steer([&](const std::string& stream, std::uint64_t number, const Drawn& drawn) {
    asked.push_back(stream + " " + std::to_string(number) + " of " + std::to_string(drawn.high));
    return std::uint64_t{99};
  });
  Rng rng = decisions.stream(1, "a");
  EXPECT_EQ(rng.between(0, 9), 9u) << "the nearest that can be drawn";
  EXPECT_EQ(rng.between(0, 9), 4u);
  EXPECT_EQ(rng.between(0, 7), 7u);
  EXPECT_EQ(asked, (std::vector<std::string>{"a 0 of 9", "a 2 of 7"}));
}

TEST(Decisions, AChildDependsOnItsNameAndNotOnWhatWasDrawn) {
  Rng a = Rng::derive(7, "a"), later = a;
  later.next();
  EXPECT_EQ(draws(a.child("b")), draws(later.child("b")));
  EXPECT_NE(draws(a.child("b")), draws(a.child("c")));
  Decisions kept({}, /*keep=*/true);
  EXPECT_EQ(draws(kept.stream(7, "a").child("b")), draws(a.child("b"))) << "with a name or without";
}

TEST(Decisions, FromAReseedOnEverythingIsDrawnAnew) {
  std::int64_t now = 0;
  Decisions decisions({.reseeds = {{.at_ns = 100, .seed = 5}, {.at_ns = 200, .seed = 6}}});
  decisions.clock([&] { return now; });
  Rng rng = decisions.stream(7, "a");
  const std::vector<std::uint64_t> first = draws(rng);
  EXPECT_EQ(first, draws(Rng::derive(7, "a")));
  now = 100;
  EXPECT_EQ(draws(rng), draws(Rng::derive(5, "a")));
  EXPECT_EQ(draws(decisions.stream(7, "made later")), draws(Rng::derive(5, "made later")));
  now = 250;
  EXPECT_EQ(draws(rng), draws(Rng::derive(6, "a"))) << "the last one counts";
}

// A world: the same trace again from what it drew, another where one differs.
std::uint64_t trace_of(Decisions& decisions) {
  const auto world =
      make_embedded_world({.seed = 3, .order = {.kind = OrderKind::random}, .decisions = &decisions});
  world->run([&] {
    std::vector<Process*> processes;
    for (const char* const name : {"a", "b", "c"}) {
      Process& process = world->add_process(name);
      process.start("work", [&process, rng = world->rng(name)]() mutable {
        for (int i = 0; i < 5; ++i) process.runtime().sleep_for(rng.chance(1, 2) ? 1ms : 2ms);
      });
    }
    world->harness().runtime().sleep_for(1s);
  });
  return world->trace().digest();
}

TEST(Decisions, AWorldIsReplayedFromThem) {
  Decisions first({}, /*keep=*/true);
  const std::uint64_t trace = trace_of(first);
  Changes changes;
  for (const auto& [stream, drawn] : first.drawn()) {
    for (std::size_t i = 0; i < drawn.size(); ++i) changes.fixed[stream][i] = drawn[i].value;
  }
  ASSERT_TRUE(changes.fixed.contains("order")) << "who goes on is a decision";
  Decisions again(changes);
  EXPECT_EQ(trace_of(again), trace);
  std::uint64_t& one = changes.fixed["a"][2];
  one = 1 - one;
  Decisions other(changes);
  EXPECT_NE(trace_of(other), trace);
}

}  // namespace
}  // namespace holdfast::sim
