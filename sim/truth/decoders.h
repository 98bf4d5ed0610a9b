// Decoders: who holds a lock by what stands in a server's keyspace. They read the layout that each lock's
// page describes and share no code with the lock, nor with the ledger, so that a mistake of either shows.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/redis/keyspace.h"

namespace holdfast::sim {

// One owner in the record of a lock.
struct Holding {
  std::string owner;
  bool shared = false;        // others may hold it beside this one
  std::uint32_t permits = 0;  // of a semaphore
  std::int64_t depth = 1;     // of its re-entry, where the server counts it
  // The first ms of the server's wall clock at which it does not count any more.
  std::int64_t until_ms = std::numeric_limits<std::int64_t>::max();
  // Records of one party do not exclude each other: a writer that reads as well. "": of nobody else.
  std::string party = {};
  friend bool operator==(const Holding&, const Holding&) = default;
};

struct Decoder {
  // The key of the lock whose record the Redis key `name` is part of. nullopt: of none.
  std::optional<std::string> (*lock_of)(std::string_view name);
  // By owner. Those whose time is over may be among them.
  std::vector<Holding> (*decode)(embedded::Keyspace& keys, const std::string& lock);
  // Its owners are processes, or threads of any process: a record stands for whatever they hold of that lock.
  bool of_process = false;
  // A number that stands for all: how many permits are free, of one Holding.
  bool free_permits = false;
};

// Of that row of `holdfast list locks`; nullptr: nobody holds it (a latch).
const Decoder* find_decoder(std::string_view lock_kind);

}  // namespace holdfast::sim
