// Awaiter: one co_await of an operation (operation.h).
//
// The awaiter lies in the coroutine's frame. A frame that is destroyed while it waits (nobody wants the
// result any more) abandons the operation, and what the operation got is given back. Destroy a frame only on
// its executor: nobody else knows that it is not being resumed just now.
#pragma once

#include <coroutine>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "lib/async/executor.h"
#include "lib/async/operation.h"

namespace holdfast::async {

// A coroutine that waits. Shared by the awaiter and whoever is to let it go on.
class Waiting final {
 public:
  explicit Waiting(std::coroutine_handle<> waits) : waits_(waits) {}
  // Null: the coroutine is gone, or goes on already.
  std::coroutine_handle<> take() noexcept {
    const std::lock_guard guard(mutex_);
    return std::exchange(waits_, nullptr);
  }

 private:
  std::mutex mutex_;
  std::coroutine_handle<> waits_;
};

class ResumeOn final : public Operation::Receiver {
 public:
  ResumeOn(std::shared_ptr<Waiting> waiting, Executor executor)
      : waiting_(std::move(waiting)), executor_(std::move(executor)) {}
  void ended(const std::shared_ptr<Operation>& operation, bool here) noexcept override;

 private:
  const std::shared_ptr<Waiting> waiting_;
  const Executor executor_;
};

// `Kind` is an Operation with a take(). No aggregate, on purpose: g++ 12 destroys the members of aggregate
// awaiters twice.
template <class Kind>
class [[nodiscard]] Awaiter {
 public:
  Awaiter(std::shared_ptr<Kind> operation, std::stop_token stop)
      : operation_(std::move(operation)), stop_(std::move(stop)) {}
  Awaiter(Awaiter&& other) noexcept = default;
  Awaiter& operator=(Awaiter&&) = delete;
  ~Awaiter() {
    if (waiting_ != nullptr && waiting_->take()) operation_->abandon();  // the frame goes while it waits
  }

  // The coroutine goes on there; see executor.h.
  [[nodiscard]] Awaiter&& resume_on(Executor executor) && {
    executor_ = std::move(executor);
    return std::move(*this);
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> waits) {
    if constexpr (HasExecutor<Promise>) {
      if (!executor_) executor_ = waits.promise().executor();
    }
    waiting_ = std::make_shared<Waiting>(waits);
    // From start() on the coroutine may go on at any moment, and its frame be gone.
    const std::shared_ptr<Kind> operation = operation_;
    operation->start(std::make_unique<ResumeOn>(waiting_, std::move(executor_)), std::move(stop_));
  }
  decltype(auto) await_resume() { return operation_->take(); }

 private:
  std::shared_ptr<Kind> operation_;
  std::stop_token stop_;
  Executor executor_;
  std::shared_ptr<Waiting> waiting_;
};

}  // namespace holdfast::async
