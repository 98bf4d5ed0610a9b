#include "lib/lock/engine/checked_options.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "lib/lock/engine/key_names.h"
#include "lib/lock/engine/lease.h"

namespace holdfast {

using std::chrono::milliseconds;

Duration checked_lease(Duration lease) {
  if (lease < milliseconds(10) || lease % milliseconds(1) != Duration::zero()) {
    throw std::invalid_argument("a lease must be at least 10 ms, in whole milliseconds");
  }
  if (lease > std::chrono::hours(24 * 365)) throw std::invalid_argument("a lease may last a year at most");
  return lease;
}

Duration checked_lease(Duration lease, const LockOptions& options) {
  checked_lease(lease);
  if (!options.survivor) return lease;
  if (lease > options.survivor->longest_lease) {
    throw std::invalid_argument("survivor: a lease longer than longest_lease would outlive a quarantine");
  }
  if (lease <= 2 * lease_margin(lease, options)) {
    throw std::invalid_argument("survivor: drift and skew take more than half of such a lease");
  }
  return lease;
}

namespace {

void check(const SurvivorOptions& survivor) {
  checked_lease(survivor.longest_lease);
  if (survivor.members.empty()) {
    throw std::invalid_argument("survivor: who are the members? Three at least, where one may fail");
  }
  for (const std::string& member : survivor.members) {
    const std::size_t colon = member.rfind(':');
    const bool sound = colon != std::string::npos && colon > 0 && colon + 1 < member.size() &&
                       member.find_first_not_of("0123456789", colon + 1) == std::string::npos &&
                       member.find_first_of(" \t\r\n") == std::string::npos;
    if (!sound) throw std::invalid_argument("survivor: the member '" + member + "', expected \"host:port\"");
    if (std::count(survivor.members.begin(), survivor.members.end(), member) > 1) {
      throw std::invalid_argument("survivor: the member " + member + " is named twice");
    }
  }
  if (survivor.drift_ppm < 0 || survivor.drift_ppm > 500'000) {
    throw std::invalid_argument("survivor: drift_ppm from 0 to 500000");
  }
  if (survivor.skew < milliseconds(0) || survivor.skew % milliseconds(1) != Duration::zero()) {
    throw std::invalid_argument("survivor: the skew in whole milliseconds, not below zero");
  }
}

}  // namespace

LockOptions checked_options(LockOptions options) {
  if (options.survivor) check(*options.survivor);
  checked_lease(options.lease, options);
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
