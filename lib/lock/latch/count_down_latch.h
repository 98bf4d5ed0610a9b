// The count-down latch: tasks of any process wait until a count has come down to zero.
//
// - set(n) starts a count, unless one is running. count_down() takes one off; a request whose reply was
//   lost is repeated under the same id and counts once.
// - await() waits for a count that comes down to zero, also when it is set anew before a waiter looks.
//   A latch that is not there yet is waited for. One that was there and vanished (it lived out its
//   lifetime, or a failover or restart lost it) is an error, LatchGone, and never taken for an open
//   one: nobody knows how far it had come. So is one that was set anew more than once meanwhile.
// - The latch, open or not, is forgotten `lifetime` after it was set.
//
// Thread safety: any task.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/lock/api/errors.h"
#include "lib/redis/threaded_client.h"

namespace holdfast {

// The latch vanished before it was open.
class LatchGone : public LockError {
  using LockError::LockError;
};

class CountDownLatch {
 public:
  // Its times, each at least 1 ms.
  struct Options {
    Duration lifetime = std::chrono::hours(24);      // of the record on the server
    Duration look_again = std::chrono::seconds(30);  // asks at least so often when no message comes
  };
  // `client` outlives the latch. Throws std::invalid_argument for an empty key, or times below 1 ms.
  CountDownLatch(redis::Client& client, std::string key, Options options);
  // With the default times.
  CountDownLatch(redis::Client& client, std::string key)
      : CountDownLatch(client, std::move(key), Options()) {}

  // [parks] False: one is running. Throws std::invalid_argument below 1 or above 2^53; Unavailable, Rejected.
  bool set(std::int64_t count);
  // [parks] What is left after it: never below zero; nullopt: there is no such latch. Throws Unavailable,
  // Rejected.
  std::optional<std::int64_t> count_down();
  // [parks] What is left; nullopt: there is no such latch.
  std::optional<std::int64_t> count();

  // [parks] Until it is open. Throws LatchGone, Unavailable (no server answered for the client's command
  // timeout).
  void await();
  // [parks] False: not open by the deadline. A stop request ends the wait with Interrupted.
  [[nodiscard]] bool await_until(MonotonicTime deadline, std::stop_token stop = {});
  // [parks] As await_until(). Throws std::invalid_argument for a wait below zero.
  [[nodiscard]] bool await_for(Duration wait, std::stop_token stop = {});

  // As given.
  const std::string& key() const noexcept { return keys_.front(); }

 private:
  struct State {
    std::int64_t left = -1;    // -1: there is no such latch
    std::string by, opened{};  // which count it is, and which one came to zero before it
    // Unavailable: it was asked so late that no answer came by the deadline. The rest says nothing then.
    std::exception_ptr too_late = nullptr;
  };
  std::string next_id();
  std::int64_t run(const redis::Script& script, const std::vector<std::string_view>& args);
  State look(MonotonicTime deadline, const std::stop_token& stop);
  // Repeats `request` until it is answered, or throws.
  redis::Reply ask(MonotonicTime deadline,
                   const std::function<redis::Reply(const redis::CallOptions&)>& request);

  redis::Client& client_;
  Runtime& runtime_;
  const Options options_;
  const std::vector<std::string> keys_;  // the latch, its counted owners, the channel, earlier counted owners
  const std::string uuid_;
  std::atomic<std::uint64_t> next_number_{1};
};

}  // namespace holdfast
