#include "sim/world/scheduler.h"

#include <exception>

#include "lib/runtime/check.h"
#include "sim/world/process.h"

namespace holdfast::sim {

FiberTask::FiberTask(Scheduler& scheduler, ProcessImpl& process_, std::string role_,
                     std::function<void()> body, TaskId id_)
    : process(process_), role(std::move(role_)), id(id_), scheduler_(scheduler), body_(std::move(body)) {}

FiberTask::~FiberTask() = default;

void FiberTask::enter(void* self) {
  auto& task = *static_cast<FiberTask*>(self);
  if (!task.process.dead()) {
    try {
      task.body_();
    } catch (const TaskCancelled&) {
    }
  }
  task.body_ = nullptr;  // what it captured ends on its own stack, as everything else of the task
  task.slots.clear();
  task.state = State::done;
  task.fiber_->switch_to(task.scheduler_.loop_, true);
}

bool FiberTask::park_until(MonotonicTime deadline) {
  HF_CHECK(scheduler_.current_ == this, "only its owner parks on a parker");
  const std::int64_t deadline_ns = process.to_world(deadline);
  while (!permit_) {
    parked_ = true;
    bool woken = false;
    try {
      woken = scheduler_.wait(deadline_ns);
    } catch (...) {
      parked_ = false;
      throw;
    }
    parked_ = false;
    if (!woken && !permit_) return false;
  }
  permit_ = false;
  if (process.dead()) scheduler_.wait(0);  // throws
  return true;
}

void FiberTask::unpark() noexcept {
  permit_ = true;
  if (parked_) scheduler_.wake(*this);
}

void FiberTask::fire() {
  timed_out = true;
  scheduler_.make_ready(*this);
}

Scheduler::~Scheduler() { HF_CHECK(tasks_.empty(), "a task outlives its world"); }

std::shared_ptr<FiberTask> Scheduler::spawn(ProcessImpl& process, std::string role,
                                            std::function<void()> body) {
  const TaskId id = next_id_++;
  auto task = std::make_shared<FiberTask>(*this, process, std::move(role), std::move(body), id);
  task->stack_ = stacks_.take();
  task->fiber_ = std::make_unique<Fiber>(task->stack_, stacks_.bytes(), &FiberTask::enter, task.get());
  tasks_.emplace(id, task);
  process.task_started(*task);
  make_ready(*task);
  return task;
}

bool Scheduler::run_until(const std::function<bool()>& done) {
  while (!done()) {
    // One round: what is ready now; what becomes ready meanwhile comes after the outside world was looked at.
    const FiberTask* last = ready_.last();
    for (FiberTask* task = last == nullptr ? nullptr : ready_.pop_front(); task != nullptr;
         task = ready_.pop_front()) {
      const bool was_last = task == last;
      resume(*task);
      if (was_last || done()) break;
    }
    if (done()) return true;
    driver_.poll();
    const std::int64_t now = driver_.now_ns();
    if (!timers_.empty() && timers_.next_ns() <= now) {
      timers_.take_first().fire();
      continue;
    }
    if (!ready_.empty()) continue;
    if (!driver_.pass_time(timers_.empty() ? INT64_MAX : timers_.next_ns())) return done();
  }
  return true;
}

void Scheduler::resume(FiberTask& task) {
  if (task.process.blocks(task)) {  // paused since it became ready
    task.state = FiberTask::State::held;
    task.process.hold(task);
    return;
  }
  task.state = FiberTask::State::running;
  current_ = &task;
  loop_.switch_to(*task.fiber_);
  current_ = nullptr;
  if (task.state == FiberTask::State::done) finish(task);
}

void Scheduler::finish(FiberTask& task) {
  task.fiber_.reset();
  stacks_.give_back(task.stack_);
  while (TaskWaiter* waiter = task.joiners.pop_front()) {
    waiter->granted = true;
    wake(*waiter->task);
  }
  task.process.task_ended(task);
  tasks_.erase(task.id);
}

bool Scheduler::cancelled(FiberTask& task) const { return task.process.dead(); }

bool Scheduler::wait(std::int64_t deadline_ns) {
  FiberTask& task = current();
  if (!cancelled(task)) {
    if (deadline_ns <= now_ns()) {
      // Already over; let others run all the same, or a loop of expired waits would stop the world.
      yield();
      return false;
    }
    task.state = FiberTask::State::waiting;
    task.timed_out = false;
    task.since_ns = now_ns();
    if (deadline_ns != INT64_MAX) timers_.arm(task, deadline_ns);
    task.fiber_->switch_to(loop_);
  }
  if (cancelled(task)) {
    if (std::uncaught_exceptions() > 0) return false;
    throw TaskCancelled();
  }
  return !task.timed_out;
}

void Scheduler::wait_for_end() {
  FiberTask& task = current();
  task.state = FiberTask::State::waiting;
  task.since_ns = now_ns();
  task.fiber_->switch_to(loop_);
}

void Scheduler::yield() {
  FiberTask& task = current();
  if (!cancelled(task)) {
    task.state = FiberTask::State::waiting;
    make_ready(task);
    task.fiber_->switch_to(loop_);
  }
  if (cancelled(task) && std::uncaught_exceptions() == 0) throw TaskCancelled();
}

void Scheduler::wake(FiberTask& task) {
  if (task.state != FiberTask::State::waiting) return;
  timers_.disarm(task);
  make_ready(task);
}

void Scheduler::make_ready(FiberTask& task) {
  if (task.process.blocks(task)) {
    task.state = FiberTask::State::held;
    task.process.hold(task);
  } else {
    task.state = FiberTask::State::ready;
    ready_.push_back(task);
  }
}

void Scheduler::release_held(ProcessImpl& process) {
  LinkedList<FiberTask> held = process.take_held();
  while (FiberTask* task = held.pop_front()) make_ready(*task);
}

void Scheduler::end_waits(ProcessImpl& process) {
  release_held(process);
  for (const auto& [id, task] : tasks_) {
    if (&task->process == &process) wake(*task);
  }
}

std::string Scheduler::waiting_tasks() const {
  constexpr int kMost = 20;
  std::string text;
  int shown = 0;
  for (const auto& [id, task] : tasks_) {
    if (task->state != FiberTask::State::waiting && task->state != FiberTask::State::held) continue;
    if (++shown > kMost) {
      text += "  ...\n";
      break;
    }
    text += "  " + task->role + " in " + task->process.name() + " since " + std::to_string(task->since_ns) +
            " ns\n";
  }
  return text;
}

}  // namespace holdfast::sim
