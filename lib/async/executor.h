// Where a coroutine goes on after a co_await: on its executor, anything that takes work and runs it later.
//
// It is found in this order:
//   1. co_await lock.async_lock(stop).resume_on(executor);
//   2. `executor()` of the coroutine's promise, if it has such a member;
//   3. none: the coroutine goes on on a task of the loop, whose thread it must not block.
//
// An executor that drops work unrun (a pool that is shut down) drops the coroutine, which is then never
// resumed; the lock that it would have got is given back.
#pragma once

#include <concepts>
#include <functional>

namespace holdfast::async {

// Takes work, from any thread. Empty: none.
using Executor = std::function<void(std::function<void()> work)>;

// A promise that knows where its coroutine runs.
template <class Promise>
concept HasExecutor = requires(Promise& promise) {
  { promise.executor() } -> std::convertible_to<Executor>;
};

}  // namespace holdfast::async
