#include "sim/external/variables.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

TEST(Variables, WhatTheHarnessGivesIsFilledInAndNothingElse) {
  const Variables given = {{"HOLDFAST_REDIS_HOST", "127.0.0.2"}, {"HOLDFAST_REDIS_PORT", "4711"}};
  EXPECT_EQ(filled_in("$HOLDFAST_REDIS_HOST:$HOLDFAST_REDIS_PORT/0", given), "127.0.0.2:4711/0");
  EXPECT_EQ(filled_in("$HOME ${HOLDFAST_REDIS_HOST} $ $HOLDFAST", given),
            "$HOME ${HOLDFAST_REDIS_HOST} $ $HOLDFAST");
  EXPECT_EQ(filled_in("<$HOLDFAST_SENTINELS>", given), "<>");
  EXPECT_EQ(filled_in("", given), "");
}

TEST(Variables, WhatNoProgramHasIsUnknown) {
  EXPECT_EQ(unknown_variable("A=$HOLDFAST_REDIS_URL $HOLDFAST_REDIS_URI"), "HOLDFAST_REDIS_URI");
  EXPECT_EQ(unknown_variable("$HOLDFAST_KEYS$HOLDFAST_SEED $HOME"), "");
}

TEST(Variables, OneOfOursHasNoValue) {
  EXPECT_EQ(variable_of("NAME"), (std::pair<std::string, std::optional<std::string>>("NAME", std::nullopt)));
  EXPECT_EQ(variable_of("NAME=a=b"), (std::pair<std::string, std::optional<std::string>>("NAME", "a=b")));
}

}  // namespace
}  // namespace holdfast::sim
