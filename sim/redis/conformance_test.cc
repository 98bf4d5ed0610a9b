// Every case of conformance/*.cases, played against the embedded server and against real redis-server.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "sim/redis/testing/real_oracle.h"

namespace holdfast::sim::oracle {
namespace {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = load_cases(HOLDFAST_SOURCE_DIR "/sim/redis/conformance");
  return cases;
}

RealOracle& real() {
  static RealOracle oracle;
  return oracle;
}

std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char c : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

class Conformance : public ::testing::TestWithParam<Case> {};

TEST_P(Conformance, Case) {
  const Case& one = GetParam();
  WallTime start(std::chrono::seconds(1'750'000'000));
  Transcript a = real().play_from(start, one.steps, one.replica);
  Transcript b = real().play_from(start, one.steps, one.replica);
  EXPECT_EQ(differences(a, b), "") << one.origin;
  if (getenv("SHOW"))
    for (auto& l : a) std::cout << l << "\n";
}

INSTANTIATE_TEST_SUITE_P(Cases, Conformance, ::testing::ValuesIn(all_cases()), test_name);

TEST(ConformanceCount, ThereAreManyCases) {
  std::cout << "conformance cases: " << all_cases().size() << std::endl;
}

}  // namespace
}  // namespace holdfast::sim::oracle
