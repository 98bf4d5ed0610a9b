#include "sim/world/virtual_time.h"

#include "lib/runtime/check.h"

namespace holdfast::sim {

VirtualTime::~VirtualTime() {
  for (; count_ > 0; --count_) ring_[first_++ & (ring_.size() - 1)].sink->discard();
}

void VirtualTime::grow() {
  std::vector<Event> larger(ring_.empty() ? 64 : ring_.size() * 2);
  for (std::size_t i = 0; i < count_; ++i) larger[i] = ring_[(first_ + i) & (ring_.size() - 1)];
  ring_.swap(larger);
  first_ = 0;
}

void VirtualTime::post(Scheduler& scheduler, Duration delay, EventSink& sink, std::uint32_t what,
                       std::uint32_t value) {
  if (count_ == ring_.size()) grow();
  const std::int64_t time = now_ + delay.count();
  HF_CHECK(count_ == 0 || ring_[(first_ + count_ - 1) & (ring_.size() - 1)].time <= time,
           "events come up in the order in which they were posted");
  ring_[(first_ + count_) & (ring_.size() - 1)] = {time, scheduler.next_sequence(), &sink, what, value};
  ++count_;
}

bool VirtualTime::advance(Scheduler& scheduler) {
  for (;;) {
    std::int64_t time = 0;
    std::uint64_t sequence = 0;
    const bool timer = scheduler.next_timer(time, sequence);
    if (count_ > 0) {
      const Event event = ring_[first_ & (ring_.size() - 1)];
      if (!timer || event.time < time || (event.time == time && event.sequence < sequence)) {
        first_ = (first_ + 1) & (ring_.size() - 1);
        --count_;
        now_ = event.time;
        event.sink->deliver(event.what, event.value);
        if (scheduler.anything_ready()) return true;
        continue;
      }
    }
    if (!timer) return false;
    if (time > now_) now_ = time;
    scheduler.fire_next_timer();
    return true;
  }
}

}  // namespace holdfast::sim
