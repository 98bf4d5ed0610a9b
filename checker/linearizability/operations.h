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
  bool whole = false;    // a release that gives back all that its owner holds, at any depth; then unknown
  std::uint32_t permits = 1;
  // Names of the history or of the key alone: they say who is who among the operations of one key. owner: the
  // process where the history names none. After its holds were ended as a whole, an owner goes on under a
  // number of its own.
  Symbol process = 0, owner = 0;
  Symbol id = 0;  // of a lock: the acquisition that the history names; no model reads it
  // read: the value that was read. write, cas: the new value. resize: the new number of permits.
  Value value;
  // cas: the expected value. acquire: the fencing token; a number, of which only the order among those of its
  // key counts, or what has no order.
  Value token;
  std::int64_t queued = kAbsent;  // acquire: the time at which the client was told that it waits
  // Of different processes, a comes before b when a.ret < b.call. Operations of one process come in the order
  // of `invoked`.
  std::int64_t call = 0, ret = kForever;
  std::size_t invoked = kNowhere, completed = kNowhere;  // positions in the history
};

struct KeyOperations {
  Symbol key = 0;
  std::vector<Operation> operations;  // in the order of their invocations
  Value unordered = {};               // a fencing token that is no number; tokens have no order then
};

struct ExtractOptions {
  // True: events are ordered by position, as in Jepsen's formats. False: by time, and equal times are
  // concurrent.
  bool by_position = false;
  // True: a release that fails is one of unknown outcome; with `not-owner` or `lost` it ends the hold at any
  // depth. As in our own format. Every other failed operation is dropped.
  bool failed_release_ends = true;
  bool reentrant = false;  // as HoldOptions of holds.h
  bool one_hold = true;    // a hold that is told lost ends all of its owner's (`whole`); else itself alone
  // A hold ends by itself at the end of its claim. Each hold becomes one acquire and one release, with a
  // process of its own, and an owner that it shares with the holds that it began under. Always by time.
  bool leased = false;
  bool locks = true;     // acquire and release; else operations on the resource
  bool resizes = false;  // and resize
  bool owners = true;    // who acquires and who releases matters; so do the acquisitions that they name
  // Holds end by `lost` and `crash` in every format. By position, what a client completes with `info` is its
  // crash: in Jepsen such a process never acts again, and its connection is closed.
  bool sessions = false;
  bool queues = false;  // acquires are split by split_queued()
  // Only events of these processes (0: of all), up to and including position `upto`. What is open then has an
  // unknown outcome.
  Symbol only[2] = {0, 0};
  std::size_t upto = kNowhere;
};

// Keys come in the order of their first event. Reads with an unknown outcome are dropped. Where the client
// was told that a hold is lost, or died, the hold ends by a release of unknown outcome (`whole`) at that
// time. Throws HistoryError (joiner.h) for what processes that do one thing after another cannot produce.
std::vector<KeyOperations> extract_operations(const History& history, const ExtractOptions& options);
std::vector<KeyOperations> extract_operations(const PackedHistory& history, const ExtractOptions& options);

// The greatest owner among them; 0: there are none.
Symbol most_owner(const std::vector<Operation>& operations);

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
