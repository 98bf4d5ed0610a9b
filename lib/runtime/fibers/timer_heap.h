// Timers of fibers: a 4-ary heap ordered by (time, sequence number), at most one entry a slot.
//
// Most deadlines never pass: they belong to a wait that ended in time. So disarming does nothing; an entry
// that comes to the top without being wanted is dropped, or moved to the slot's present deadline. Arming
// touches the heap only when the slot has no entry or a later one. The order of firing is exactly that of a
// heap from which entries are removed at once.
#pragma once

#include <cstdint>
#include <vector>

namespace holdfast::fibers {

class TimerHeap {
 public:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;
  struct Entry {
    std::int64_t time;
    std::uint64_t sequence;
    std::uint32_t slot;
    bool before(const Entry& other) const {
      return time < other.time || (time == other.time && sequence < other.sequence);
    }
  };

  std::uint32_t add_slot() {
    position_.push_back(kAbsent);
    return static_cast<std::uint32_t>(position_.size() - 1);
  }

  bool empty() const { return heap_.empty(); }
  const Entry& top() const { return heap_.front(); }

  // The slot's timer is at (time, sequence); an earlier entry of it stays and is moved when it comes up.
  void arm(std::uint32_t slot, std::int64_t time, std::uint64_t sequence) {
    const Entry entry{time, sequence, slot};
    const std::uint32_t at = position_[slot];
    if (at == kAbsent) {
      heap_.push_back(entry);
      sift_up(heap_.size() - 1, entry);
    } else if (entry.before(heap_[at])) {
      sift_up(at, entry);
    }
  }
  // Moves the top to a later moment.
  void postpone_top(std::int64_t time, std::uint64_t sequence) {
    sift_down(0, Entry{time, sequence, heap_.front().slot});
  }
  void drop_top() {
    position_[heap_.front().slot] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0, last);
  }

 private:
  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    position_[entry.slot] = static_cast<std::uint32_t>(at);
  }
  void sift_up(std::size_t at, const Entry entry) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!entry.before(heap_[parent])) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, entry);
  }
  void sift_down(std::size_t at, const Entry entry) {
    const std::size_t count = heap_.size();
    for (;;) {
      const std::size_t first = at * 4 + 1;
      if (first >= count) break;
      std::size_t least = first;
      const std::size_t end = first + 4 < count ? first + 4 : count;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child].before(heap_[least])) least = child;
      }
      if (!heap_[least].before(entry)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> position_;  // by slot
};

}  // namespace holdfast::fibers
