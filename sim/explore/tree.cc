#include "sim/explore/tree.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/runtime/check.h"

namespace holdfast::sim {
namespace {

using Branch = ExploreTree::Branch;

class Grown {
 public:
  Grown(const ExploreOptions& options, const ExploreState& state, const Lineage& lineage,
        const TreeOptions& limits)
      : options_(options), complete_(state.search.complete), lineage_(lineage), limits_(limits) {}

  ExploreTree grow() {
    choose();
    count_below();
    open();
    tree_.explored = lineage_.runs().size();
    return std::move(tree_);
  }

 private:
  using Departure = std::tuple<std::size_t, std::uint32_t, std::uint32_t>;  // parent, point, choice

  // Which runs are open, and which are here.
  void choose() {
    const auto& runs = lineage_.runs();
    open_.assign(runs.size(), false);
    here_.assign(runs.size(), false);
    if (runs.empty()) return;
    std::size_t left = limits_.most_open;
    const auto open = [&](std::size_t run) {
      if (open_[run] || left == 0) return;
      open_[run] = true;
      --left;
    };
    std::vector<bool> first(runs.size(), false);  // on the way to what is looked for
    const auto go_to = [&](std::size_t run) {
      for (; !first[run]; run = runs[run].parent) {
        open(run);
        first[run] = true;
      }
    };
    go_to(0);
    const auto broke = std::find_if(runs.begin(), runs.end(),
                                    [](const Lineage::Run& run) { return run.end == Lineage::End::broke; });
    if (broke != runs.end()) go_to(static_cast<std::size_t>(broke - runs.begin()));
    for (const std::uint64_t number : limits_.wanted) {
      if (number >= 1 && number <= runs.size()) go_to(number - 1);
    }
    for (std::size_t run = 0; run < runs.size() && left > 0; ++run) open(run);

    std::size_t room = limits_.most_runs;
    const auto keep = [&](std::size_t run) {
      if (here_[run] || room == 0 || !open_[runs[run].parent]) return;
      here_[run] = true;
      --room;
    };
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (open_[run]) keep(run);
    }
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (first[runs[run].parent]) keep(run);
    }
    for (std::size_t run = 0; run < runs.size(); ++run) keep(run);

    places_.assign(runs.size(), 0);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (run != 0 && open_[runs[run].parent])
        children_[{runs[run].parent, runs[run].last.point, runs[run].last.choice}] = run;
      if (!here_[run]) {
        open_[run] = false;
        continue;
      }
      places_[run] = tree_.runs.size();
      tree_.runs.push_back({.number = run + 1,
                            .parent = places_[runs[run].parent],
                            .last = runs[run].last,
                            .points = runs[run].points,
                            .end = runs[run].end,
                            .same_from = runs[run].same_from,
                            .same_as = std::uint64_t{runs[run].same_as} + 1,
                            .open = open_[run]});
    }
  }

  void count_below() {
    const auto& runs = lineage_.runs();
    std::vector<std::uint64_t> below(runs.size(), 0), broke(runs.size(), 0);
    for (std::size_t run = runs.size(); run-- > 1;) {
      below[runs[run].parent] += below[run] + 1;
      broke[runs[run].parent] += broke[run] + (runs[run].end == Lineage::End::broke ? 1 : 0);
    }
    for (ExploreTree::Run& run : tree_.runs) {
      run.below = below[run.number - 1];
      run.broke_below = broke[run.number - 1];
    }
  }

  void open() {
    const HuntCase one = explored_case(options_);
    std::vector<ExploreTree::Run*> opened;
    for (ExploreTree::Run& run : tree_.runs) {
      if (run.open) opened.push_back(&run);
    }
    tree_.opened = opened.size();
    const auto open_one = [&](std::size_t i) { open(*opened[i], one); };
    if (options_.for_each) return options_.for_each(opened.size(), open_one);
    for (std::size_t i = 0; i < opened.size(); ++i) open_one(i);
  }

  void open(ExploreTree::Run& run, const HuntCase& one) const {
    const std::size_t place = run.number - 1;
    std::vector<Noted> noted;
    Chooser chooser(lineage_.path(place));
    const Steered steered(one, options_, chooser, &noted);
    const std::size_t points = run.points;
    HF_CHECK(noted.size() >= points && noted.size() == chooser.asked().size(), "it goes the same way again");
    const auto& moments = chooser.moments();
    std::size_t moment = 0;
    for (std::size_t point = chooser.path().empty() ? 0 : run.last.point + 1; point < points; ++point) {
      while (moment + 1 < moments.size() && moments[moment + 1].first <= point) ++moment;
      ExploreTree::Decision decision{.what = std::move(noted[point]), .branches = {}};
      decision.what.at_ns -= steered.begin_ns();
      const Chooser::Point& asked = chooser.asked()[point];
      for (std::uint32_t choice = 1; choice < asked.choices; ++choice)
        decision.branches.push_back(branch(place, static_cast<std::uint32_t>(point), choice, asked,
                                           chooser.used(), moments[moment].crossed));
      run.decisions.push_back(std::move(decision));
    }
  }

  Branch branch(std::size_t run, std::uint32_t point, std::uint32_t choice, const Chooser::Point& asked,
                Deviations used, bool crossed) const {
    if (const auto child = children_.find({run, point, choice}); child != children_.end())
      return here_[child->second] ? Branch::run : Branch::cut;
    ++used.all;
    ++used.of_kind[asked.kind];
    if (!used.within(
            {.all = options_.deviations, .of_kind = {options_.orders, options_.times, options_.faults}}))
      return Branch::beyond;
    if (point >= lineage_.runs()[run].same_from) return Branch::seen;
    const bool apart = choice < 64 && (asked.apart >> choice & 1) != 0;
    HF_CHECK(!complete_ || (apart && !crossed), "what is not left out was run");
    return apart && !crossed ? Branch::apart : Branch::ended;
  }

  const ExploreOptions& options_;
  const bool complete_;
  const Lineage& lineage_;
  const TreeOptions& limits_;
  std::vector<bool> open_, here_;              // by run
  std::vector<std::size_t> places_;            // in the tree
  std::map<Departure, std::size_t> children_;  // of open runs
  ExploreTree tree_;
};

}  // namespace

ExploreTree tree_of(const ExploreOptions& options, const ExploreState& state, const Lineage& lineage,
                    const TreeOptions& limits) {
  return Grown(options, state, lineage, limits).grow();
}

HuntCase explored_run(const ExploreOptions& options, const Lineage& lineage, std::uint64_t number) {
  HF_CHECK(number >= 1 && number <= lineage.runs().size(), "a run of the exploration");
  HuntCase one = explored_case(options);
  Chooser chooser(lineage.path(number - 1));
  one.changes = Steered(one, options, chooser).changes();
  return one;
}

}  // namespace holdfast::sim
