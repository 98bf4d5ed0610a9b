// Check: one question about a history. Each check is a file of its own, listed in check_registry.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/history.h"
#include "checker/outcome.h"

namespace holdfast::checker {

// Witness: the fewest events that show a violation.
struct Witness {
  std::string kind;                 // "double-grant", "overrun", "foreign-removal", "oversold", ...
  std::string why;                  // one sentence, with owners, key, node and times
  std::vector<std::size_t> events;  // positions in the history, ascending
  std::string key;
  // Of two owners: the positions at which their acquires completed, and their overlap [from, to).
  std::optional<std::pair<std::size_t, std::size_t>> acquires;
  std::int64_t from_ns = 0, to_ns = 0;
};

struct Verdict {
  Outcome outcome = Outcome::unknown;
  std::string
      reason;  // unknown: what the history lacks. holds: what was compared. violated: the first witness' why
  std::vector<Witness> witnesses;  // violated: at least one, the earliest first
  std::uint64_t violations = 0;    // all of them; witnesses may be fewer
  bool out_of_bounds = false;      // violated, and clocks were beyond the bounds that the scenario declares
};

// The client that asks for the lock when the work is done (check_at_rest.cc).
inline constexpr std::string_view kRestClient = "rest";
// The function of its events that say what it found.
inline constexpr std::string_view kLeftBehind = "left-behind";
inline constexpr std::string_view kScript = "script";  // its mode: a server that runs a script without an end

// What the history itself does not say.
struct CheckContext {
  bool reentrant = false;                          // holds of one owner may overlap
  std::int64_t permits = 0;                        // > 0: a semaphore of that many permits
  std::optional<std::int64_t> initial_stock = {};  // oversell, lost-update, negative-stock
  std::optional<std::int64_t> final_stock = {};
  std::int64_t lease_ns = 0;  // progress: the longest lease
  // progress, latch: the scenario's bound after the longest lease left; 0: nobody says
  std::int64_t progress_bound_ns = 0;
  std::int64_t end_ns = 0;                       // when the run ended
  bool run_ended_by_itself = true;               // false: the run's time limit ended it
  std::vector<std::string> required_marks = {};  // reached
  bool clocks_within_bounds = true;
  std::int64_t least_share_percent = 0;  // share: of an even share; 0: nobody says
  std::int64_t promised_overtakes = 0;   // fair-order: how often a waiter may be overtaken
  // linearizable: a name of `holdfast list models`. "": leased-mutex where the history has valid_until, else
  // mutex or reentrant-mutex.
  std::string model = {};
  // told-in-time: how late a notice may be, since timers never fire early.
  std::int64_t told_slack_ns = 1'000'000;
};

// A verdict that says so, if an event of one of `functions` has a value that is no number within 60 bits. The
// checks that count need numbers.
std::optional<Verdict> unless_numbers(const History& history, std::initializer_list<Function> functions);

class Check {
 public:
  virtual ~Check() = default;
  virtual std::string_view name() const = 0;                // "mutual-exclusion"
  virtual std::string_view about() const = 0;               // one line for `holdfast list checks`
  virtual std::vector<std::string_view> kinds() const = 0;  // that its witnesses may be of
  virtual Verdict run(const History& history, const CheckContext& context) const = 0;
};

// Every check of this build, in the order of `holdfast list checks`.
const std::vector<const Check*>& all_checks();
const Check* find_check(std::string_view name);  // nullptr: no such check

}  // namespace holdfast::checker
