#include "sim/explore/search.h"

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_set.hpp>
#include <deque>
#include <map>
#include <utility>

#include "lib/runtime/check.h"
#include "sim/explore/seen_states.h"
#include "sim/world/trace.h"

namespace holdfast::sim {
namespace {

constexpr std::size_t kBatch = 256;

// A way that was run, and what can go otherwise after its last deviation.
struct Node {
  Path path;
  std::uint32_t first = 0;                 // point
  std::vector<std::uint8_t> choices = {};  // of the points from there on; 1: as usual
  std::vector<std::pair<std::uint32_t, std::uint64_t>> left_out = {};  // points, and alternatives as bits
};

Deviations with(Deviations used, std::size_t kind) {
  ++used.all;
  ++used.of_kind[kind];
  return used;
}

// The ways of one more deviation than those nodes, one after another.
class Children {
 public:
  void add(Node node) { nodes_.push_back(std::move(node)); }
  bool next(Path& path) {
    while (!nodes_.empty()) {
      const Node& node = nodes_.front();
      for (; at_ < node.choices.size(); ++at_, choice_ = 1) {
        const std::uint32_t point = node.first + at_;
        for (; choice_ < node.choices[at_]; ++choice_) {
          if (leaves_out(node, point, choice_)) continue;
          path = node.path;
          path.push_back({.point = point, .choice = choice_++});
          return true;
        }
      }
      nodes_.pop_front();
      at_ = 0;
      choice_ = 1;
    }
    return false;
  }

 private:
  static bool leaves_out(const Node& node, std::uint32_t point, std::uint32_t choice) {
    if (choice >= 64) return false;
    for (const auto& [at, choices] : node.left_out) {
      if (at == point) return (choices >> choice & 1) != 0;
    }
    return false;
  }

  std::deque<Node> nodes_;
  std::uint32_t at_ = 0, choice_ = 1;
};

// The ways of one more deviation than that node.
std::uint64_t children_of(const Node& node) {
  std::uint64_t count = 0;
  for (const std::uint8_t choices : node.choices) count += choices - 1u;
  for (const auto& [at, choices] : node.left_out) count -= static_cast<std::uint64_t>(std::popcount(choices));
  return count;
}

std::uint64_t digest_of(const Path& path, std::size_t count, Deviation last) {
  Trace trace;
  for (std::size_t i = 0; i < count; ++i) trace.add(std::uint64_t{path[i].point} << 32 | path[i].choice);
  trace.add(std::uint64_t{last.point} << 32 | last.choice);
  return trace.digest();
}

class Search {
 public:
  explicit Search(const SearchOptions& options)
      : options_(options), most_{.all = options.deviations, .of_kind = options.of_kind} {}

  SearchState go() {
    by_size_[0].apart.emplace_back();
    state_.left = 1;
    for (;;) {
      std::vector<Path> paths;
      gather(paths);
      if (paths.empty()) {
        state_.complete = true;
        return state_;
      }
      if (!batch(std::move(paths))) return state_;
    }
  }

 private:
  // The ways of one size.
  struct Ways {
    std::deque<Path> apart;  // found by others of the same moment
    Children children;       // of the ways with one deviation less
  };

  // Of the least size that there is.
  void gather(std::vector<Path>& paths) {
    Path path;
    while (!by_size_.empty() && paths.empty()) {
      Ways& least = by_size_.begin()->second;
      for (; paths.size() < kBatch && !least.apart.empty(); least.apart.pop_front())
        paths.push_back(std::move(least.apart.front()));
      while (paths.size() < kBatch && least.children.next(path)) paths.push_back(std::move(path));
      if (paths.empty()) by_size_.erase(by_size_.begin());
    }
  }

  bool batch(std::vector<Path> paths) {
    if (state_.runs >= options_.most_runs) return false;
    const std::uint64_t left = options_.most_runs - state_.runs;
    const bool all = paths.size() <= left;
    if (!all) paths.resize(static_cast<std::size_t>(left));
    std::vector<Chooser> choosers;
    for (Path& path : paths) choosers.emplace_back(std::move(path), &seen_);
    options_.run(choosers);
    for (std::size_t i = 0; i < choosers.size(); ++i) {
      const Chooser& chooser = choosers[i];
      const std::uint64_t points = chooser.asked().size();
      if (chooser.joined()) {
        ++state_.joined;
      } else {
        const bool first = state_.runs == state_.joined;
        state_.least_points = first ? points : std::min(state_.least_points, points);
        state_.most_points = std::max(state_.most_points, points);
      }
      ++state_.runs;
      --state_.left;
      state_.deviations = std::max(state_.deviations, static_cast<std::uint32_t>(chooser.path().size()));
      if (!options_.take(i, chooser)) return false;
      const std::uint32_t until = expand(chooser);
      if (options_.gone_into) options_.gone_into(chooser, until);
    }
    return all && !(options_.stop && options_.stop(state_));
  }

  // Writes down what can go otherwise: after the last deviation; and before it, if what comes first at that
  // moment has turned out to matter. Until which point: from there on it goes as a way that was run before.
  std::uint32_t expand(const Chooser& chooser) {
    const Path& path = chooser.path();
    const auto& moments = chooser.moments();
    const auto size = static_cast<std::uint32_t>(chooser.asked().size());
    Node node{.path = path, .first = path.empty() ? 0 : path.back().point + 1};
    Deviations used;         // before the point
    std::size_t before = 0;  // deviations
    std::uint32_t until = size;
    for (std::size_t m = 0; m < moments.size(); ++m) {
      const Chooser::Moment& moment = moments[m];
      const std::uint32_t end = m + 1 < moments.size() ? moments[m + 1].first : size;
      const bool gone_into = end < node.first;  // by the way that this one comes from
      if (moment.first >= node.first && moment.first < end && moment.state) {
        if (seen_.covers(*moment.state, used)) {
          until = moment.first;
          break;
        }
        seen_.add(*moment.state, used);
        state_.states = seen_.size();
      }
      for (std::uint32_t point = moment.first; point < end; ++point) {
        const Chooser::Point& asked = chooser.asked()[point];
        if (point >= node.first) {
          alternatives_after(node, point, asked, moment.crossed, used);
        } else if (!gone_into && moment.crossed) {
          alternatives_before(path, before, point, asked, used);
        }
        if (before == path.size() || path[before].point != point) continue;
        used = with(used, asked.kind);
        ++before;
      }
    }
    while (!node.choices.empty() && node.choices.back() == 1) node.choices.pop_back();
    state_.left += children_of(node);
    if (!node.choices.empty())
      by_size_[static_cast<std::uint32_t>(path.size()) + 1].children.add(std::move(node));
    return until;
  }

  void alternatives_after(Node& node, std::uint32_t point, const Chooser::Point& asked, bool crossed,
                          const Deviations& used) {
    node.choices.push_back(with(used, asked.kind).within(most_) ? static_cast<std::uint8_t>(asked.choices)
                                                                : std::uint8_t{1});
    if (node.choices.back() == 1 || asked.apart == 0) return;
    std::uint64_t left_out = asked.apart;
    for (std::uint32_t choice = 1; crossed && choice < 64; ++choice) {
      if ((asked.apart >> choice & 1) == 0) continue;
      if (gone_apart_.insert(digest_of(node.path, node.path.size(), {point, choice})).second)
        left_out &= ~(std::uint64_t{1} << choice);
    }
    if (left_out != 0) node.left_out.emplace_back(point, left_out);
  }

  void alternatives_before(const Path& path, std::size_t before, std::uint32_t point,
                           const Chooser::Point& asked, const Deviations& used) {
    if (!with(used, asked.kind).within(most_)) return;
    for (std::uint32_t choice = 1; choice < 64; ++choice) {
      const Deviation other{.point = point, .choice = choice};
      if ((asked.apart >> choice & 1) == 0 || path[before] == other) continue;
      if (!gone_apart_.insert(digest_of(path, before, other)).second) continue;
      Path found(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(before));
      found.push_back(other);
      by_size_[static_cast<std::uint32_t>(found.size())].apart.push_back(std::move(found));
      ++state_.left;
    }
  }

  const SearchOptions& options_;
  const Deviations most_;
  SearchState state_;
  SeenStates seen_;
  boost::unordered_flat_set<std::uint64_t> gone_apart_;
  std::map<std::uint32_t, Ways> by_size_;
};

}  // namespace

bool Deviations::within(const Deviations& most) const {
  if (all > most.all) return false;
  for (std::size_t kind = 0; kind < kDecisionKinds; ++kind) {
    if (of_kind[kind] > most.of_kind[kind]) return false;
  }
  return true;
}

std::uint32_t Chooser::choose(std::uint32_t choices, std::size_t kind, std::uint64_t apart) {
  HF_CHECK(choices >= 2, "a decision has alternatives");
  HF_CHECK(choices <= UINT8_MAX && kind < kDecisionKinds, "so many alternatives");
  if (moments_.empty()) moments_.push_back({.first = 0, .state = std::nullopt, .crossed = true});
  const auto point = static_cast<std::uint32_t>(asked_.size());
  asked_.push_back({.choices = choices, .kind = static_cast<std::uint8_t>(kind), .apart = apart});
  if (next_ >= path_.size() || path_[next_].point != point) return 0;
  used_ = with(used_, kind);
  return std::min(path_[next_++].choice, choices - 1);
}

bool Chooser::moment(std::uint64_t state) {
  if (!moments_.empty() && moments_.back().first == asked_.size()) moments_.pop_back();
  moments_.push_back({.first = static_cast<std::uint32_t>(asked_.size()), .state = state, .crossed = false});
  joined_ = seen_ != nullptr && next_ == path_.size() && seen_->covers(state, used_);
  return !joined_;
}

void Chooser::crossed() {
  if (!moments_.empty()) moments_.back().crossed = true;
}

SearchState search(const SearchOptions& options) { return Search(options).go(); }

}  // namespace holdfast::sim
