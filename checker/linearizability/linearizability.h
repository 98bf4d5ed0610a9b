// Linearizability: a history, a model, an engine -> a verdict, key by key, with the smallest sub-history that
// shows it.
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
  const Model* own_model = nullptr;  // a model of the caller's; only the search knows it
  ModelOptions model_options = {};
  Engine engine = Engine::automatic;  // automatic: linear where it applies, else search
  // How Jepsen means its files: the order of lines counts, failed operations never happened.
  bool jepsen = false;
  SearchBudget budget = {};
  bool shrink = true;  // witnesses are made as small as can be
  std::function<void(std::size_t keys_done, std::size_t keys)> progress = {};
};

struct KeyVerdict {
  Symbol key = 0;
  Outcome outcome = Outcome::holds;
  Engine engine = Engine::linear;  // that decided it
  std::string kind;    // violated: "double-hold", "release-without-hold", "token-order", "no-order", ...
  std::string reason;  // violated: why, in a sentence. unknown: what was spent or missing
  // Violated: the first violating event (the completion that nothing explains) and the hold that it breaks.
  std::size_t at = 0;
  std::optional<std::size_t> holder;  // position of the completion of that hold's acquire
  std::vector<std::size_t> witness;   // positions, ascending: enough to show it again
};

struct LinearizabilityResult {
  Outcome outcome = Outcome::holds;
  std::string reason;
  std::vector<KeyVerdict> keys;  // those that do not hold, by `at`; then the unknown ones
  std::size_t keys_checked = 0, operations = 0;
  std::size_t by_linear = 0, by_search = 0;  // keys decided by each
  const KeyVerdict* first() const { return keys.empty() ? nullptr : &keys.front(); }
};

// Throws HistoryError (operations.h) for a history that sequential processes cannot have produced, and
// std::invalid_argument for a model that is not known, or linear demanded where there is none.
LinearizabilityResult check_linearizable(const History& history, const LinearizabilityOptions& options);

LinearizabilityResult check_linearizable(const PackedHistory& history, const LinearizabilityOptions& options);

// "index 1995: acquire of process 18 ..." for the first violation, with the indices of the file.
std::string describe(const History& history, const KeyVerdict& verdict,
                     const std::vector<std::uint64_t>& index);

std::string describe(const PackedHistory& history, const KeyVerdict& verdict,
                     const std::vector<std::uint64_t>& index);

// --- shrinking -----------------------------------------------------------------------------------------

// The fewest of `operations` (their indices, ascending) for which `fails` still holds: whole owners first,
// then an acquire together with its release, then single ones. REQUIRES: fails(all). Calls `fails` at most
// `most` times.
std::vector<std::size_t> shrink(const std::vector<Operation>& operations,
                                const std::function<bool(const std::vector<Operation>&)>& fails,
                                std::size_t most = 2000);

}  // namespace holdfast::checker
