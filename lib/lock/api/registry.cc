#include "lib/lock/api/registry.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "lib/lock/engine/checked_options.h"

namespace holdfast {

Registry::Registry(Locks& locks, RegistryOptions options)
    : locks_(locks), options_(std::move(options)), mutex_(locks.runtime()) {
  if (options_.capacity == 0) throw std::invalid_argument("a registry needs room for at least one lock");
}

bool Registry::unused(const Entry& entry) { return entry.lock.use_count() == 1 && !entry.lock->in_use(); }

std::shared_ptr<Lock> Registry::obtain(const std::string& key) {
  checked_key(key);
  std::shared_ptr<Lock> evicted;  // destroyed after the mutex is free again
  const std::scoped_lock guard(mutex_);
  const MonotonicTime now = runtime().now();
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    known->second->obtained_at = now;
    entries_.splice(entries_.end(), entries_, known->second);
    return known->second->lock;
  }
  if (entries_.size() >= options_.capacity) {
    const auto oldest = std::find_if(entries_.begin(), entries_.end(), unused);
    if (oldest == entries_.end()) {
      throw Unavailable("lock '" + key + "': the registry is full, all " + std::to_string(options_.capacity) +
                            " locks in it are in use (RegistryOptions::capacity)",
                        key, "", false);
    }
    evicted = std::move(oldest->lock);
    by_key_.erase(oldest->key);
    entries_.erase(oldest);
  }
  const std::string name = options_.prefix.empty() ? key : options_.prefix + ":" + key;
  entries_.push_back({key, locks_.obtain(name), now});
  by_key_.emplace(key, std::prev(entries_.end()));
  return entries_.back().lock;
}

std::size_t Registry::expire_unused_older_than(Duration age) {
  Entries expired;
  const std::scoped_lock guard(mutex_);
  const MonotonicTime now = runtime().now();
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (now - entry->obtained_at > age && unused(*entry)) {
      by_key_.erase(entry->key);
      expired.splice(expired.end(), entries_, entry);
    }
    entry = next;
  }
  return expired.size();
}

std::size_t Registry::size() const {
  const std::scoped_lock guard(mutex_);
  return entries_.size();
}

}  // namespace holdfast
