// Coroutine: the simplest coroutine that awaits, for tests. It begins at once, and its frame goes with its
// end, or by destroy() while it waits. Its executor is its first argument, which the promise shows
// (async/executor.h).
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "lib/async/executor.h"

namespace holdfast::async::testing {

class Coroutine {
 public:
  class promise_type {
   public:
    template <class... Rest>
    explicit promise_type(Executor& executor, Rest&&...) : executor_(executor) {}
    // Of a lambda.
    template <class Lambda, class... Rest>
    promise_type(const Lambda&, Executor& executor, Rest&&...) : executor_(executor) {}
    Coroutine get_return_object() {
      return Coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
    Executor executor() const { return executor_; }

   private:
    const Executor executor_;
  };

  explicit Coroutine(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  // REQUIRES: it waits.
  void destroy() { std::exchange(handle_, nullptr).destroy(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace holdfast::async::testing
