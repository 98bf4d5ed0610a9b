// How long a lease may be trusted.
#pragma once

#include "lib/lock/api/lock.h"
#include "lib/runtime/time.h"

namespace holdfast {

// What is taken off a lease before it is trusted: 1% for two clocks that run at different rates, and 2 ms for
// the server's clock resolution and the way of its expiry.
constexpr Duration lease_margin(Duration lease) { return lease / 100 + std::chrono::milliseconds(2); }

// The last moment at which a lease granted (or renewed) by a request sent at `sent_at` is surely in force on
// the server. Counted from the sending, because the server's clock starts somewhere between sending and
// reply.
constexpr MonotonicTime lease_end(MonotonicTime sent_at, Duration lease) {
  return sent_at + lease - lease_margin(lease);
}

// The same of a lock with these options: a survivor names its own drift and skew.
Duration lease_margin(Duration lease, const LockOptions& options);
MonotonicTime lease_end(MonotonicTime sent_at, Duration lease, const LockOptions& options);

}  // namespace holdfast
