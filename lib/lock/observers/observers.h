// Observers: passes what locks tell on to several observers.
//
//   holdfast::Observers all({metrics.of("reentrant"), &log});
//   holdfast::ReentrantLocks locks(client, {.observer = &all});
//
// Thread safety: any task.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/lock/api/observer.h"

namespace holdfast {

class Observers final : public LockObserver {
 public:
  // They are told in this order, and outlive it. Null: nobody.
  explicit Observers(std::vector<LockObserver*> all) : all_(std::move(all)) { std::erase(all_, nullptr); }

  // As quick as the slowest of them.
  bool is_quick() const noexcept override {
    return std::all_of(all_.begin(), all_.end(), [](const LockObserver* each) { return each->is_quick(); });
  }
  void on_event(const LockEvent& event) noexcept override {
    for (LockObserver* const each : all_) each->on_event(event);
  }

 private:
  std::vector<LockObserver*> all_;
};

}  // namespace holdfast
