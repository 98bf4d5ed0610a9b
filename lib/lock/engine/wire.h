// Wire: what one lock says to Redis, as data: scripts, keys and arguments, made once when the lock is made
// and shared by its holds. One kind of lock is one function that makes it: reentrant_wire(), fair_wire().
//
// What the scripts of every kind have in common:
//
// - acquire. ARGV: owner, lease in ms, then `acquire_args`[, permits][, queue][, `token_ms`]. Asks for the
//   state "held by owner", so that asking twice changes nothing but the token. Answers {1, lease left[,
//   token]}, or {0, ms until it is worth another look (-1: unknown)[, ticket > 0: I stand in the queue[, 1:
//   listen to `channel`]]}.
// - release. ARGV: owner[, `token_ms`]. Removes what the owner holds, or its place in the queue; wakes the
//   next one. Answers 1 when it held, else 0; or a list that begins with that, and goes on with the owner
//   whose it is now.
// - withdraw (optional). KEYS: `release_keys`. ARGV: what the names of many owners begin with, then how each
//   goes on. Takes their places in the queue from all who hold nothing; answers a list of how those go on
//   that still have to be released.
// - renew. KEYS: `renew_keys` of many locks, one after the other. ARGV: lease in ms, then one owner a lock.
//   Answers a list: 1 renewed, 0 not that owner's any more, or the text of an error of this lock.
// - force (optional). No ARGV. Takes it from everybody; answers as a release. Where the record knows its
//   owner it is the release.
// - adopt (optional). KEYS: `renew_keys`. ARGV: the owner that gave it up, the one that takes it up, lease in
//   ms, `mode`. Answers how many permits are the latter's now (1 where there are none), or 0.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/api/lock.h"
#include "lib/redis/reply.h"
#include "lib/redis/script.h"
#include "lib/runtime/time.h"

namespace holdfast {

// As commands and scripts take a time: in whole milliseconds, rounded up, "1500".
inline std::string milliseconds_text(Duration time) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

// Of a release, or a forced one: whether the owner (or anybody) held it.
inline std::int64_t released(const redis::Reply& reply) {
  return reply.items.empty() ? reply.integer : reply.items.front().integer;
}

// Wire::token_ms of these options.
inline std::string token_ms_of(const LockOptions& options) {
  return options.fencing ? milliseconds_text(std::max(options.token_lifetime, options.lease)) : std::string();
}

struct Wire {
  // What the calling task's second acquire means.
  enum class Reentry { counts, refused, another_hold };
  // What a refused task waits for, beside the end of the holder's lease. call: the server knows the waiters
  // and calls one after the other (wake_channel.h). back_off: nothing; the task asks again after 1, 2, 4 ..
  // 128 ms.
  enum class Waiting { call, back_off };

  std::string key;
  const redis::Script* acquire = nullptr;
  const redis::Script* release = nullptr;
  const redis::Script* withdraw = nullptr;  // null: many waiters that give up are released one by one
  const redis::Script* renew = nullptr;
  const redis::Script* force = nullptr;
  const redis::Script* adopt = nullptr;  // null: a hold cannot go to another owner
  std::vector<std::string> acquire_keys = {}, release_keys = {}, renew_keys = {};
  std::vector<std::string> acquire_args = {};
  std::string token_ms = {};  // with fencing: for how long the last token is kept, in ms
  std::string channel = {};   // of those who do not call: a message on it means to ask

  Reentry reentry = Reentry::counts;
  Waiting waiting = Waiting::call;
  bool exclusive = true;        // the local turn belongs to the hold until its end
  bool local_queue = true;      // tasks of a process queue locally, and the first of them asks
  bool counts_permits = false;  // the number of permits follows the other arguments
  // The record is a string: an acquire begins with a plain SET NX PX, and goes on with the script when that
  // was refused or its outcome is not known.
  bool set_first = false;
  bool server_queue = false;   // the server keeps the names of the waiters: the last argument says whether a
                               // refused owner will wait; a waiter that gives up withdraws
  std::string_view mode = {};  // Lock::mode()

  std::vector<std::string_view> release_args(std::string_view owner) const {
    return token_ms.empty() ? std::vector<std::string_view>{owner}
                            : std::vector<std::string_view>{owner, token_ms};
  }
};

}  // namespace holdfast
