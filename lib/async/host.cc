#include "lib/async/host.h"

#include <exception>
#include <mutex>
#include <utility>

namespace holdfast::async {

RuntimeHost::RuntimeHost(Runtime& runtime) : runtime_(runtime), mutex_(runtime) {}

void RuntimeHost::end() {
  ending_.request_stop();
  try {
    for (;;) {
      std::list<Task> ending;
      {
        const std::scoped_lock guard(mutex_);
        ending.swap(tasks_);
        ended_ = ending.empty();
        if (ended_) return;
      }
      for (Task& task : ending) task.join();  // they may start others
    }
  } catch (const TaskCancelled&) {  // the process is being killed: its tasks end by themselves
  }
}

bool RuntimeHost::post(std::function<void()> work) noexcept {
  try {
    const std::scoped_lock guard(mutex_);
    if (ended_) return false;
    std::erase_if(tasks_, [](const Task& task) { return task.finished(); });
    tasks_.emplace_back();
    tasks_.back() = runtime_.spawn("async", std::move(work));
    return true;
  } catch (const std::exception&) {  // no thread, no memory
  } catch (const TaskCancelled&) {   // the process is being killed
  }
  return false;
}

}  // namespace holdfast::async
