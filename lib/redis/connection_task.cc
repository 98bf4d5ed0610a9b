// The task of a connection that serves background calls, and finishes what a writer that gave up left behind.
#include <algorithm>
#include <chrono>

#include "lib/redis/connection.h"
#include "lib/redis/role.h"
#include "lib/runtime/background_task.h"

namespace holdfast::redis {
namespace {

// How long the task stays when nothing is left to do: who calls again soon does not pay for another start.
constexpr Duration kRest = std::chrono::milliseconds(20);

}  // namespace

bool Connection::task_needed() const {
  return background_waiting_ > 0 || (task_must_write_ && !out_.empty() && !writing_ && !entries_.empty());
}

// The latest deadline of the waiting calls; in the past when none waits.
MonotonicTime Connection::latest_deadline() const {
  MonotonicTime latest{};
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].pending != nullptr) latest = std::max(latest, entries_[i].pending->deadline);
  }
  return latest;
}

void Connection::start_task() {
  if (task_.running()) {
    task_.wake();
  } else if (!task_.start([self = shared_from_this()] { self->run_task(); })) {
    serve_themselves();
  }
}

// No task could be started: the background calls take the roles as others do.
void Connection::serve_themselves() {
  task_must_write_ = false;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Pending* const pending = entries_[i].pending;
    if (pending == nullptr || !pending->background) continue;
    pending->background = false;
    --background_waiting_;
    pending->parker->unpark();
  }
}

void Connection::run_task() {
  Lock lock(mutex_);
  BackgroundTask::Turn turn(task_);
  bool rested = false;
  while (!broken_ && !(rested && !task_needed())) {
    if (!task_needed()) {
      task_must_write_ = false;
      tell_parked();
      const MonotonicTime until = deadline_after(runtime_.now(), kRest);
      lock.unlock();
      rested = !runtime_.parker().park_until(until);
      lock.lock();
      continue;
    }
    rested = false;
    bool in_time = true;
    if (!out_.empty() && !writing_) {
      in_time = write_some(lock, nullptr, latest_deadline());
      if (out_.empty() || !in_time) task_must_write_ = false;
    } else if (!reading_) {
      in_time = read_some(lock, nullptr, background_until_);
      if (runtime_.now() >= background_until_) in_time = false;
    } else {
      const MonotonicTime until = background_until_;  // a call that joins moves it
      lock.unlock();
      in_time = runtime_.parker().park_until(until);
      lock.lock();
    }
    if (in_time) continue;
    expire_background();
    wake_settled(lock);  // of a connection that has been silent for too long, all that still wait for it
  }
  turn.rest();
}

// A background task that does not run cannot see its own deadline pass.
void Connection::expire_background() {
  const MonotonicTime now = runtime_.now();
  MonotonicTime latest = MonotonicTime::min();
  for (std::size_t i = 0; i < entries_.size();) {
    Pending* const pending = entries_[i].pending;
    if (pending == nullptr || !pending->background) {
      ++i;
    } else if (pending->deadline > now) {
      latest = std::max(latest, pending->deadline);
      ++i;
    } else {
      const std::size_t before = entries_.size();
      give_up(*pending);
      pending->parker->unpark();
      if (entries_.size() == before) ++i;
    }
  }
  background_until_ = latest;
  check_silence();
}

}  // namespace holdfast::redis
