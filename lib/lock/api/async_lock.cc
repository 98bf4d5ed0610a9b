#include "lib/lock/api/async_lock.h"

#include <exception>
#include <mutex>

namespace holdfast {

struct PendingLock::State {
  explicit State(Runtime& runtime) : mutex(runtime), changed(runtime) {}
  Mutex mutex;
  Condition changed;
  bool done = false, granted = false;
  std::exception_ptr failure;
  Task task;  // last: it ends before the rest goes away
};

bool PendingLock::wait() const {
  std::unique_lock guard(state_->mutex);
  while (!state_->done) state_->changed.wait(guard);
  if (state_->failure) std::rethrow_exception(state_->failure);
  return state_->granted;
}

bool PendingLock::ready() const {
  const std::scoped_lock guard(state_->mutex);
  return state_->done;
}

PendingLock acquire_async(std::shared_ptr<Lock> lock, const Owner& owner, MonotonicTime deadline,
                          std::stop_token stop, AcquireOutcome then) {
  Runtime& runtime = lock->runtime();
  auto state = std::make_shared<PendingLock::State>(runtime);
  PendingLock::State* const at = state.get();  // outlives the task, which it joins
  state->task = runtime.spawn("acquirer", [at, lock = std::move(lock), owner, deadline,
                                           stop = std::move(stop), then = std::move(then), &runtime] {
    bool granted = false;
    std::exception_ptr failure;
    try {
      const ActAs me(runtime, owner);
      granted = lock->try_lock_until(deadline, stop);
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
    {
      const std::scoped_lock guard(at->mutex);
      at->done = true;
      at->granted = granted;
      at->failure = failure;
      at->changed.notify_all();
    }
    if (then) then(granted, failure);
  });
  return PendingLock(std::move(state));
}

FutureLock acquire_future(std::shared_ptr<Lock> lock, const Owner& owner, MonotonicTime deadline,
                          std::stop_token stop) {
  const auto promise = std::make_shared<std::promise<bool>>();
  std::future<bool> future = promise->get_future();
  PendingLock pending = acquire_async(std::move(lock), owner, deadline, std::move(stop),
                                      [promise](bool granted, const std::exception_ptr& failure) {
                                        if (failure) {
                                          promise->set_exception(failure);
                                        } else {
                                          promise->set_value(granted);
                                        }
                                      });
  return {std::move(future), std::move(pending)};
}

}  // namespace holdfast
