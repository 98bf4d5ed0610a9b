// The local side of Redisson's waiting: one subscription and one semaphore per process and channel, counted.
// A message "0" releases one permit, "1" releases the permits of all that are parked. A permit that nobody
// waits for is kept as long as the entry lives.
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

  struct Latch;

  // One more user of the channel's latch.
  std::shared_ptr<Latch> subscribe(const std::string& channel);
  // One user less; with the last one the subscription ends and the permits are forgotten.
  void unsubscribe(const std::shared_ptr<Latch>& latch);

  // [parks] Until the subscription is in force. False: not by the deadline, or stopped.
  bool wait_subscribed(Latch& latch, MonotonicTime deadline, const std::stop_token& stop);
  // [parks] Takes a permit. False: none by the deadline, or stopped.
  bool acquire(Latch& latch, MonotonicTime deadline, const std::stop_token& stop);

 private:
  template <class Done>
  bool wait(MonotonicTime deadline, const std::stop_token& stop, const Done& done);
  void message(Latch& latch, std::string_view payload);

  redis::Client& client_;
  Mutex mutex_;
  Condition changed_;
  std::map<std::string, std::shared_ptr<Latch>> latches_;  // by channel
};

}  // namespace holdfast::historic
