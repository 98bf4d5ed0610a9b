#include "sim/scenario/judge.h"

#include <algorithm>

namespace holdfast::sim {

bool matches(const Expectation& expectation, const checker::Verdict& verdict) {
  if (!expectation.violated) return verdict.outcome == checker::Outcome::holds;
  if (verdict.outcome != checker::Outcome::violated) return false;
  if (expectation.kind.empty()) return true;
  return std::any_of(verdict.witnesses.begin(), verdict.witnesses.end(),
                     [&](const checker::Witness& witness) { return witness.kind == expectation.kind; });
}

Tally::Result Tally::result(const Expectation& expectation) const {
  if (runs > 0 && expectation.seeds.met(matching, runs)) return Result::met;
  // Had every unknown run turned out as hoped, would it be met? Then nobody can say; else it failed.
  const bool hopeful = expectation.seeds.relation != SeedQuota::Relation::at_most &&
                       expectation.seeds.met(matching + unknown, runs);
  return (unknown > 0 && hopeful) || runs == 0 ? Result::unknown : Result::failed;
}

void Judge::add(const RunResult& run) {
  constexpr std::size_t kMostMisses = 20;
  first_miss_seed_.resize(tallies_.size(), UINT64_MAX);
  first_unknown_seed_.resize(tallies_.size(), UINT64_MAX);
  for (std::size_t i = 0; i < tallies_.size(); ++i) {
    const Expectation& expectation = scenario_->expectations[i];
    const checker::Verdict& verdict = run.verdicts.at(i);
    Tally& tally = tallies_[i];
    ++tally.runs;
    if (matches(expectation, verdict)) {
      ++tally.matching;
      continue;
    }
    const bool unknown = verdict.outcome == checker::Outcome::unknown;
    tally.unknown += unknown ? 1 : 0;
    auto& misses = tally.misses;
    misses.insert(std::upper_bound(misses.begin(), misses.end(), run.seed), run.seed);
    if (misses.size() > kMostMisses) misses.pop_back();
    std::uint64_t& first = unknown ? first_unknown_seed_[i] : first_miss_seed_[i];
    std::string& why = unknown ? tally.first_unknown : tally.first_miss;
    if (run.seed < first) {
      first = run.seed;
      why = verdict.reason;
    }
  }
}

Tally::Result Judge::result() const {
  Tally::Result worst = Tally::Result::met;
  for (std::size_t i = 0; i < tallies_.size(); ++i) {
    const Tally::Result result = tallies_[i].result(scenario_->expectations[i]);
    if (result == Tally::Result::failed) return result;
    if (result == Tally::Result::unknown) worst = result;
  }
  return worst;
}

std::string describe(const Expectation& expectation) {
  std::string text = expectation.check + (expectation.violated ? " is violated" : " holds");
  if (!expectation.kind.empty()) text += " (" + expectation.kind + ")";
  if (!expectation.marks.empty()) {
    text += " (";
    for (std::size_t i = 0; i < expectation.marks.size(); ++i)
      text += (i > 0 ? ", " : "") + expectation.marks[i];
    text += ")";
  }
  const std::string quota = expectation.seeds.to_string();
  return text + (quota == "all" ? " on all seeds" : " on " + quota + " of the seeds");
}

}  // namespace holdfast::sim
