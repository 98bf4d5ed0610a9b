#include "checker/history/event_appender.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "checker/invariant.h"
#include "checker/planted.h"

namespace holdfast::checker {

void Places::add(Place place) {
  const bool expected = !runs_.empty() && runs_.back().first.column == place.column &&
                        runs_.back().first.line + (size_ - runs_.back().position) == place.line;
  if (!expected) runs_.push_back({size_, place});
  ++size_;
}

Place Places::of(std::size_t position) const {
  if (runs_.empty()) return {};
  auto run = std::upper_bound(runs_.begin(), runs_.end(), position,
                              [](std::size_t at, const Run& each) { return at < each.position; });
  CHECKER_INVARIANT(run != runs_.begin(), "the first run begins at the first event");
  --run;
  return {run->first.line + (position - run->position), run->first.column};
}

EventAppender::EventAppender(ReadHistory& result, PackedHistory* into) : result_(result), into_(into) {
  if (into_ != nullptr) result_.history = into_->names();
  nemesis_ = result_.history.intern("nemesis");
}

void EventAppender::append(Event& event, bool has_time, std::int64_t index, Place place) {
  if (has_time) {
    ++timed_;
  } else {
    event.time_ns = timed_ > 0 ? last_ns_ : static_cast<std::int64_t>(size_);
  }
  if (size_ > 0 && event.time_ns < last_ns_) ++result_.times_fell;
  last_ns_ = event.time_ns;
  const std::uint64_t named = index == kAbsent ? size_ : static_cast<std::uint64_t>(index);
  if (result_.index.empty() && named != size_) {
    for (std::size_t i = 0; i < size_; ++i) result_.index.push_back(i);
  }
  if (named != size_ || !result_.index.empty()) result_.index.push_back(named);
  result_.places.add(place);
  if (event.f == Function::other) note_other(event);
  ++size_;
  if (into_ != nullptr) {
    into_->append(event);
  } else {
    result_.history.append(event);
  }
}

void EventAppender::note_other(const Event& event) {
  const std::string_view name = result_.history.text(event.error);
  if (event.process == nemesis_ || is_workload_function(name)) return;
  for (NotUnderstood& each : result_.not_understood) {
    if (each.f == name) return void(++each.count);
  }
  result_.not_understood.push_back({std::string(name), size_, 1});
}

bool is_workload_function(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {
      "debit", "credit", "job", "due", "left-behind", "leave", "interrupted", "keyspace", "record"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

void sort_by_time(ReadHistory& read, PackedHistory* into) {
  if (read.times_fell == 0) return;
  const History unsorted = into != nullptr ? into->unpack() : std::move(read.history);
  const auto& events = unsorted.events();
  read.order.resize(events.size());
  std::iota(read.order.begin(), read.order.end(), std::size_t{0});
  std::stable_sort(read.order.begin(), read.order.end(), [&](std::size_t a, std::size_t b) {
    const bool turned = HOLDFAST_PLANTED(ties_are_turned) && events[a].time_ns == events[b].time_ns;
    return turned ? a > b : events[a].time_ns < events[b].time_ns;
  });
  read.history = unsorted.names();
  if (into != nullptr) *into = PackedHistory(unsorted);
  for (const std::size_t at : read.order) {
    if (into != nullptr) {
      into->append(events[at]);
    } else {
      read.history.append(events[at]);
    }
  }
  // Without indices of its own, an event keeps the position in the file as its index.
  std::vector<std::uint64_t> index;
  index.reserve(read.order.size());
  for (const std::size_t at : read.order) index.push_back(read.index_of(at));
  read.index = std::move(index);
}

}  // namespace holdfast::checker
