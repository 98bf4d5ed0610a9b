#include "lib/lock/engine/lock_context.h"

#include <algorithm>
#include <array>

#include "lib/lock/engine/checked_options.h"
#include "lib/lock/engine/retry.h"
#include "lib/lock/engine/uuid.h"
#include "lib/runtime/check.h"

namespace holdfast {

LockContext::LockContext(std::unique_ptr<Store> store_in, LockOptions options_in)
    : store_owner(std::move(store_in)),
      store(*store_owner),
      runtime(store.runtime()),
      options(checked_options(std::move(options_in))),
      lease_ms(milliseconds_text(options.lease)),
      uuid(telling_uuid(runtime)),
      late_release(store),
      wake_channel(store, uuid, late_release),
      watchdog(store, late_release, options) {}

void LockContext::check_process(const std::string& key) const {
  if (!forked()) return;
  throw Forked("lock '" + key +
                   "': this process is a fork of the one that made the lock, and a hold of it would be the " +
                   "parent's, too: make a client and locks of your own in the child",
               key, "", false);
}

std::string LockContext::next_owner() {
  late_release.start_if_stuck();
  const std::string number = std::to_string(next_number++);
  std::string owner;
  owner.reserve(uuid.size() + 1 + number.size());
  return owner.append(uuid).append(1, ':').append(number);
}

redis::Answer LockContext::insist(const std::string& key, const redis::Script& script,
                                  const std::vector<std::string>& script_keys, redis::Arguments args,
                                  bool& unseen, Way way, MonotonicTime until) {
  std::array<std::string_view, 8> views;
  HF_CHECK(script_keys.size() <= views.size(), "room for them");
  std::copy(script_keys.begin(), script_keys.end(), views.begin());
  const redis::Arguments keys(views.data(), script_keys.size());
  return holdfast::insist(runtime, store.options(), key, until, unseen, [&](const redis::CallOptions& call) {
    return way == Way::renew ? store.renew(script, keys, args, call) : store.call(script, keys, args, call);
  });
}

}  // namespace holdfast
