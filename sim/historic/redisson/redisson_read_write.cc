#include "sim/historic/redisson/redisson_read_write.h"

#include <array>
#include <utility>

#include "generated/historic_scripts.h"

namespace holdfast::historic {

const redis::Script kRedissonReadAcquire = historic_scripts::redisson_read_acquire;
const redis::Script kRedissonReadUnlock = historic_scripts::redisson_read_unlock;
const redis::Script kRedissonReadRenew = historic_scripts::redisson_read_renew;
const redis::Script kRedissonWriteAcquire = historic_scripts::redisson_write_acquire;
const redis::Script kRedissonWriteUnlock = historic_scripts::redisson_write_unlock;

namespace {

constexpr std::string_view kChannel = "redisson_rwlock";
constexpr std::string_view kWriter = ":write";
constexpr std::string_view kWakeOne = "0", kWakeAll = "1";

std::string braced(const std::string& key) {
  return key.find('{') == std::string::npos ? "{" + key + "}" : key;
}

redis::Answer force_side(Redisson& redisson, const std::string& key, const std::string& channel,
                         std::string_view message, std::string_view mode) {
  const std::array<std::string_view, 2> keys{key, channel};
  const std::array<std::string_view, 2> args{message, mode};
  return redisson.eval_write(key, historic_scripts::redisson_rwlock_force_unlock, keys, args);
}

}  // namespace

// --- the read side -------------------------------------------------------------------------------------

RedissonReadLock::RedissonReadLock(std::shared_ptr<Redisson> redisson, std::string key)
    : RedissonLock(std::move(redisson), std::move(key)),
      channel_(prefixed(kChannel, key_)),
      braced_(braced(key_)) {}

RedissonLock::Told RedissonReadLock::ask(Request& request) {
  const std::string lease = std::to_string(request.lease_ms), timeouts = timeouts_of(request.owner),
                    writer = request.owner + std::string(kWriter);
  const std::array<std::string_view, 2> keys{key_, timeouts};
  const std::array<std::string_view, 3> args{lease, request.owner, writer};
  return told(redisson_->eval_write(key_, kRedissonReadAcquire, keys, args));
}

redis::Answer RedissonReadLock::give_back(const std::string& owner) {
  const std::string timeouts = timeouts_of(owner);
  const std::array<std::string_view, 4> keys{key_, channel_, timeouts, braced_};
  const std::array<std::string_view, 2> args{kWakeOne, owner};
  return redisson_->eval_write(key_, kRedissonReadUnlock, keys, args);
}

redis::Answer RedissonReadLock::force() { return force_side(*redisson_, key_, channel_, kWakeOne, mode()); }

RedissonRenewals::Renew RedissonReadLock::renewal() const {
  return [redisson = redisson_.get(), prefix = braced_](const std::string& name, TaskId thread,
                                                        std::int64_t lease_ms) {
    const std::array<std::string_view, 2> keys{name, prefix};
    return redisson->renew(name, redisson->owner(thread), kRedissonReadRenew, keys, lease_ms);
  };
}

// --- the write side ------------------------------------------------------------------------------------

RedissonWriteLock::RedissonWriteLock(std::shared_ptr<Redisson> redisson, std::string key)
    : RedissonLock(std::move(redisson), std::move(key)), channel_(prefixed(kChannel, key_)) {}

std::string RedissonWriteLock::owner_name(TaskId thread) const {
  return redisson_->owner(thread) + std::string(kWriter);
}

RedissonLock::Told RedissonWriteLock::ask(Request& request) {
  const std::string lease = std::to_string(request.lease_ms);
  const std::array<std::string_view, 1> keys{key_};
  const std::array<std::string_view, 2> args{lease, request.owner};
  return told(redisson_->eval_write(key_, kRedissonWriteAcquire, keys, args));
}

redis::Answer RedissonWriteLock::give_back(const std::string& owner) {
  const std::string lease = std::to_string(lease_ms_->load());
  const std::array<std::string_view, 2> keys{key_, channel_};
  const std::array<std::string_view, 3> args{kWakeAll, lease, owner};
  return redisson_->eval_write(key_, kRedissonWriteUnlock, keys, args);
}

redis::Answer RedissonWriteLock::force() { return force_side(*redisson_, key_, channel_, kWakeAll, mode()); }

RedissonRenewals::Renew RedissonWriteLock::renewal() const {
  return [redisson = redisson_.get()](const std::string& name, TaskId thread, std::int64_t lease_ms) {
    const std::array<std::string_view, 1> keys{name};
    return redisson->renew(name, redisson->owner(thread) + std::string(kWriter), kRedissonRenew, keys,
                           lease_ms);
  };
}

}  // namespace holdfast::historic
