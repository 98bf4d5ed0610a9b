#include "lib/lock/engine/late_release.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "lib/lock/engine/lock_error_from.h"
#include "lib/redis/error.h"

namespace holdfast {

LateRelease::LateRelease(Store& store) : store_(store), mutex_(store.runtime()), changed_(store.runtime()) {}

LateRelease::~LateRelease() {
  try {
    std::list<Task> ending;
    {
      const std::scoped_lock guard(mutex_);
      closing_ = true;
      changed_.notify_all();
      ending.swap(tasks_);
    }
    for (Task& task : ending) task.join();
  } catch (const TaskCancelled&) {
  }
}

void LateRelease::add(std::shared_ptr<const Wire> wire, std::string owner, MonotonicTime until) {
  const std::scoped_lock guard(mutex_);
  if (closing_) return;
  if (items_.size() >= kMaxItems) items_.pop_front();
  items_.push_back(Item{std::move(wire), std::move(owner), until});
  if (running_ == kMaxTasks) return;
  std::erase_if(tasks_, [](const Task& task) { return task.finished(); });
  tasks_.push_back(store_.runtime().spawn("janitor", [this] { run(); }));
  ++running_;
}

void LateRelease::run() {
  Runtime& runtime = store_.runtime();
  std::unique_lock guard(mutex_);
  while (!items_.empty() && !closing_) {
    Item item = std::move(items_.front());
    items_.pop_front();
    guard.unlock();
    const bool settled = settle(item);
    guard.lock();
    if (settled || runtime.now() >= item.until) continue;
    if (items_.size() < kMaxItems) items_.push_back(std::move(item));
    const MonotonicTime pause = runtime.now() + store_.options().backoff_max;
    changed_.wait_until(guard, pause, [this] { return closing_; });
  }
  --running_;
}

bool LateRelease::settle(const Item& item) {
  const MonotonicTime now = store_.runtime().now();
  if (now >= item.until) return true;
  const std::vector<std::string_view> keys(item.wire->release_keys.begin(), item.wire->release_keys.end());
  const std::array<std::string_view, 1> args{item.owner};
  try {
    store_.call(
        *item.wire->release, keys, args,
        {.deadline = std::min(item.until, now + store_.options().command_timeout), .background = true});
    return true;
  } catch (const redis::Error& error) {
    return !worth_another_attempt(error);
  }
}

}  // namespace holdfast
