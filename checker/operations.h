// Operations: invocations and completions joined, by key: what models and engines work on.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "history.h"
#include "holds.h"

namespace holdfast::checker {

struct Operation {
  Function f = Function::acquire;
  bool unknown = false;  // its outcome: it took effect at any time after `call`, or never
  bool shared = false;   // mode "read"
  std::uint32_t permits = 1;
  Symbol process = 0, owner = 0;  // owner: the process where the history names none
  std::int64_t value = kAbsent;   // read: what was read. write, cas: the new value
  std::int64_t token = kAbsent;   // acquire: the fencing token. cas: the value expected
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
  bool by_position =
      false;  // the order of events is their order in the file; else their time, ties concurrent
  // A release that failed with `not-owner` or `lost` ended the hold all the same (our own histories). Else
  // failed operations are dropped, as Jepsen does.
  bool failed_release_ends = true;
  // A hold ends by itself where its claim ends: one acquire and one release for each hold, whose owner and
  // process are numbers of their own. Always by time.
  bool leased = false;
  bool locks = true;  // acquire and release; else read, write and cas
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

}  // namespace holdfast::checker
