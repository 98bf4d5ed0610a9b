#include "sim/explore/search.h"

#include <algorithm>
#include <utility>

#include "lib/runtime/check.h"

namespace holdfast::sim {
namespace {

constexpr std::size_t kBatch = 256;

// A way that was run, and what could go otherwise after its last deviation.
struct Node {
  Path path;
  std::vector<std::uint32_t> asked;
};

// The ways with one deviation more than those of `nodes`, one after another.
class Children {
 public:
  explicit Children(const std::vector<Node>& nodes) : nodes_(nodes) { enter(); }
  bool next(Path& path) {
    for (; node_ < nodes_.size(); ++node_, enter()) {
      const Node& node = nodes_[node_];
      for (; point_ < node.asked.size(); ++point_, choice_ = 1) {
        if (choice_ >= node.asked[point_]) continue;
        path = node.path;
        path.push_back({.point = point_, .choice = choice_++});
        return true;
      }
    }
    return false;
  }

 private:
  void enter() {
    if (node_ >= nodes_.size()) return;
    const Path& path = nodes_[node_].path;
    point_ = path.empty() ? 0 : path.back().point + 1;
    choice_ = 1;
  }
  const std::vector<Node>& nodes_;
  std::size_t node_ = 0;
  std::uint32_t point_ = 0, choice_ = 1;
};

class Search {
 public:
  explicit Search(const SearchOptions& options) : options_(options) {}

  SearchState go() {
    std::vector<Node> level;
    bool on = batch({Path{}}, level);
    while (on && state_.deviations < options_.deviations) {
      ++state_.deviations;
      std::vector<Node> below;
      on = ways_below(level, below);
      level = std::move(below);
    }
    state_.complete = on;
    return state_;
  }

 private:
  bool ways_below(const std::vector<Node>& level, std::vector<Node>& below) {
    Children children(level);
    for (;;) {
      std::vector<Path> paths;
      Path path;
      while (paths.size() < kBatch && children.next(path)) paths.push_back(path);
      if (paths.empty()) return true;
      if (!batch(std::move(paths), below)) return false;
    }
  }

  bool batch(std::vector<Path> paths, std::vector<Node>& below) {
    if (state_.runs >= options_.most_runs) return false;
    const std::uint64_t left = options_.most_runs - state_.runs;
    const bool all = paths.size() <= left;
    if (!all) paths.resize(static_cast<std::size_t>(left));
    std::vector<Chooser> choosers;
    for (Path& path : paths) choosers.emplace_back(std::move(path));
    options_.run(choosers);
    for (std::size_t i = 0; i < choosers.size(); ++i) {
      const Chooser& chooser = choosers[i];
      const std::size_t points = chooser.asked().size();
      state_.least_points = state_.runs == 0 ? points : std::min<std::uint64_t>(state_.least_points, points);
      state_.most_points = std::max<std::uint64_t>(state_.most_points, points);
      ++state_.runs;
      if (!options_.take(i, chooser)) return false;
      if (chooser.path().size() < options_.deviations) below.push_back({chooser.path(), chooser.asked()});
    }
    return all && !(options_.stop && options_.stop(state_));
  }

  const SearchOptions& options_;
  SearchState state_;
};

}  // namespace

std::uint32_t Chooser::choose(std::uint32_t choices) {
  HF_CHECK(choices >= 2, "a decision has alternatives");
  const auto point = static_cast<std::uint32_t>(asked_.size());
  asked_.push_back(choices);
  if (next_ >= path_.size() || path_[next_].point != point) return 0;
  return std::min(path_[next_++].choice, choices - 1);
}

SearchState search(const SearchOptions& options) { return Search(options).go(); }

}  // namespace holdfast::sim
