// Operations: invocations and completions joined, by key: what models and engines work on.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "checker/history/history.h"
#include "checker/history/packed_history.h"
#include "checker/holds/holds.h"

namespace holdfast::checker {

struct Operation {
  Function f = Function::acquire;
  bool unknown = false;  // its outcome: it took effect at any time after `call`, or never
  bool shared = false;   // mode "read"
  bool failed = false;   // an acquire that failed, though it was queued (split_queued() only)
  std::uint32_t permits = 1;
  Symbol process = 0, owner = 0;  // owner: the process where the history names none
  std::int64_t value = kAbsent;   // read: what was read. write, cas: the new value.
      // acquire: when it was told that it waits. resize: the new number of permits
  std::int64_t token = kAbsent;  // acquire: the fencing token. cas: the value expected
  // Among different processes, a comes before b when a.ret < b.call. Operations of one process come in the
  // order of `invoked`.
  std::int64_t call = 0, ret = kForever;
  std::size_t invoked = kNowhere, completed = kNowhere;  // positions in the history
};

struct KeyOperations {
  Symbol key = 0;
  std::vector<Operation> operations;  // in the order of their invocations
};

struct ExtractOptions {
  // Events are ordered as in the file; else by their times, and equal times are concurrent.
  bool by_position = false;
  // A release that failed with `not-owner` or `lost` ended the hold all the same (our own histories). Else
  // failed operations are dropped, as Jepsen does.
  bool failed_release_ends = true;
  // A hold ends by itself where its claim ends: one acquire and one release for each hold, whose owner and
  // process are numbers of their own. Always by time.
  bool leased = false;
  bool locks = true;     // acquire and release; else read, write and cas
  bool resizes = false;  // and resize
  bool queues = false;   // an acquire is two or three operations (split_queued())
  // Only these processes (0: all), and events up to there: what is open then has an unknown outcome.
  Symbol only[2] = {0, 0};
  std::size_t upto = kNowhere;
};

// A history that no sequential processes can have produced.
class HistoryError : public std::runtime_error {
 public:
  HistoryError(const std::string& problem, std::size_t at) : std::runtime_error(problem), position(at) {}
  std::size_t position;
};

// Keys in the order of their first event. Reads with an unknown outcome are dropped. Throws HistoryError
// where a process invokes an operation while one of its own is open.
std::vector<KeyOperations> extract_operations(const History& history, const ExtractOptions& options);
std::vector<KeyOperations> extract_operations(const PackedHistory& history, const ExtractOptions& options);

// The call or the return of an operation.
struct Endpoint {
  std::int64_t rank = 0;
  bool returns = false;
  std::size_t operation = 0;
};

// The calls of all operations and the returns of those with a known outcome, by time. At equal times calls come first, so
// that operations of different processes are concurrent there. REQUIRES: `operations` in the order of their invocations.
std::vector<Endpoint> endpoints_of(const std::vector<Operation>& operations);

// An acquire of a lock with a queue is a `queue` (its call to the time at which it was told that it waits:
// its `value`, else its return) and an acquire (from there to its return). One that may not be granted also
// leaves the queue some time, or never: a `lost`, of unknown outcome, or up to its failure (`failed`). The
// operations of a failed acquire that was never queued are left out.
std::vector<Operation> split_queued(const std::vector<Operation>& operations);

}  // namespace holdfast::checker
