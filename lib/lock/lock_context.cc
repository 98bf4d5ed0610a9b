#include "lock_context.h"

#include "checked_options.h"
#include "uuid.h"

namespace holdfast {

std::string milliseconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

LockContext::LockContext(redis::Client& client_in, LockOptions options_in)
    : client(client_in),
      runtime(client_in.runtime()),
      options(checked_options(std::move(options_in))),
      lease_ms(milliseconds(options.lease)),
      uuid(random_uuid(runtime)),
      late_release(client_in),
      watchdog(client_in, late_release, options) {}

std::string LockContext::next_owner() {
  const std::string number = std::to_string(next_number++);
  std::string owner;
  owner.reserve(uuid.size() + 1 + number.size());
  return owner.append(uuid).append(1, ':').append(number);
}

}  // namespace holdfast
