// Timers in order of (time, sequence number): a 4-ary heap of nodes that know their place, so that taking one
// out costs O(log n) and leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::sim {

// Something that is to happen at a time. REQUIRES: taken out before it is destroyed.
class Timer {
 public:
  virtual void fire() = 0;
  bool armed() const { return place_ != kNowhere; }
  std::int64_t when_ns() const { return when_ns_; }

 protected:
  ~Timer() = default;

 private:
  friend class Timers;
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::int64_t when_ns_ = 0;
  std::uint64_t sequence_ = 0;
  std::size_t place_ = kNowhere;
};

class Timers {
 public:
  bool empty() const { return heap_.empty(); }
  std::int64_t next_ns() const { return heap_.front().when_ns; }  // REQUIRES: !empty()

  void arm(Timer& timer, std::int64_t when_ns);  // REQUIRES: !timer.armed()
  void disarm(Timer& timer);                     // no effect when it is not armed
  Timer& take_first();                           // REQUIRES: !empty(); it is no longer armed

 private:
  struct Slot {
    std::int64_t when_ns;
    std::uint64_t sequence;
    Timer* timer;
    bool before(const Slot& other) const {
      return when_ns != other.when_ns ? when_ns < other.when_ns : sequence < other.sequence;
    }
  };
  void put(std::size_t place, const Slot& slot) {
    heap_[place] = slot;
    slot.timer->place_ = place;
  }
  void up(std::size_t place, const Slot& slot);
  void down(std::size_t place, const Slot& slot);

  std::vector<Slot> heap_;
  std::uint64_t next_sequence_ = 0;
};

inline void Timers::up(std::size_t place, const Slot& slot) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / 4;
    if (!slot.before(heap_[parent])) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, slot);
}

inline void Timers::down(std::size_t place, const Slot& slot) {
  for (;;) {
    const std::size_t first = place * 4 + 1;
    if (first >= heap_.size()) break;
    std::size_t best = first;
    for (std::size_t child = first + 1; child < first + 4 && child < heap_.size(); ++child) {
      if (heap_[child].before(heap_[best])) best = child;
    }
    if (!heap_[best].before(slot)) break;
    put(place, heap_[best]);
    place = best;
  }
  put(place, slot);
}

inline void Timers::arm(Timer& timer, std::int64_t when_ns) {
  timer.when_ns_ = when_ns;
  timer.sequence_ = next_sequence_++;
  const Slot slot{when_ns, timer.sequence_, &timer};
  heap_.push_back(slot);
  up(heap_.size() - 1, slot);
}

inline void Timers::disarm(Timer& timer) {
  if (!timer.armed()) return;
  const std::size_t place = timer.place_;
  timer.place_ = Timer::kNowhere;
  const Slot last = heap_.back();
  heap_.pop_back();
  if (place == heap_.size()) return;
  if (place > 0 && last.before(heap_[(place - 1) / 4])) {
    up(place, last);
  } else {
    down(place, last);
  }
}

inline Timer& Timers::take_first() {
  Timer& timer = *heap_.front().timer;
  disarm(timer);
  return timer;
}

}  // namespace holdfast::sim
