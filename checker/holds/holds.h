// Holds and claims: who held what, from when to when.
//
// A hold belongs to one acquisition. It begins when acquire returns ok. It ends when the outermost release is
// invoked (whatever its outcome), when the client is told of the loss, or when the client dies. A change of
// mode ends one hold and begins another. A claim is what the lock promised of a hold: the time from the grant
// to `valid_until`, cut at the end of the hold. A renewal that returns before `valid_until` extends the
// claim.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "checker/history/history.h"

namespace holdfast::checker {

inline constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
inline constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

// The name of an event (Function::other) by which a thread tells that its work under a hold is over, though
// it does not give it back.
inline constexpr std::string_view kLeft = "leave";

enum class HoldEnd : std::uint8_t { never, released, told_lost, crashed, changed_mode };

struct Hold {
  std::size_t invoked = kNowhere;   // position of the acquire's invocation
  std::size_t acquired = kNowhere;  // position of its completion
  std::size_t ended = kNowhere;     // position of the event that ends it
  std::int64_t from_ns = 0;
  std::int64_t to_ns = kForever;
  std::int64_t valid_until_ns = kAbsent;    // with renewals, not cut; kAbsent: the lock promised nothing
  std::int64_t granted_until_ns = kAbsent;  // of the grant, without renewals
  std::vector<std::size_t> renewals;        // positions of those that moved valid_until_ns, ascending
  Symbol key = 0, id = 0, owner = 0, process = 0, mode = 0,
         node = 0;          // owner: the process where there is none
  std::string_view client;  // "c1" of the process "c1/0"
  std::int64_t token = kAbsent;
  std::uint32_t permits = 1;
  bool shared = false;  // mode "read"
  HoldEnd end = HoldEnd::never;

  bool has_claim() const { return valid_until_ns != kAbsent; }
  std::int64_t claim_to_ns() const { return valid_until_ns < to_ns ? valid_until_ns : to_ns; }  // has_claim()
  // The lease was over when acquire returned.
  bool expired_at_return() const { return granted_until_ns != kAbsent && granted_until_ns <= from_ns; }
};

// Which invocation and which completion belong together: those of one process with the same function and key,
// and the same id and node where both have one. The oldest open invocation comes first.
struct Pairs {
  std::vector<std::size_t> other;  // by position: the completion of an invocation, and back; kNowhere: none
};
Pairs pair_events(const History& history);

// All holds, in the order of the positions at which they begin. `reentrant`: an owner that acquires again
// what it holds enters deeper; else that is a second hold. (The same acquisition id always means the same
// hold.)
std::vector<Hold> build_holds(const History& history, const Pairs& pairs, bool reentrant);
inline std::vector<Hold> build_holds(const History& history, bool reentrant) {
  return build_holds(history, pair_events(history), reentrant);
}

// "c1" of "c1/0#2".
std::string_view client_of(std::string_view process);

}  // namespace holdfast::checker
