// Lineage: which run a run comes from, and from where on it goes as another one.
#include "sim/explore/lineage.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::sim {
namespace {

using End = Lineage::End;

// A program of three decisions. After the first, choices 1 and 2 come to the same state; before the last, all
// do.
void run(Chooser& chooser) {
  chooser.moment(1);
  const bool usual = chooser.choose(3) == 0;
  if (!chooser.moment(usual ? 2 : 3)) return;
  chooser.choose(2);
  if (!chooser.moment(4)) return;
  chooser.choose(2);
}

TEST(Lineage, KnowsWhereARunComesFromAndAsWhichItGoesOn) {
  Lineage lineage;
  SearchOptions options{.deviations = kAll};
  options.run = [](std::vector<Chooser>& choosers) {
    for (Chooser& chooser : choosers) run(chooser);
  };
  options.take = [&](std::size_t, const Chooser& chooser) {
    lineage.add(chooser, chooser.path() == Path{{.point = 2, .choice = 1}});
    return true;
  };
  options.gone_into = [&](const Chooser& chooser, std::uint32_t point) { lineage.gone_into(chooser, point); };
  ASSERT_TRUE(search(options).complete);
  const auto& runs = lineage.runs();
  // The usual run; 1 and 2 at the first decision; 1 at the second; 1 at the last; 1 and 1.
  ASSERT_EQ(runs.size(), 6u);
  EXPECT_EQ(runs[0].end, End::kept);
  EXPECT_EQ(runs[0].points, 3u);
  EXPECT_EQ(runs[0].same_from, UINT32_MAX);

  EXPECT_EQ(runs[1].end, End::joined) << "before the last decision it is where the usual run was";
  EXPECT_EQ(runs[1].same_from, 2u);
  EXPECT_EQ(runs[1].same_as, 0u);
  EXPECT_EQ(runs[2].end, End::joined);
  EXPECT_EQ(runs[2].same_from, 1u) << "the run before it was there first, in the same batch";
  EXPECT_EQ(runs[2].same_as, 1u);

  EXPECT_EQ(runs[3].end, End::joined);
  EXPECT_EQ(runs[4].end, End::broke);
  EXPECT_EQ(lineage.path(4), (Path{{.point = 2, .choice = 1}}));
  EXPECT_EQ(runs[5].parent, 1u) << "what may go otherwise from there on is gone into once";
  EXPECT_EQ(lineage.path(5), (Path{{.point = 0, .choice = 1}, {.point = 1, .choice = 1}}));
}

}  // namespace
}  // namespace holdfast::sim
