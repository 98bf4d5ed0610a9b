// What counts as something new: marks, and the kinds of faults beside and before them.
#include "sim/hunt/coverage.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace holdfast::sim {
namespace {

// A fault of that name and kind acts, and is over or not when two marks are hit, its own and another.
std::set<std::uint64_t> marks_beside(const std::string& id, const char* kind, bool over) {
  checker::History history;
  std::int64_t time = 0;
  const auto add = [&](checker::Function f, const std::string& key, std::int64_t acts) {
    checker::Event event;
    event.time_ns = ++time;
    event.f = f;
    event.type = checker::EventType::info;
    event.key = history.intern(key);
    event.value = checker::Value(acts);
    event.error = history.intern(kind);
    history.append(event);
  };
  add(checker::Function::fault, id, 1);
  if (over) add(checker::Function::fault, id, 0);
  add(checker::Function::mark, "fault." + id, 0);
  add(checker::Function::mark, "lock.lost", 0);
  std::set<std::uint64_t> words;
  for (const Feature& feature : features_of(history)) words.insert(feature.hash);
  return words;
}

TEST(HuntCoverage, MarksGoWithKindsOfFaults) {
  const auto beside = marks_beside("f1", "cut", false);
  EXPECT_EQ(beside, marks_beside("f2", "cut", false)) << "a case may call its faults what it likes";
  EXPECT_NE(beside, marks_beside("f1", "stall", false));
  EXPECT_NE(beside, marks_beside("f1", "cut", true)) << "after it is not beside it";
  EXPECT_NE(marks_beside("f1", "cut", true), marks_beside("f1", "stall", true)) << "what was before counts";
}

}  // namespace
}  // namespace holdfast::sim
