// The Runtime of one process whose tasks are fibers, whatever the driver. Randomness comes from who derives.
//
// Another process' task may use it too (the harness looks at a client's clock, or waits for it): a parking
// call suspends the fiber that calls, deadlines are read on this process' clock, and what ends the call is
// the death of the caller's own process.
//
// Thread safety: the thread that runs the scheduler, but for the clocks, which any thread may read while no
// clock is changed.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "lib/runtime/fibers/scheduler.h"
#include "lib/runtime/runtime.h"

namespace holdfast::fibers {

// How a driver waits for descriptors; virtual time has none.
class FdWaiter {
 public:
  virtual ~FdWaiter() = default;
  virtual bool wait_fd(Scheduler& scheduler, const ProcessClock& clock, int fd, FdInterest interest,
                       MonotonicTime deadline) = 0;
  virtual void forget_fd(int fd) noexcept = 0;
};

class FiberRuntime : public Runtime {
 public:
  FiberRuntime(Scheduler& scheduler, FiberGroup& group, FdWaiter* fds)
      : scheduler_(scheduler), group_(group), fds_(fds) {}

  MonotonicTime now() const noexcept override { return group_.clock.monotonic(scheduler_.now()); }
  WallTime wall_now() const noexcept override { return group_.clock.wall(scheduler_.now()); }
  Task spawn(std::string_view role, std::function<void()> body) override;
  TaskId task_id() const noexcept override { return scheduler_.current().id; }
  Parker& parker() noexcept override;
  std::any& task_local_slot(const void* key) override;
  void sleep_until(MonotonicTime deadline) override;
  void yield() override;
  bool wait_fd(int fd, FdInterest interest, MonotonicTime deadline) override;
  void forget_fd(int fd) noexcept override {
    if (fds_ != nullptr) fds_->forget_fd(fd);
  }
  std::unique_ptr<MutexImpl> make_mutex() override;
  std::unique_ptr<ConditionImpl> make_condition() override;

 private:
  Scheduler& scheduler_;
  FiberGroup& group_;
  FdWaiter* fds_;
};

}  // namespace holdfast::fibers
