// Hold: one outermost acquisition of one lock, from its grant to its release or loss.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "lib/lock/engine/wire.h"
#include "lib/lock/waiting/local_queue.h"
#include "lib/runtime/time.h"

namespace holdfast {

// Moves the time on, and never back, whoever else does so at the same moment.
inline void raise(std::atomic<Duration::rep>& time_ns, MonotonicTime to) {
  const Duration::rep to_ns = to.time_since_epoch().count();
  for (Duration::rep before = time_ns; before < to_ns;) {
    if (time_ns.compare_exchange_weak(before, to_ns)) return;
  }
}

struct Hold {
  // Fixed at the grant.
  std::shared_ptr<const Wire> wire;
  std::string owner;                   // "uuid:number", never used twice
  std::string_view node;               // who granted; its name lives as long as the client
  std::optional<std::uint64_t> token;  // fencing token
  int permits = 1;
  // The local turn that belongs to the hold, passed on when it is lost; or null.
  std::shared_ptr<LocalQueue> turn;
  std::weak_ptr<const void> life;  // expires with the task (or Owner) that holds it
  MonotonicTime granted_at{};      // when this process knew of it

  // Read by anybody. The watchdog and extend() raise() the first, on different threads.
  std::atomic<Duration::rep> valid_until_ns{0};
  std::atomic<bool> is_lost{false};
  // Written by extend() before it asks, and by a grant with a lease of its own: until when the record may
  // stand, answered or not.
  std::atomic<Duration::rep> extended_until_ns{0};

  // The watchdog's own, under its mutex once the hold is watched.
  bool renew = true;
  int renewals_left = -1;                // -1: without end
  std::optional<std::stop_source> lost;  // made when somebody asks for a token
  bool lost_was_told = false;
  std::uint64_t number = 0;  // among those that are watched, in the order in which they came; 0: it is not
  MonotonicTime looked_at_by{};  // valid_until as the watchdog knows it: extend() moves it on
  MonotonicTime next_renewal{};
  MonotonicTime renewal_due{};  // the first try of it; next_renewal may be a later one
  // A renewal may have lengthened the record without our knowing. Written while it is watched only: who has
  // taken the hold away may read it.
  bool renewal_unanswered = false;

  const std::string& key() const noexcept { return wire->key; }
  MonotonicTime valid_until() const { return MonotonicTime(Duration(valid_until_ns.load())); }
  // Until when there is something to give back: a lease from now, or what extend() may have made of it.
  MonotonicTime gone_by(MonotonicTime now, Duration lease) const {
    return std::max(now + lease, MonotonicTime(Duration(extended_until_ns.load())));
  }
};

}  // namespace holdfast
