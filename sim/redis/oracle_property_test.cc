// The oracle as a property: whatever sequence of steps is drawn, with time passing in between, the embedded
// server answers as real Redis does. What fails is shrunk, and printed as a case for conformance/*.cases.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <sstream>

#include "sim/redis/testing/embedded_oracle.h"
#include "sim/redis/testing/oracle_sequences.h"
#include "sim/redis/testing/real_oracle.h"

namespace holdfast::sim::oracle {
namespace {

using Steps = std::vector<std::string>;
using PlayEmbedded = std::function<EmbeddedRun(const Steps&)>;

RealOracle& real() {
  static RealOracle oracle;
  return oracle;
}

struct Found {
  Steps steps;       // the smallest that differs; empty: none
  std::string text;  // what differs
  int played = 0;
};

Found hunt(int sequences, std::uint64_t seed, const PlayEmbedded& play_ours) {
  Found found;
  rc::detail::TestParams parameters = rc::detail::configuration().testParams;
  parameters.maxSuccess = sequences;
  parameters.seed = seed;
  parameters.maxSize = 60;  // steps
  const auto result = rc::detail::checkTestable(
      [&] {
        const Steps steps = *any_sequence();
        ++found.played;
        const EmbeddedRun ours = play_ours(steps);
        const std::string text = differences(ours.transcript, real().play_from(ours.start, steps));
        if (!text.empty()) {  // rapidcheck goes on from what fails to what is smaller and fails
          found.steps = steps;
          found.text = text;
          RC_FAIL(text);
        }
      },
      rc::detail::TestMetadata{}, parameters);
  if (!result.template is<rc::detail::SuccessResult>() && found.steps.empty()) {
    std::ostringstream out;
    rc::detail::printResultMessage(result, out);
    found.text = out.str();
  }
  return found;
}

std::string show(const Found& found) {
  std::string text = found.text + "\n=== found by drawing\n";
  for (const std::string& step : found.steps) text += step + "\n";
  return text;
}

EmbeddedRun play_plain(const Steps& steps) { return play_embedded(steps); }

TEST(OracleProperty, DrawnSequencesAreAnsweredAsByRealRedis) {
  const Found found = hunt(500, 20240229, play_plain);
  EXPECT_EQ(found.text, "") << show(found);
  EXPECT_GE(found.played, 500);
}

// A server that is wrong in one thing: a TTL read after time has passed is one too many.
EmbeddedRun play_planted(const Steps& steps) {
  EmbeddedRun run = play_embedded(steps);
  bool time_passed = false;
  for (std::string& line : run.transcript) {
    time_passed |= line.starts_with("advance");
    const std::size_t reply = line.find("\n      :") + 8;
    if (time_passed && line.starts_with("PTTL") && line[reply] != '-') line.insert(reply, "1");
  }
  return run;
}

TEST(OracleProperty, APlantedDifferenceIsFoundAndShrunk) {
  const Found found = hunt(2000, 1, play_planted);
  ASSERT_FALSE(found.steps.empty());
  // A key, its expiry, time, PTTL: in whatever order, nothing else.
  EXPECT_LE(found.steps.size(), 4u) << show(found);
  EXPECT_TRUE(found.steps.back().starts_with("PTTL")) << show(found);
}

TEST(LongOracle, TenThousandDrawnSequencesWithoutADifference) {
  const std::uint64_t seed = rc::detail::configuration().testParams.seed;  // another one each time
  const Found found = hunt(10000, seed, play_plain);
  EXPECT_EQ(found.text, "") << "seed " << seed << "\n" << show(found);
  EXPECT_GE(found.played, 10000);
}

}  // namespace
}  // namespace holdfast::sim::oracle
