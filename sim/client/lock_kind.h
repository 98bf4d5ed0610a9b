// LockKind: one row of `holdfast list locks`, and the adapter from a lock to a workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/history.h"
#include "lib/lock/api/lock.h"
#include "lib/net/network.h"
#include "lib/redis/client.h"

namespace holdfast::sim {

// The locks of one client process: one object per key. They do not outlive the space.
class LockSpace {
 public:
  virtual ~LockSpace() = default;
  // The same object for the same key, until it was dropped.
  virtual std::shared_ptr<Lock> obtain(const std::string& key) = 0;
  // The side that many may hold at once, of a kind that has one (LockKind::shared).
  virtual std::shared_ptr<Lock> obtain_shared(const std::string& key) { return obtain(key); }
  // [parks] Drops the objects that this kind takes for unused and older than `age` (LockKind::registry). How
  // many.
  virtual std::size_t expire_unused_older_than(Duration age) {
    static_cast<void>(age);
    return 0;
  }
  // The same lock, taken with a lease of its own, which nobody renews. REQUIRES: LockKind::own_lease.
  virtual std::shared_ptr<Lock> obtain_leased(const std::string& key, Duration lease) {
    static_cast<void>(lease);
    throw std::invalid_argument("lock '" + key + "' takes no lease of its own");
  }
  // [parks] Whether the caller still holds `lock`, as an application asks it. Throws LockError.
  virtual bool still_held(Lock& lock) { return lock.is_held_by_me(); }
};

// A count-down latch, as the workload count-down drives it.
class Latch {
 public:
  virtual ~Latch() = default;
  virtual const std::string& key() const = 0;
  // [parks] All throw LockError.
  virtual bool set(std::int64_t count) = 0;                     // false: a count is running
  virtual bool count_down() = 0;                                // false: there is nothing to count down yet
  virtual bool await(const std::optional<Duration>& wait) = 0;  // false: not open in that time
};

// The latches of one client process.
class LatchSpace {
 public:
  virtual ~LatchSpace() = default;
  virtual std::shared_ptr<Latch> obtain(const std::string& key) = 0;
};

inline constexpr std::string_view kRedis = "redis";

struct LockSpaceOptions {
  redis::Client& client;  // of the one server, or of the replicated set
  LockOptions lock;
  std::vector<redis::Client*> nodes = {};  // independent servers: one client each (LockKind::quorum)
  int replicas = 0;                        // of each primary of the set
  int permits = 1;                         // LockKind::counts_permits: how many there are
  bool fair = false;                       // LockKind::shared: first come, first served
  bool by_lag = false;                     // LockKind::survives_failover: Acknowledged::by_lag
  std::vector<std::string> members = {};   // and "host:port" of each member; empty: all nodes of the client
  std::optional<Duration> wait_timeout =
      std::nullopt;  // LockKind::wait_timeout: instead of the published one
  // LockKind::engine is none of Redis: doors of this client's own to all nodes, and what `client` would do.
  std::vector<redis::Node> doors = {};
  std::string client_name = {};
  Duration connect_timeout = std::chrono::milliseconds(1000),
           command_timeout = std::chrono::milliseconds(3000);
};

// What one command did to the server's record of a lock, read off the wire for the ledger.
struct StoreEffect {
  checker::Function f = checker::Function::store_grant;  // store_grant, store_remove or store_extend
  std::string key;
  std::string record;  // whose acquisition the command was sent for, in the lock's own terms; "": the command
                       // does not say (a plain DEL), so it is whatever its client acquired last
  bool took_effect = false;    // by the reply
  bool understood = true;      // false: the reply says neither that it did nor that it did not
  std::string_view mode = {};  // a grant: "read": others may have it beside this one
  std::uint32_t permits = 0;   // of a semaphore: how many it takes; gives back, where nobody owns them
  // `record` names what stands on the server, which acquisitions of others may have, too: the command writes
  // it, whatever stood there.
  bool shared_record = false;
  // A grant whose record is its process', not an acquisition's: what stands on the server for that process.
  std::string of_process = {};
  // A grant to somebody who waited for it, maybe of another client, by the release of who held it: `record`
  // is known from the reply only.
  bool handed_over = false;
};

struct LockKind {
  std::string_view name;
  std::string_view about;
  std::string_view engine = kRedis;  // whose servers it needs (sim/comparators/engine.h)
  bool historic = false;
  bool reentrant = false;
  bool promises_validity =
      false;            // valid_until() is the lock's own; else sending time plus lease counts as its claim
  bool shared = false;  // has a side that many may hold at once
  bool counts_permits = false;  // a semaphore
  bool quorum = false;          // lives on several independent servers (topology "independent")
  bool fair = false;            // first come, first served: tells LockEvent::Kind::queued
  bool tokens = false;          // its grants have fencing tokens
  bool pair = false;            // takes "<key>:a" and "<key>:b" at once, and nothing else
  bool registry = false;        // its objects are kept by a registry, which drops those that are unused
  bool latch = false;           // no lock, but a count-down latch: workload "count-down"
  // Lock::acquisition() is of one acquisition and none after it: a command that names it is of that one,
  // however late. Else it may name an owner, who has it again and again.
  bool names_acquisitions = false;
  // What it promises stands on a replicated set whose primaries fail, restart and disagree.
  bool survives_failover = false;
  bool asks_strangers = false;  // planted: its clients know servers that are none of the members, too
  bool own_lease = false;       // an acquire can be given a lease of its own: LockSpace::obtain_leased()
  // Of a scenario that names none: the design's own default. Zero: it has no leases, and none can be named.
  Duration lease = std::chrono::seconds(30);
  Duration lease_unit = Duration(1);  // in which its servers count leases
  // Its lock() gives up by itself after this long, by default. None: it waits until it is granted.
  std::optional<Duration> wait_timeout = std::nullopt;
  std::function<std::unique_ptr<LockSpace>(const LockSpaceOptions& options)> make = {};  // empty: a latch
  std::function<std::unique_ptr<LatchSpace>(const LockSpaceOptions& options)> make_latches = {};
  // `command`: the request's arguments; `reply`: its answer. Empty: did nothing to a record of this kind of
  // lock.
  std::function<std::vector<StoreEffect>(const std::vector<std::string_view>& command,
                                         const redis::Reply& reply)>
      read_effects = {};
  // The listed kind of which this is a wrong version, with records of the same form (sim/planted). "": none.
  std::string_view version_of = {};
  // What stands between a client process and its network; empty: nothing. It does not outlive the network.
  std::function<std::unique_ptr<Network>(Network& network)> network = {};

  // Whose records it writes: a name of `holdfast list locks`.
  std::string_view records_of() const { return version_of.empty() ? name : version_of; }
};

const std::vector<LockKind>& all_lock_kinds();
// Of these, or of the hidden ones.
const LockKind* find_lock_kind(std::string_view name);
// Kinds that a scenario may name and no list shows: wrong versions, in programs that test what finds them.
// Not thread-safe: added before anything runs. Throws std::invalid_argument: there is one of that name.
void add_hidden_lock_kinds(const std::vector<LockKind>& kinds);
const std::deque<LockKind>& hidden_lock_kinds();

}  // namespace holdfast::sim
