#include "semaphore.h"

#include "checked_options.h"
#include "semaphore_scripts.h"

namespace holdfast {

Semaphore::Semaphore(std::shared_ptr<LockContext> context, const std::string& key, int permits)
    : WireLock(context, semaphore_wire(key, permits, context->options.fencing)) {}

void Semaphore::acquire(int permits) { acquire_within({}, checked_permits(permits)); }

bool Semaphore::try_acquire(int permits) {
  const Duration timeout = context_->store.options().command_timeout;
  return acquire_within({.wait = false, .deadline = deadline_after(runtime().now(), timeout)},
                        checked_permits(permits));
}

bool Semaphore::try_acquire_until(MonotonicTime deadline, int permits, std::stop_token stop) {
  if (deadline <= runtime().now()) return try_acquire(permits);
  return acquire_within({.deadline = deadline, .stop = std::move(stop)}, checked_permits(permits));
}

int Semaphore::free_permits() { return holdfast::free_permits(*context_, wire()); }
void Semaphore::set_permits(int permits) { holdfast::set_permits(*context_, wire(), permits); }

Semaphores::Semaphores(redis::Client& client, SemaphoreOptions options)
    : Locks(client, std::move(options.lock)), permits_(checked_permits(options.permits)) {}

std::shared_ptr<Lock> Semaphores::make(const std::string& key) {
  return std::make_shared<Semaphore>(context_, key, permits_);
}

}  // namespace holdfast
