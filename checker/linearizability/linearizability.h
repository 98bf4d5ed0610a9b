// Linearizability: judges a history under a model, key by key, and shows a violation by the smallest
// sub-history.
//
// A history that has no violation takes one pass over its events where the model is a lock that lock_pass.h
// knows. Else the events are joined to operations, and each key goes to a linear algorithm (linear.h), or
// where none applies to the search (search.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checker/history/history.h"
#include "checker/linearizability/models/model.h"
#include "checker/linearizability/operations.h"
#include "checker/linearizability/search.h"
#include "checker/outcome.h"

namespace holdfast::checker {

enum class Engine : std::uint8_t { automatic, search, linear };
std::string_view to_string(Engine engine);
std::optional<Engine> parse_engine(std::string_view name);  // "auto", "search", "linear"

struct LinearizabilityOptions {
  std::string model = "mutex";       // REQUIRES: find_model() knows it, or `own_model` is set
  const Model* own_model = nullptr;  // the caller's own model; judged by the search
  ModelOptions model_options = {};
  Engine engine = Engine::automatic;  // automatic: linear where it applies, else search
  // The history comes from a Jepsen format: the order of events is their order, and failed operations never
  // happened.
  bool jepsen = false;
  SearchBudget budget = {};  // of each key. A stopped search stops those of the other keys, and shrinking
  bool shrink = true;        // make witnesses as small as possible
  std::function<void(std::size_t keys_done, std::size_t keys)> progress = {};
};

struct KeyVerdict {
  Symbol key = 0;
  Outcome outcome = Outcome::holds;
  Engine engine = Engine::linear;  // the one that decided
  std::string kind;    // violated: "double-hold", "release-without-hold", "token-order", "no-order", ...
  std::string reason;  // violated: why, in a sentence. unknown: what ran out or is missing
  // Violated: the position of the first completion that no order explains.
  std::size_t at = 0;
  std::optional<std::size_t> holder;  // position of the completion of the acquire whose hold it breaks
  std::vector<std::size_t> witness;   // positions, ascending; these events alone are violated as well
};

struct LinearizabilityResult {
  Outcome outcome = Outcome::holds;
  std::string reason;
  std::vector<KeyVerdict> keys;  // the violated ones by `at`, then the unknown ones
  std::size_t keys_checked = 0, operations = 0;
  std::size_t by_linear = 0, by_search = 0;  // keys that each engine decided
  const KeyVerdict* first() const { return keys.empty() ? nullptr : &keys.front(); }
};

// Throws HistoryError (operations.h) for a history that sequential processes cannot produce, and
// std::invalid_argument for a model that is not known.
LinearizabilityResult check_linearizable(const History& history, const LinearizabilityOptions& options);

LinearizabilityResult check_linearizable(const PackedHistory& history, const LinearizabilityOptions& options);

// What a lock is known to be, where its model is to be named.
struct LockTraits {
  bool reentrant = false;
  bool counts = false;  // permits
  bool shared = false;  // modes
};
// The model of such a lock: a leased one where a grant of the history has valid_until.
std::string usual_lock_model(const History& history, const LockTraits& traits);

// "index 1995: acquire of process 18 ..." for the first violation, with the indices of the file.
std::string describe(const History& history, const KeyVerdict& verdict,
                     const std::vector<std::uint64_t>& index);

std::string describe(const PackedHistory& history, const KeyVerdict& verdict,
                     const std::vector<std::uint64_t>& index);

// Shrinking: the indices of few of `operations`, ascending, for which `fails` is still true. Leaves out whole
// owners first, then an acquire together with its release, and single operations. Calls `fails` at most
// `most` times. REQUIRES: fails(operations).
std::vector<std::size_t> shrink(const std::vector<Operation>& operations,
                                const std::function<bool(const std::vector<Operation>&)>& fails,
                                std::size_t most = 2000);

}  // namespace holdfast::checker
