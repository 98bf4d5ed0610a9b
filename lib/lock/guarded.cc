#include "guarded.h"

#include <stdexcept>

namespace holdfast::guarded_detail {

std::shared_ptr<Lock> acquired(Registry& registry, const std::string& key, Duration wait) {
  if (wait < Duration::zero()) throw std::invalid_argument("wait: cannot be below zero");
  std::shared_ptr<Lock> lock = registry.obtain(key);
  if (!lock->try_lock_for(wait)) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
    throw WaitTimeout("lock '" + lock->key() + "': not granted within " + std::to_string(ms) + " ms",
                      lock->key(), "", false);
  }
  return lock;
}

}  // namespace holdfast::guarded_detail
