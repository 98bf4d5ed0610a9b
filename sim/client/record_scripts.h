// RecordScript: what one script of a lock does to the server's record, and which of its answers say that it
// did it. The ledger reads commands by these descriptions. Each lock has its own; none is guessed from a
// number: an answer that a description does not know leaves the ledger's operation open, as one that was
// never answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/client/lock_kind_rows.h"

namespace holdfast::sim {

// What an answer says of the effect that its command may have had.
enum class Told : std::uint8_t { done, nothing, not_understood };

// Who became a holder by somebody's release.
struct NewHolder {
  std::string_view record, mode = {};
  std::uint32_t permits = 0;
};

struct RecordScript {
  const redis::Script* script;
  checker::Function f;  // store_grant, store_remove or store_extend
  // Of store_extend: reads the answer for one lock, of which a call may renew several.
  Told (*read)(const redis::Reply& answer);
  // A call is for args[0], of the lock keys[0]. store_extend: args[1 + i] is for keys[keys_of_each * i].
  std::size_t arguments = 1;     // that a call has at least; the first description that fits counts
  std::size_t keys_of_each = 1;  // store_extend
  // store_grant: what others may hold beside it ("read", else ""), and how many permits it takes (0: none).
  std::string_view (*mode)(const Strings& args) = nullptr;
  std::uint32_t (*permits)(const Strings& args) = nullptr;
  // store_remove: to whom the answer says that the lock was given instead; null: it never is.
  std::vector<NewHolder> (*next)(const redis::Reply& answer) = nullptr;
};

// Answers as scripts of lib/lock give them. An error is Told::nothing: the scripts write nothing before one.
Told one_or_zero(const redis::Reply& answer);    // 1: done, 0: not
Told first_of_list(const redis::Reply& answer);  // {1, ...}: done, {0, ...}: not

// What `command` does, by the first of `scripts` that it calls; or by SET key record NX PX ms, if
// `grants_by_set`.
std::vector<StoreEffect> effects_by(std::span<const RecordScript> scripts, bool grants_by_set,
                                    const Command& command, const redis::Reply& reply);

// The descriptions of the locks of lib/lock, for LockKind::read_effects.
std::vector<StoreEffect> reentrant_effects(const Command& command, const redis::Reply& reply);
// Of a reentrant, fair or read-write lock with LockOptions::survivor.
std::vector<StoreEffect> survivor_effects(const Command& command, const redis::Reply& reply);
std::vector<StoreEffect> redisson_effects(const Command& command, const redis::Reply& reply);
std::vector<StoreEffect> read_write_effects(const Command& command, const redis::Reply& reply);
std::vector<StoreEffect> semaphore_effects(const Command& command, const redis::Reply& reply);

}  // namespace holdfast::sim
