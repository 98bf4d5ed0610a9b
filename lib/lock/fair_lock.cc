#include "fair_lock.h"

#include <algorithm>
#include <charconv>

#include "fair_scripts.h"
#include "generated/lock_scripts.h"
#include "reentrant_scripts.h"
#include "wire_lock.h"

namespace holdfast {

const redis::Script kFairAcquire = lock_scripts::fair_acquire;
const redis::Script kFairRelease = lock_scripts::fair_release;
const redis::Script kFairForce = lock_scripts::fair_force;

// "<head>\n<ms for which it counts as alive>\n<next>": the head asks at once, the next one when the head
// should turn out to be dead. No head: nobody stands in the queue, and whoever waits all the same (its place
// was lost with the queue) has to ask.
Duration heard_on_fair_channel(std::string_view message, std::string_view owner) {
  const auto line = [&] {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string_view first = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    return first;
  };
  const std::string_view head = line();
  if (head.empty() || head == owner) return Duration::zero();
  const std::string_view alive = line();
  std::int64_t ms = 0;
  std::from_chars(alive.data(), alive.data() + alive.size(), ms);
  ms = std::clamp<std::int64_t>(ms, 0, 86'400'000);  // anybody can publish anything
  return line() == owner ? Duration(std::chrono::milliseconds(ms + 1)) : Wire::kForever;
}

Wire fair_wire(const std::string& key, bool fencing) {
  const std::string queue = beside_key("holdfast:fair:queue", key);
  const std::string patience = beside_key("holdfast:fair:patience", key);
  const std::string channel = beside_key("holdfast:fair:channel", key);
  Wire wire{.key = key,
            .acquire = &kFairAcquire,
            .release = &kFairRelease,
            .renew = &kReentrantRenew,
            .force = &kFairForce,
            .acquire_keys = {key, queue, patience},
            .release_keys = {key, queue, patience, channel},
            .renew_keys = {key},
            .channel = channel,
            .heard = heard_on_fair_channel,
            .local_queue = false,
            .server_queue = true};
  if (fencing) wire.acquire_keys.push_back(token_key(key));
  return wire;
}

std::shared_ptr<Lock> FairLocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, fair_wire(key, context_->options.fencing));
}

}  // namespace holdfast
