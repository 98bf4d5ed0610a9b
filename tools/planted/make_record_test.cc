// What is hunted for a track record: what it lacks, with the strategies that are asked for.
#include "tools/planted/make_record.h"

#include <gtest/gtest.h>

#include <utility>

#include "lib/testing/server/temporary_folder.h"

namespace holdfast::tools {
namespace {

using sim::Strategy;

TEST(MakeRecord, HuntsWithTheStrategiesThatAreAskedForAndOnlyWhatIsMissing) {
  sim::add_planted_kinds();
  const TemporaryFolder folder;
  MakeRecordOptions options;
  options.path = folder.path() + "/record.json";
  options.hunts = 1;
  options.strategies = {Strategy::all, Strategy::chains};
  options.runs = 64;
  options.whole = options.small = false;
  const std::vector<Subject> subjects = only(planted_subjects(), "planted-fair-newest-first");
  ASSERT_EQ(subjects.size(), 1u);
  const std::string name(subjects[0].kind->name);

  EXPECT_EQ(make_record(subjects, options), 0u);
  const TrackRecord first = TrackRecord::read(options.path);
  EXPECT_EQ(first.hunts().size(), 2u);
  EXPECT_TRUE(first.has(name, Strategy::all, 1, 64, {}));
  EXPECT_TRUE(first.has(name, Strategy::chains, 1, 64, {}));

  options.hunts = 2;
  options.strategies = {Strategy::all};
  EXPECT_EQ(make_record(subjects, options), 0u);
  const TrackRecord second = TrackRecord::read(options.path);
  EXPECT_TRUE(second.has(name, Strategy::all, 2, 64, {}));
  EXPECT_FALSE(second.has(name, Strategy::chains, 2, 64, {}));
  EXPECT_TRUE(second.has(name, Strategy::chains, 1, 64, {})) << "what was there stays";
}

TEST(MakeRecord, RunsWhatIsSmallOnRealServersAsOftenAsIsAskedFor) {
  sim::add_planted_kinds();
  const TemporaryFolder folder;
  MakeRecordOptions options;
  options.path = folder.path() + "/record.json";
  options.hunts = 1;
  options.strategies = {Strategy::all};
  options.runs = 64;
  options.whole = false;
  const std::vector<Subject> subjects = only(planted_subjects(), "planted-fair-newest-first");
  ASSERT_EQ(subjects.size(), 1u);
  const std::string name(subjects[0].kind->name);
  EXPECT_EQ(make_record(subjects, options), 0u);
  const SmallFailure before = TrackRecord::read(options.path).small().at(name);
  EXPECT_FALSE(before.real.has_value());
  options.small = false;
  for (const auto& [asked, runs] : {std::pair{1u, 1u}, std::pair{2u, 2u}, std::pair{1u, 2u}}) {
    options.real = asked;
    EXPECT_EQ(make_record(subjects, options), 0u);
    const SmallFailure after = TrackRecord::read(options.path).small().at(name);
    EXPECT_EQ(after.scenario, before.scenario);
    EXPECT_EQ(after.why_not_real, "");
    ASSERT_TRUE(after.real.has_value());
    EXPECT_EQ(after.real->runs(), runs);
  }
}

}  // namespace
}  // namespace holdfast::tools
