// What the locks of one Redisson client (one per process) share: its uuid, the way of a script to the server,
// the latches of the waiters, the renewal timers. As in 3.13.6, with its flaws; the locks' headers name them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "lib/lock/api/lock.h"
#include "lib/redis/client.h"
#include "lib/redis/script.h"
#include "sim/historic/redisson/redisson_latch.h"
#include "sim/historic/redisson/redisson_renewal.h"

namespace holdfast::historic {

extern const redis::Script kRedissonRenew;  // KEYS[name]  ARGV[lease in ms, owner]

// "prefix:{key}", or "prefix:key" when the key has a brace of its own: they share its hash slot.
std::string prefixed(std::string_view prefix, const std::string& key);

class Redisson {
 public:
  static constexpr Duration kSubscribeTimeout =
      std::chrono::milliseconds(7500);  // timeout + 3 retry intervals
  static constexpr int kRetryAttempts = 3;
  static constexpr Duration kRetryInterval = std::chrono::milliseconds(1500);
  static constexpr std::string_view kSyncTimeoutMs = "1000";

  // `options`: renew means that locks are taken without a lease of their own; then `lease` is Redisson's
  // lockWatchdogTimeout. `uuid`: of this client; "": a new one. The client and the observer outlive this.
  // Throws std::invalid_argument for a lease below 1 ms.
  Redisson(redis::Client& client, LockOptions options,
           RedissonRenewals::Persistence persistence = RedissonRenewals::Persistence::stops_at_failure,
           std::string uuid = {});
  ~Redisson();  // holds that are still there are renewed no more

  redis::Client& client() { return client_; }
  Runtime& runtime() { return client_.runtime(); }
  const LockOptions& options() const { return options_; }
  RedissonLatches& latches() { return latches_; }
  RedissonRenewals& renewals() { return renewals_; }
  std::int64_t lease_ms() const;
  std::string owner(TaskId thread) const { return uuid_ + ":" + std::to_string(thread); }

  // Of the primary that is asked, as far as the client was told: all nodes but one, unless somebody says
  // otherwise (of a Redis Cluster it is told which node follows which). Single-server mode knows of none.
  int replicas() const { return replicas_; }
  void set_replicas(int replicas) { replicas_ = replicas; }

  // [parks] The script in a batch with WAIT <replicas> 1000, whose answer nobody looks at. Without an
  // answer from the server it is sent again after 1500 ms, up to three times, whether or not it was
  // executed. Throws LockError.
  redis::Answer eval_write(const std::string& name, const redis::Script& script, redis::Arguments keys,
                           redis::Arguments args, bool background = false);

  // [parks] The same without WAIT: what is no lock is sent so.
  redis::Answer eval_unsynced(const std::string& name, const redis::Script& script, redis::Arguments keys,
                              redis::Arguments args);
  // [parks] A plain command, sent again in the same way.
  redis::Answer call(const std::string& name, redis::Arguments command);

  // [parks] One renewal of `name` by `script`, for `owner`: KEYS are `keys`, ARGV the lease and the owner.
  RedissonRenewals::Outcome renew(const std::string& name, const std::string& owner,
                                  const redis::Script& script, redis::Arguments keys, std::int64_t lease_ms);

  // [parks] The script once, and with `replicas` above 0 WAIT on the same connection; how many acknowledged.
  // Throws redis::Error.
  std::pair<redis::Answer, std::int64_t> eval_and_wait(const redis::Script& script, redis::Arguments keys,
                                                       redis::Arguments args, int replicas, bool background);

  // [parks] False: this Redisson is being shut down.
  bool pause(Duration time);

  void tell(const LockEvent& event) const {
    if (options_.observer != nullptr) options_.observer->on_event(event);
  }

 private:
  // [parks] `once()` until it is answered, four times at most. Throws LockError.
  template <class Once>
  redis::Answer answered(const std::string& name, const Once& once);

  redis::Client& client_;
  int replicas_;
  const LockOptions options_;
  const std::string uuid_;
  Mutex mutex_;
  Condition changed_;
  bool closing_ = false;
  RedissonLatches latches_;
  RedissonRenewals renewals_;
};

}  // namespace holdfast::historic
