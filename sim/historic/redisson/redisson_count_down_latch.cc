#include "sim/historic/redisson/redisson_count_down_latch.h"

#include <array>
#include <charconv>
#include <utility>

#include "generated/historic_scripts.h"

namespace holdfast::historic {
namespace {

constexpr auto kMessages = RedissonLatches::Messages::gate;
constexpr std::string_view kOpen = "0", kClosed = "1";

// "redisson_countdownlatch__channel__{key}", without a colon.
std::string channel_of(const std::string& key) {
  const std::string prefix = "redisson_countdownlatch__channel__";
  return prefix + (key.find('{') == std::string::npos ? "{" + key + "}" : key);
}

}  // namespace

RedissonCountDownLatch::RedissonCountDownLatch(std::shared_ptr<Redisson> redisson, std::string key)
    : redisson_(std::move(redisson)), key_(std::move(key)), channel_(channel_of(key_)) {}

bool RedissonCountDownLatch::try_set_count(std::int64_t count) {
  const std::string text = std::to_string(count);
  const std::array<std::string_view, 2> keys{key_, channel_};
  const std::array<std::string_view, 2> args{kClosed, text};
  return redisson_->eval_unsynced(key_, historic_scripts::redisson_count_set, keys, args).reply.integer == 1;
}

void RedissonCountDownLatch::count_down() {
  const std::array<std::string_view, 2> keys{key_, channel_};
  const std::array<std::string_view, 1> args{kOpen};
  redisson_->eval_unsynced(key_, historic_scripts::redisson_count_down, keys, args);
}

std::int64_t RedissonCountDownLatch::count() {
  const std::array<std::string_view, 2> command{"GET", key_};
  const std::string text = redisson_->call(key_, command).reply.text;
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

// The time that is left is counted as the original counts it: with System.currentTimeMillis().
bool RedissonCountDownLatch::await_for(std::optional<Duration> wait, const std::stop_token& stop) {
  const WallTime started = runtime().wall_now();
  const auto left = [&] { return *wait - (runtime().wall_now() - started); };
  const auto until = [&](Duration most) { return deadline_after(runtime().now(), wait ? left() : most); };
  if (count() == 0) return true;
  redisson_->tell({.kind = LockEvent::Kind::waiting, .key = key_});
  RedissonWaiting waiting(redisson_->latches(), channel_, kMessages);
  const bool subscribed =
      redisson_->latches().wait_subscribed(waiting.latch(), until(Redisson::kSubscribeTimeout), stop);
  if (!subscribed && !wait && !stop.stop_requested()) {
    throw Unavailable("latch '" + key_ + "': subscribe timeout", key_, "", false);
  }
  while (subscribed && count() > 0) {
    if (wait && left() <= Duration::zero()) return false;
    redisson_->latches().pass(waiting.latch(), wait ? until({}) : kNever, stop);
    if (stop.stop_requested()) break;
  }
  if (stop.stop_requested()) {
    throw Interrupted("latch '" + key_ + "': the wait was stopped", key_, "", false);
  }
  return subscribed;
}

}  // namespace holdfast::historic
