#include "sim/scenario/judge.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace holdfast::sim {

bool matches(const Expectation& expectation, const checker::Verdict& verdict) {
  const auto wanted = expectation.violated ? checker::Outcome::violated : checker::Outcome::holds;
  return checker::shows(verdict, wanted, expectation.kind);
}

namespace {

constexpr double kSurprise = 0.05;  // rarer than this is no accident

// The chance of `least` to `most` hits in `runs` draws, each of which hits with `share`.
double chance(std::uint64_t least, std::uint64_t most, std::uint64_t runs, double share) {
  double sum = 0;
  for (std::uint64_t hits = least; hits <= most && hits <= runs; ++hits) {
    const auto n = static_cast<double>(runs), k = static_cast<double>(hits);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(share) +
                    (n - k) * std::log1p(-share));
  }
  return sum;
}

// What was seen may well be an accident of few seeds.
bool may_be_chance(const SeedQuota& quota, std::uint64_t matching, std::uint64_t runs, std::uint64_t asked) {
  using Relation = SeedQuota::Relation;
  if (!quota.percent && quota.relation != Relation::at_least && matching > quota.number) return false;
  const double share = quota.percent ? static_cast<double>(quota.number) / 100
                                     : static_cast<double>(quota.number) / static_cast<double>(asked);
  if (share <= 0 || share >= 1) return false;  // one run that says otherwise decides
  const bool fewer = chance(0, matching, runs, share) >= kSurprise;
  const bool more = chance(matching, runs, runs, share) >= kSurprise;
  switch (quota.relation) {
    case Relation::at_least: return fewer;
    case Relation::at_most: return more;
    case Relation::exactly: return fewer && more;
  }
  return false;
}

}  // namespace

Tally::Result Tally::result(const Expectation& expectation) const {
  const SeedQuota& quota = expectation.seeds;
  if (runs > 0 && quota.met(matching, runs)) return Result::met;
  // Had every unknown run turned out as hoped, would it be met? Then nobody can say; else it failed.
  const bool hopeful = quota.relation != SeedQuota::Relation::at_most && quota.met(matching + unknown, runs);
  if ((unknown > 0 && hopeful) || runs == 0) return Result::unknown;
  return runs < asked && may_be_chance(quota, matching, runs, asked) ? Result::too_few : Result::failed;
}

std::uint64_t Tally::needs(const Expectation& expectation) const {
  constexpr std::uint64_t kFarthest = 1000;
  for (std::uint64_t more = runs + 1; more < std::min(asked, kFarthest); ++more) {
    if (!may_be_chance(expectation.seeds, matching * more / runs, more, asked)) return more;
  }
  return asked;
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

namespace {

void keep_lowest(std::vector<std::uint64_t>& seeds, std::uint64_t seed) {
  constexpr std::size_t kMostSeeds = 20;
  seeds.insert(std::upper_bound(seeds.begin(), seeds.end(), seed), seed);
  if (seeds.size() > kMostSeeds) seeds.pop_back();
}

}  // namespace

void Judge::add(const RunResult& run) {
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
      keep_lowest(tally.matches, run.seed);
      keep_first(tally.first_match_seed, tally.first_match, verdict);
      continue;
    }
    ++tally.found[found_in(verdict)];
    keep_lowest(tally.misses, run.seed);
    if (verdict.outcome == checker::Outcome::unknown) {
      ++tally.unknown;
      keep_first(tally.first_unknown_seed, tally.first_unknown, verdict);
    } else {
      keep_first(tally.first_miss_seed, tally.first_miss, verdict);
    }
  }
}

void Judge::join(const std::vector<Tally>& others) {
  const auto join_first = [](std::optional<std::uint64_t>& seed, std::string& why,
                             const std::optional<std::uint64_t>& other, const std::string& other_why) {
    if (!other || (seed && *seed <= *other)) return;
    seed = other;
    why = other_why;
  };
  for (std::size_t i = 0; i < tallies_.size(); ++i) {
    Tally& ours = tallies_[i];
    const Tally& theirs = others.at(i);
    ours.runs += theirs.runs;
    ours.matching += theirs.matching;
    ours.unknown += theirs.unknown;
    ours.asked = std::max(ours.asked, theirs.asked);
    for (const std::uint64_t seed : theirs.matches) keep_lowest(ours.matches, seed);
    for (const std::uint64_t seed : theirs.misses) keep_lowest(ours.misses, seed);
    for (const auto& [what, count] : theirs.found) ours.found[what] += count;
    join_first(ours.first_miss_seed, ours.first_miss, theirs.first_miss_seed, theirs.first_miss);
    join_first(ours.first_unknown_seed, ours.first_unknown, theirs.first_unknown_seed, theirs.first_unknown);
    join_first(ours.first_match_seed, ours.first_match, theirs.first_match_seed, theirs.first_match);
  }
}

bool Judge::lost(std::uint64_t total) const {
  using Relation = SeedQuota::Relation;
  for (std::size_t i = 0; i < tallies_.size(); ++i) {
    const Expectation& expectation = scenario_->expectations[i];
    const Tally& so_far = tallies_[i];
    const auto saves = [&](std::uint64_t matching) {
      Tally end;
      end.runs = total;
      end.matching = matching;
      end.asked = so_far.asked;
      const Tally::Result result = end.result(expectation);
      return result == Tally::Result::met || result == Tally::Result::too_few;
    };
    const std::uint64_t most = total - std::min(total, so_far.runs - so_far.matching);
    bool possible = saves(expectation.seeds.relation == Relation::at_least ? most : so_far.matching);
    if (expectation.seeds.relation == Relation::exactly) {
      for (std::uint64_t matching = so_far.matching; matching < most && !possible;)
        possible = saves(++matching);
    }
    if (!possible) return true;
  }
  return false;
}

Tally::Result Judge::result() const {
  std::size_t unknown = 0, too_few = 0;
  for (std::size_t i = 0; i < tallies_.size(); ++i) {
    switch (tallies_[i].result(scenario_->expectations[i])) {
      case Tally::Result::failed: return Tally::Result::failed;
      case Tally::Result::unknown: ++unknown; break;
      case Tally::Result::too_few: ++too_few; break;
      case Tally::Result::met: break;
    }
  }
  const bool nothing_judged = too_few > 0 && too_few == tallies_.size();
  return unknown > 0 || nothing_judged ? Tally::Result::unknown : Tally::Result::met;
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
