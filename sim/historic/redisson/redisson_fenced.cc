#include "sim/historic/redisson/redisson_fenced.h"

#include <array>
#include <charconv>
#include <utility>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/lock_error_from.h"
#include "lib/redis/error.h"

namespace holdfast::historic {

const redis::Script kRedissonFencedAcquire = historic_scripts::redisson_fenced_acquire;

RedissonLock::Told RedissonFenced::ask(Request& request) {
  const std::string lease = std::to_string(request.lease_ms), counter = counter_of(key_);
  const std::array<std::string_view, 2> keys{key_, counter};
  const std::array<std::string_view, 2> args{lease, request.owner};
  CheckedAnswer checked;
  try {
    checked = eval_checked(kRedissonFencedAcquire, keys, args);
  } catch (const redis::Error& error) {
    throw_lock_error(error, key_, error.may_have_executed());
  }
  // An answer of another shape, such as corrupt bytes make: the published client fails to convert it.
  if (checked.answer.reply.items.empty()) {
    throw Unavailable("lock '" + key_ + "': the answer is none of its script's", key_,
                      std::string(checked.answer.node), true);
  }
  Told told;
  const std::int64_t ttl_ms = checked.answer.reply.items.front().integer;
  if (ttl_ms != -1) told.ttl_ms = ttl_ms;
  told.answer = std::move(checked.answer);
  if (!told.ttl_ms && !checked.synced) {
    throw Unavailable("lock '" + key_ + "': none of the replicas acknowledged it", key_,
                      std::string(told.answer.node), true);
  }
  return told;
}

std::optional<std::uint64_t> RedissonFenced::token() const {
  const std::string counter = counter_of(key_);
  const std::array<std::string_view, 2> command{"GET", counter};
  const redis::Answer answer = redisson_->call(key_, command);
  if (answer.reply.is_nil()) return std::nullopt;
  std::uint64_t token = 0;
  std::from_chars(answer.reply.text.data(), answer.reply.text.data() + answer.reply.text.size(), token);
  return token;
}

}  // namespace holdfast::historic
