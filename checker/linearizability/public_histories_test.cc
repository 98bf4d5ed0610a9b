// Public histories with a known verdict, judged by every engine. Built only when cmake names their folder
// (-DHOLDFAST_HISTORIES=DIR). The project's own ones: gallery_test.cc.
#include "checker/testing/public_histories.h"

#include <gtest/gtest.h>

#include <fstream>

#include "checker/history/formats.h"

namespace holdfast::checker {
namespace {

TEST(PublicHistories, HaveTheirVerdictsFromEveryEngine) {
  for (const testing::PublicHistory& each : testing::public_histories()) {
    SCOPED_TRACE(each.file);
    std::ifstream file(std::string(HOLDFAST_HISTORIES "/") + each.file);
    ASSERT_TRUE(file) << "not in " HOLDFAST_HISTORIES;
    testing::expect_verdict_of_every_engine(
        read_history(file, {.file = each.file, .keyed = each.verdict.keyed}), each.verdict);
  }
}

}  // namespace
}  // namespace holdfast::checker
