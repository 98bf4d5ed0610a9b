// The linear engine: linearizability of one key in O(n log n), for the models that need no search. Proofs are
// in models/README.md. An algorithm that does not apply to a history says so; then the search decides.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

struct LinearResult {
  bool linearizable = true;
  // The rest is for a history that is not linearizable.
  // "double-hold", "release-without-hold", "token-order", "too-many-permits", "stale-read", ...
  std::string kind;
  std::vector<std::size_t> operations = {};  // indices, ascending; these alone are not linearizable
  std::size_t stuck = 0;                     // the operation whose completion no order explains
  std::optional<std::size_t> holder = {};    // the acquire of the hold that it breaks
};

// nullopt: there is no linear algorithm for this model, or it does not apply to this history; `why_not` says
// why. REQUIRES: `operations` in the order of their invocations.
std::optional<LinearResult> check_linear(std::string_view model, const std::vector<Operation>& operations,
                                         const ModelOptions& options, std::string& why_not);

// By Model::decide(), where the model has it: "" if an order exists, else what is wrong.
std::optional<std::string_view> decide_linear(const Model& model, const std::vector<Operation>& operations,
                                              std::string& why_not);
// The same by decide_linear(), where the model has it. The stuck operation is found by bisection, so this
// takes O(log n) decisions if there is no order.
std::optional<LinearResult> check_linear(const Model& model, const std::vector<Operation>& operations,
                                         std::string& why_not);

// The algorithms behind check_linear().
std::optional<LinearResult> linear_lock(const std::vector<Operation>& operations, bool reentrant, bool fenced,
                                        bool read_write, std::int64_t most_entries, std::string& why_not);
std::optional<LinearResult> linear_leased(const std::vector<Operation>& operations);
std::optional<LinearResult> linear_semaphore(const std::vector<Operation>& operations, std::int64_t permits,
                                             std::string& why_not);
std::optional<LinearResult> linear_fair(const std::vector<Operation>& operations, std::string& why_not);
std::optional<LinearResult> linear_anonymous(const std::vector<Operation>& operations, std::string& why_not);
std::optional<LinearResult> linear_register(const std::vector<Operation>& operations, Value initial,
                                            std::string& why_not);

// True when no owner invokes an operation while one of its own is open or of unknown outcome.
bool owners_are_sequential(const std::vector<Operation>& operations);

}  // namespace holdfast::checker
