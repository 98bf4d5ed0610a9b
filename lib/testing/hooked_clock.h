// HookedClock: another Runtime on which a test acts at the moment when a task reads the clock, between two
// steps of the library in which no task parks by itself.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/testing/failing_spawns.h"

namespace holdfast::testing {

class HookedClock final : public FailingSpawns {
 public:
  using FailingSpawns::FailingSpawns;

  // `hook` runs whenever the calling task reads the clock, or (with a role) the last one of `role` that was
  // started on this runtime. It may park. It reads the clock of the runtime below. Null: none.
  void on_read(std::function<void()> hook) {
    reader_ = task_id();
    hook_ = std::move(hook);
  }
  void on_read_by(const std::string& role, std::function<void()> hook) {
    role_ = role;
    reader_ = 0;
    hook_ = std::move(hook);
  }

  Task spawn(std::string_view role, std::function<void()> body) override {
    if (role != role_) return FailingSpawns::spawn(role, std::move(body));
    return FailingSpawns::spawn(role, [this, body = std::move(body)] {
      reader_ = task_id();
      body();
    });
  }
  MonotonicTime now() const noexcept override {
    if (hook_ && reader_ == task_id()) hook_();
    return FailingSpawns::now();
  }

 private:
  std::string role_;
  std::atomic<TaskId> reader_ = 0;
  std::function<void()> hook_;
};

}  // namespace holdfast::testing
