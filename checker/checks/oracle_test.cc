// The oracle begins at the text (checker/testing/oracle.h): readers, joiner, holds, checks and engines agree
// with the definitions, whatever liberties a text takes.
#include "checker/testing/oracle.h"

#include <gtest/gtest.h>

namespace holdfast::checker::oracle {
namespace {

void agree(const std::string& model, std::uint64_t first, std::uint64_t last) {
  Tally tally;
  int differences = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Difference found = compare(model, seed, &tally);
    if (found.by.empty()) continue;
    ADD_FAILURE() << "seed " << seed << ", " << found.by << ": " << found.what;
    if (++differences == 3) return;
  }
  // Both answers come up; tokens of a lock that has none by itself seldom fall.
  for (const auto& [check, violated] : tally.violated) {
    const std::uint64_t judged = violated + tally.held[check];
    EXPECT_GT(violated * 300, judged) << check;
    EXPECT_LT(violated * 300, judged * 299) << check;
  }
  ::testing::Test::RecordProperty("texts", static_cast<int>(tally.texts));
  ::testing::Test::RecordProperty("compared", static_cast<int>(tally.compared));
}

class Oracle : public ::testing::TestWithParam<std::string> {};
TEST_P(Oracle, AgreesWithWhatIsReadAndJudged) { agree(GetParam(), 1, 1'000); }
INSTANTIATE_TEST_SUITE_P(Models, Oracle, ::testing::ValuesIn(drawn_models()));

// A million draws over all models, in about three minutes of one core.
class LongOracle : public ::testing::TestWithParam<std::string> {};
TEST_P(LongOracle, AgreesWithWhatIsReadAndJudged) {
  agree(GetParam(), 1'001, 1'001 + 1'000'000 / drawn_models().size());
}
INSTANTIATE_TEST_SUITE_P(LongModels, LongOracle, ::testing::ValuesIn(drawn_models()));

}  // namespace
}  // namespace holdfast::checker::oracle
