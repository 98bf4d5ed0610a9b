#include "lib/lock/api/guarded.h"

#include "lib/lock/engine/checked_options.h"

namespace holdfast::guarded_detail {

void checked_wait(Duration wait) { holdfast::checked_wait(wait); }

std::shared_ptr<Lock> acquired(Registry& registry, const std::string& key, Duration wait) {
  std::shared_ptr<Lock> lock = registry.obtain(key);
  if (!lock->try_lock_for(wait)) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
    throw WaitTimeout("lock '" + lock->key() + "': not granted within " + std::to_string(ms) + " ms",
                      lock->key(), "", false);
  }
  return lock;
}

}  // namespace holdfast::guarded_detail
