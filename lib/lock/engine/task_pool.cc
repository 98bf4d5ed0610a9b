#include "lib/lock/engine/task_pool.h"

#include <mutex>

namespace holdfast {

TaskPool::TaskPool(Runtime& runtime, std::string role, Duration linger)
    : runtime_(runtime), role_(std::move(role)), linger_(linger), mutex_(runtime), changed_(runtime) {}

TaskPool::~TaskPool() {
  try {
    {
      const std::scoped_lock guard(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    tasks_.clear();  // joins
  } catch (const TaskCancelled&) {
  }
}

void TaskPool::run(std::function<void()> job) {
  const std::scoped_lock guard(mutex_);
  jobs_.push_back(std::move(job));
  if (jobs_.size() <= idle_) {
    changed_.notify_one();
    return;
  }
  std::erase_if(tasks_, [](const Task& task) { return task.finished(); });
  tasks_.push_back(runtime_.spawn(role_, [this] { work(); }));
}

void TaskPool::work() {
  std::unique_lock guard(mutex_);
  for (;;) {
    if (!jobs_.empty()) {
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      guard.unlock();
      job();
      guard.lock();
      continue;
    }
    if (closing_) return;
    ++idle_;
    const bool more = changed_.wait_until(guard, deadline_after(runtime_.now(), linger_),
                                          [this] { return !jobs_.empty() || closing_; });
    --idle_;
    if (!more) return;
  }
}

}  // namespace holdfast
