// Joiner: which completion belongs to which invocation. The one place that decides it.
//
// A process does one thing after another: of a lock (acquire, release), of the resource that it guards (read,
// write, ...), sales, a latch. These four go on beside each other, since a sale has reads and writes in it.
// Renewals, the ledger and functions without a name here may be open several at a time; they are told apart
// by key and acquisition, and of equal ones the oldest ends first. Everything else is told by one event.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "checker/history/history.h"

#include "checker/planted.h"

namespace holdfast::checker {

inline constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

// The history cannot come from processes that do one thing after another.
class HistoryError : public std::runtime_error {
 public:
  HistoryError(const std::string& problem, std::size_t at) : std::runtime_error(problem), position(at) {}
  std::size_t position;
};

class Joiner {
 public:
  // Uses the strings of `names`, which may grow later. `by_time`: a completion has no earlier time than its
  // invocation; false: the order of events rules.
  Joiner(const History& names, bool by_time) : names_(names), by_time_(by_time), lanes_(names.symbols()) {}

  enum class Problem : std::uint8_t {
    none,
    busy,           // an invocation while one of the process is open; it opens nothing
    no_invocation,  // a completion of which nothing is open
    other_function,
    other_key,
    earlier,   // a completion at an earlier time than its invocation
    one_event  // what is told by one event, `ok` or `info`, is invoked or fails
  };
  struct Joined {
    std::size_t invocation = kNowhere;  // of a completion; with a problem: what is open
    Problem problem = Problem::none;
  };
  // Events come in the order of the history. O(1) for the first three kinds, else O(log n).
  Joined take(const Event& event, std::size_t position) {
    const Pairing pairing = pairing_of(event.f);
    if (pairing == Pairing::alone) return {kNowhere, problem_of_one(event)};
    if (pairing == Pairing::many) return take_of_many(event, position);
    if (event.process >= lanes_.size()) lanes_.resize(names_.symbols());
    Lane& lane = lanes_[event.process][static_cast<std::size_t>(pairing)];
    if (event.type == EventType::invoke) {
      if (lane.position != kNowhere) return {lane.position, Problem::busy};
      lane = {position, event.time_ns, event.key, event.f};
      return {};
    }
    if (lane.position == kNowhere) return {kNowhere, Problem::no_invocation};
    const std::size_t invocation = lane.position;
    if (lane.f != event.f) return {invocation, Problem::other_function};
    if ((event.key != 0 || HOLDFAST_PLANTED(completion_needs_its_key)) && event.key != lane.key)
      return {invocation, Problem::other_key};
    if (by_time_ && event.time_ns < lane.time_ns) return {invocation, Problem::earlier};
    lane.position = kNowhere;
    return {invocation, Problem::none};
  }

 private:
  struct Lane {
    std::size_t position = kNowhere;  // of the open invocation
    std::int64_t time_ns = 0;
    Symbol key = 0;
    Function f = Function::other;
  };
  static constexpr std::size_t kLanes = 4;
  static_assert(static_cast<std::size_t>(Pairing::many) == kLanes);
  // Open ones. Mostly there is one: `only`, and then nothing is in the others. Several: their acquisitions by
  // position, and their positions by acquisition.
  struct Open {
    std::size_t only = kNowhere;
    Symbol id_of_only = 0;
    std::map<std::size_t, Symbol> all;
    std::set<std::pair<Symbol, std::size_t>> by_id;

    void add(std::size_t position, Symbol id) {
      all.emplace(position, id);
      by_id.emplace(id, position);
    }
  };
  static Problem problem_of_one(const Event& event) {
    const bool told = event.type == EventType::ok || event.type == EventType::info;
    const bool of_client =
        event.f == Function::lost || event.f == Function::crash || event.f == Function::queue;
    return told || !of_client ? Problem::none : Problem::one_event;
  }
  Joined take_of_many(const Event& event, std::size_t position);

  const History& names_;
  const bool by_time_;
  std::vector<std::array<Lane, kLanes>> lanes_;                        // by process
  std::map<std::tuple<Symbol, Function, Symbol, Symbol>, Open> many_;  // by process, function, its name, key
};

// The problem in a sentence, "" if there is none: "process 3 invokes acquire while its release (index 7) is
// open". `index`: what messages call an event, by position.
std::string describe(const History& names, const Event& event, const Joiner::Joined& joined,
                     const std::string& open_function, std::uint64_t open_index);

// Which invocation and which completion belong together, as far as they do. Throws nothing.
struct Pairs {
  std::vector<std::size_t> other;  // by position: the completion of an invocation, and back; kNowhere: none
};
Pairs pair_events(const History& history);

class PackedHistory;
struct ReadHistory;
// Removes the events that do not fit, and counts them as skipped.
void drop_misfits(PackedHistory& history, ReadHistory& read, bool by_time);
// Throws HistoryError for the first event that does not fit.
void require_joined(const PackedHistory& history, const ReadHistory& read, bool by_time);

}  // namespace holdfast::checker
