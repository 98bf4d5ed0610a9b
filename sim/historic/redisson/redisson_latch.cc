#include "sim/historic/redisson/redisson_latch.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>

#include "lib/lock/engine/lock_error_from.h"

namespace holdfast::historic {

struct RedissonLatches::Latch {
  std::string channel;
  Messages messages = Messages::lock;
  std::size_t users = 0;
  std::size_t permits = 0, parked = 0;
  bool open = false;
  bool subscribed = false;
  std::unique_ptr<redis::Subscription> subscription;
};

RedissonLatches::RedissonLatches(redis::Client& client)
    : client_(client), mutex_(client.runtime()), changed_(client.runtime()) {}

std::shared_ptr<RedissonLatches::Latch> RedissonLatches::subscribe(const std::string& channel,
                                                                   Messages messages) {
  const std::scoped_lock guard(mutex_);
  const auto found = latches_.find(channel);
  const std::shared_ptr<Latch> latch = found != latches_.end() ? found->second : open(channel, messages);
  ++latch->users;
  return latch;
}

std::shared_ptr<RedissonLatches::Latch> RedissonLatches::open(const std::string& channel, Messages messages) {
  auto latch = std::make_shared<Latch>();
  latch->channel = channel;
  latch->messages = messages;
  Latch* const plain = latch.get();  // the subscription ends before the latch
  try {
    latch->subscription = client_.subscribe(
        channel, [this, plain](std::string_view payload) { message(*plain, payload); },
        [this, plain] {
          const std::scoped_lock callback_guard(mutex_);
          plain->subscribed = true;
          changed_.notify_all();
        });
  } catch (const redis::Error& error) {
    throw_lock_error(error, channel, false);
  }
  latches_.emplace(channel, latch);
  return latch;
}

void RedissonLatches::unsubscribe(const std::shared_ptr<Latch>& latch) {
  std::unique_ptr<redis::Subscription> ended;  // after the mutex: its callbacks take it
  const std::scoped_lock guard(mutex_);
  if (--latch->users > 0) return;
  ended = std::move(latch->subscription);
  const auto found = latches_.find(latch->channel);
  if (found != latches_.end() && found->second == latch) latches_.erase(found);
}

void RedissonLatches::message(Latch& latch, std::string_view payload) {
  const std::scoped_lock guard(mutex_);
  switch (latch.messages) {
    case Messages::lock:
      if (payload == "0") ++latch.permits;
      if (payload == "1") latch.permits += latch.parked;
      break;
    case Messages::semaphore: {
      std::size_t released = 0;
      std::from_chars(payload.data(), payload.data() + payload.size(), released);
      latch.permits += std::min(latch.users, released);
      break;
    }
    case Messages::gate: latch.open = payload == "0" || (latch.open && payload != "1"); break;
  }
  changed_.notify_all();
}

template <class Done>
bool RedissonLatches::wait(MonotonicTime deadline, const std::stop_token& stop, const Done& done) {
  const std::stop_callback wake(stop, [this] {
    const std::scoped_lock guard(mutex_);
    changed_.notify_all();
  });
  std::unique_lock guard(mutex_);
  return changed_.wait_until(guard, deadline, [&] { return done() || stop.stop_requested(); }) &&
         !stop.stop_requested();
}

bool RedissonLatches::wait_subscribed(Latch& latch, MonotonicTime deadline, const std::stop_token& stop) {
  return wait(deadline, stop, [&] { return latch.subscribed; });
}

bool RedissonLatches::acquire(Latch& latch, MonotonicTime deadline, const std::stop_token& stop) {
  bool counted = false;
  const bool taken = wait(deadline, stop, [&] {  // called under the mutex
    if (latch.permits > 0) {
      --latch.permits;
      latch.parked -= counted ? 1 : 0;
      counted = false;
      return true;
    }
    latch.parked += counted ? 0 : 1;
    counted = true;
    return false;
  });
  if (counted) {
    const std::scoped_lock guard(mutex_);
    --latch.parked;
  }
  return taken;
}

bool RedissonLatches::pass(Latch& latch, MonotonicTime deadline, const std::stop_token& stop) {
  return wait(deadline, stop, [&] { return latch.open; });
}

}  // namespace holdfast::historic
