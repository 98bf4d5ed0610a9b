#include "lib/lock/engine/checked_options.h"

#include <stdexcept>
#include <string>

#include "lib/lock/engine/key_names.h"

namespace holdfast {

using std::chrono::milliseconds;

Duration checked_lease(Duration lease) {
  if (lease < milliseconds(10) || lease % milliseconds(1) != Duration::zero()) {
    throw std::invalid_argument("a lease must be at least 10 ms, in whole milliseconds");
  }
  if (lease > std::chrono::hours(24 * 365)) throw std::invalid_argument("a lease may last a year at most");
  return lease;
}

LockOptions checked_options(LockOptions options) {
  checked_lease(options.lease);
  if (options.token_lifetime <= Duration::zero()) {
    throw std::invalid_argument("token_lifetime: more than nothing; a token is kept for a lease at least");
  }
  if (options.replicas < 0) throw std::invalid_argument("replicas: a number of replicas cannot be negative");
  if (options.replicas > 0 && options.replica_timeout < milliseconds(1)) {
    throw std::invalid_argument(
        "replica_timeout: at least 1 ms; without a bound a lost replica stops everything");
  }
  if (options.max_renewals && *options.max_renewals < 0) {
    throw std::invalid_argument("max_renewals: cannot be negative; leave it out for no limit, 0 for none");
  }
  if (options.max_waiters == 0)
    throw std::invalid_argument("max_waiters: at least one task must be able to wait");
  return options;
}

const std::string& checked_key(const std::string& key) {
  if (key.empty()) throw std::invalid_argument("a lock needs a key that is not empty");
  if (key.starts_with(kNamesBegin)) {
    throw std::invalid_argument(
        "a lock's key cannot begin with \"holdfast:\": so begins what locks keep beside "
        "their keys");
  }
  if (key.size() > 65536) throw std::invalid_argument("a lock's key may have 64 KiB at most");
  return key;
}

Duration checked_wait(Duration wait) {
  if (wait < Duration::zero()) throw std::invalid_argument("a wait cannot be below zero");
  return wait;
}

int checked_permits(int permits) {
  if (permits < 1) throw std::invalid_argument("permits: at least one");
  return permits;
}

}  // namespace holdfast
