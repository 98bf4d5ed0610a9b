#include "sim/world/virtual_time.h"

#include <algorithm>

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

void VirtualTime::post(fibers::Scheduler& scheduler, Duration delay, EventSink& sink, std::uint32_t what,
                       std::uint32_t value) {
  if (count_ == ring_.size()) grow();
  const std::int64_t time = now_ + delay.count();
  HF_CHECK(count_ == 0 || ring_[(first_ + count_ - 1) & (ring_.size() - 1)].time <= time,
           "events come up in the order in which they were posted");
  ring_[(first_ + count_) & (ring_.size() - 1)] = {time, scheduler.next_sequence(), &sink, what, value};
  ++count_;
}

// All that is due at the next moment: messages, then timers.
bool VirtualTime::gather(fibers::Scheduler& scheduler) {
  std::int64_t time = 0;
  std::uint64_t sequence = 0;
  const auto message_at = [this] { return ring_[first_ & (ring_.size() - 1)].time; };
  for (;;) {
    const bool timer = scheduler.next_timer(time, sequence);
    if (!timer && count_ == 0) return false;
    const std::int64_t due = !timer       ? message_at()
                             : count_ > 0 ? std::min(message_at(), std::max(time, now_))
                                          : std::max(time, now_);
    now_ = due;
    while (count_ > 0 && message_at() == due) {
      const Event event = ring_[first_ & (ring_.size() - 1)];
      first_ = (first_ + 1) & (ring_.size() - 1);
      --count_;
      event.sink->deliver(event.what, event.value);
    }
    while (scheduler.next_timer(time, sequence) && time <= due) scheduler.fire_next_timer();
    if (scheduler.anything_ready()) return scheduler.moment_came();
  }
}

bool VirtualTime::advance(fibers::Scheduler& scheduler) {
  if (scheduler.gathers()) return gather(scheduler);
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
