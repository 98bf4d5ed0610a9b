// The local side of Redisson's waiting: one subscription and one latch per process and channel, counted. What
// a message does depends on what waits:
//
//   lock       "0" releases one permit, "1" releases the permits of all that are parked
//   semaphore  a number releases as many permits, but no more than the latch has users
//   gate       "0" opens it for all, "1" closes it
//
// A permit that nobody waits for is kept as long as the entry lives, and so is a gate that is open.
//
// Thread safety: any task.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"

namespace holdfast::historic {

class RedissonLatches {
 public:
  explicit RedissonLatches(redis::Client& client);

  enum class Messages { lock, semaphore, gate };
  struct Latch;

  // One more user of the channel's latch. Throws LockError: nobody can listen (no thread is left for it).
  std::shared_ptr<Latch> subscribe(const std::string& channel, Messages messages = Messages::lock);
  // One user less; with the last one the subscription ends and the permits are forgotten.
  void unsubscribe(const std::shared_ptr<Latch>& latch);

  // [parks] Until the subscription is in force. False: not by the deadline, or stopped.
  bool wait_subscribed(Latch& latch, MonotonicTime deadline, const std::stop_token& stop);
  // [parks] Takes a permit. False: none by the deadline, or stopped.
  bool acquire(Latch& latch, MonotonicTime deadline, const std::stop_token& stop);
  // [parks] Until the gate is open. False: not by the deadline, or stopped.
  bool pass(Latch& latch, MonotonicTime deadline, const std::stop_token& stop);

 private:
  template <class Done>
  bool wait(MonotonicTime deadline, const std::stop_token& stop, const Done& done);
  std::shared_ptr<Latch> open(const std::string& channel, Messages messages);
  void message(Latch& latch, std::string_view payload);

  redis::Client& client_;
  Mutex mutex_;
  Condition changed_;
  std::map<std::string, std::shared_ptr<Latch>> latches_;  // by channel
};

// One user of a channel's latch, from subscribe to unsubscribe.
class RedissonWaiting {
 public:
  RedissonWaiting(RedissonLatches& latches, const std::string& channel,
                  RedissonLatches::Messages messages = RedissonLatches::Messages::lock)
      : latches_(latches), latch_(latches.subscribe(channel, messages)) {}
  ~RedissonWaiting() {
    try {
      latches_.unsubscribe(latch_);
    } catch (const TaskCancelled&) {
    }
  }
  RedissonWaiting(const RedissonWaiting&) = delete;
  RedissonWaiting& operator=(const RedissonWaiting&) = delete;
  RedissonLatches::Latch& latch() { return *latch_; }

 private:
  RedissonLatches& latches_;
  const std::shared_ptr<RedissonLatches::Latch> latch_;
};

}  // namespace holdfast::historic
