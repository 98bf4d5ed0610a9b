#include "lib/lock/store/sharded_scripts.h"

#include "generated/lock_scripts.h"

namespace holdfast {
namespace {

struct Pair {
  const redis::Script *plain, *sharded;
};
constexpr Pair kSharded[] = {
    {&lock_scripts::reentrant_release, &lock_scripts::sharded_reentrant_release},
    {&lock_scripts::read_write_release, &lock_scripts::sharded_read_write_release},
    {&lock_scripts::semaphore_release, &lock_scripts::sharded_semaphore_release},
    {&lock_scripts::semaphore_resize, &lock_scripts::sharded_semaphore_resize},
    {&lock_scripts::redisson_release, &lock_scripts::sharded_redisson_release},
    {&lock_scripts::latch_set, &lock_scripts::sharded_latch_set},
    {&lock_scripts::latch_count_down, &lock_scripts::sharded_latch_count_down},
};

}  // namespace

const redis::Script& sharded(const redis::Script& script) noexcept {
  for (const Pair& each : kSharded) {
    if (each.plain->sha1 == script.sha1) return *each.sharded;
  }
  return script;
}

}  // namespace holdfast
