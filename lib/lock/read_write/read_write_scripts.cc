#include "lib/lock/read_write/read_write_scripts.h"

#include "generated/lock_scripts.h"
#include "lib/lock/engine/key_names.h"

namespace holdfast {

const redis::Script kReadWriteAcquire = lock_scripts::read_write_acquire;
const redis::Script kReadWriteRelease = lock_scripts::read_write_release;
const redis::Script kReadWriteRenew = lock_scripts::read_write_renew;
const redis::Script kReadWriteAdopt = lock_scripts::read_write_adopt;

Wire read_write_wire(const std::string& key, Side side, bool fair, const LockOptions& options) {
  const std::string readers = beside_key("holdfast:rw:readers", key);
  const std::string queue = beside_key("holdfast:rw:line", key);
  const std::string writers = beside_key("holdfast:rw:line-writers", key);
  const std::string patience = beside_key("holdfast:rw:line-patience", key);
  const std::string channel = beside_key("holdfast:rw:channel", key);
  const bool reads = side == Side::read;
  Wire wire{.key = key,
            .acquire = &kReadWriteAcquire,
            .release = &kReadWriteRelease,
            .renew = &kReadWriteRenew,
            .force = &kReadWriteRelease,
            .adopt = &kReadWriteAdopt,
            .acquire_keys = {key, readers, queue, writers, patience},
            .release_keys = {key, readers, queue, writers, patience, channel},
            .renew_keys = {key, readers},
            .acquire_args = {reads ? "read" : "write", fair ? "1" : "0"},
            .waiting = Wire::Waiting::call,
            .exclusive = !reads,
            .local_queue = !fair && !reads,
            .server_queue = true,
            .mode = reads ? "read" : "write"};
  if (options.fencing) {
    wire.token_ms = token_ms_of(options);
    wire.acquire_keys.push_back(token_key(key));
    wire.release_keys.push_back(token_key(key));
  }
  return wire;
}

}  // namespace holdfast
