// Store: where the records of locks live: one Redis (or one replicated set), or several independent ones that
// vote (quorum_store.h). Locks, watchdog and janitor speak to it with the scripts of a Wire.
//
// All [parks] members throw redis::Error. Thread safety: any task.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/lock/api/lock.h"
#include "lib/lock/engine/wire.h"
#include "lib/redis/client.h"

namespace holdfast {

class Store {
 public:
  virtual ~Store() = default;

  // [parks] Asks for the state "held by args[0]" with wire.acquire. An answer {1, ...} counts: as many
  // servers, and replicas, have it as were asked for.
  virtual redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                                const redis::CallOptions& options) = 0;
  // [parks] SET key owner NX PX lease. Nil: refused. nullopt: not that simple in this store.
  virtual std::optional<redis::Answer> set_if_absent(std::string_view key, std::string_view owner,
                                                     std::string_view lease_ms,
                                                     const redis::CallOptions& options) = 0;
  // It gives back by itself what an acquire that it refused has left on some servers. That may take effect
  // late, so that the refused owner must not ask again: the next attempt is another owner's.
  virtual bool undoes_refusals() const noexcept { return false; }
  // Of several locks, which may lie on several nodes of a Redis Cluster: `node` is one of them then.
  struct Renewal : redis::Answer {
    Renewal(redis::Answer answer)
        : redis::Answer(std::move(answer)) {}  // NOLINT(google-explicit-constructor)
    std::vector<std::string_view> nodes = {};  // of each lock; empty: `node` has them all
    std::string_view node_of(std::size_t lock) const { return nodes.empty() ? node : nodes[lock]; }
  };
  // [parks] wire.renew, or another script that answers one number or one text for each lock.
  virtual Renewal renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) = 0;
  // [parks] Any other script, which may be repeated without harm and answers a number.
  virtual redis::Answer call(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                             const redis::CallOptions& options) = 0;

  // What is to be given back with wire.release, in the name of its owner.
  struct Release {
    const Wire* wire = nullptr;
    std::string_view owner = {};
  };
  // [parks] Gives all of it back, in as few round trips as it can. What became of each: nullopt when it was
  // answered.
  virtual std::vector<std::optional<redis::Error>> release_all(std::span<const Release> releases,
                                                               const redis::CallOptions& options);

  // Client::run_callback().
  virtual bool run_callback(std::function<void()> callback) = 0;

  // Client::subscribe(). Null: this store sends no messages.
  virtual std::unique_ptr<redis::Subscription> subscribe(const std::string& channel,
                                                         std::function<void(std::string_view)> on_message,
                                                         std::function<void()> on_subscribed) = 0;
  // Client::subscribe_sharded(), of which the scripts of locks are told (sharded.lua).
  virtual std::unique_ptr<redis::Subscription> subscribe_sharded(
      const std::string& channel, std::function<void(std::string_view)> on_message,
      std::function<void(std::string_view node)> on_subscribed) {
    return subscribe(channel, std::move(on_message), [told = std::move(on_subscribed)] { told({}); });
  }

  // Names its servers, by their addresses: equal for stores on the same ones.
  virtual std::string place() const { return {}; }
  virtual Runtime& runtime() noexcept = 0;
  virtual const redis::ClientOptions& options() const noexcept = 0;  // its timeouts and pauses
};

// One Redis, or one replicated set. Grants and renewals wait for LockOptions::replicas. Renewals go over a
// connection of their own, and so does what waits for replicas: neither a WAIT nor a long queue of other
// calls costs a lock its lease.
std::unique_ptr<Store> make_store(redis::Client& client, const LockOptions& options);

}  // namespace holdfast
