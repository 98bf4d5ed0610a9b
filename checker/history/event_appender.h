// EventAppender: takes the events of a reader into a History, or into a PackedHistory that shares its
// strings, and notes what a ReadHistory says of them: indices, places, falling times, what is not understood.
#pragma once

#include <string>

#include "checker/history/history_jsonl.h"
#include "checker/history/packed_history.h"

namespace holdfast::checker {

class EventAppender {
 public:
  // `into` receives the events in place of `result.history`, which then has the strings alone. Null: there is
  // none.
  EventAppender(ReadHistory& result, PackedHistory* into);

  std::size_t size() const { return size_; }
  // `index`: kAbsent where the file names none. Without a time (`has_time`) an event has the time of the one
  // before it; if no event has one, its position.
  void append(Event& event, bool has_time, std::int64_t index, Place place);
  bool any_time() const { return timed_ > 0; }

 private:
  void note_other(const Event& event);

  ReadHistory& result_;
  PackedHistory* into_;
  std::size_t size_ = 0, timed_ = 0;
  std::int64_t last_ns_ = 0;
  Symbol nemesis_;
};

// Brings the events into the order of their times; those of equal times keep theirs. Indices and places go
// along. Does nothing if no time falls. O(n log n), and 72 bytes an event.
void sort_by_time(ReadHistory& read, PackedHistory* into);

// Functions that are known by name alone: some checks look at them, and others may pass them by.
bool is_workload_function(std::string_view name);

}  // namespace holdfast::checker
