// Driver over the clocks of the operating system, and epoll for file descriptors.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/runtime/fibers/fiber_runtime.h"
#include "lib/runtime/fibers/scheduler.h"
#include "lib/runtime/runtime.h"

namespace holdfast::fibers {

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

  void forget_fd(int fd) noexcept override;

  static std::int64_t boot_ns() noexcept;  // CLOCK_BOOTTIME
  static std::int64_t wall_ns() noexcept;  // CLOCK_REALTIME

 private:
  // A descriptor stays armed between waits, so that a connection that is read again and again costs no call
  // of epoll_ctl; it is disarmed when something happens that nobody waits for, or whose task is paused.
  struct Watched {
    Fiber* reader = nullptr;
    Fiber* writer = nullptr;
    bool read_ready = false, write_ready = false;
    bool known = false;       // to epoll
    std::uint32_t armed = 0;  // events
  };
  // `idle`: no task can run.
  void look(Scheduler& scheduler, std::int64_t timeout_ns, bool idle);
  bool arm(int fd, Watched& watched, std::uint32_t events) noexcept;
  void disarm(int fd, Watched& watched, std::uint32_t events) noexcept;
  void fire_due(Scheduler& scheduler);

  int epoll_;
  std::int64_t start_ns_;
  std::vector<Watched> watched_;  // by descriptor
  std::size_t waiting_ = 0;       // tasks that wait for one
};

}  // namespace holdfast::fibers
