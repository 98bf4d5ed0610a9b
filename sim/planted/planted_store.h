// PlantedStore: a Store before another one, which says and does the same; what derives from it does one thing
// otherwise. And the locks that live on it: WireLocks of any Wire.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/lock/api/locks.h"
#include "lib/lock/engine/wire_lock.h"
#include "lib/lock/store/store.h"
#include "sim/client/lock_kind.h"

namespace holdfast::sim {

class PlantedStore : public Store {
 public:
  // `client`: for commands of its own; outlives the store.
  PlantedStore(redis::Client& client, std::unique_ptr<Store> store)
      : client_(client), store_(std::move(store)) {}

  redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) override {
    return store_->acquire(wire, keys, args, options);
  }
  std::optional<redis::Answer> set_if_absent(std::string_view key, std::string_view owner,
                                             std::string_view lease_ms,
                                             const redis::CallOptions& options) override {
    return store_->set_if_absent(key, owner, lease_ms, options);
  }
  bool undoes_refusals() const noexcept override { return store_->undoes_refusals(); }
  Renewal renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                const redis::CallOptions& options) override {
    return store_->renew(script, keys, args, options);
  }
  redis::Answer call(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                     const redis::CallOptions& options) override {
    return store_->call(script, keys, args, options);
  }
  std::vector<std::optional<redis::Error>> release_all(std::span<const Release> releases,
                                                       const redis::CallOptions& options) override {
    return store_->release_all(releases, options);
  }
  bool run_callback(std::function<void()> callback) override {
    return store_->run_callback(std::move(callback));
  }
  std::unique_ptr<redis::Subscription> subscribe(const std::string& channel,
                                                 std::function<void(std::string_view)> on_message,
                                                 std::function<void()> on_subscribed) override {
    return store_->subscribe(channel, std::move(on_message), std::move(on_subscribed));
  }
  std::unique_ptr<redis::Subscription> subscribe_sharded(
      const std::string& channel, std::function<void(std::string_view)> on_message,
      std::function<void(std::string_view)> on_subscribed) override {
    return store_->subscribe_sharded(channel, std::move(on_message), std::move(on_subscribed));
  }
  std::string place() const override { return store_->place(); }
  Runtime& runtime() noexcept override { return store_->runtime(); }
  const redis::ClientOptions& options() const noexcept override { return store_->options(); }

 protected:
  redis::Client& client_;
  const std::unique_ptr<Store> store_;
};

// Locks of a Wire, on a store.
class PlantedLocks final : public Locks {
 public:
  using WireOf = std::function<Wire(const std::string& key, const LockOptions& options)>;
  using Make = std::function<std::shared_ptr<Lock>(std::shared_ptr<LockContext> context, Wire wire)>;
  PlantedLocks(std::unique_ptr<Store> store, LockOptions options, WireOf wire_of, Make make)
      : Locks(std::move(store), std::move(options)), wire_of_(std::move(wire_of)), make_(std::move(make)) {}

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;

  const WireOf wire_of_;
  const Make make_;
};

// A space of such locks. `store`: in the place of the one that ships. `wrap`: before it; empty: that one.
struct PlantedSpaceOptions {
  PlantedLocks::WireOf wire_of;
  std::function<std::unique_ptr<Store>(redis::Client& client)> store = {};
  std::function<std::unique_ptr<Store>(redis::Client& client, std::unique_ptr<Store> store)> wrap = {};
  PlantedLocks::Make make = {};  // empty: a WireLock
};
decltype(LockKind::make) planted_space(PlantedSpaceOptions planted);

}  // namespace holdfast::sim
