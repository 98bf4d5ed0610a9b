// TaskPool: runs short jobs at once, each on a task of its own, so that none waits for another one; a task
// that is done waits a while for the next job, so that a busy caller starts none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/runtime/runtime.h"

namespace holdfast {

// Thread safety: any task.
class TaskPool {
 public:
  // `role`: of its tasks. They end when there was nothing to do for `linger`.
  TaskPool(Runtime& runtime, std::string role, Duration linger = std::chrono::seconds(1));
  // [parks] Until every job is done, but for the one that calls it: a job may end its own pool.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // Runs `job` on another task without waiting for a job before it. It must not throw. False: no task is free
  // and none could be started; the job is dropped, and the next call tries again.
  [[nodiscard]] bool run(std::function<void()> job);
  // [parks] Runs all of them, beside each other and one of them here, until the last one is done. Those for
  // which no task can be started follow each other here. They must not throw.
  void run_all(std::vector<std::function<void()>> jobs);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with its tasks
};

}  // namespace holdfast
