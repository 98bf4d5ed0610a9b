// async_call(): any blocking code of the library, awaited.
//
//   co_await async_call(redis.loop().host(), [&] { latch->await(); });
//
// For what has no form of its own here: a permit, a latch, a command of redis::Client. A form for completion
// tokens of Boost.Asio is in asio.h.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "lib/async/awaiter.h"
#include "lib/async/host.h"
#include "lib/async/operation.h"

namespace holdfast::async {

// `work` runs on a task of `host`, where it may park, but must not block the thread in another way: that
// thread serves all waits. co_await gives what `work` returns, or throws what it throws, or Unavailable when
// the loop has ended or has no memory for a task. The coroutine goes on on its executor (executor.h), or on
// that of resume_on(). Nothing starts before co_await. `work` runs to its end also when the coroutine is
// gone; what it returns is then destroyed. Thread safety: may be called on any thread. Costs one task: its
// stack, and a switch to it and back.
template <class Work>
[[nodiscard]] auto async_call(std::shared_ptr<Host> host, Work work) {
  using Kind = CallOperation<Work, std::invoke_result_t<Work&>>;
  return Awaiter<Kind>(std::make_shared<Kind>(std::move(host), std::move(work)), {});
}

}  // namespace holdfast::async
