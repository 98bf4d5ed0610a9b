// Redisson's RSemaphore with the later check of replicas (read in 4.7), as published. Do not use it in an
// application.
//
//   state, waiting   as redisson_semaphore.h
//   set       the script, sent again where no answer came, with WAIT as in redisson_wait_connected.h. Nobody
//             acknowledged it: an error, and the permits are set
//   acquire   the script, once, with WAIT. Nobody acknowledged a grant: it is given back, and taken again
//             after 1500 ms, three times, then an error
//   release   the script, once, with WAIT. Nobody acknowledged it: an error, and it is given back
//
// Its flaws are kept, this is what it is here for:
//   - what is given back goes to whoever is the primary by then. A replica that never had the grant has one
//     permit more when it was promoted meanwhile;
//   - an error does not say whether a permit was taken, or given back: a lost reply to either is one, and
//     nothing is sent again;
//   - the rest of redisson_semaphore.h, but for what is sent twice, and of the check.
//
// Deviations: those of both. The check counts for a grant only: to a refusal WAIT says nothing where others
// use the connection, too. The original asks for no second sending of acquire and release; whether its batch
// sends itself again all the same was not tried.
//
// Thread safety: any task.
#pragma once

#include <memory>
#include <string>

#include "sim/historic/redisson/redisson_semaphore.h"
#include "sim/historic/redisson/redisson_wait_connected.h"

namespace holdfast::historic {

class RedissonSemaphoreChecked final : public RedissonSemaphore {
 public:
  RedissonSemaphoreChecked(std::shared_ptr<Redisson> redisson, std::shared_ptr<ConnectedReplicas> replicas,
                           std::string key)
      : RedissonSemaphore(std::move(redisson), std::move(key)), replicas_(std::move(replicas)) {}

 private:
  redis::Answer send_set(redis::Arguments keys, redis::Arguments args) override;
  redis::Answer send_acquire(redis::Arguments keys, redis::Arguments args) override;
  redis::Answer send_release(redis::Arguments keys, redis::Arguments args) override;

  // [parks] Once. Throws LockError.
  CheckedAnswer send(const redis::Script& script, redis::Arguments keys, redis::Arguments args);
  [[noreturn]] void throw_unacknowledged(const std::string& what, const redis::Answer& answer) const;

  const std::shared_ptr<ConnectedReplicas> replicas_;
};

}  // namespace holdfast::historic
