#include "lib/lock/engine/late_release.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>

#include "lib/redis/error.h"

namespace holdfast {

LateRelease::LateRelease(Store& store)
    : store_(store),
      most_(std::clamp(store.options().max_pending / 2, std::size_t{1}, kBatch)),
      mutex_(store.runtime()),
      changed_(store.runtime()),
      task_(store.runtime(), "janitor") {}

LateRelease::~LateRelease() {
  try {
    {
      const std::scoped_lock guard(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    task_.join();
  } catch (const TaskCancelled&) {
  }
}

void LateRelease::add(std::shared_ptr<const Wire> wire, std::string owner, MonotonicTime until) {
  const std::scoped_lock guard(mutex_);
  if (closing_) return;
  items_.push_back(Item{std::move(wire), std::move(owner), until});
  start();
}

void LateRelease::start_if_stuck() {
  if (!stuck_) return;
  const std::scoped_lock guard(mutex_);
  if (!closing_ && !items_.empty()) start();
}

void LateRelease::start() {
  stuck_ = !task_.start([this] { run(); });
}

void LateRelease::run() {
  Runtime& runtime = store_.runtime();
  Retry retry(runtime, store_.options());
  std::vector<Item> batch;
  std::unique_lock guard(mutex_);
  BackgroundTask::Turn turn(task_);
  while (!closing_ && !items_.empty()) {
    // Who gives up at the same moment comes along.
    guard.unlock();
    runtime.yield();
    guard.lock();
    const auto end = items_.begin() + static_cast<std::ptrdiff_t>(std::min(items_.size(), most_));
    batch.assign(std::make_move_iterator(items_.begin()), std::make_move_iterator(end));
    items_.erase(items_.begin(), end);
    guard.unlock();
    const Duration pause = settle(batch, retry);
    guard.lock();
    if (batch.empty()) continue;
    items_.insert(items_.end(), std::make_move_iterator(batch.begin()), std::make_move_iterator(batch.end()));
    changed_.wait_until(guard, deadline_after(runtime.now(), pause), [this] { return closing_; });
  }
  turn.rest();
}

Duration LateRelease::settle(std::vector<Item>& batch, Retry& retry) {
  const MonotonicTime now = store_.runtime().now();
  std::erase_if(batch, [now](const Item& item) { return now >= item.until; });
  if (batch.empty()) return Duration::zero();
  std::vector<Store::Release> releases;
  MonotonicTime deadline = deadline_after(now, store_.options().command_timeout);
  MonotonicTime last = now;
  for (const Item& item : batch) {
    releases.push_back({item.wire.get(), item.owner});
    last = std::max(last, item.until);
  }
  deadline = std::min(deadline, last);
  const std::vector<std::optional<redis::Error>> errors =
      store_.release_all(releases, {.deadline = deadline, .background = true});
  Duration pause = Duration::zero();
  std::vector<Item> again;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!errors[i] || !errors[i]->worth_another_attempt()) continue;
    if (again.empty()) pause = retry.pause_after(*errors[i]);
    again.push_back(std::move(batch[i]));
  }
  if (again.empty()) retry.answered();
  batch = std::move(again);
  return pause;
}

}  // namespace holdfast
