// The task of a connection that serves background calls, and finishes what a writer that gave up left behind.
#include <algorithm>

#include "lib/redis/connection.h"
#include "lib/redis/role.h"

namespace holdfast::redis {

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
  if (task_running_) {
    if (task_parker_ != nullptr) task_parker_->unpark();
    return;
  }
  task_running_ = true;
  task_ = runtime_.spawn("reader", [self = shared_from_this()] { self->run_task(); });
}

void Connection::run_task() {
  Lock lock(mutex_);
  ParkerPlace place(task_parker_, runtime_.parker());
  while (!broken_ && task_needed()) {
    bool in_time = true;
    if (!out_.empty() && !writing_) {
      in_time = write_some(lock, nullptr, latest_deadline());
      if (out_.empty() || !in_time) task_must_write_ = false;
    } else if (!reading_) {
      in_time = read_some(lock, nullptr, background_until_);
    } else {
      const MonotonicTime until = background_until_;  // a call that joins moves it
      lock.unlock();
      in_time = runtime_.parker().park_until(until);
      lock.lock();
    }
    if (!in_time) expire_background();
  }
  place.leave();
  task_running_ = false;
  task_must_write_ = false;
  tell_parked();
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
