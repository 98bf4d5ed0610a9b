#include "tools/holdfast/check_view.h"

#include <algorithm>
#include <optional>

#include "checker/history/effects.h"
#include "checker/holds/holds.h"

namespace holdfast::tools {

using checker::Event;
using checker::EventType;
using checker::Function;
using checker::PackedHistory;

namespace {

void insert_sorted(std::vector<std::size_t>& positions, std::size_t position) {
  const auto place = std::lower_bound(positions.begin(), positions.end(), position);
  if (place == positions.end() || *place != position) positions.insert(place, position);
}

}  // namespace

void HistoryView::show_all() {
  filled_ = whole_ = same_ = true;
  failed_releases_ = 0;
  history_ = loaded_.packed.unpack();
  if (loaded_.format == checker::Format::jsonl) return;
  same_ = false;
  shown_.clear();
  const checker::Pairs pairs = checker::pair_events(history_);
  const auto& events = history_.events();
  const auto failed = [&](std::size_t at) {
    const std::size_t other = pairs.other[at];
    return events[at].f == Function::release &&
           (events[at].type == EventType::fail ||
            (other != checker::kNowhere && events[other].type == EventType::fail));
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!failed(i)) {
      shown_.push_back(i);
    } else if (events[i].type == EventType::fail) {
      ++failed_releases_;
    }
  }
  history_ = history_.subset(shown_);
}

void HistoryView::show_around(std::size_t at, checker::Symbol key, const std::vector<std::size_t>& must,
                              std::size_t reach) {
  filled_ = true;
  whole_ = same_ = false;
  std::vector<std::size_t> before, after;
  const auto look = [&](std::size_t position, const PackedHistory::Fixed& fixed) {
    if (fixed.key == key || of_harness(fixed.f())) (position <= at ? before : after).push_back(position);
  };
  loaded_.packed.for_each(look, [&](std::size_t position, const PackedHistory::Fixed& fixed, const Event&) {
    look(position, fixed);
  });
  const std::size_t first = before.size() > reach ? before.size() - reach : 0;
  shown_.assign(before.begin() + static_cast<std::ptrdiff_t>(first), before.end());
  after.resize(std::min(after.size(), reach));
  shown_.insert(shown_.end(), after.begin(), after.end());
  for (const std::size_t position : must) insert_sorted(shown_, position);
  history_ = loaded_.packed.subset(shown_);
}

std::vector<std::uint64_t> HistoryView::indices() const {
  if (same_) return loaded_.read.index;
  std::vector<std::uint64_t> indices;
  indices.reserve(shown_.size());
  for (const std::size_t position : shown_) indices.push_back(loaded_.read.index_of(position));
  return indices;
}

bool HistoryView::translate(checker::Witness& witness) const {
  if (same_) return true;
  checker::Witness translated = witness;
  const auto move = [&](std::size_t& position) {
    const auto place = std::lower_bound(shown_.begin(), shown_.end(), position);
    if (place == shown_.end() || *place != position) return false;
    position = static_cast<std::size_t>(place - shown_.begin());
    return true;
  };
  for (std::size_t& position : translated.events) {
    if (!move(position)) return false;
  }
  if (translated.acquires && !(move(translated.acquires->first) && move(translated.acquires->second)))
    return false;
  witness = std::move(translated);
  return true;
}

}  // namespace holdfast::tools
