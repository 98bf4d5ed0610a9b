// The annotation's advice (published design 2): what runs around a method that has the annotation. As
// published; do not use it in an application. Its hardened twin is guarded() (lib/lock/api/guarded.h).
//
//   const AnnotationAdvice advice(client, log);
//   const auto deduct = advice.around({.key = "stock-lock", .expired_time = 10s},
//                                     [](long id) { ...; return left; });
//   deduct(42);  // void, whatever the method returns or throws
//
//   lock      that of annotation.h, for each call; its exception "failed to get the lock" reaches the caller
//   method    runs; an exception of it is logged, and goes no further
//   unlock    in `finally`
//
// The flaws for which it is kept:
//   - an exception of the method reaches nobody: a caller cannot tell a sale that failed from one that did
//     not, and a transaction around the advice commits what it should roll back;
//   - the advice is `void`: the result of the method is lost;
//   - the key has a default: methods that do not name one share one lock, whatever they do.
//
// Deviations:
//   - the log is a function, so that a test can read it.
//   - the end of a process (TaskCancelled) is no exception of the method: it is passed on, and nothing is
//     unlocked, as when a process dies.
//   - what is thrown and is no std::exception is swallowed as well, and logged without a text.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/historic/annotation/annotation.h"

namespace holdfast::historic {

// What a method has that does not name a key.
inline constexpr std::string_view kAnnotationDefaultKey = "your-biz-key";

// The annotation: @RedisLock(key = "stock-lock", expiredTime = 10, timeoutForLock = 5).
struct RedisLock {
  std::string key = std::string(kAnnotationDefaultKey);
  Duration expired_time = AnnotationOptions{}.expired_time;
  Duration timeout_for_lock = AnnotationOptions{}.timeout_for_lock;
};

// Thread safety: all calls may be made by any task.
class AnnotationAdvice {
 public:
  using Log = std::function<void(std::string_view what)>;

  // `client` and the observer outlive the advice and what around() returns.
  AnnotationAdvice(redis::Client& client, Log log, LockObserver* observer = nullptr)
      : client_(client), log_(std::move(log)), observer_(observer) {}

  // [parks] What it returns: the method under its lock. Throws what lock() and release() of AnnotationLock
  // throw, and nothing of the method's.
  template <class Method>
  auto around(RedisLock annotation, Method method) const {
    return [client = &client_, log = log_, observer = observer_, annotation = std::move(annotation),
            method = std::move(method)](auto&&... arguments) -> void {
      AnnotationLock lock(*client,
                          {.expired_time = annotation.expired_time,
                           .timeout_for_lock = annotation.timeout_for_lock,
                           .observer = observer},
                          annotation.key);
      lock.lock();
      try {
        static_cast<void>(method(std::forward<decltype(arguments)>(arguments)...));
      } catch (const TaskCancelled&) {
        throw;
      } catch (const std::exception& error) {
        log(error.what());
      } catch (...) {
        log("");
      }
      lock.release();
    };
  }

 private:
  redis::Client& client_;
  const Log log_;
  LockObserver* const observer_;
};

}  // namespace holdfast::historic
