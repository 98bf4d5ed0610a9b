#include "tools/planted/make_small.h"

#include <exception>

#include "sim/hunt/case_file.h"
#include "sim/hunt/shrink_decisions.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/run.h"
#include "sim/scenario/write_document.h"
#include "tools/holdfast/case_story.h"
#include "tools/holdfast/interrupt.h"
#include "tools/holdfast/real_check.h"

namespace holdfast::tools {
namespace {

using sim::Value;

void count(const sim::RunResult& run, const sim::Scenario& scenario, const std::string& check, Tally& tally) {
  for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
    if (scenario.expectations[i].check != check) continue;
    switch (run.verdicts[i].outcome) {
      case checker::Outcome::holds: ++tally.holds; return;
      case checker::Outcome::violated: ++tally.violated; return;
      case checker::Outcome::unknown: ++tally.unknown; return;
    }
  }
}

void with_ours(SmallFailure& small, const Subject& subject, Value document, const std::string& check) {
  const std::string ours = sim::ours_for(*subject.kind);
  if (ours.empty()) return;
  set_key(sim::section_of(document, "lock"), "kind", sim::text_value(ours));
  try {
    const sim::Scenario scenario = sim::parse_base(document, "ours");
    for (std::uint64_t seed = 1; seed <= sim::kSeedsThatShow; ++seed)
      count(sim::run_once(scenario, {.seed = seed}), scenario, check, small.of_ours);
    small.ours = ours;
  } catch (const std::exception&) {
    small.of_ours = {};  // ours has no such option
  }
}

}  // namespace

SmallFailure make_small(const Subject& subject, const sim::Search& search, std::uint64_t real) {
  const sim::Ground ground = sim::ground_of(*subject.kind);
  const sim::Shrunk shrunk = sim::shrink(ground, search.first, search.promise);
  sim::Failure failure;
  for (const sim::Failure& one : sim::try_case(shrunk.one).failures) {
    if (one.promise() == search.promise) failure = one;
  }
  const sim::CaseFile file = case_file(ground, shrunk, failure, story_of(shrunk.one, failure, kInAFile));
  SmallFailure small;
  small.promise = search.promise;
  small.about = sim::parse_toml(file.toml, "small").find("about")->text;
  small.before = size_of(search.first.document);
  small.after = size_of(shrunk.one.document);
  small.runs = shrunk.runs;
  small.seeds = shrunk.seeds_of_20;
  small.decisions = count_of(shrunk.one.changes);
  small.controlled = file.controlled;
  small.scenario = file.toml;
  with_ours(small, subject, shrunk.one.document, failure.check);
  if (real > 0) run_on_real_servers(small, real);
  return small;
}

bool run_on_real_servers(SmallFailure& small, std::uint64_t runs) {
  const RealCheck real =
      on_real_servers(sim::parse_toml(small.scenario, "small"), small.promise, runs, interrupted);
  if (interrupted()) return false;
  small.why_not_real = real.cannot;
  small.real.reset();
  if (real.cannot.empty())
    small.real = Tally{.holds = real.holds, .violated = real.violated, .unknown = real.unknown};
  return true;
}

}  // namespace holdfast::tools
