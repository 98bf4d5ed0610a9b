#include "lib/runtime/task_pool.h"

#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast {

struct TaskPool::State {
  State(Runtime& runtime, std::string role, Duration linger)
      : runtime(runtime), role(std::move(role)), linger(linger), mutex(runtime), changed(runtime) {}

  void work();

  Runtime& runtime;
  const std::string role;
  const Duration linger;
  Mutex mutex;
  Condition changed;
  std::deque<std::function<void()>> jobs;  // each has a task that waits for it, or was started for it
  std::size_t idle = 0;
  bool closing = false;
  std::list<Task> tasks;
};

TaskPool::TaskPool(Runtime& runtime, std::string role, Duration linger)
    : state_(std::make_shared<State>(runtime, std::move(role), linger)) {}

TaskPool::~TaskPool() {
  try {
    std::list<Task> ending;
    {
      const std::scoped_lock guard(state_->mutex);
      state_->closing = true;
      state_->changed.notify_all();
      ending.swap(state_->tasks);
    }
    ending.clear();  // joins
  } catch (const TaskCancelled&) {
  }
}

bool TaskPool::run(std::function<void()> job) {
  State& state = *state_;
  const std::scoped_lock guard(state.mutex);
  state.jobs.push_back(std::move(job));
  if (state.jobs.size() <= state.idle) {
    state.changed.notify_one();
    return true;
  }
  std::erase_if(state.tasks, [](const Task& task) { return task.finished(); });
  try {
    state.tasks.push_back(state.runtime.spawn(state.role, [shared = state_] { shared->work(); }));
    return true;
  } catch (const std::exception&) {  // no thread, no memory
    state.jobs.pop_back();
    return false;
  }
}

void TaskPool::run_all(std::vector<std::function<void()>> jobs) {
  // Shared: a task that is cancelled leaves the others behind.
  struct Count {
    Count(Runtime& runtime, std::size_t jobs) : mutex(runtime), done(runtime), left(jobs) {}
    void finished() {
      const std::scoped_lock guard(mutex);
      if (--left == 0) done.notify_all();
    }
    Mutex mutex;
    Condition done;
    std::size_t left;
  };
  if (jobs.empty()) return;
  const auto count = std::make_shared<Count>(state_->runtime, jobs.size());
  std::vector<std::function<void()>> here = {std::move(jobs.back())};
  jobs.pop_back();
  for (std::function<void()>& job : jobs) {
    const auto shared = std::make_shared<std::function<void()>>(std::move(job));
    const bool started = run([count, shared] {
      (*shared)();
      count->finished();
    });
    if (!started) here.push_back(std::move(*shared));
  }
  for (const std::function<void()>& job : here) {
    job();
    count->finished();
  }
  std::unique_lock guard(count->mutex);
  count->done.wait_until(guard, kNever, [&] { return count->left == 0; });
}

void TaskPool::State::work() {
  std::unique_lock guard(mutex);
  for (;;) {
    if (!jobs.empty()) {
      std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      guard.unlock();
      job();
      job = nullptr;  // what it holds goes before the next one begins
      guard.lock();
      continue;
    }
    if (closing) return;
    ++idle;
    const bool more = changed.wait_until(guard, deadline_after(runtime.now(), linger),
                                         [this] { return !jobs.empty() || closing; });
    --idle;
    if (!more) return;
  }
}

}  // namespace holdfast
