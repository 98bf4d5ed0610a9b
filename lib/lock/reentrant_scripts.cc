#include "reentrant_scripts.h"

#include "generated/lock_scripts.h"

namespace holdfast {

const redis::Script kReentrantAcquire = lock_scripts::reentrant_acquire;
const redis::Script kReentrantAcquireFenced = lock_scripts::reentrant_acquire_fenced;
const redis::Script kReentrantRelease = lock_scripts::reentrant_release;
const redis::Script kReentrantRenew = lock_scripts::reentrant_renew;
const redis::Script kReentrantForce = lock_scripts::reentrant_force;

std::string beside_key(const std::string& prefix, const std::string& key) {
  return key.find('{') == std::string::npos ? prefix + ":{" + key + "}" : prefix + ":" + key;
}

std::string reentrant_channel(const std::string& key) { return beside_key("redisson_lock__channel", key); }
std::string token_key(const std::string& key) { return beside_key("holdfast:token", key); }

Wire reentrant_wire(const std::string& key, bool fencing) {
  const std::string channel = reentrant_channel(key);
  Wire wire{.key = key,
            .acquire = fencing ? &kReentrantAcquireFenced : &kReentrantAcquire,
            .release = &kReentrantRelease,
            .renew = &kReentrantRenew,
            .force = &kReentrantForce,
            .acquire_keys = {key},
            .release_keys = {key, channel},
            .renew_keys = {key},
            .channel = channel};
  if (fencing) wire.acquire_keys.push_back(token_key(key));
  return wire;
}

}  // namespace holdfast
