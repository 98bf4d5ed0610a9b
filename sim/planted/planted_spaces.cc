// Wrong versions beside the protocol: a lock that counts its entries wrongly, an observer that is told too
// little, a registry that does too much, and wires that say something else.
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "sim/planted/planted.h"
#include "sim/planted/planted_store.h"

namespace holdfast::sim {
namespace {

// The first release of a hold that was entered again gives all of it back.
class ReleasesAtOnce final : public WireLock {
 public:
  using WireLock::WireLock;
  void release() override {
    if (hold_count() == 0) return;
    while (hold_count() > 1) WireLock::release();
    WireLock::release();
  }
};

// Tells nothing of a loss.
class SilentObserver final : public LockObserver {
 public:
  explicit SilentObserver(LockObserver* outer) : outer_(outer) {}
  bool is_quick() const noexcept override { return true; }
  void on_event(const LockEvent& event) noexcept override {
    if (outer_ != nullptr && event.kind != LockEvent::Kind::lost) outer_->on_event(event);
  }

 private:
  LockObserver* const outer_;
};

class SilentSpace final : public LockSpace {
 public:
  SilentSpace(std::unique_ptr<SilentObserver> observer, std::unique_ptr<LockSpace> space)
      : observer_(std::move(observer)), space_(std::move(space)) {}
  std::shared_ptr<Lock> obtain(const std::string& key) override { return space_->obtain(key); }
  std::shared_ptr<Lock> obtain_shared(const std::string& key) override { return space_->obtain_shared(key); }
  std::size_t expire_unused_older_than(Duration age) override {
    return space_->expire_unused_older_than(age);
  }

 private:
  const std::unique_ptr<SilentObserver> observer_;
  const std::unique_ptr<LockSpace> space_;
};

decltype(LockKind::make) silent(const char* base) {
  return [base](const LockSpaceOptions& options) -> std::unique_ptr<LockSpace> {
    auto observer = std::make_unique<SilentObserver>(options.lock.observer);
    LockSpaceOptions changed = options;
    changed.lock.observer = observer.get();
    return std::make_unique<SilentSpace>(std::move(observer), find_lock_kind(base)->make(changed));
  };
}

// Of a registry: an object that is old goes, and with it the record of its key.
class ForcingSpace final : public LockSpace {
 public:
  explicit ForcingSpace(std::unique_ptr<LockSpace> space) : space_(std::move(space)) {}
  std::shared_ptr<Lock> obtain(const std::string& key) override { return last_ = space_->obtain(key); }
  std::size_t expire_unused_older_than(Duration age) override {
    try {
      if (last_ && !last_->in_use()) last_->force_unlock();
    } catch (const LockError&) {
    }
    last_.reset();
    return space_->expire_unused_older_than(age);
  }

 private:
  const std::unique_ptr<LockSpace> space_;
  std::shared_ptr<Lock> last_;
};

decltype(LockKind::make) forcing(const char* base) {
  return [base](const LockSpaceOptions& options) -> std::unique_ptr<LockSpace> {
    return std::make_unique<ForcingSpace>(find_lock_kind(base)->make(options));
  };
}

decltype(LockKind::make) semaphores(int more) {
  return [more](const LockSpaceOptions& options) {
    return planted_space(
        {.wire_of = [permits = options.permits + more](const std::string& key, const LockOptions& lock) {
          return semaphore_wire(key, permits, lock);
        }})(options);
  };
}

// Names beside a key are made without a look at its braces: those beside `x` and beside `{x}` are the same.
Wire with_shared_names(Wire wire) {
  for (std::vector<std::string>* const keys : {&wire.acquire_keys, &wire.release_keys, &wire.renew_keys}) {
    for (std::string& key : *keys) {
      if (const std::size_t at = key.find("::{"); at != std::string::npos) key.erase(at, 1);
    }
  }
  return wire;
}

}  // namespace

std::vector<PlantedVersion> planted_spaces() {
  return {
      {.name = "reentrant-first-release-ends-all",
       .base = "reentrant",
       .broken = "the first release of a hold that was entered twice gives all of it back",
       .make = planted_space({.wire_of = reentrant_wire,
                              .make =
                                  [](std::shared_ptr<LockContext> context, Wire wire) {
                                    return std::make_shared<ReleasesAtOnce>(std::move(context),
                                                                            std::move(wire));
                                  }})},
      {.name = "reentrant-loss-untold",
       .base = "reentrant",
       .broken = "nobody is told that a hold is lost",
       .make = silent("reentrant")},
      {.name = "read-write-loss-untold",
       .base = "read-write",
       .broken = "nobody is told that a hold is lost",
       .within = 30'000,
       .make = silent("read-write")},
      {.name = "reentrant-registry-forces-open",
       .base = "reentrant",
       .broken = "the registry frees the record of a key when it drops the key's unused object",
       .make = forcing("reentrant"),
       .registry = true},
      {.name = "fair-not-in-turn",
       .base = "fair",
       .broken = "waiters ask without insisting on their turn",
       .make = planted_space({.wire_of =
                                  [](const std::string& key, const LockOptions& options) {
                                    Wire wire = fair_wire(key, options);
                                    wire.acquire_args = {"0"};
                                    return wire;
                                  }})},
      {.name = "fair-names-shared",
       .base = "fair",
       .broken = "the keys `x` and `{x}` share every name beside them: their queue, and whom it calls",
       .make = planted_space({.wire_of =
                                  [](const std::string& key, const LockOptions& options) {
                                    return with_shared_names(fair_wire(key, options));
                                  }})},
      {.name = "semaphore-names-shared",
       .base = "semaphore",
       .broken = "the keys `x` and `{x}` share the count of the permits that their owners have taken",
       .make =
           [](const LockSpaceOptions& options) {
             return planted_space(
                 {.wire_of = [permits = options.permits](const std::string& key, const LockOptions& lock) {
                   return with_shared_names(semaphore_wire(key, permits, lock));
                 }})(options);
           }},
      {.name = "semaphore-configured-one-more",
       .base = "semaphore",
       .broken = "it asks for one permit more than it was made with",
       .make = semaphores(1)},
  };
}

std::vector<PlantedVersion> space_controls() {
  return {
      {.name = "semaphore-configured-as-it-is",
       .base = "semaphore",
       .broken = "nothing: its permits",
       .make = semaphores(0)},
  };
}

}  // namespace holdfast::sim
