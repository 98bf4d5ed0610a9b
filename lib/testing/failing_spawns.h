// FailingSpawns: another Runtime on which a test makes the start of tasks fail, as when a process has reached
// its limit of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "lib/runtime/runtime.h"

namespace holdfast::testing {

class FailingSpawns : public Runtime {
 public:
  explicit FailingSpawns(Runtime& inner) : inner_(inner) {}

  // The next `times` tasks of `role` ("": of any) cannot be started. Call it while nobody spawns.
  void fail_next(int times, std::string role = {}) {
    role_ = std::move(role);
    to_fail_ = times;
  }
  int to_fail() const { return to_fail_; }  // how many are still to come

  Task spawn(std::string_view role, std::function<void()> body) override {
    if (to_fail_ > 0 && (role_.empty() || role_ == role)) {
      --to_fail_;
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    return inner_.spawn(role, std::move(body));
  }

  MonotonicTime now() const noexcept override { return inner_.now(); }
  WallTime wall_now() const noexcept override { return inner_.wall_now(); }
  TaskId task_id() const noexcept override { return inner_.task_id(); }
  Parker& parker() noexcept override { return inner_.parker(); }
  std::any& task_local_slot(const void* key) override { return inner_.task_local_slot(key); }
  void sleep_until(MonotonicTime deadline) override { inner_.sleep_until(deadline); }
  void yield() override { inner_.yield(); }
  std::uint64_t random() override { return inner_.random(); }
  bool wait_fd(int fd, FdInterest interest, MonotonicTime deadline) override {
    return inner_.wait_fd(fd, interest, deadline);
  }
  void forget_fd(int fd) noexcept override { inner_.forget_fd(fd); }
  std::unique_ptr<MutexImpl> make_mutex() override { return inner_.make_mutex(); }
  std::unique_ptr<ConditionImpl> make_condition() override { return inner_.make_condition(); }

 private:
  Runtime& inner_;
  std::string role_;
  std::atomic<int> to_fail_ = 0;
};

}  // namespace holdfast::testing
