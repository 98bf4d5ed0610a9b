// Judge: the verdicts of many seeds against what the scenario expects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/run.h"

namespace holdfast::sim {

// One expectation over all seeds that were run.
struct Tally {
  std::uint64_t runs = 0, matching = 0, unknown = 0;
  std::vector<std::uint64_t> misses;  // the first seeds that did not match
  std::string first_miss;             // why the first of them did not
  std::string first_unknown;          // what its history lacked
  enum class Result { met, failed, unknown };
  Result result(const Expectation& expectation) const;
};

// Seeds may be added in any order; the outcome depends on the set only.
class Judge {
 public:
  explicit Judge(const Scenario& scenario) : scenario_(&scenario), tallies_(scenario.expectations.size()) {}
  void add(const RunResult& run);
  const std::vector<Tally>& tallies() const { return tallies_; }
  Tally::Result result() const;  // failed outranks unknown outranks met

 private:
  const Scenario* scenario_;
  std::vector<Tally> tallies_;
  std::vector<std::uint64_t> first_miss_seed_, first_unknown_seed_;
};

// "lease-exclusion is violated (double-grant) on >= 90% of the seeds"
std::string describe(const Expectation& expectation);
// Whether one run's verdict is what is expected (`unknown` never is).
bool matches(const Expectation& expectation, const checker::Verdict& verdict);

}  // namespace holdfast::sim
