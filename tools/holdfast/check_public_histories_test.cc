// `holdfast check` on public histories with a known verdict. Built only when cmake names their folder
// (-DHOLDFAST_HISTORIES=DIR).
#include <gtest/gtest.h>

#include <algorithm>

#include "checker/testing/public_histories.h"
#include "tools/holdfast/testing/run_check.h"

namespace holdfast::tools {
namespace {

TEST(CheckPublicHistories, HaveTheKnownVerdicts) {
  for (const checker::testing::PublicHistory& each : checker::testing::public_histories()) {
    const std::string witness =
        testing::expect_known_verdict(std::string(HOLDFAST_HISTORIES "/") + each.file, each.verdict);
    if (std::string_view(each.file) ==
        "cas-failure-invalid.edn") {  // the read that no order explains, and a write
      EXPECT_EQ(std::count(witness.begin(), witness.end(), '\n'), 4) << witness;
      EXPECT_NE(witness.find(":index 491"), std::string::npos) << witness;
    }
  }
}

}  // namespace
}  // namespace holdfast::tools
