#include "lib/lock/reentrant/reentrant_scripts.h"

#include "generated/lock_scripts.h"
#include "lib/lock/engine/key_names.h"

namespace holdfast {

const redis::Script kReentrantAcquire = lock_scripts::reentrant_acquire;
const redis::Script kReentrantRelease = lock_scripts::reentrant_release;
const redis::Script kReentrantWithdraw = lock_scripts::reentrant_withdraw;
const redis::Script kReentrantRenew = lock_scripts::reentrant_renew;
const redis::Script kReentrantAdopt = lock_scripts::reentrant_adopt;
const redis::Script kRedissonAcquire = lock_scripts::redisson_acquire;
const redis::Script kRedissonRelease = lock_scripts::redisson_release;
const redis::Script kRedissonRenew = lock_scripts::redisson_renew;
const redis::Script kRedissonAdopt = lock_scripts::redisson_adopt;

Wire reentrant_wire(const std::string& key, const LockOptions& options) {
  const std::string queue = beside_key("holdfast:fair:queue", key);
  const std::string patience = beside_key("holdfast:fair:patience", key);
  Wire wire{.key = key,
            .acquire = &kReentrantAcquire,
            .release = &kReentrantRelease,
            .withdraw = &kReentrantWithdraw,
            .renew = &kReentrantRenew,
            .force = &kReentrantRelease,
            .adopt = &kReentrantAdopt,
            .acquire_keys = {key, queue, patience},
            .release_keys = {key, queue, patience},
            .renew_keys = {key},
            .acquire_args = {"0"},
            .waiting = Wire::Waiting::call,
            .set_first = !options.fencing,
            .server_queue = true};
  if (options.fencing) {
    wire.token_ms = token_ms_of(options);
    wire.acquire_keys.push_back(token_key(key));
    wire.release_keys.push_back(token_key(key));
  }
  return wire;
}

Wire fair_wire(const std::string& key, const LockOptions& options) {
  Wire wire = reentrant_wire(key, options);
  wire.acquire_args = {"1"};
  wire.local_queue = false;
  wire.set_first = false;
  return wire;
}

Wire reentrant_wire_polling(const std::string& key, const LockOptions& options) {
  Wire wire = reentrant_wire(key, options);
  wire.acquire_args.push_back("0");
  wire.waiting = Wire::Waiting::back_off;
  wire.server_queue = false;
  return wire;
}

Wire redisson_wire(const std::string& key) {
  // As Redisson names it, which tells `k` from `{k}` no better: it is only a channel.
  const std::string channel =
      "redisson_lock__channel:" + (key.find('{') == std::string::npos ? '{' + key + '}' : key);
  const std::string queue = beside_key("holdfast:redisson:queue", key);
  const std::string patience = beside_key("holdfast:redisson:patience", key);
  const std::string in_a_row = beside_key("holdfast:redisson:in-a-row", key);
  return {.key = key,
          .acquire = &kRedissonAcquire,
          .release = &kRedissonRelease,
          .renew = &kRedissonRenew,
          .force = &kRedissonRelease,
          .adopt = &kRedissonAdopt,
          .acquire_keys = {key, queue, patience, in_a_row},
          .release_keys = {key, queue, patience, in_a_row, channel},
          .renew_keys = {key},
          .channel = channel,
          .waiting = Wire::Waiting::call,
          .server_queue = true};
}

}  // namespace holdfast
