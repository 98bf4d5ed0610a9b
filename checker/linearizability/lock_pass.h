// The lock pass judges the mutex family (mutex, reentrant, fenced, reentrant-fenced) in one pass over the
// events of all keys, without joining them to operations. It takes about 20 bytes a string, and nothing an
// operation. The proof is in models/README.md.
//
// What it is for: a file of ten million events. Judging takes a tenth of the time of reading, and no memory
// beyond the packed events. By joined operations it takes half to all of the time of reading, and three to
// five times the memory.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "checker/history/history.h"
#include "checker/history/packed_history.h"
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

struct LockPassRules {
  bool reentrant = false, fenced = false;
  std::int64_t most_entries = 0;  // 0: no bound
  bool by_position = true;        // as ExtractOptions of operations.h
  bool failed_release_ends = false;
};

// nullopt: the model is not of the family.
std::optional<LockPassRules> lock_pass_rules(std::string_view model, const ModelOptions& options,
                                             bool jepsen);

struct LockPassResult {
  // The first violation of a key. The events of these two processes up to `at` show it by themselves.
  struct Violation {
    Symbol key = 0;
    std::size_t at = 0;
    Symbol process = 0, holder = 0;  // holder: 0: there is none
  };
  std::size_t operations = 0, keys = 0;
  std::vector<Violation> violations;
};

// nullopt: the pass cannot decide, and the caller joins operations. So it is where times go back, for a
// violation at equal times, where a process or an owner goes on after an unknown outcome, for a release that
// failed while its process held, and for a completion without invocation.
std::optional<LockPassResult> lock_pass(const History& history, const LockPassRules& rules);
std::optional<LockPassResult> lock_pass(const PackedHistory& history, const LockPassRules& rules);

}  // namespace holdfast::checker
