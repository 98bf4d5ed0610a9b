// Drawn histories with a known verdict, written as files, read again and judged by every engine.
#include "checker/testing/gallery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "checker/testing/draw_history.h"
#include "checker/testing/draw_register.h"
#include "checker/testing/known_verdict.h"

namespace holdfast::checker {
namespace {

std::size_t count(const History& history, EventType type) {
  const auto& events = history.events();
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](const Event& event) { return event.type == type; }));
}

class Gallery : public ::testing::TestWithParam<std::size_t> {
 protected:
  const testing::KnownHistory& known() const { return testing::gallery()[GetParam()]; }
};

TEST_P(Gallery, HasItsVerdictFromEveryEngine) {
  std::istringstream file(testing::text_of(known()));
  Format format{};
  const ReadHistory read = read_history(file, {.keyed = known().verdict.keyed, .used = &format});
  EXPECT_EQ(format, known().format);
  testing::expect_verdict_of_every_engine(read, known().verdict);
}

TEST_P(Gallery, IsAsLargeAsItsNameSays) {
  const auto& [name, format, verdict, history, operations, unknown, failed] = known();
  EXPECT_EQ(count(history, EventType::invoke), operations);
  EXPECT_EQ(count(history, EventType::info), unknown);
  EXPECT_EQ(count(history, EventType::fail), failed);
  EXPECT_EQ(verdict.valid, name.ends_with("_valid"));
  EXPECT_EQ(verdict.index.has_value(), !verdict.valid) << "no place for a violation was found";
}

INSTANTIATE_TEST_SUITE_P(Drawn, Gallery, ::testing::Range<std::size_t>(0, testing::gallery().size()),
                         [](const auto& info) { return testing::gallery()[info.param].name; });

TEST(DrawnHistories, OneSeedGivesOneHistory) {
  const auto mutex = [](std::uint64_t seed) { return to_jsonl(draw_lock_history({.seed = seed}).history); };
  EXPECT_EQ(mutex(5), mutex(5));
  EXPECT_NE(mutex(5), mutex(6));
  const auto reg = [](std::uint64_t seed) {
    return to_jsonl(draw_register_history({.unknown = 0.1, .seed = seed}).history);
  };
  EXPECT_EQ(reg(5), reg(5));
  EXPECT_NE(reg(5), reg(6));
}

// The argument of draw_register.h against the search, on many small histories.
TEST(DrawnHistories, RegistersAreJudgedRight) {
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const bool invalid : {false, true}) {
      const DrawnRegister drawn = draw_register_history({.operations = 40,
                                                         .clients = 4,
                                                         .initial = seed % 2 == 0 ? Value(0) : Value(),
                                                         .unknown = seed % 3 == 0 ? 0.1 : 0,
                                                         .seed = seed,
                                                         .invalid = invalid});
      SCOPED_TRACE(seed);
      ReadHistory read;
      read.history = drawn.history;
      testing::KnownVerdict known{.model = "cas-register", .initial = seed % 2 == 0 ? Value(0) : Value()};
      known.valid = !drawn.violation.has_value();
      if (drawn.violation) known.index = *drawn.violation;
      changed += known.valid ? 0 : 1;
      testing::expect_verdict_of_every_engine(read, known);
    }
  }
  EXPECT_GT(changed, 40);
}

}  // namespace
}  // namespace holdfast::checker
