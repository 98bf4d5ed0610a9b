#include "tools/holdfast/explain.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::tools {
namespace {

using sim::Expectation;
using sim::Tally;

// It was so on more seeds than the quota allows (`is = "violated"`, `seeds = "<= 5%"`).
bool too_many(const Expectation& expectation, const Tally& tally) {
  if (expectation.seeds.met(tally.matching, tally.runs)) return false;
  for (std::uint64_t fewer = 0; fewer < tally.matching; ++fewer) {
    if (expectation.seeds.met(fewer, tally.runs)) return true;
  }
  return false;
}

std::string wanted(const Expectation& expectation) {
  std::string text;
  if (expectation.check == "reached") {
    for (const std::string& mark : expectation.marks) text += (text.empty() ? "" : ", ") + mark;
    text = (expectation.violated ? "never all of " : "") + text;
  } else if (!expectation.violated) {
    text = "no violation";
  } else {
    text = expectation.kind.empty() ? "a violation" : expectation.kind;
  }
  const std::string quota = expectation.seeds.to_string();
  if (quota == "all" && text == "no violation") return text + " on any seed";
  return text + (quota == "all" ? " on all seeds" : " on " + quota + " of the seeds");
}

std::string list_of(const std::vector<std::uint64_t>& seeds, std::uint64_t count) {
  constexpr std::size_t kMostNamed = 5;
  if (seeds.empty()) return "";
  std::string text;
  const std::size_t named = std::min(seeds.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) text += (i > 0 ? ", " : "") + std::to_string(seeds[i]);
  if (count > named) text += fmt::format(" and {} more", with_commas(count - named));
  return fmt::format(" (seed{} {})", count == 1 ? "" : "s", text);
}

std::string on_runs(std::uint64_t count, std::uint64_t runs) {
  if (count == runs) return runs == 1 ? "on the one run" : fmt::format("on all {} runs", with_commas(runs));
  return fmt::format("on {} of {} runs", with_commas(count), with_commas(runs));
}

}  // namespace

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string explain(const Expectation& expectation, const Tally& tally) {
  const std::string begin = fmt::format("{}: expected {}, ", expectation.check, wanted(expectation));
  if (tally.runs == 0) return begin + "nothing was run";
  if (too_many(expectation, tally)) {
    return begin + fmt::format("found {} {}{}", expectation.violated ? "it" : "none",
                               on_runs(tally.matching, tally.runs), list_of(tally.matches, tally.matching));
  }
  std::string found;
  std::uint64_t missed = 0;
  for (const auto& [what, count] : tally.found) {  // by name: the order does not depend on the runs' order
    found += (found.empty() ? "found " : ", ") + what + " " + on_runs(count, tally.runs);
    missed += count;
  }
  return begin + found + list_of(tally.misses, missed);
}

bool is_unmet(const Expectation& expectation, const Tally& tally) {
  const Tally::Result result = tally.result(expectation);
  return result == Tally::Result::failed || result == Tally::Result::unknown;
}

std::optional<std::uint64_t> culprit(const Expectation& expectation, const Tally& tally) {
  if (tally.runs == 0 || !is_unmet(expectation, tally)) return std::nullopt;
  if (too_many(expectation, tally) && !tally.matches.empty()) return tally.matches.front();
  if (tally.first_miss_seed) return tally.first_miss_seed;
  return tally.first_unknown_seed;
}

std::string reason_of(const Expectation& expectation, const Tally& tally) {
  if (too_many(expectation, tally)) return tally.first_match;
  return tally.first_miss_seed ? tally.first_miss : tally.first_unknown;
}

}  // namespace holdfast::tools
