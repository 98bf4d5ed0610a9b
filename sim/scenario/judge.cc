#include "sim/scenario/judge.h"

#include <algorithm>
#include <set>

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

std::string found_in(const checker::Verdict& verdict) {
  if (verdict.outcome == checker::Outcome::unknown) return "no verdict";
  if (verdict.outcome == checker::Outcome::holds) return "no violation";
  std::set<std::string> kinds;
  for (const checker::Witness& witness : verdict.witnesses) kinds.insert(witness.kind);
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : " and ") + kind;
  return text.empty() ? "a violation" : text;
}

void Judge::add(const RunResult& run) {
  constexpr std::size_t kMostSeeds = 20;
  const auto keep_lowest = [&](std::vector<std::uint64_t>& seeds) {
    seeds.insert(std::upper_bound(seeds.begin(), seeds.end(), run.seed), run.seed);
    if (seeds.size() > kMostSeeds) seeds.pop_back();
  };
  const auto keep_first = [&](std::optional<std::uint64_t>& seed, std::string& why,
                              const checker::Verdict& verdict) {
    if (seed && *seed <= run.seed) return;
    seed = run.seed;
    why = verdict.reason;
  };
  for (std::size_t i = 0; i < tallies_.size(); ++i) {
    const Expectation& expectation = scenario_->expectations[i];
    const checker::Verdict& verdict = run.verdicts.at(i);
    Tally& tally = tallies_[i];
    ++tally.runs;
    if (matches(expectation, verdict)) {
      ++tally.matching;
      keep_lowest(tally.matches);
      keep_first(tally.first_match_seed, tally.first_match, verdict);
      continue;
    }
    ++tally.found[found_in(verdict)];
    keep_lowest(tally.misses);
    if (verdict.outcome == checker::Outcome::unknown) {
      ++tally.unknown;
      keep_first(tally.first_unknown_seed, tally.first_unknown, verdict);
    } else {
      keep_first(tally.first_miss_seed, tally.first_miss, verdict);
    }
  }
}

bool Judge::lost(std::uint64_t total) const {
  for (std::size_t i = 0; i < tallies_.size(); ++i) {
    const SeedQuota& quota = scenario_->expectations[i].seeds;
    const std::uint64_t most = total - std::min(total, tallies_[i].runs - tallies_[i].matching);
    using Relation = SeedQuota::Relation;
    bool possible = quota.met(quota.relation == Relation::at_least ? most : tallies_[i].matching, total);
    if (quota.relation == Relation::exactly) {
      for (std::uint64_t matching = tallies_[i].matching; matching < most && !possible;)
        possible = quota.met(++matching, total);
    }
    if (!possible) return true;
  }
  return false;
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
