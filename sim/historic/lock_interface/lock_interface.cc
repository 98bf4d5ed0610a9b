#include "sim/historic/lock_interface/lock_interface.h"

#include <array>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/uuid.h"

namespace holdfast::historic {

const redis::Script kLockInterfaceUnlock = historic_scripts::lock_interface_unlock;

LockInterface::LockInterface(redis::Client& client, LockOptions options, std::string key)
    : PollingLock(client, std::move(options), key, key, Forgets::afterwards) {}

std::optional<PollingLock::Granted> LockInterface::attempt() { return set_if_absent(random_uuid(runtime())); }

std::optional<redis::Answer> LockInterface::remove(const std::string& acquisition) {
  const std::array<std::string_view, 1> keys{store_key_}, args{acquisition};
  return client_.eval(kLockInterfaceUnlock, keys, args);
}

}  // namespace holdfast::historic
