#include "lib/lock/api/async_lock.h"

#include <exception>
#include <mutex>

namespace holdfast {

struct PendingLock::State {
  State(Runtime& runtime, std::stop_token from_caller)
      : mutex(runtime), changed(runtime), callers_stop(std::move(from_caller), StopRequest{stop}) {}
  ~State() { stop.request_stop(); }
  struct StopRequest {
    std::stop_source stop;
    void operator()() { stop.request_stop(); }
  };
  Mutex mutex;
  Condition changed;
  bool done = false, granted = false;
  std::exception_ptr failure;
  std::stop_source stop;  // by the caller, or because nobody wants the result any more
  std::stop_callback<StopRequest> callers_stop;
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
  auto state = std::make_shared<PendingLock::State>(runtime, std::move(stop));
  PendingLock::State* const at = state.get();  // outlives the task, which it joins
  state->task = runtime.spawn(
      "acquirer", [at, lock = std::move(lock), owner, deadline, then = std::move(then), &runtime] {
        bool granted = false;
        std::exception_ptr failure;
        try {
          const ActAs me(runtime, owner);
          granted = lock->try_lock_until(deadline, at->stop.get_token());
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
