// Driver of the real world: the clocks of the operating system, and epoll for file descriptors.
#pragma once

#include <map>

#include "lib/runtime/runtime.h"
#include "sim/world/scheduler.h"

namespace holdfast::sim {

class EventLoop final : public Driver {
 public:
  EventLoop();
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;

  std::int64_t now_ns() const override;  // since construction, on CLOCK_BOOTTIME
  bool pass_time(std::int64_t next_ns) override;
  void poll() override { look(0); }

  // Stops the calling task until `fd` is ready (true) or the deadline. At most one task waits for each
  // interest of a descriptor.
  bool wait_fd(Scheduler& scheduler, int fd, FdInterest interest, std::int64_t deadline_ns);

  static std::int64_t boot_ns();  // CLOCK_BOOTTIME
  static std::int64_t wall_ns();  // CLOCK_REALTIME

 private:
  struct Waiting {
    FiberTask* reader = nullptr;
    FiberTask* writer = nullptr;
  };
  void look(std::int64_t timeout_ns);
  void watch(int fd, const Waiting& waiting);

  int epoll_;
  std::int64_t start_ns_;
  std::map<int, Waiting> waiting_;  // descriptors that somebody waits for
  Scheduler* scheduler_ = nullptr;
};

}  // namespace holdfast::sim
