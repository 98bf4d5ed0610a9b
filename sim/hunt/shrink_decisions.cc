#include "sim/hunt/shrink_decisions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim {
namespace {

struct Decision {
  std::string stream;
  std::uint64_t number = 0;
  Drawn drawn;
};
using List = std::vector<Decision>;

List decisions_of(const HuntCase& one) {
  Decisions decisions(one.changes, /*keep=*/true);
  try_case(one, {.decisions = &decisions});
  List list;
  for (const auto& [stream, drawn] : decisions.drawn()) {
    for (std::uint64_t number = 0; number < drawn.size(); ++number)
      list.push_back({.stream = stream, .number = number, .drawn = drawn[number]});
  }
  return list;
}

Changes changes_of(const List& list) {
  Changes changes;
  for (const Decision& one : list) changes.fixed[one.stream][one.number] = one.drawn.value;
  return changes;
}

class Reducer {
 public:
  Reducer(HuntCase one, const std::function<bool(const HuntCase&)>& shows, const std::function<bool()>& over)
      : case_(std::move(one)), shows_(shows), over_(over) {}

  std::optional<Changes> go() {
    list_ = decisions_of(case_);
    if (!shows(list_)) return std::nullopt;
    const std::size_t all = list_.size();
    for (std::size_t chunk = all / 2; chunk > all / 32; chunk /= 2) leave_out(chunk);
    leave_out_streams();
    // Once more from the halves, as long as something goes: what needed each other may go together.
    for (std::size_t before = 0; before != list_.size() && !over_();) {
      before = list_.size();
      for (std::size_t chunk = std::max<std::size_t>(list_.size() / 2, 1); chunk > 0; chunk /= 2)
        leave_out(chunk);
    }
    for (std::size_t i = 0; i < list_.size() && !over_(); ++i) make_small(i);
    return changes_of(list_);
  }

 private:
  bool shows(const List& list) {
    case_.changes = changes_of(list);
    return shows_(case_);
  }

  bool take(List list) {
    if (!shows(list)) return false;
    list_ = std::move(list);
    return true;
  }

  // The longest first: most of a run does not matter.
  void leave_out_streams() {
    std::vector<std::pair<std::size_t, std::string>> streams;
    for (const Decision& one : list_) {
      if (streams.empty() || streams.back().second != one.stream) streams.emplace_back(0, one.stream);
      ++streams.back().first;
    }
    std::stable_sort(streams.begin(), streams.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [count, stream] : streams) {
      if (over_()) return;
      List fewer = list_;
      std::erase_if(fewer, [&](const Decision& one) { return one.stream == stream; });
      take(std::move(fewer));
    }
  }

  void leave_out(std::size_t chunk) {
    for (std::size_t from = 0; from < list_.size() && !over_();) {
      List fewer = list_;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(from);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(chunk, list_.size() - from)));
      if (!take(std::move(fewer))) from += chunk;
    }
  }

  // The least that can be drawn, or else about the least that shows it. No word is simpler than another.
  void make_small(std::size_t at) {
    const Drawn drawn = list_[at].drawn;
    if (drawn.kind == Drawn::Kind::word || drawn.value == drawn.low) return;
    const auto with = [&](std::uint64_t value) {
      List changed = list_;
      changed[at].drawn.value = value;
      return take(std::move(changed));
    };
    if (with(drawn.low)) return;
    std::uint64_t fails = drawn.low;
    while (list_[at].drawn.value - fails > 1 && !over_()) {
      const std::uint64_t middle = fails + (list_[at].drawn.value - fails) / 2;
      if (list_[at].drawn.value - middle < list_[at].drawn.value / 16) return;  // near enough
      if (!with(middle)) fails = middle;
    }
  }

  HuntCase case_;
  const std::function<bool(const HuntCase&)>& shows_;
  const std::function<bool()>& over_;
  List list_;
};

}  // namespace

std::optional<Changes> few_decisions(const HuntCase& one, const std::function<bool(const HuntCase&)>& shows,
                                     const std::function<bool()>& over) {
  return Reducer(one, shows, over).go();
}

std::size_t count_of(const Changes& changes) {
  std::size_t count = changes.reseeds.size();
  for (const auto& [stream, fixed] : changes.fixed) count += fixed.size();
  return count;
}

}  // namespace holdfast::sim
