#include "sim/historic/redisson/redisson_reentrant.h"

#include <array>

#include "generated/historic_scripts.h"

namespace holdfast::historic {

const redis::Script kRedissonAcquire = historic_scripts::redisson_acquire;
const redis::Script kRedissonUnlock = historic_scripts::redisson_unlock;
const redis::Script kRedissonForceUnlock = historic_scripts::redisson_force_unlock;

RedissonLock::Told RedissonReentrant::ask(Request& request) {
  const std::string lease = std::to_string(request.lease_ms);
  const std::array<std::string_view, 1> keys{key_};
  const std::array<std::string_view, 2> args{lease, request.owner};
  return told(redisson_->eval_write(key_, kRedissonAcquire, keys, args));
}

redis::Answer RedissonReentrant::give_back(const std::string& owner) {
  const std::string lease = std::to_string(lease_ms_->load()), channel = channel_of(key_);
  const std::array<std::string_view, 2> keys{key_, channel};
  const std::array<std::string_view, 3> args{"0", lease, owner};
  return redisson_->eval_write(key_, kRedissonUnlock, keys, args);
}

redis::Answer RedissonReentrant::force() {
  const std::string channel = channel_of(key_);
  const std::array<std::string_view, 2> keys{key_, channel};
  const std::array<std::string_view, 1> args{"0"};
  return redisson_->eval_write(key_, kRedissonForceUnlock, keys, args);
}

}  // namespace holdfast::historic
