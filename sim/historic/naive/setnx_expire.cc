#include "sim/historic/naive/setnx_expire.h"

#include "lib/lock/engine/uuid.h"

namespace holdfast::historic {

SetnxExpire::SetnxExpire(redis::Client& client, LockOptions options, std::string key)
    : PollingLock(client, std::move(options), key, key) {}

std::optional<PollingLock::Granted> SetnxExpire::attempt() {
  const std::string uuid = random_uuid(runtime());
  if (client_.call({"SETNX", store_key_, uuid}).reply.integer == 0) return std::nullopt;
  return Granted{.acquisition = uuid, .answer = client_.call({"EXPIRE", store_key_, lease_s()})};
}

std::optional<redis::Answer> SetnxExpire::remove(const std::string&) {
  return client_.call({"DEL", store_key_});
}

}  // namespace holdfast::historic
