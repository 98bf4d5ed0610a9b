#include "sim/explore/explore.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "sim/hunt/draw_case.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

// The values that a draw may come to, the usual one first. One value: it is no decision.
std::vector<std::uint64_t> values_of(std::string_view stream, const Drawn& drawn) {
  if (drawn.kind == Drawn::Kind::word) return {drawn.value};
  const bool place = stream.ends_with("/nth");
  const bool all = place || stream == "order" || drawn.high - drawn.low < 3;
  std::vector<std::uint64_t> values;
  if (all) {
    for (std::uint64_t value = drawn.low; value < drawn.high; ++value) values.push_back(value);
  } else {
    values.push_back(drawn.low);
    const std::uint64_t twice = drawn.low < drawn.high / 2 ? 2 * drawn.low : drawn.high;
    if (twice > drawn.low && twice < drawn.high) values.push_back(twice);
  }
  values.push_back(drawn.high);
  if (place) std::reverse(values.begin(), values.end());
  return values;
}

// One run, steered by a chooser; what it came to.
class Steered {
 public:
  Steered(const HuntCase& one, Chooser& chooser) : chooser_(chooser) {
    Decisions decisions;
    decisions.steer([this](const std::string& stream, std::uint64_t number, const Drawn& drawn) {
      return settle(stream, number, drawn);
    });
    trial_ = try_case(one, {.decisions = &decisions});
  }

  Trial& trial() { return trial_; }
  // All decisions of the run, so that it goes this way without a chooser.
  Changes changes() const { return {.fixed = settled_}; }
  const std::vector<Otherwise>& otherwise() const { return otherwise_; }

 private:
  std::uint64_t settle(const std::string& stream, std::uint64_t number, const Drawn& drawn) {
    const std::vector<std::uint64_t> values = values_of(stream, drawn);
    if (values.size() == 1) return values.front();
    // A fork of a stream draws again what its parent draws: the same number, the same decision.
    auto& of_stream = settled_[stream];
    if (const auto found = of_stream.find(number); found != of_stream.end()) return found->second;
    const std::uint32_t choice = chooser_.choose(static_cast<std::uint32_t>(values.size()));
    if (choice > 0) otherwise_.push_back({stream, drawn.kind, number, values.front(), values[choice]});
    return of_stream[number] = values[choice];
  }

  Chooser& chooser_;
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> settled_;
  std::vector<Otherwise> otherwise_;
  Trial trial_;
};

HuntCase case_of(const ExploreOptions& options) {
  HuntCase one{.document = least_case(options.ground), .seed = options.seed};
  set_key(section_of(one.document, "run"), "order", text_value("random"));  // each choice is a decision
  put_in_order(one.document);
  return one;
}

}  // namespace

ExploreState explore(const ExploreOptions& options) {
  const HuntCase one = case_of(options);
  ExploreState state;
  std::set<std::uint64_t> histories;
  struct Ran {
    Trial trial;
    Changes changes;
    std::vector<Otherwise> otherwise;
  };
  std::vector<Ran> ran;
  const auto run = [&](std::vector<Chooser>& choosers) {
    ran.assign(choosers.size(), {});
    const auto one_of_them = [&](std::size_t i) {
      Steered steered(one, choosers[i]);
      if (!steered.trial().failures.empty())
        ran[i] = {.trial = {}, .changes = steered.changes(), .otherwise = steered.otherwise()};
      ran[i].trial = std::move(steered.trial());
    };
    if (options.for_each) return options.for_each(choosers.size(), one_of_them);
    for (std::size_t i = 0; i < choosers.size(); ++i) one_of_them(i);
  };
  const auto take = [&](std::size_t at, const Chooser&) {
    const Trial& trial = ran[at].trial;
    state.virtual_ns += trial.length_ns;
    state.grants += trial.grants;
    if (!trial.judged) ++state.unjudged;
    for (const std::string& mark : trial.marks) ++state.marks[mark];
    histories.insert(trial.trace);
    state.histories = histories.size();
    if (trial.failures.empty()) return true;
    HuntCase found = one;
    found.changes = ran[at].changes;
    state.violation = {
        .failure = trial.failures.front(), .one = std::move(found), .otherwise = ran[at].otherwise};
    return false;
  };
  state.search = search({.deviations = options.deviations,
                         .most_runs = options.most_runs,
                         .run = run,
                         .take = take,
                         .stop = [&](const SearchState& now) {
                           state.search = now;
                           return options.stop && options.stop(state);
                         }});
  return state;
}

}  // namespace holdfast::sim
