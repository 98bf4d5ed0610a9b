// Runtime over std::thread and the clocks of the operating system: what an application uses.
//
// Monotonic time is CLOCK_BOOTTIME, which counts the time in which the machine was suspended: a lease runs on
// while a laptop sleeps. Threads that this runtime did not start (main, a pool of the application's) may use
// it as well; they get an id, a parker and slots on first use, kept until they end.
#pragma once

#include "lib/runtime/runtime.h"

namespace holdfast {

// Thread safety: every member may be called from any thread. Stateless: two objects differ in nothing, and
// tasks may outlive neither `main` nor what they use.
class ThreadRuntime final : public Runtime {
 public:
  ThreadRuntime() = default;

  MonotonicTime now() const noexcept override;
  WallTime wall_now() const noexcept override;
  Task spawn(std::string_view role, std::function<void()> body) override;
  TaskId task_id() const noexcept override;
  Parker& parker() noexcept override;
  std::any& task_local_slot(const void* key) override;
  void sleep_until(MonotonicTime deadline) override;
  void yield() override;
  std::uint64_t random() override;  // from the system's generator, drawn in blocks for each thread
  void renew_randomness() noexcept override;
  bool wait_fd(int fd, FdInterest interest, MonotonicTime deadline) override;
  std::unique_ptr<MutexImpl> make_mutex() override;
  std::unique_ptr<ConditionImpl> make_condition() override;
};

}  // namespace holdfast
