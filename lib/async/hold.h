// Hold: a lock that an asynchronous caller holds, as a value. It belongs to nobody's thread: whoever has the
// object holds the lock, and may move it anywhere.
//
//   holdfast::async::Hold hold = co_await lock.async_lock(stop);
//   ... hold.token() ... hold.lost() ...
//   co_await std::move(hold).async_release();        // throws LockLost, Unavailable: as Lock::release()
//
// A Hold that is destroyed gives the lock back in the background, as Lock::unlock(): a failure is told to the
// observer alone. One that outlives its loop is left to its lease.
//
// Thread safety: one thread at a time; objects are independent of each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "lib/async/awaiter.h"
#include "lib/runtime/time.h"

namespace holdfast {
class Lock;
}

namespace holdfast::async {

class LockSource;

// One grant, given back by its end.
class [[nodiscard]] Hold {
 public:
  Hold() noexcept;                         // of nothing
  Hold(Hold&& other) noexcept;             // which holds nothing then
  Hold& operator=(Hold&& other) noexcept;  // gives back what it had
  ~Hold();

  explicit operator bool() const noexcept { return state_ != nullptr; }  // it holds something

  // What was true at the grant; REQUIRES for all of them: it holds something.
  const std::string& key() const noexcept;              // of the lock
  const std::string& acquisition() const noexcept;      // as Lock::acquisition()
  std::optional<std::uint64_t> token() const noexcept;  // as Lock::token()
  // Fires when the hold is lost, on a task of the loop: a callback must not block its thread.
  std::stop_token lost() const noexcept;

  // What is true now, on the loop's clock; the calling thread waits for the loop (not for a server).
  bool is_held() const;                              // as Lock::is_held_by_me()
  std::optional<MonotonicTime> valid_until() const;  // as Lock::valid_until()

  // As Lock::release(), which throws what went wrong. Lazy: nothing happens before it is awaited.
  [[nodiscard]] Awaiter<CallOperation<std::function<void()>, void>> async_release() &&;
  // As Lock::extend(), for the hold; it stays where it is until that has ended.
  [[nodiscard]] Awaiter<CallOperation<std::function<void()>, void>> async_extend(Duration lease) &;
  // Both as an operation, for other forms of waiting (asio.h).
  [[nodiscard]] std::shared_ptr<CallOperation<std::function<void()>, void>> release_operation() &&;

 private:
  friend class AcquireOperation;
  struct State;
  explicit Hold(std::shared_ptr<State> state) noexcept;
  static void give_back(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace holdfast::async
