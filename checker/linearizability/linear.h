// Linear: linearizability of one key in near-linear time, for the objects for which no search is needed.
// Proofs in models/README.md. Where an algorithm does not apply to a history it says so, and the search takes
// over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

struct LinearResult {
  bool linearizable = true;
  // Not linearizable: by what (indices of operations, ascending; a sub-history of them is not linearizable
  // either).
  // "double-hold", "release-without-hold", "token-order", "too-many-permits", "stale-read", ...
  std::string kind;
  std::vector<std::size_t> operations = {};
  std::size_t stuck = 0;                   // the operation whose completion shows it
  std::optional<std::size_t> holder = {};  // the acquire of the hold that it breaks
};

// nullopt: no linear algorithm for this model, or not for this history (an owner that goes on after an
// unknown outcome, values that are written twice, ...; then `why_not` says which). REQUIRES: `operations` in
// the order of their invocations.
std::optional<LinearResult> check_linear(std::string_view model, const std::vector<Operation>& operations,
                                         const ModelOptions& options, std::string& why_not);

// The parts.
std::optional<LinearResult> linear_lock(const std::vector<Operation>& operations, bool reentrant, bool fenced,
                                        bool read_write, std::int64_t most_entries, std::string& why_not);
std::optional<LinearResult> linear_leased(const std::vector<Operation>& operations);
std::optional<LinearResult> linear_semaphore(const std::vector<Operation>& operations, std::int64_t permits,
                                             std::string& why_not);
std::optional<LinearResult> linear_fair(const std::vector<Operation>& operations, std::string& why_not);
std::optional<LinearResult> linear_anonymous(const std::vector<Operation>& operations, std::string& why_not);
std::optional<LinearResult> linear_register(const std::vector<Operation>& operations, std::int64_t initial,
                                            std::string& why_not);

// An owner invokes an operation while one of its own is open or of unknown outcome.
bool owners_are_sequential(const std::vector<Operation>& operations);

}  // namespace holdfast::checker
