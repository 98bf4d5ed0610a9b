// EventAppender: takes the events of a reader into a History, or into a PackedHistory that shares its
// strings. Keeps their indices from the first one on that is not the event's position.
#pragma once

#include "checker/history/history_jsonl.h"
#include "checker/history/packed_history.h"

namespace holdfast::checker {

class EventAppender {
 public:
  // `into` receives the events in place of `result.history`, which then has the strings alone. Null: there is
  // none.
  EventAppender(ReadHistory& result, PackedHistory* into) : result_(result), into_(into) {
    if (into_ != nullptr) result_.history = into_->names();
  }
  std::size_t size() const { return into_ != nullptr ? into_->size() : result_.history.events().size(); }
  // `index`: kAbsent where the file names none. An event without time (`has_time`) has its position as time.
  void append(Event& event, bool has_time, std::int64_t index) {
    const std::size_t position = size();
    if (!has_time) event.time_ns = static_cast<std::int64_t>(position);
    const std::uint64_t named = index == kAbsent ? position : static_cast<std::uint64_t>(index);
    if (result_.index.empty() && named != position) {
      for (std::size_t i = 0; i < position; ++i) result_.index.push_back(i);
    }
    if (named != position || !result_.index.empty()) result_.index.push_back(named);
    if (into_ != nullptr) {
      into_->append(event);
    } else {
      result_.history.append(event);
    }
  }

 private:
  ReadHistory& result_;
  PackedHistory* into_;
};

}  // namespace holdfast::checker
