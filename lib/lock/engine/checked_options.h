// What a caller may ask for, checked before anything is sent.
#pragma once

#include <string>
#include <string_view>

#include "lib/lock/api/lock.h"

namespace holdfast {

// Returns it. Throws std::invalid_argument: shorter than 10 ms, or no whole number of milliseconds.
Duration checked_lease(Duration lease);
// The same of a lock with these options: not longer than a survivor's longest lease either.
Duration checked_lease(Duration lease, const LockOptions& options);
// Throws std::invalid_argument: the lease; a token that is kept for no time; a negative number of replicas or
// renewals; a WAIT without a bound; a survivor without members, one of them twice or of no such form, a
// lease longer than its longest or no longer than its margin.
LockOptions checked_options(LockOptions options);
// Returns it. Throws std::invalid_argument: empty, longer than 64 KiB, or like a name beside a key
// (key_names.h).
const std::string& checked_key(const std::string& key);
// Returns it. Throws std::invalid_argument: below zero.
Duration checked_wait(Duration wait);
// Throws std::invalid_argument: less than one permit.
int checked_permits(int permits);

}  // namespace holdfast
