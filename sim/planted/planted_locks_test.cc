// Each planted version is found by a hunt; the locks themselves, and the means of planting, are not.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "sim/planted/measure.h"
#include "sim/planted/planted.h"

namespace holdfast::sim {
namespace {

constexpr std::uint64_t kQuick = 2'048;  // runs, at most, of a version that the normal tests look for

const LockKind& kind_of(const PlantedVersion& version) {
  add_planted_kinds();
  return *find_lock_kind("planted-" + std::string(version.name));
}

void expect_found(const PlantedVersion& version, std::uint64_t most) {
  const Search search = search_for(kind_of(version), Strategy::all, 1, most);
  EXPECT_TRUE(search.runs) << version.name << ": " << version.broken << ": not in " << search.tried
                           << " runs";
}

void expect_nothing(const LockKind& kind, std::uint64_t runs) {
  const Search search = search_for(kind, Strategy::all, 1, runs);
  EXPECT_FALSE(search.runs) << kind.name << ": " << search.promise << ": " << search.why;
}

TEST(PlantedLocks, NoListShowsThem) {
  add_planted_kinds();
  std::set<std::string_view> names;
  for (const PlantedVersion& version : planted_versions()) {
    EXPECT_TRUE(names.insert(version.name).second) << version.name;
    EXPECT_TRUE(!version.edits.empty() || version.make || version.make_latches) << version.name;
  }
  EXPECT_GE(names.size(), 60u);
  for (const LockKind& kind : all_lock_kinds()) EXPECT_FALSE(kind.name.starts_with("planted-")) << kind.name;
}

TEST(PlantedLocks, AnEditFitsOnceOrIsAnError) {
  const redis::Script script{"s", "one two two", ""};
  EXPECT_EQ(edited(script, "one", "1"), "1 two two");
  EXPECT_THROW(edited(script, "two", "2"), std::logic_error);
  EXPECT_THROW(edited(script, "three", "3"), std::logic_error);
  EXPECT_THROW(edited(script, "one", "one"), std::logic_error);
}

TEST(PlantedLocks, EveryShippedKindOfRecordHasSome) {
  std::set<std::string_view> bases;
  for (const PlantedVersion& version : planted_versions()) bases.insert(version.base);
  for (const char* const base : {"reentrant", "fenced", "fair", "spin", "read-write", "semaphore",
                                 "permit-semaphore", "count-down-latch", "multi", "redlock", "redisson"})
    EXPECT_TRUE(bases.contains(base)) << base;
}

TEST(PlantedLocks, AHuntFindsThem) {
  for (const PlantedVersion& version : planted_versions()) {
    if (version.escapes.empty() && version.within <= kQuick) expect_found(version, version.within);
  }
}

TEST(PlantedLocks, AHuntFindsNothingWhereNothingIsPlanted) {
  std::set<std::string_view> bases;
  for (const PlantedVersion& version : planted_versions()) bases.insert(version.base);
  for (const std::string_view base : bases) expect_nothing(*find_lock_kind(base), 192);
  for (const PlantedVersion& control : planted_controls()) expect_nothing(kind_of(control), 192);
}

TEST(LongPlantedLocks, AHuntFindsTheRareOnes) {
  for (const PlantedVersion& version : planted_versions()) {
    if (version.escapes.empty() && version.within > kQuick) expect_found(version, version.within);
  }
}

TEST(LongPlantedLocks, AHuntFindsNothingWhereNothingIsPlanted) {
  std::set<std::string_view> bases;
  for (const PlantedVersion& version : planted_versions()) bases.insert(version.base);
  for (const std::string_view base : bases) expect_nothing(*find_lock_kind(base), 10'000);
  for (const PlantedVersion& control : planted_controls()) expect_nothing(kind_of(control), 10'000);
}

}  // namespace
}  // namespace holdfast::sim
