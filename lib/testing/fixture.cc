#include "lib/testing/fixture.h"

#include <algorithm>
#include <mutex>

#include "lib/testing/servers.h"

namespace holdfast::testing {

void with_attempts(Where where, const std::function<void(int attempt)>& body) {
  for (int attempt = 0;; ++attempt) {
    try {
      return body(attempt);
    } catch (const LostWhileWaiting&) {
      if (where == Where::embedded || attempt == 4) throw;
    }
  }
}

void with_fixture(Where where, const std::function<void(Fixture&)>& body) {
  on_servers(where, 1, [&](Fixture& fixture, Servers&) { body(fixture); });
}

RecordingObserver::RecordingObserver(Runtime& runtime)
    : runtime_(runtime), mutex_(runtime), changed_(runtime) {}

void RecordingObserver::on_event(const LockEvent& event) noexcept {
  {
    const std::scoped_lock guard(mutex_);
    told_.push_back({event.kind, runtime_.now(), event.valid_until});
    changed_.notify_all();
  }
  if (hook_ && event.kind == hooked_) hook_();
}

void RecordingObserver::on_kind(LockEvent::Kind kind, std::function<void()> hook) {
  hooked_ = kind;
  hook_ = std::move(hook);
}

void RecordingObserver::wait_from_outside(LockEvent::Kind kind, Runtime& waiter) {
  while (count(kind) == 0) waiter.sleep_for(std::chrono::milliseconds(1));
}

std::size_t RecordingObserver::count(LockEvent::Kind kind) {
  const std::scoped_lock guard(mutex_);
  return static_cast<std::size_t>(
      std::count_if(told_.begin(), told_.end(), [&](const Told& told) { return told.kind == kind; }));
}

void RecordingObserver::wait_for(LockEvent::Kind kind, std::size_t times) {
  std::unique_lock guard(mutex_);
  const auto is = [](LockEvent::Kind wanted) {
    return [wanted](const Told& told) { return told.kind == wanted; };
  };
  const auto enough = [&] {
    return static_cast<std::size_t>(std::count_if(told_.begin(), told_.end(), is(kind))) >= times;
  };
  const auto hopeless = [&] {
    if (kind != LockEvent::Kind::renewed) return false;
    const auto acquired = std::find_if(told_.rbegin(), told_.rend(), is(LockEvent::Kind::acquired));
    return std::find_if(told_.rbegin(), acquired, is(LockEvent::Kind::lost)) != acquired;
  };
  changed_.wait_until(guard, kNever, [&] { return enough() || hopeless(); });
  if (!enough()) throw LostWhileWaiting();
}

MonotonicTime RecordingObserver::last(LockEvent::Kind kind) {
  const std::scoped_lock guard(mutex_);
  MonotonicTime at = MonotonicTime::min();
  for (const Told& told : told_) {
    if (told.kind == kind) at = told.at;
  }
  return at;
}

std::optional<MonotonicTime> RecordingObserver::valid_until(LockEvent::Kind kind) {
  const std::scoped_lock guard(mutex_);
  const auto last =
      std::find_if(told_.rbegin(), told_.rend(), [&](const Told& told) { return told.kind == kind; });
  return last == told_.rend() ? std::nullopt : last->valid_until;
}

}  // namespace holdfast::testing
