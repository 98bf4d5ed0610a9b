#include "count_down_latch.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "../redis/error.h"
#include "checked_options.h"
#include "generated/lock_scripts.h"
#include "latch_scripts.h"
#include "lock_error_from.h"
#include "reentrant_scripts.h"
#include "uuid.h"
#include "wakeup.h"

namespace holdfast {

const redis::Script kLatchSet = lock_scripts::latch_set;
const redis::Script kLatchCountDown = lock_scripts::latch_count_down;

namespace {

constexpr std::int64_t kGone = -1;

CountDownLatch::Options checked(CountDownLatch::Options options) {
  if (options.lifetime < std::chrono::milliseconds(1) || options.look_again < std::chrono::milliseconds(1)) {
    throw std::invalid_argument("a latch's times must be at least 1 ms");
  }
  return options;
}

}  // namespace

CountDownLatch::CountDownLatch(redis::Client& client, std::string key, Options options)
    : client_(client),
      runtime_(client.runtime()),
      options_(checked(options)),
      keys_{checked_key(key), beside_key("holdfast:latch:counted", key),
            beside_key("holdfast:latch:channel", key)},
      uuid_(random_uuid(runtime_)) {}

std::string CountDownLatch::next_id() { return uuid_ + ":" + std::to_string(next_number_++); }

// Repeats the request until it is answered: it may be, because it has an id. Null: asks for the count.
std::int64_t CountDownLatch::ask(const redis::Script* script, const std::vector<std::string_view>& args,
                                 MonotonicTime deadline) {
  const std::vector<std::string_view> keys(keys_.begin(), keys_.end());
  const MonotonicTime give_up =
      std::min(deadline, deadline_after(runtime_.now(), client_.options().command_timeout));
  bool unseen = false;
  for (;;) {
    try {
      if (script != nullptr) return client_.eval(*script, keys, args, {.deadline = give_up}).reply.integer;
      const redis::Reply left = client_.call({"HGET", key(), "left"}, {.deadline = give_up}).reply;
      return left.is_nil() ? kGone : std::stoll(left.text);
    } catch (const redis::Error& error) {
      unseen = unseen || error.may_have_executed();
      if (!worth_another_attempt(error) || runtime_.now() >= give_up) throw_lock_error(error, key(), unseen);
      runtime_.sleep_until(std::min(give_up, deadline_after(runtime_.now(), client_.options().backoff_min)));
    }
  }
}

bool CountDownLatch::set(std::int64_t count) {
  if (count < 1) throw std::invalid_argument("a latch counts down from at least one");
  const std::string id = next_id(), number = std::to_string(count);
  const std::string lifetime =
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(options_.lifetime).count());
  return ask(&kLatchSet, {id, number, lifetime}, kNever) == 1;
}

std::optional<std::int64_t> CountDownLatch::count_down() {
  const std::string id = next_id();
  const std::int64_t left = ask(&kLatchCountDown, {id}, kNever);
  return left == kGone ? std::nullopt : std::optional(left);
}

std::optional<std::int64_t> CountDownLatch::count() {
  const std::int64_t left = ask(nullptr, {}, kNever);
  return left == kGone ? std::nullopt : std::optional(left);
}

void CountDownLatch::await() { await_until(kNever); }

bool CountDownLatch::await_for(Duration wait, std::stop_token stop) {
  return await_until(deadline_after(runtime_.now(), wait), std::move(stop));
}

bool CountDownLatch::await_until(MonotonicTime deadline, std::stop_token stop) {
  Wakeup wakeup(runtime_);
  std::unique_ptr<redis::Subscription> subscription;
  bool seen = false;
  for (;;) {
    if (stop.stop_requested())
      throw Interrupted("latch '" + key() + "': the wait was stopped", key(), "", false);
    wakeup.clear();
    const std::int64_t left = ask(nullptr, {}, kNever);
    if (left == 0) return true;
    if (left == kGone && seen) {
      throw LatchGone("latch '" + key() +
                          "': it vanished before it was open (its lifetime was over, or the server " +
                          "lost it); set it anew",
                      key(), "", false);
    }
    seen = seen || left > 0;
    if (runtime_.now() >= deadline) return false;
    if (!subscription) {
      subscription = client_.subscribe(
          keys_[2], [&wakeup](std::string_view) { wakeup.signal(); }, [&wakeup] { wakeup.signal(); });
    }
    wakeup.wait_until(std::min(deadline, deadline_after(runtime_.now(), options_.look_again)), stop);
  }
}

}  // namespace holdfast
