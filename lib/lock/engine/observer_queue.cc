#include "lib/lock/engine/observer_queue.h"

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "lib/runtime/process_identity.h"

namespace holdfast {
namespace {

constexpr std::size_t kMost = 65536;

// An event with the texts that it refers to.
struct Kept {
  explicit Kept(const LockEvent& told)
      : event(told),
        key(told.key),
        acquisition(told.acquisition),
        node(told.node),
        reason(told.reason),
        mode(told.mode) {}

  void tell(LockObserver& observer) {
    event.key = key;
    event.acquisition = acquisition;
    event.node = node;
    event.reason = reason;
    event.mode = mode;
    observer.on_event(event);
  }

  LockEvent event;
  std::string key, acquisition, node, reason, mode;
};

}  // namespace

struct ObserverQueue::State {
  State(Runtime& on, LockObserver* told) : runtime(on), observer(told), mutex(on), done(on) {}

  // REQUIRES: telling is the caller's.
  void tell_all() {
    std::unique_lock guard(mutex);
    teller = runtime.task_id();
    while (!events.empty()) {
      Kept next = std::move(events.front());
      events.pop_front();
      guard.unlock();
      next.tell(*observer);
      guard.lock();
    }
    teller = 0;
    telling = false;
    done.notify_all();
  }

  Runtime& runtime;
  LockObserver* const observer;
  const std::uint64_t made_at_fork = forks_so_far();
  Mutex mutex;
  Condition done;
  std::deque<Kept> events;
  bool telling = false;
  TaskId teller = 0;
};

ObserverQueue::ObserverQueue(Store& store, LockObserver* observer)
    : store_(store), observer_(observer), state_(std::make_shared<State>(store.runtime(), observer)) {}

ObserverQueue::~ObserverQueue() {
  // In a child that forked off the task that tells is not there, and the mutex may be locked for ever.
  if (forks_so_far() != state_->made_at_fork) return;
  try {
    std::unique_lock guard(state_->mutex);
    if (state_->teller == state_->runtime.task_id()) return;  // it is being ended by the observer itself
    while (state_->telling) state_->done.wait(guard);
    if (state_->events.empty()) return;
    state_->telling = true;
    guard.unlock();
    state_->tell_all();
  } catch (const TaskCancelled&) {  // the process is being killed
  }
}

void ObserverQueue::tell(const LockEvent& event) {
  if (observer_ == nullptr) return;
  if (observer_->is_quick()) return observer_->on_event(event);
  {
    const std::scoped_lock guard(state_->mutex);
    if (state_->events.size() >= kMost) state_->events.pop_front();
    state_->events.emplace_back(event);
    if (std::exchange(state_->telling, true)) return;
  }
  if (store_.run_callback([state = state_] { state->tell_all(); })) return;
  const std::scoped_lock guard(state_->mutex);
  state_->telling = false;
  state_->done.notify_all();
}

}  // namespace holdfast
