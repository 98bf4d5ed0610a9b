// The search: each way within the bound once, those with fewer deviations first.
#include "sim/explore/search.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace holdfast::sim {
namespace {

// A program: what it is asked next depends on all answers so far, as in a real run.
struct Tree {
  std::uint64_t seed = 0;
  // 0: the run ends here.
  std::uint32_t choices(const std::vector<std::uint32_t>& answers) const {
    if (answers.size() >= 6) return 0;
    std::uint64_t hash = (seed + 1) * 0xbf58476d1ce4e5b9u;
    for (const std::uint32_t answer : answers) hash = (hash ^ (answer + 1)) * 0x9e3779b97f4a7c15u;
    const std::uint64_t kind = (hash >> 40) % 5;
    return kind == 0 ? 0 : static_cast<std::uint32_t>(2 + kind % 3);
  }
  std::vector<std::uint32_t> run(Chooser& chooser) const {
    std::vector<std::uint32_t> answers;
    while (const std::uint32_t count = choices(answers)) answers.push_back(chooser.choose(count));
    return answers;
  }
  // All ways with at most that many deviations, without the search.
  void all(std::vector<std::uint32_t> answers, std::uint32_t left,
           std::set<std::vector<std::uint32_t>>& into) const {
    const std::uint32_t count = choices(answers);
    if (count == 0) into.insert(answers);
    for (std::uint32_t choice = 0; choice < count; ++choice) {
      if (choice > 0 && left == 0) break;
      std::vector<std::uint32_t> next = answers;
      next.push_back(choice);
      all(std::move(next), left - (choice > 0 ? 1 : 0), into);
    }
  }
};

std::vector<std::vector<std::uint32_t>> ways(const Tree& tree, SearchOptions options,
                                             SearchState* state = nullptr) {
  std::vector<std::vector<std::uint32_t>> taken, batch;
  options.run = [&](std::vector<Chooser>& choosers) {
    batch.assign(choosers.size(), {});
    for (std::size_t i = choosers.size(); i-- > 0;) batch[i] = tree.run(choosers[i]);
  };
  options.take = [&](std::size_t at, const Chooser&) {
    taken.push_back(batch[at]);
    return true;
  };
  const SearchState done = search(options);
  EXPECT_EQ(done.runs, taken.size());
  if (state != nullptr) *state = done;
  return taken;
}

std::ptrdiff_t deviations(const std::vector<std::uint32_t>& answers) {
  return std::count_if(answers.begin(), answers.end(), [](std::uint32_t answer) { return answer > 0; });
}

TEST(Search, GoesEachWayWithinTheBoundOnce) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const Tree tree{seed};
    for (const std::uint32_t bound : {0u, 1u, 2u, 6u}) {
      std::set<std::vector<std::uint32_t>> wanted;
      tree.all({}, bound, wanted);
      SearchState state;
      const auto found = ways(tree, {.deviations = bound}, &state);
      RC_ASSERT(std::set<std::vector<std::uint32_t>>(found.begin(), found.end()) == wanted);
      RC_ASSERT(found.size() == wanted.size());  // none twice
      RC_ASSERT(state.complete);
      RC_ASSERT(std::is_sorted(found.begin(), found.end(),
                               [](const auto& a, const auto& b) { return deviations(a) < deviations(b); }));
    }
  }));
}

TEST(Search, AMostOfRunsIsNotComplete) {
  Tree tree{7};
  while (ways(tree, {.deviations = 3}).size() < 30) ++tree.seed;
  const auto all = ways(tree, {.deviations = 3});
  ASSERT_GT(all.size(), 20u);
  SearchState state;
  const auto some = ways(tree, {.deviations = 3, .most_runs = 20}, &state);
  EXPECT_EQ(some.size(), 20u);
  EXPECT_FALSE(state.complete);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
  EXPECT_GT(state.left, 0u);
  EXPECT_LE(state.runs + state.left, all.size()) << "those that nobody knows of yet are not counted";
  ways(tree, {.deviations = 3, .most_runs = all.size() - 2}, &state);
  EXPECT_EQ(state.left, 2u);
  ways(tree, {.deviations = 3, .most_runs = all.size()}, &state);
  EXPECT_TRUE(state.complete);
  EXPECT_EQ(state.left, 0u);
}

TEST(Search, EndsWhereItIsTold) {
  std::uint64_t runs = 0;
  SearchOptions options{.deviations = 4};
  options.run = [](std::vector<Chooser>& choosers) {
    for (Chooser& chooser : choosers) {
      for (int i = 0; i < 10; ++i) chooser.choose(2);
    }
  };
  options.take = [&](std::size_t, const Chooser& chooser) {
    ++runs;
    return chooser.path() != Path{{.point = 3, .choice = 1}, {.point = 8, .choice = 1}};
  };
  const SearchState state = search(options);
  EXPECT_FALSE(state.complete);
  EXPECT_EQ(state.deviations, 2u);
  EXPECT_EQ(state.runs, runs);
  EXPECT_EQ(state.least_points, 10u);
  EXPECT_EQ(state.most_points, 10u);
}

}  // namespace
}  // namespace holdfast::sim
