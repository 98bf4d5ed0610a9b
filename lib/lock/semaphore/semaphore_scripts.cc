#include "lib/lock/semaphore/semaphore_scripts.h"

#include <array>

#include "generated/lock_scripts.h"
#include "lib/lock/engine/checked_options.h"
#include "lib/lock/reentrant/reentrant_scripts.h"

namespace holdfast {

const redis::Script kSemaphoreAcquire = lock_scripts::semaphore_acquire;
const redis::Script kSemaphoreRelease = lock_scripts::semaphore_release;
const redis::Script kSemaphoreRenew = lock_scripts::semaphore_renew;
const redis::Script kSemaphoreFree = lock_scripts::semaphore_free;
const redis::Script kSemaphoreResize = lock_scripts::semaphore_resize;

Wire semaphore_wire(const std::string& key, int permits, bool fencing) {
  const std::string taken = beside_key("holdfast:semaphore:taken", key);
  const std::string limit = beside_key("holdfast:semaphore:permits", key);
  const std::string channel = beside_key("holdfast:semaphore:channel", key);
  Wire wire{.key = key,
            .acquire = &kSemaphoreAcquire,
            .release = &kSemaphoreRelease,
            .renew = &kSemaphoreRenew,
            .acquire_keys = {key, taken, limit},
            .release_keys = {key, taken, channel},
            .renew_keys = {key, taken},
            .acquire_args = {std::to_string(permits)},
            .channel = channel,
            .reentry = Wire::Reentry::another_hold,
            .exclusive = false,
            .counts_permits = true};
  if (fencing) wire.acquire_keys.push_back(token_key(key));
  return wire;
}

int free_permits(LockContext& context, const Wire& wire) {
  const std::vector<std::string> keys(wire.acquire_keys.begin(), wire.acquire_keys.begin() + 3);
  const std::array<std::string_view, 1> args{wire.acquire_args.front()};
  bool unseen = false;
  return static_cast<int>(context.insist(wire.key, kSemaphoreFree, keys, args, unseen).reply.integer);
}

void set_permits(LockContext& context, const Wire& wire, int permits) {
  const std::vector<std::string> keys{wire.acquire_keys[2], wire.channel};
  const std::string number = std::to_string(checked_permits(permits));
  const std::array<std::string_view, 1> args{number};
  bool unseen = false;
  context.insist(wire.key, kSemaphoreResize, keys, args, unseen);
}

}  // namespace holdfast
