// Judge: the verdicts of many seeds against what the scenario expects.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/run.h"

namespace holdfast::sim {

// One expectation over all seeds that were run.
//
// An expectation on a share (">= 20%") is made for the seeds that the file asks for, and is taken at its word
// when that many were run. Of fewer seeds it is judged as far as they can tell: it failed when what was seen
// would come up in less than one of twenty such runs if the share were as expected; else too few were run,
// which is no failure.
struct Tally {
  std::uint64_t runs = 0, matching = 0, unknown = 0;
  std::uint64_t asked = 0;             // seeds that the file asks for
  std::vector<std::uint64_t> misses;   // the lowest seeds that did not match, `unknown` ones among them
  std::vector<std::uint64_t> matches;  // the lowest seeds that did
  // What the others showed, and on how many runs each: "overrun", "double-grant and overrun", "no violation",
  // "no verdict".
  std::map<std::string, std::uint64_t> found;
  // The lowest seed of each sort, and what the check said of it.
  std::optional<std::uint64_t> first_miss_seed, first_unknown_seed, first_match_seed;
  std::string first_miss, first_unknown, first_match;
  enum class Result { met, failed, unknown, too_few };
  Result result(const Expectation& expectation) const;
  // too_few: how many seeds would decide it, if they went on as these did. At most `asked`.
  std::uint64_t needs(const Expectation& expectation) const;
};

// Seeds may be added in any order; the outcome depends on the set only.
class Judge {
 public:
  explicit Judge(const Scenario& scenario) : scenario_(&scenario), tallies_(scenario.expectations.size()) {
    for (Tally& tally : tallies_) tally.asked = scenario.seeds.count();
  }
  void add(const RunResult& run);
  // What another judge of the same expectations knows, of other seeds. REQUIRES: as many as tallies()
  void join(const std::vector<Tally>& others);
  const std::vector<Tally>& tallies() const { return tallies_; }
  // failed outranks unknown outranks met; unknown as well when too few seeds were run for every expectation.
  Tally::Result result() const;
  // Whether nothing that the missing runs could show would meet every expectation, of `total` runs in all.
  bool lost(std::uint64_t total) const;

 private:
  const Scenario* scenario_;
  std::vector<Tally> tallies_;
};

// "lease-exclusion is violated (double-grant) on >= 90% of the seeds"
std::string describe(const Expectation& expectation);
// What a verdict shows, in the words of Tally::found.
std::string found_in(const checker::Verdict& verdict);
// Whether one run's verdict is what is expected (`unknown` never is).
bool matches(const Expectation& expectation, const checker::Verdict& verdict);

}  // namespace holdfast::sim
