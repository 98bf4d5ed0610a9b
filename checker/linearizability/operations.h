// Operations: invocations joined with their completions, by key. Models and engines work on them.
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
  bool unknown = false;  // unknown outcome: it took effect at any time after `call`, or never
  bool shared = false;   // mode "read"
  bool failed = false;   // an acquire that failed after it was queued (split_queued() only)
  std::uint32_t permits = 1;
  Symbol process = 0, owner = 0;  // owner: the process where the history names none
  // read: the value that was read. write, cas: the new value. resize: the new number of permits. acquire: the
  // time at which the client was told that it waits.
  std::int64_t value = kAbsent;
  std::int64_t token = kAbsent;  // acquire: the fencing token. cas: the expected value
  // Of different processes, a comes before b when a.ret < b.call. Operations of one process come in the order
  // of `invoked`.
  std::int64_t call = 0, ret = kForever;
  std::size_t invoked = kNowhere, completed = kNowhere;  // positions in the history
};

struct KeyOperations {
  Symbol key = 0;
  std::vector<Operation> operations;  // in the order of their invocations
};

struct ExtractOptions {
  // True: events are ordered by position, as in Jepsen's formats. False: by time, and equal times are
  // concurrent.
  bool by_position = false;
  // True: a release that fails with `not-owner` or `lost` ends the hold, as in our own format. Every other
  // failed operation is dropped.
  bool failed_release_ends = true;
  // A hold ends by itself at the end of its claim. Each hold becomes one acquire and one release, with an
  // owner and a process of its own. Always by time.
  bool leased = false;
  bool locks = true;     // acquire and release; else read, write and cas
  bool resizes = false;  // and resize
  bool queues = false;   // acquires are split by split_queued()
  // Only events of these processes (0: of all), up to and including position `upto`. What is open then has an
  // unknown outcome.
  Symbol only[2] = {0, 0};
  std::size_t upto = kNowhere;
};

// The history cannot come from processes that do one thing after another.
class HistoryError : public std::runtime_error {
 public:
  HistoryError(const std::string& problem, std::size_t at) : std::runtime_error(problem), position(at) {}
  std::size_t position;
};

// Keys come in the order of their first event. Reads with an unknown outcome are dropped. Throws HistoryError
// where a process invokes an operation while one of its own is open, completes another one than is open, or
// completes it at an earlier time than it invoked it.
std::vector<KeyOperations> extract_operations(const History& history, const ExtractOptions& options);
std::vector<KeyOperations> extract_operations(const PackedHistory& history, const ExtractOptions& options);

// How the operations of each process follow one another.
struct ProcessOrder {
  std::vector<std::size_t> previous;  // by operation: the one before it with a known outcome; kNowhere: none
  std::vector<bool> awaited;          // by operation: the next one is invoked at the time of its return
};
// REQUIRES: `operations` in the order of their invocations.
ProcessOrder process_order(const std::vector<Operation>& operations);

// The call or the return of an operation.
struct Endpoint {
  std::int64_t rank = 0;
  bool returns = false;
  std::size_t operation = 0;
};

// The calls of all operations and the returns of those with a known outcome, by time. At equal times calls
// come first, so that operations of different processes are concurrent there. REQUIRES: `operations` in the
// order of their invocations.
std::vector<Endpoint> endpoints_of(const std::vector<Operation>& operations);

// Splits the acquires of a lock with a queue:
//   - `queue`, from the call to the time at which the client was told that it waits (`value`, else the
//     return);
//   - `acquire`, from there to the return; not for an acquire that failed;
//   - `lost`, the leaving of the queue: for an acquire that failed by its return, for one of unknown outcome
//     at any time, or never.
std::vector<Operation> split_queued(const std::vector<Operation>& operations);

}  // namespace holdfast::checker
