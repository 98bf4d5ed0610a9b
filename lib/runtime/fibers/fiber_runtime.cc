#include "lib/runtime/fibers/fiber_runtime.h"

#include <algorithm>

#include "lib/runtime/check.h"
#include "lib/runtime/fibers/fiber_sync.h"

namespace holdfast::fibers {
namespace {

// May outlive its task and the world.
class FiberTask final : public Task::Impl {
 public:
  // `fiber`: nullptr when there is nothing to wait for.
  FiberTask(Scheduler& scheduler, Fiber* fiber)
      : scheduler_(scheduler), fiber_(fiber), ended_(fiber != nullptr ? fiber->ended : nullptr) {}

  bool finished() const noexcept override { return ended_ == nullptr || *ended_; }

  // In a killed process too it waits until a task of that process has unwound (it takes no time), so that
  // what the task refers to in the joiner's frames outlives it.
  void join() override {
    if (finished()) return;
    Fiber& self = scheduler_.current();
    if (fiber_ == &self) return;  // it is about to end by itself
    while (!finished()) {
      if (fiber_->group != self.group && scheduler_.cancelled()) return;
      fiber_->joiners.push_back(&self);
      scheduler_.suspend("the end of a task");
      if (!finished()) std::erase(fiber_->joiners, &self);
    }
    scheduler_.cancelled();
  }

 private:
  Scheduler& scheduler_;
  Fiber* fiber_;
  std::shared_ptr<const bool> ended_;
};

}  // namespace

Task FiberRuntime::spawn(std::string_view role, std::function<void()> body) {
  Fiber* const fiber = scheduler_.spawn(group_, role, std::move(body));
  return Task(std::make_unique<FiberTask>(scheduler_, fiber));
}

Parker& FiberRuntime::parker() noexcept {
  Fiber& self = scheduler_.current();
  for (FiberParker& parker : self.parkers) {
    if (&parker.clock() == &group_.clock) return parker;
  }
  return self.parkers.emplace_back(self, group_.clock);
}

std::any& FiberRuntime::task_local_slot(const void* key) {
  Fiber& self = scheduler_.current();
  for (auto& [its_key, slot] : self.locals) {
    if (its_key == key) return slot;
  }
  return self.locals.emplace_back(key, std::any()).second;
}

void FiberRuntime::sleep_until(MonotonicTime deadline) {
  if (scheduler_.cancelled()) return;
  while (scheduler_.suspend("the end of a sleep", group_.clock, deadline)) {
    if (scheduler_.cancelled()) return;
  }
  scheduler_.cancelled();
}

void FiberRuntime::yield() {
  if (scheduler_.cancelled()) return;
  scheduler_.yield();
  scheduler_.cancelled();
}

bool FiberRuntime::wait_fd(int fd, FdInterest interest, MonotonicTime deadline) {
  HF_CHECK(fds_ != nullptr, "virtual time has no file descriptors");
  if (scheduler_.cancelled()) return false;
  const bool ready = fds_->wait_fd(scheduler_, group_.clock, fd, interest, deadline);
  return !scheduler_.cancelled() && ready;
}

std::unique_ptr<Runtime::MutexImpl> FiberRuntime::make_mutex() {
  return std::make_unique<FiberMutex>(scheduler_, group_);
}

std::unique_ptr<Runtime::ConditionImpl> FiberRuntime::make_condition() {
  return std::make_unique<FiberCondition>(scheduler_, group_.clock);
}

}  // namespace holdfast::fibers
