// Driver of the real world: the clocks of the operating system, and epoll for file descriptors.
#pragma once

#include <cstdint>
#include <map>

#include "lib/runtime/runtime.h"
#include "sim/world/fiber_runtime.h"
#include "sim/world/scheduler.h"

namespace holdfast::sim {

class EventLoop final : public Driver, public FdWaiter {
 public:
  EventLoop();  // throws std::system_error
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  std::int64_t now() const noexcept override;  // on CLOCK_BOOTTIME
  bool advance(Scheduler& scheduler) override;
  bool polls() const noexcept override { return true; }
  void poll(Scheduler& scheduler) override;

  // At most one task waits for each interest of a descriptor. A descriptor that epoll cannot watch (a file, a
  // closed one) counts as ready: the next call on it tells.
  bool wait_fd(Scheduler& scheduler, const ProcessClock& clock, int fd, FdInterest interest,
               MonotonicTime deadline) override;

  static std::int64_t boot_ns() noexcept;  // CLOCK_BOOTTIME
  static std::int64_t wall_ns() noexcept;  // CLOCK_REALTIME

 private:
  struct Waiting {
    Fiber* reader = nullptr;
    Fiber* writer = nullptr;
    bool read_ready = false, write_ready = false;
  };
  void look(Scheduler& scheduler, std::int64_t timeout_ns);
  bool watch(int fd, const Waiting& waiting) noexcept;
  void fire_due(Scheduler& scheduler);

  int epoll_;
  std::int64_t start_ns_;
  std::map<int, Waiting> waiting_;  // descriptors that somebody waits for
};

}  // namespace holdfast::sim
