// The tree of an exploration: all that was run is in it, where it departs and how it ended; of a large one
// the way to the broken promise first.
#include "sim/explore/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "lib/testing/folders.h"
#include "sim/hunt/ground.h"

namespace holdfast::sim {
namespace {

using Branch = ExploreTree::Branch;

struct Explored {
  ExploreOptions options;
  Lineage lineage;
  ExploreState state;
};

void explore_file(const std::string& file, Explored& explored) {
  explored.options.ground = ground_of_file(testing::source_path("scenarios/explore/" + file + ".toml"));
  explored.options.lineage = &explored.lineage;
  explored.state = explore(explored.options);
}

std::size_t branches(const ExploreTree& tree, Branch which) {
  std::size_t count = 0;
  for (const ExploreTree::Run& run : tree.runs) {
    for (const ExploreTree::Decision& decision : run.decisions)
      count +=
          static_cast<std::size_t>(std::count(decision.branches.begin(), decision.branches.end(), which));
  }
  return count;
}

TEST(ExploreTree, HasEachRunWhereItDeparts) {
  Explored explored;
  explored.options.deviations = 1;
  explored.options.twice = false;
  explore_file("fair", explored);
  ASSERT_TRUE(explored.state.search.complete);
  const ExploreTree tree = tree_of(explored.options, explored.state, explored.lineage);
  const std::uint64_t runs = explored.state.search.runs;
  ASSERT_EQ(tree.runs.size(), runs);
  EXPECT_EQ(tree.explored, runs);
  EXPECT_EQ(tree.runs.front().below, runs - 1);
  EXPECT_EQ(branches(tree, Branch::run), runs - 1) << "each but the first departs somewhere";
  EXPECT_GT(branches(tree, Branch::apart), 0u);
  EXPECT_GT(branches(tree, Branch::beyond), runs);
  EXPECT_EQ(branches(tree, Branch::ended) + branches(tree, Branch::cut), 0u);
  std::uint64_t joined = 0;
  std::int64_t before = INT64_MIN;  // what is set up comes before the first event
  for (const ExploreTree::Decision& decision : tree.runs.front().decisions) {
    EXPECT_GE(decision.what.at_ns, before);
    before = decision.what.at_ns;
    EXPECT_FALSE(decision.branches.empty());
    const std::size_t choices = decision.branches.size() + 1;
    const std::size_t told = decision.what.kind == Noted::Kind::order  ? decision.what.tasks.size()
                             : decision.what.kind == Noted::Kind::time ? decision.what.values.size()
                                                                       : 2;
    EXPECT_EQ(told, choices);
  }
  EXPECT_GT(before, 0);
  for (const ExploreTree::Run& run : tree.runs) {
    EXPECT_TRUE(run.open);
    EXPECT_EQ(run.end == Lineage::End::broke, false);
    const std::size_t first = run.number == 1 ? 0 : run.last.point + 1;
    EXPECT_EQ(first + run.decisions.size(), run.points) << run.number;
    if (run.number == 1) continue;
    EXPECT_LT(tree.runs[run.parent].number, run.number);
    EXPECT_EQ(tree.runs[run.parent].decisions[run.last.point].branches[run.last.choice - 1], Branch::run);
    if (run.end != Lineage::End::joined) continue;
    ++joined;
    EXPECT_LT(run.same_as, run.number);
  }
  EXPECT_EQ(joined, explored.state.search.joined);
}

TEST(ExploreTree, OfALargeOneTheWayToTheBrokenPromise) {
  Explored explored;
  explore_file("failover", explored);
  ASSERT_TRUE(explored.state.violation);
  const std::uint64_t runs = explored.state.search.runs;
  ASSERT_GT(runs, 20u);
  const ExploreTree tree = tree_of(explored.options, explored.state, explored.lineage,
                                   {.most_open = 2, .most_runs = 10, .wanted = {7}});
  ASSERT_EQ(tree.runs.size(), 10u);
  EXPECT_EQ(tree.explored, runs);
  EXPECT_EQ(tree.opened, 2u);
  const auto broken = std::find_if(tree.runs.begin(), tree.runs.end(), [](const ExploreTree::Run& run) {
    return run.end == Lineage::End::broke;
  });
  ASSERT_NE(broken, tree.runs.end());
  EXPECT_TRUE(broken->open);
  EXPECT_EQ(broken->number, runs) << "there it ended";
  const ExploreTree::Run& parent = tree.runs[broken->parent];
  const Noted& departure = parent.decisions[broken->last.point].what;
  const Otherwise& otherwise = explored.state.violation->otherwise.front();
  EXPECT_EQ(departure.stream, otherwise.stream);
  EXPECT_EQ(departure.number, otherwise.number);
  EXPECT_EQ(departure.values[broken->last.choice], otherwise.value);
  EXPECT_GT(branches(tree, Branch::cut), 0u);
  EXPECT_EQ(branches(tree, Branch::run), 9u);
  EXPECT_EQ(tree.runs.front().broke_below, 1u);
}

TEST(ExploreTree, ARunOfItGoesThisWayByItself) {
  Explored explored;
  explore_file("failover", explored);
  ASSERT_TRUE(explored.state.violation);
  const HuntCase broken = explored_run(explored.options, explored.lineage, explored.state.search.runs);
  EXPECT_EQ(broken.changes, explored.state.violation->one.changes);
  EXPECT_TRUE(try_case(broken).shows(explored.state.violation->failure.promise()));
  EXPECT_TRUE(try_case(explored_run(explored.options, explored.lineage, 1)).failures.empty());
}

}  // namespace
}  // namespace holdfast::sim
