// Driver: virtual time. When no fiber can run, the clock jumps to the next timer or event.
//
// Events (deliveries of the simulated network) all lie the same delay ahead, so they come up in the order in
// which they were posted: a ring, no heap. Against timers they are ordered by (time, sequence number).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/world/scheduler.h"

namespace holdfast::sim {

class EventSink {
 public:
  virtual void deliver(std::uint32_t what, std::uint32_t value) = 0;
  virtual void discard() noexcept = 0;  // the world ends before the event came up

 protected:
  ~EventSink() = default;
};

class VirtualTime final : public Driver {
 public:
  VirtualTime() = default;
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;
  ~VirtualTime() override;

  // REQUIRES: `delay` is the same in every call.
  void post(fibers::Scheduler& scheduler, Duration delay, EventSink& sink, std::uint32_t what,
            std::uint32_t value);

  std::int64_t now() const noexcept override { return now_; }
  bool advance(fibers::Scheduler& scheduler) override;
  bool polls() const noexcept override { return false; }
  void poll(fibers::Scheduler&) override {}

 private:
  struct Event {
    std::int64_t time;
    std::uint64_t sequence;
    EventSink* sink;
    std::uint32_t what, value;
  };
  void grow();
  bool gather(fibers::Scheduler& scheduler);

  std::int64_t now_ = 0;
  std::vector<Event> ring_;  // its size is a power of two
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace holdfast::sim
