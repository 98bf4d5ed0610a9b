// TaskPool: runs short jobs at once, each on a task of its own; a task that is done waits a while for the
// next job, so that a busy caller starts none.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <string>

#include "lib/runtime/runtime.h"

namespace holdfast {

// Thread safety: any task.
class TaskPool {
 public:
  // `role`: of its tasks. They end when there was nothing to do for `linger`.
  TaskPool(Runtime& runtime, std::string role, Duration linger = std::chrono::seconds(1));
  ~TaskPool();  // [parks] until every job is done
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // Runs `job` on another task without waiting for a job before it. It must not throw.
  void run(std::function<void()> job);

 private:
  void work();

  Runtime& runtime_;
  const std::string role_;
  const Duration linger_;
  Mutex mutex_;
  Condition changed_;
  std::deque<std::function<void()>> jobs_;  // each has a task that waits for it, or was started for it
  std::size_t idle_ = 0;
  bool closing_ = false;
  std::list<Task> tasks_;
};

}  // namespace holdfast
