// The Runtime of one process of a world: tasks are fibers, both drivers alike.
//
// Another process' task may use it too (the harness looks at a client's clock, or waits for it): a parking
// call suspends the fiber that calls, deadlines are read on this process' clock, and what ends the call is
// the death of the caller's own process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "lib/runtime/runtime.h"
#include "sim/world/rng.h"
#include "sim/world/scheduler.h"

namespace holdfast::sim {

// How a driver waits for descriptors; the embedded world has none.
class FdWaiter {
 public:
  virtual ~FdWaiter() = default;
  virtual bool wait_fd(Scheduler& scheduler, const ProcessClock& clock, int fd, FdInterest interest,
                       MonotonicTime deadline) = 0;
  virtual void forget_fd(int fd) noexcept = 0;
};

class FiberRuntime final : public Runtime {
 public:
  FiberRuntime(Scheduler& scheduler, FiberGroup& group, Rng rng, FdWaiter* fds)
      : scheduler_(scheduler), group_(group), rng_(rng), fds_(fds) {}

  MonotonicTime now() const noexcept override { return group_.clock.monotonic(scheduler_.now()); }
  WallTime wall_now() const noexcept override { return group_.clock.wall(scheduler_.now()); }
  Task spawn(std::string_view role, std::function<void()> body) override;
  TaskId task_id() const noexcept override { return scheduler_.current().id; }
  Parker& parker() noexcept override;
  std::any& task_local_slot(const void* key) override;
  void sleep_until(MonotonicTime deadline) override;
  void yield() override;
  std::uint64_t random() override { return rng_.next(); }
  void renew_randomness() noexcept override {
    if (renewals_) rng_ = Rng(renewals_->next());
  }
  // It draws what `parent` draws, until either renews its randomness. `child`: its name.
  void fork_from(FiberRuntime& parent, std::string_view child);
  bool wait_fd(int fd, FdInterest interest, MonotonicTime deadline) override;
  void forget_fd(int fd) noexcept override {
    if (fds_ != nullptr) fds_->forget_fd(fd);
  }
  std::unique_ptr<MutexImpl> make_mutex() override;
  std::unique_ptr<ConditionImpl> make_condition() override;

 private:
  Scheduler& scheduler_;
  FiberGroup& group_;
  Rng rng_;
  std::optional<Rng> renewals_;  // of a process that was forked; nullopt: there is no copy of it
  FdWaiter* fds_;
};

}  // namespace holdfast::sim
