// Redisson 3.13.6's watchdog: one timer per name, which renews for the first thread of that name every third
// of the lease, in the way of the lock object that set it: both sides of a read-write lock have one name, and
// the timer of the one does nothing for the other.
//
// After one renewal that failed, or found the lock gone, the timer is not set again, yet the entry stays
// until the thread unlocks: the next lock() of that name in this process finds it and starts none. The
// later releases go on after an error and drop the entry when the lock is gone (`Persistence::goes_on`).
//
// Thread safety: any task.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/runtime/runtime.h"

namespace holdfast::historic {

class RedissonRenewals {
 public:
  enum class Persistence { stops_at_failure, goes_on };
  enum class Outcome { renewed, gone, failed };
  // The lease of a lock object in ms. Redisson keeps it in the object, and every acquire overwrites it.
  using LeaseMs = std::shared_ptr<std::atomic<std::int64_t>>;
  // [parks] Renews `name` for `thread`.
  using Renew = std::function<Outcome(const std::string& name, TaskId thread, std::int64_t lease_ms)>;

  RedissonRenewals(Runtime& runtime, Persistence persistence);
  ~RedissonRenewals();
  RedissonRenewals(const RedissonRenewals&) = delete;
  RedissonRenewals& operator=(const RedissonRenewals&) = delete;

  // `renew` counts only where it sets the timer; it must not need the lock object.
  void schedule(const std::string& name, TaskId thread, LeaseMs lease_ms, Renew renew);
  // One hold of `thread` less; nullopt: all threads. With the last one the entry goes.
  void cancel(const std::string& name, std::optional<TaskId> thread);
  // The name has an entry, whether or not its timer still runs.
  bool has_entry(const std::string& name);
  void close();  // [parks]

 private:
  struct Entry {
    std::string name;
    LeaseMs lease_ms;
    Renew renew;
    std::vector<std::pair<TaskId, int>> threads;  // in the order of their coming
    MonotonicTime due{};                          // the timer goes off
    bool cancelled = false;
    Task task;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  void set_timer(Entry& entry) const;
  void run(Entry& entry);
  void drop(EntryPtr entry);  // under the mutex; REQUIRES: it is in entries_

  Runtime& runtime_;
  const Persistence persistence_;
  Mutex mutex_;
  Condition changed_;
  bool closing_ = false;
  std::map<std::string, EntryPtr> entries_;
  std::list<EntryPtr> ended_;  // to be joined
};

}  // namespace holdfast::historic
