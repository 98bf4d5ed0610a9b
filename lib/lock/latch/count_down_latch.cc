#include "lib/lock/latch/count_down_latch.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>

#include "generated/lock_scripts.h"
#include "lib/lock/engine/checked_options.h"
#include "lib/lock/engine/key_names.h"
#include "lib/lock/engine/retry.h"
#include "lib/lock/engine/uuid.h"
#include "lib/lock/engine/wire.h"
#include "lib/lock/latch/latch_scripts.h"
#include "lib/lock/store/sharded_scripts.h"
#include "lib/lock/waiting/wakeup.h"

namespace holdfast {

const redis::Script kLatchSet = lock_scripts::latch_set;
const redis::Script kLatchCountDown = lock_scripts::latch_count_down;

namespace {

constexpr std::int64_t kGone = -1;
constexpr std::int64_t kMost = std::int64_t{1} << 53;  // beyond that the numbers of Lua are not exact

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
            beside_key("holdfast:latch:channel", key), beside_key("holdfast:latch:counted-before", key)},
      uuid_(random_uuid(runtime_)) {}

std::string CountDownLatch::next_id() { return uuid_ + ":" + std::to_string(next_number_++); }

redis::Reply CountDownLatch::ask(MonotonicTime deadline,
                                 const std::function<redis::Reply(const redis::CallOptions&)>& request) {
  bool unseen = false;
  return insist(runtime_, client_.options(), key(), deadline, unseen,
                [&](const redis::CallOptions& options) {
                  return redis::Answer{request(options), {}, {}};
                })
      .reply;
}

// It may be repeated, because it has an id.
std::int64_t CountDownLatch::run(const redis::Script& script, const std::vector<std::string_view>& args) {
  const std::vector<std::string_view> keys(keys_.begin(), keys_.end());
  return ask(kNever,
             [&](const redis::CallOptions& options) {
               return client_.eval(script_for(client_.options(), script), keys, args, options).reply;
             })
      .integer;
}

CountDownLatch::State CountDownLatch::look(MonotonicTime deadline, const std::stop_token& stop) {
  bool failed = false, too_late = false;
  redis::Reply reply;
  try {
    reply = ask(deadline, [&](redis::CallOptions options) {
      options.stop = stop;
      try {
        return client_.call({"HMGET", key(), "left", "by", "opened"}, options).reply;
      } catch (const redis::Error& error) {
        const bool timed_out = error.kind() == redis::Error::Kind::timed_out && runtime_.now() >= deadline;
        too_late = timed_out && !failed;
        failed = true;
        throw;
      }
    });
  } catch (const Unavailable&) {
    if (!too_late) throw;
    State late;
    late.too_late = std::current_exception();
    return late;
  }
  if (reply.items.size() != 3 || reply.items[0].is_nil()) return {};
  State state{.left = kGone, .by = reply.items[1].text, .opened = reply.items[2].text};
  const std::string& left = reply.items[0].text;
  const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), state.left);
  if (error != std::errc() || end != left.data() + left.size()) {
    throw Rejected("latch '" + key() + "': this hash is no latch", key(), "", false);
  }
  return state;
}

bool CountDownLatch::set(std::int64_t count) {
  if (count < 1) throw std::invalid_argument("a latch counts down from at least one");
  if (count > kMost) throw std::invalid_argument("a latch counts down from 2^53 at most");
  const std::string id = next_id(), number = std::to_string(count);
  const std::string lifetime = milliseconds_text(options_.lifetime);
  return run(kLatchSet, {id, number, lifetime}) == 1;
}

std::optional<std::int64_t> CountDownLatch::count_down() {
  const std::string id = next_id();
  const std::int64_t left = run(kLatchCountDown, {id});
  return left == kGone ? std::nullopt : std::optional(left);
}

std::optional<std::int64_t> CountDownLatch::count() {
  const std::int64_t left = look(kNever, {}).left;
  return left == kGone ? std::nullopt : std::optional(left);
}

void CountDownLatch::await() { static_cast<void>(await_until(kNever)); }

bool CountDownLatch::await_for(Duration wait, std::stop_token stop) {
  return await_until(end_of_wait(runtime_, wait), std::move(stop));
}

bool CountDownLatch::await_until(MonotonicTime deadline, std::stop_token stop) {
  Wakeup wakeup(runtime_);
  std::unique_ptr<redis::Subscription> subscription;
  std::string awaited;  // the count that we saw first
  bool looked = false;
  for (;;) {
    if (stop.stop_requested()) {
      throw Interrupted("latch '" + key() + "': the wait was stopped", key(), "", false);
    }
    wakeup.clear();
    // An expired deadline still gets one look.
    const State state = look(deadline > runtime_.now() ? deadline : kNever, stop);
    if (looked && state.too_late) return false;  // the answer before it stands
    if (state.too_late) std::rethrow_exception(state.too_late);
    looked = true;
    if (awaited.empty()) awaited = state.by;
    if (state.by == awaited ? state.left == 0 : state.opened == awaited) return true;
    if (state.by != awaited) {
      throw LatchGone("latch '" + key() +
                          "': it vanished before it was seen open (its lifetime was over, or the server " +
                          "lost it)",
                      key(), "", false);
    }
    if (runtime_.now() >= deadline) return false;
    if (!subscription) {
      subscription = client_.subscribe_sharded(
          keys_[2], [&wakeup](std::string_view) { wakeup.signal(); },
          [&wakeup](std::string_view) { wakeup.signal(); });
    }
    wakeup.wait_until(std::min(deadline, deadline_after(runtime_.now(), options_.look_again)), stop);
  }
}

}  // namespace holdfast
