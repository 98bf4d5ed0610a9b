// Holds and claims: who held what, from when to when. Every check takes them from here.
//
// A hold belongs to one owner (the process where the history names none). It begins when acquire returns ok.
// What the events of its owner mean for it:
//
//   release, whatever its outcome       one entry less; after the outermost one it ended at the invocation:
//                                       who asks to release relies on it no longer
//   release that fails, not-owner or    the hold ended at the invocation, at any depth
//     lost
//   release that fails, Jepsen formats  nothing: there a failed operation never happened
//   lost                                the hold ended when the client was told
//   crash of its client                 the hold ended there
//   acquire in another mode             of a writer that reads: a second hold beside the first. They may have
//                                       one token. If they have one id, too, then a renewal, a loss and a
//                                       release that fails so, which names it, mean both
//   acquire that fails or is unknown    nothing
//
// An acquisition id tells holds of one owner apart; it never reaches the hold of another. A claim is what the
// lock promised of a hold: the time from the grant to `valid_until`, cut at the end of the hold. A renewal
// that returns before `valid_until` extends the claim. A hold without an end lasts for ever.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/history.h"
#include "checker/history/joiner.h"
#include "checker/planted.h"

namespace holdfast::checker {

inline constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

// The name of an event (Function::other) by which a thread tells that its work under a hold is over, though
// it does not give it back.
inline constexpr std::string_view kLeft = "leave";

enum class HoldEnd : std::uint8_t { never, released, told_lost, crashed };

struct Hold {
  std::size_t invoked = kNowhere;   // position of the acquire's invocation
  std::size_t acquired = kNowhere;  // position of its completion
  std::size_t ended = kNowhere;     // position of the event that ends it
  std::size_t writer = kNowhere;    // of a writer that reads: where that hold was acquired; kNowhere: no such
  std::int64_t invoked_ns = 0;      // when it was asked for; the grant, if nothing says so
  std::int64_t from_ns = 0;
  std::int64_t to_ns = kForever;
  std::int64_t valid_until_ns = kAbsent;    // with renewals, not cut; kAbsent: the lock promised nothing
  std::int64_t granted_until_ns = kAbsent;  // of the grant, without renewals
  std::vector<std::size_t> renewals;        // positions of those that moved valid_until_ns, ascending
  Symbol key = 0, id = 0, owner = 0, process = 0, mode = 0,
         node = 0;          // owner: the process where there is none
  std::string_view client;  // "c1" of the process "c1/0"
  Value token;
  std::uint32_t permits = 1;
  bool shared = false;  // mode "read"
  HoldEnd end = HoldEnd::never;

  bool has_claim() const { return valid_until_ns != kAbsent; }
  std::int64_t claim_to_ns() const {
    return valid_until_ns < to_ns || HOLDFAST_PLANTED(claim_outlives_its_hold) ? valid_until_ns : to_ns;
  }  // has_claim()
  // The lease was over when acquire returned.
  bool expired_at_return() const { return granted_until_ns != kAbsent && granted_until_ns <= from_ns; }
  // `other` is of the same acquisition: with that its owner wrote when it began to read.
  bool continues(const Hold& other) const { return writer != kNowhere && writer == other.acquired; }
};

// What a thread did last about one acquisition.
struct Doing {
  std::size_t last = kNowhere;  // position; a `leave` is one, too
  bool left = false;            // it was that
};
// By acquisition, of those that are named. Renewals, and what servers saw, are nobody's work. O(n log n).
std::map<Symbol, Doing> last_doings(const History& history);

// What a history says of its locks.
struct HoldOptions {
  bool reentrant = false;           // an owner that acquires again what it holds enters deeper
  bool failed_release_ends = true;  // false, or History::jepsen(): it never happened
};
struct Holds {
  std::vector<Hold> holds;  // in the order of the positions at which they begin
  // Positions of the completions of releases that succeeded though their owner had asked for nothing that
  // was still to be released, or named an acquisition that its owner never made.
  std::vector<std::size_t> unheld;
};
// O(n log n); for a semaphore times the holds of one owner that are open at a time.
Holds find_holds(const History& history, const Pairs& pairs, const HoldOptions& options);

inline std::vector<Hold> build_holds(const History& history, const Pairs& pairs, bool reentrant) {
  return find_holds(history, pairs, {.reentrant = reentrant}).holds;
}
inline std::vector<Hold> build_holds(const History& history, bool reentrant) {
  return build_holds(history, pair_events(history), reentrant);
}

// What is suspicious about the claims as a whole, in a sentence; "": nothing. All of them end outside the
// time of the history, or nearly all would end within it if they were 10^3, 10^6 or 10^9 times greater: then
// their unit or their clock is another one than that of `time`.
std::string doubted_unit(const History& history, const std::vector<Hold>& holds);

// "c1" of "c1/0#2".
std::string_view client_of(std::string_view process);

}  // namespace holdfast::checker
