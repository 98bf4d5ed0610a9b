// Every case of conformance/*.cases, played against the embedded server and against real redis-server: the
// replies must be the same, byte for byte. How a case is written: testing/oracle_case.h.
#include <gtest/gtest.h>

#include <iostream>

#include "lib/testing/folders.h"
#include "sim/redis/testing/embedded_oracle.h"
#include "sim/redis/testing/real_oracle.h"

namespace holdfast::sim::oracle {
namespace {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = load_cases(holdfast::testing::source_path("sim/redis/conformance"));
  return cases;
}

RealOracle& real() {
  static RealOracle oracle;
  return oracle;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const std::string& origin = info.param.origin;  // "file.cases:12"
  return test_name(origin.substr(0, origin.find('.')) + " " + info.param.name);
}

class Conformance : public ::testing::TestWithParam<Case> {};

void compare(const Case& one, int protocol) {
  const EmbeddedRun embedded = play_embedded(one.steps, one.replica, protocol);
  const Transcript theirs = real().play_from(embedded.start, one.steps, one.replica, protocol);
  if (const std::string text = differences(embedded.transcript, theirs); !text.empty()) {
    FAIL() << one.origin << ": " << one.name << "\n" << text;
  }
}

TEST_P(Conformance, EmbeddedAnswersAsReal) { compare(GetParam(), 2); }
// The same after HELLO 3 on every connection: kinds of replies differ, and a subscriber may do anything.
TEST_P(Conformance, EmbeddedAnswersAsRealInResp3) { compare(GetParam(), 3); }

INSTANTIATE_TEST_SUITE_P(Redis, Conformance, ::testing::ValuesIn(all_cases()), name_of);

TEST(ConformanceSuite, HasManyCases) {
  std::size_t steps = 0;
  for (const Case& one : all_cases()) steps += one.steps.size();
  std::cout << "conformance cases: " << all_cases().size() << ", steps: " << steps << std::endl;
  EXPECT_GE(all_cases().size(), 400u);
}

// The comparison itself: one altered reply is seen.
TEST(ConformanceSuite, SeesOneAlteredReply) {
  const std::vector<std::string> steps = {"SET k v PX 1500", "advance 500ms", "PTTL k"};
  const EmbeddedRun embedded = play_embedded(steps);
  Transcript theirs = real().play_from(embedded.start, steps);
  EXPECT_EQ(differences(embedded.transcript, theirs), "");
  theirs.back() = "PTTL k\n      :1001\\r\\n";
  EXPECT_EQ(differences(embedded.transcript, theirs),
            "PTTL k\n  embedded: :1000\\r\\n\n  real:     :1001\\r\\n\n");
}

}  // namespace
}  // namespace holdfast::sim::oracle
