// LockPass: the mutex family (mutex, reentrant, fenced, reentrant-fenced) in one pass over the events, all
// keys at once, without joining operations first: some 20 bytes a string, nothing an operation. The proof is
// in models/README.md.
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
  std::int64_t most_entries = 0;  // 0: without bound
  bool by_position = true;        // the order of events is their order in the file; else their times
  bool failed_release_ends = false;
};

// nullopt: the model is not of the family.
std::optional<LockPassRules> lock_pass_rules(std::string_view model, const ModelOptions& options,
                                             bool jepsen);

struct LockPassResult {
  // The first violation of a key: the events of these two processes up to `at` show it by themselves.
  struct Violation {
    Symbol key = 0;
    std::size_t at = 0;
    Symbol process = 0, holder = 0;  // holder: 0 where there is none
  };
  std::size_t operations = 0, keys = 0;
  std::vector<Violation> violations;
};

// nullopt: this pass cannot say (times that go back, a violation at equal times, a process or an owner that
// goes on after an unknown outcome, a release that failed while its process held, a completion without
// invocation); check_linear() then takes its time.
std::optional<LockPassResult> lock_pass(const History& history, const LockPassRules& rules);
std::optional<LockPassResult> lock_pass(const PackedHistory& history, const LockPassRules& rules);

}  // namespace holdfast::checker
