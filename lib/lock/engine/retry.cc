#include "lib/lock/engine/retry.h"

#include <algorithm>

#include "lib/lock/engine/lock_error_from.h"

namespace holdfast {

Duration Retry::pause_after(const redis::Error& error) {
  Duration pause = std::max(options_.backoff_min, Duration(std::chrono::microseconds(100)));
  if (error.code().empty()) return pause;
  const Duration most = std::max(pause, std::min(options_.backoff_max, kLongestPause));
  for (std::size_t i = 0; i < refusals_ && pause < most; ++i) pause *= 2;
  pause = std::min(pause, most);
  ++refusals_;
  // Many ask the same server: not all at the same moment.
  const auto high = static_cast<std::uint64_t>(pause.count());
  return Duration(static_cast<Duration::rep>(runtime_.random_between(high / 2, high)));
}

redis::Answer insist(Runtime& runtime, const redis::ClientOptions& options, const std::string& key,
                     MonotonicTime until, bool& unseen,
                     const std::function<redis::Answer(const redis::CallOptions&)>& request) {
  const MonotonicTime give_up = std::min(until, deadline_after(runtime.now(), options.command_timeout));
  Retry retry(runtime, options);
  unseen = false;
  for (;;) {
    try {
      return request({.deadline = give_up});
    } catch (const redis::Error& error) {
      unseen = unseen || error.may_have_executed();
      if (!error.worth_another_attempt() || runtime.now() >= give_up) throw_lock_error(error, key, unseen);
      runtime.sleep_until(std::min(give_up, deadline_after(runtime.now(), retry.pause_after(error))));
    }
  }
}

}  // namespace holdfast
