#include "lib/lock/semaphore/semaphore_scripts.h"

#include <array>

#include "generated/lock_scripts.h"
#include "lib/lock/engine/checked_options.h"
#include "lib/lock/engine/key_names.h"

namespace holdfast {

const redis::Script kSemaphoreAcquire = lock_scripts::semaphore_acquire;
const redis::Script kSemaphoreRelease = lock_scripts::semaphore_release;
const redis::Script kSemaphoreWithdraw = lock_scripts::semaphore_withdraw;
const redis::Script kSemaphoreRenew = lock_scripts::semaphore_renew;
const redis::Script kSemaphoreAdopt = lock_scripts::semaphore_adopt;
const redis::Script kSemaphoreFree = lock_scripts::semaphore_free;
const redis::Script kSemaphoreResize = lock_scripts::semaphore_resize;

Wire semaphore_wire(const std::string& key, int permits, const LockOptions& options) {
  const std::string taken = beside_key("holdfast:semaphore:taken", key);
  const std::string limit = beside_key("holdfast:semaphore:permits", key);
  const std::string queue = beside_key("holdfast:semaphore:queue", key);
  const std::string patience = beside_key("holdfast:semaphore:patience", key);
  const std::string wants = beside_key("holdfast:semaphore:wants", key);
  Wire wire{.key = key,
            .acquire = &kSemaphoreAcquire,
            .release = &kSemaphoreRelease,
            .withdraw = &kSemaphoreWithdraw,
            .renew = &kSemaphoreRenew,
            .adopt = &kSemaphoreAdopt,
            .acquire_keys = {key, taken, limit, queue, patience, wants},
            .release_keys = {key, taken, limit, queue, patience, wants},
            .renew_keys = {key, taken},
            .acquire_args = {std::to_string(permits)},
            .reentry = Wire::Reentry::another_hold,
            .waiting = Wire::Waiting::call,
            .exclusive = false,
            .counts_permits = true,
            .server_queue = true};
  if (options.fencing) {
    wire.token_ms = token_ms_of(options);
    wire.acquire_keys.push_back(token_key(key));
    wire.release_keys.push_back(token_key(key));
  }
  return wire;
}

int free_permits(LockContext& context, const Wire& wire) {
  const std::vector<std::string> keys(wire.acquire_keys.begin(), wire.acquire_keys.begin() + 3);
  const std::array<std::string_view, 1> args{wire.acquire_args.front()};
  bool unseen = false;
  return static_cast<int>(context.insist(wire.key, kSemaphoreFree, keys, args, unseen).reply.integer);
}

void set_permits(LockContext& context, const Wire& wire, int permits) {
  const std::vector<std::string>& all = wire.acquire_keys;
  const std::vector<std::string> keys{all[2], all[1], all[3], all[5]};
  const std::string number = std::to_string(checked_permits(permits));
  const std::array<std::string_view, 1> args{number};
  bool unseen = false;
  context.insist(wire.key, kSemaphoreResize, keys, args, unseen);
}

}  // namespace holdfast
