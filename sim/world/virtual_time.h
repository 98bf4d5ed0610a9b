// Driver of the embedded world: time stands still while tasks run, and jumps to the next timer when none is
// ready.
#pragma once

#include "sim/world/scheduler.h"

namespace holdfast::sim {

class VirtualTime final : public Driver {
 public:
  std::int64_t now_ns() const override { return now_ns_; }
  bool pass_time(std::int64_t next_ns) override {
    if (next_ns == INT64_MAX) return false;
    if (next_ns > now_ns_) now_ns_ = next_ns;
    return true;
  }

 private:
  std::int64_t now_ns_ = 0;
};

}  // namespace holdfast::sim
