#include "sim/explore/explore.h"

#include <boost/unordered/unordered_flat_set.hpp>
#include <vector>

#include "sim/explore/lineage.h"
#include "sim/explore/steered.h"
#include "sim/hunt/draw_case.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

// What is kept of a run until its turn comes.
struct Ran {
  Trial trial;
  std::uint64_t history = 0;
  Changes changes;
  std::vector<Otherwise> otherwise;
  std::map<std::string, ExploreState::Values> values;
};

// What cannot be seen in a draw: a place that is none.
void tell_never(const Scenario& scenario, ExploreState& state) {
  for (const FaultPlan& plan : scenario.faults) {
    if (!plan.trigger.or_never) continue;
    const std::string name = "fault/" + plan.config.id;
    if (const auto its = state.values.find(name); its != state.values.end()) its->second.or_never = true;
    if (!state.violation) continue;
    for (Otherwise& one : state.violation->otherwise) {
      if (one.stream == name + "/nth") one.usual = 0;
    }
  }
}

}  // namespace

HuntCase explored_case(const ExploreOptions& options) {
  HuntCase one{.document = least_case(options.ground), .seed = options.seed};
  set_key(section_of(one.document, "run"), "order", text_value("instant"));  // each choice is a decision
  put_in_order(one.document);
  return one;
}

ExploreState explore(const ExploreOptions& options) {
  const HuntCase one = explored_case(options);
  const Scenario parsed = parse_base(one.document, "hunted");
  ExploreState state;
  boost::unordered_flat_set<std::uint64_t> histories;
  std::vector<Ran> ran;
  const auto run = [&](std::vector<Chooser>& choosers) {
    ran.assign(choosers.size(), {});
    const auto one_of_them = [&](std::size_t i) {
      Steered steered(one, options, choosers[i], nullptr, &parsed);
      ran[i].values = steered.values();
      ran[i].history = steered.history();
      if (!steered.trial().failures.empty()) {
        ran[i].changes = steered.changes();
        ran[i].otherwise = steered.otherwise();
      }
      ran[i].trial = std::move(steered.trial());
    };
    if (options.for_each) return options.for_each(choosers.size(), one_of_them);
    for (std::size_t i = 0; i < choosers.size(); ++i) one_of_them(i);
  };
  const auto take = [&](std::size_t at, const Chooser& chooser) {
    const Ran& its = ran[at];
    const Trial& trial = its.trial;
    for (const auto& [purpose, values] : its.values) {
      ExploreState::Values& all = state.values[purpose];
      all.kind = values.kind;
      all.places = values.places;
      all.of_a_draw.insert(values.of_a_draw.begin(), values.of_a_draw.end());
    }
    if (options.lineage != nullptr) options.lineage->add(chooser, !trial.failures.empty());
    if (chooser.joined()) return true;
    state.virtual_ns += trial.length_ns;
    state.grants += trial.grants;
    if (!trial.judged) ++state.unjudged;
    for (const std::string& mark : trial.marks) ++state.marks[mark];
    histories.insert(its.history);
    state.histories = histories.size();
    if (options.told) options.told(trial, its.history);
    if (trial.failures.empty() || state.violation) return true;
    HuntCase found = one;
    found.changes = its.changes;
    state.violation = {
        .failure = trial.failures.front(), .one = std::move(found), .otherwise = its.otherwise};
    return options.go_on;
  };
  state.search = search({.deviations = options.deviations,
                         .of_kind = {options.orders, options.times, options.faults},
                         .most_runs = options.most_runs,
                         .run = run,
                         .take = take,
                         .gone_into =
                             [&](const Chooser& chooser, std::uint32_t point) {
                               if (options.lineage != nullptr) options.lineage->gone_into(chooser, point);
                             },
                         .stop =
                             [&](const SearchState& now) {
                               state.search = now;
                               return options.stop && options.stop(state);
                             }});
  tell_never(parsed, state);
  return state;
}

}  // namespace holdfast::sim
