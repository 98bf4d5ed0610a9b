// Check: one question to a history; one file each, listed in check_registry.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/history.h"
#include "checker/outcome.h"

namespace holdfast::checker {

// A minimal witness: the fewest events that show the violation.
struct Witness {
  std::string kind;                 // "double-grant", "overrun", "foreign-removal", "oversold", ...
  std::string why;                  // one sentence for people, with owners, key, node and times
  std::vector<std::size_t> events;  // positions in the history, ascending
  std::string key;
  // For two owners: the positions of the two acquires' completions, and the overlap [from, to) in ns.
  std::optional<std::pair<std::size_t, std::size_t>> acquires;
  std::int64_t from_ns = 0, to_ns = 0;
};

struct Verdict {
  Outcome outcome = Outcome::unknown;
  std::string reason;  // unknown: what the history lacks. holds: what was looked at. violated: first why
  std::vector<Witness> witnesses;  // violated: at least one, the earliest first
  std::uint64_t violations = 0;    // how many there are in all (witnesses may be fewer)
  bool out_of_bounds = false;      // violated while clocks were beyond the bounds that the scenario declares
};

// What a history itself cannot tell.
struct CheckContext {
  bool reentrant = false;                          // overlap of one owner with itself is legal
  std::int64_t permits = 0;                        // > 0: a semaphore of that many permits
  std::optional<std::int64_t> initial_stock = {};  // oversell, lost-update
  std::optional<std::int64_t> final_stock = {};
  std::int64_t lease_ns = 0;           // progress: the longest lease
  std::int64_t progress_bound_ns = 0;  // progress: the scenario's bound after the longest lease left
  std::int64_t end_ns = 0;             // when the run ended
  bool run_ended_by_itself = true;     // false: the cap on time cut it
  std::vector<std::string> required_marks = {};  // reached
  // client -> true-time intervals
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> paused = {};
  bool clocks_within_bounds = true;
  std::int64_t promised_overtakes = 0;  // fair-order: how often a waiter may be overtaken
  // linearizable: a name of `holdfast list models`; "": leased-mutex where the history has valid_until, else
  // mutex or reentrant-mutex.
  std::string model = {};
  // told-in-time: how late a notice may be because of the harness' own scheduling (real timers are never
  // early).
  std::int64_t told_slack_ns = 1'000'000;
};

class Check {
 public:
  virtual ~Check() = default;
  virtual std::string_view name() const = 0;   // "mutual-exclusion"
  virtual std::string_view about() const = 0;  // one line for `holdfast list checks`
  virtual Verdict run(const History& history, const CheckContext& context) const = 0;
};

// Every check of this build, in the order of `holdfast list checks`.
const std::vector<const Check*>& all_checks();
const Check* find_check(std::string_view name);  // nullptr: no such check

}  // namespace holdfast::checker
