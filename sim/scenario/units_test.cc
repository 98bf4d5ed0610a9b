#include "sim/scenario/units.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

TEST(Units, DurationsCarryTheirUnit) {
  EXPECT_EQ(parse_duration("1500ms"), 1500ms);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("250us"), 250us);
  EXPECT_EQ(parse_duration("0s"), 0s);
  EXPECT_EQ(parse_duration("-3s"), -3s);
  EXPECT_EQ(parse_duration("2m"), 2min);
  EXPECT_EQ(parse_duration("1h"), 1h);
  for (const char* bad : {"", "5", "s", "5 s", "5sec", "1.s", ".5s", "1.2.3s", "1..2s", "99999999999h",
                          "0.1ns", "--1s", "1e3s"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

TEST(Units, FormatIsReadBack) {
  for (const char* text : {"0s", "1500ms", "5s", "250us", "90s", "2m", "1h", "7ns", "-3s"}) {
    EXPECT_EQ(parse_duration(format_duration(*parse_duration(text))), parse_duration(text)) << text;
  }
  EXPECT_EQ(format_duration(1500ms), "1500ms");
  EXPECT_EQ(format_duration(120s), "2m");
}

TEST(Units, RangesRunUpwards) {
  const auto range = parse_duration_range("200us..2ms");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, 200us);
  EXPECT_EQ(range->high, 2ms);
  EXPECT_EQ(parse_duration_range("3s")->low, 3s);
  EXPECT_FALSE(parse_duration_range("2s..1s"));
  EXPECT_FALSE(parse_duration_range("1s.."));
}

TEST(Units, Seeds) {
  const auto seeds = parse_seeds("1..3, 42");
  ASSERT_TRUE(seeds);
  EXPECT_EQ(seeds->count(), 4u);
  EXPECT_EQ(seeds->at(2), 3u);
  EXPECT_EQ(seeds->at(3), 42u);
  EXPECT_EQ(parse_seeds("random:50")->random, 50u);
  for (const char* bad :
       {"", "3..1", "a", "1..", "random:0", "random:", "1,,2", "-1", "0..18446744073709551615"}) {
    EXPECT_FALSE(parse_seeds(bad)) << bad;
  }
}

TEST(Units, QuotasCountInIntegers) {
  const auto most = parse_seed_quota(">= 90%");
  ASSERT_TRUE(most);
  EXPECT_TRUE(most->met(9, 10));
  EXPECT_FALSE(most->met(179, 200));
  EXPECT_TRUE(most->met(180, 200));
  EXPECT_TRUE(parse_seed_quota("== 0")->met(0, 200));
  EXPECT_FALSE(parse_seed_quota("<= 5")->met(6, 200));
  EXPECT_TRUE(parse_seed_quota("all")->met(200, 200));
  EXPECT_FALSE(parse_seed_quota("all")->met(199, 200));
  for (const char* bad : {"90%", ">= ", ">= 101%", "most", ">= -1"})
    EXPECT_FALSE(parse_seed_quota(bad)) << bad;
}

}  // namespace
}  // namespace holdfast::sim
