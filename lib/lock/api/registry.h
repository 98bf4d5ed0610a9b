// Registry: the one lock object of each key in this process, kept for as long as it is used.
//
//   ReentrantLocks locks(client, {.lease = 60s});
//   Registry registry(locks, {.prefix = "orders"});
//   const auto lock = registry.obtain("4711");     // locks the key "orders:4711"
//
// Objects stay between uses, so that a busy key costs no allocation; expire_unused_older_than() and the
// capacity give them back. An object that a task holds or waits for is never given up, and neither is one
// that somebody still has a pointer to: so there are never two objects of one key, whose tasks would not
// queue with each other. After Spring Integration's RedisLockRegistry.
//
// Thread safety: any task. obtain() is O(log keys).
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "lib/lock/api/locks.h"

namespace holdfast {

// How keys are named, and how many objects are kept.
struct RegistryOptions {
  std::string prefix = {};  // "" : keys are taken as they are
  // Objects kept. Beyond it the unused one goes that was obtained longest ago.
  std::size_t capacity = 100'000;
};

class Registry {
 public:
  // `locks` outlives the registry. Throws std::invalid_argument for a capacity of zero.
  Registry(Locks& locks, RegistryOptions options);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Throws std::invalid_argument for an empty key, Unavailable when `capacity` objects are all in use.
  std::shared_ptr<Lock> obtain(const std::string& key);
  // Gives up the objects that were obtained last longer ago than `age` and are not in use; returns how many.
  std::size_t expire_unused_older_than(Duration age);
  std::size_t size() const;  // objects kept now
  // That of the locks.
  Runtime& runtime() const noexcept { return locks_.runtime(); }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<Lock> lock;
    MonotonicTime obtained_at{};
  };
  using Entries = std::list<Entry>;
  static bool unused(const Entry& entry);

  Locks& locks_;
  const RegistryOptions options_;
  mutable Mutex mutex_;
  Entries entries_;  // the one that was obtained longest ago first
  std::map<std::string, Entries::iterator, std::less<>> by_key_;
};

}  // namespace holdfast
