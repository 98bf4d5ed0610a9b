// WriteBack: how much of a file that only grows is on the disk, and not just in the memory of the kernel:
// what was synced (fsync), and what the kernel wrote back by itself because it was old.
//
// Linux writes back what has been dirty for 30 seconds (vm.dirty_expire_centisecs), and promises nothing
// sooner. This takes it at that: what is younger and was not synced is lost at a power loss.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>

#include "lib/runtime/time.h"

namespace holdfast::sim {

inline constexpr Duration kKernelWritesBackAfter = std::chrono::seconds(30);

class WriteBack {
 public:
  // The disk has `length` bytes.
  explicit WriteBack(std::size_t length = 0) : synced_(length) {}

  // The file is `length` bytes long at `now`: to be told after each append, or now and then. What comes in
  // the same second as something older is taken to be a second younger than that.
  void saw(MonotonicTime now, std::size_t length) {
    last_ = {now, length};
    if (!seen_.empty() && now < seen_.back().at + std::chrono::seconds(1)) return;
    while (seen_.size() > 1 && old(seen_[1], now)) seen_.pop_front();  // of what is old, the newest counts
    seen_.push_back(last_);
  }
  void synced(std::size_t length) { synced_ = std::max(synced_, length); }
  // What the disk has of the file, which is `now` `size` bytes long.
  std::size_t length(MonotonicTime now, std::size_t size) const {
    std::size_t length = synced_;
    for (const Seen& seen : seen_) {
      if (old(seen, now)) length = std::max(length, seen.length);
    }
    if (old(last_, now)) length = std::max(length, last_.length);
    return std::min(length, size);
  }
  std::size_t synced() const { return synced_; }

 private:
  struct Seen {
    MonotonicTime at;
    std::size_t length;
  };
  static bool old(const Seen& seen, MonotonicTime now) { return seen.at + kKernelWritesBackAfter <= now; }

  std::size_t synced_;
  std::deque<Seen> seen_;  // oldest first, a second apart
  Seen last_{MonotonicTime{}, 0};
};

}  // namespace holdfast::sim
