// guarded(): a function that runs under a lock, like a method with a lock annotation.
//
//   auto deduct = guarded(registry, {.key = "stock-lock", .wait = 5s},
//                         [](std::stop_token lost, long id) { ... return left; });
//   const long left = deduct(42);
//
// - The key may depend on the arguments: guarded(registry, options, key_of, function), where key_of
//   gets the same arguments and gives what is appended to options.key after a ':'.
// - Waits for options.wait, then throws WaitTimeout.
// - A function whose first parameter is a std::stop_token gets one that fires when the lock is lost,
//   which includes the end of the last renewal that LockOptions::max_renewals allows. It should come to
//   an end then.
// - Result and exceptions of the function are passed through. When the function returned but the lock
//   had been lost, the call throws LockLost in place of the result: what was done may have been done
//   next to somebody else. When the function threw, that exception is passed on, lost or not.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "lib/lock/api/guard.h"
#include "lib/lock/api/registry.h"

namespace holdfast {

// Which lock, and for how long to wait for it.
struct GuardedOptions {
  std::string key;                          // of the lock, or what it begins with
  Duration wait = std::chrono::seconds(5);  // not below zero: guarded() throws std::invalid_argument
};

namespace guarded_detail {

// Throws std::invalid_argument.
void checked_wait(Duration wait);
// [parks] The lock, acquired; throws WaitTimeout, std::invalid_argument.
std::shared_ptr<Lock> acquired(Registry& registry, const std::string& key, Duration wait);

// What guarded() returns.
template <class KeyOf, class Function>
class Guarded {
 public:
  // See guarded().
  Guarded(Registry& registry, GuardedOptions options, KeyOf key_of, Function function)
      : registry_(registry),
        options_(std::move(options)),
        key_of_(std::move(key_of)),
        function_(std::move(function)) {
    checked_wait(options_.wait);
  }

  // [parks] The function under the lock.
  template <class... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) const {
    const auto lock = acquired(registry_, key_of_(options_.key, std::as_const(arguments)...), options_.wait);
    Guard guard(*lock, std::adopt_lock);
    const auto run = [&]() -> decltype(auto) {
      // The arguments alone first: what takes anything (a variadic lambda) is not given a token.
      if constexpr (std::invocable<const Function&, Arguments...>) {
        return std::invoke(function_, std::forward<Arguments>(arguments)...);
      } else {
        return std::invoke(function_, lock->lost(), std::forward<Arguments>(arguments)...);
      }
    };
    using Result = decltype(run());
    if constexpr (std::is_void_v<Result>) {
      run();
      guard.release();
    } else if constexpr (std::is_reference_v<Result>) {
      Result result = run();
      guard.release();
      return static_cast<Result>(result);
    } else {
      Result result = run();
      guard.release();
      return result;
    }
  }

 private:
  Registry& registry_;
  GuardedOptions options_;
  KeyOf key_of_;
  Function function_;
};

}  // namespace guarded_detail

// `registry` outlives the result. Thread safety: the result may be called by any task, if `function` may.
template <class Function>
auto guarded(Registry& registry, GuardedOptions options, Function function) {
  const auto same_key = [](const std::string& key, const auto&...) -> std::string { return key; };
  return guarded_detail::Guarded(registry, std::move(options), same_key, std::move(function));
}

// The same with a key that depends on the arguments.
template <class KeyOf, class Function>
auto guarded(Registry& registry, GuardedOptions options, KeyOf key_of, Function function) {
  const auto joined = [key_of = std::move(key_of)](const std::string& key,
                                                   const auto&... arguments) -> std::string {
    return key + ":" + std::string(key_of(arguments...));
  };
  return guarded_detail::Guarded(registry, std::move(options), joined, std::move(function));
}

}  // namespace holdfast
