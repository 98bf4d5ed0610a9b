#include "lib/runtime/background_task.h"

#include <exception>
#include <utility>

namespace holdfast {

BackgroundTask::BackgroundTask(Runtime& runtime, std::string role)
    : runtime_(runtime), role_(std::move(role)) {}

BackgroundTask::~BackgroundTask() {
  try {
    join();
  } catch (const TaskCancelled&) {  // the process is being killed: its tasks end by themselves
  }
}

bool BackgroundTask::start(std::function<void()> body) noexcept {
  if (running_) return true;
  try {
    running_ = true;  // before the body can rest
    std::erase_if(tasks_, [](const Task& task) { return task.finished(); });
    tasks_.emplace_back();  // so that nothing can fail after the start
    tasks_.back() = runtime_.spawn(role_, std::move(body));
    return true;
  } catch (const std::exception&) {  // no thread, no memory
  } catch (const TaskCancelled&) {   // the process is being killed
  }
  std::erase_if(tasks_, [](const Task& task) { return !task.joinable(); });
  running_ = false;
  return false;
}

bool BackgroundTask::is_caller() const noexcept { return id_ != 0 && id_ == runtime_.task_id(); }

void BackgroundTask::wake() noexcept {
  if (parker_ != nullptr) parker_->unpark();
}

void BackgroundTask::join() {
  std::list<Task> ending;
  ending.swap(tasks_);
  for (Task& task : ending) task.join();
}

BackgroundTask::Turn::Turn(BackgroundTask& task) : task_(&task) {
  task.id_ = task.runtime_.task_id();
  task.parker_ = &task.runtime_.parker();
}

void BackgroundTask::Turn::rest() noexcept {
  if (task_ == nullptr) return;
  task_->parker_ = nullptr;
  task_->id_ = 0;
  task_->running_ = false;
  task_ = nullptr;
}

}  // namespace holdfast
