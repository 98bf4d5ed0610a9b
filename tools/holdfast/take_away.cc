#include "tools/holdfast/take_away.h"

#include <string_view>

#include "lib/lock/engine/wire.h"
#include "lib/lock/read_write/read_write_scripts.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/runtime/check.h"

namespace holdfast::tools {
namespace {

// Stands before the release of the kind of lock: one script, which does nothing for who is no holder. (The
// release alone takes a waiter out of the queue, too.) What KEYS[1] and KEYS[2] are, the scripts say.
constexpr std::string_view kOnlyAHolder = R"(
do
  local kind, held = redis.call('type', KEYS[1]).ok, false
  if kind == 'string' then
    local record = redis.call('get', KEYS[1])
    held = record == ARGV[1] or record == ARGV[1] .. ' write'
        or record == 'readers' and redis.call('zscore', KEYS[2], ARGV[1])
  elseif kind == 'zset' then
    held = redis.call('zscore', KEYS[1], ARGV[1])
  elseif kind == 'hash' then
    held = redis.call('hexists', KEYS[1], ARGV[1]) == 1
  end
  if not held then return 0 end
end
)";

// As the lock that holds it speaks; with tokens where the key has had one, for whom it is handed to.
Wire wire_of(const HeldLock& lock) {
  LockOptions options{.fencing = lock.token.has_value()};
  switch (lock.kind) {
    case HeldLock::Kind::write: return read_write_wire(lock.key, Side::write, false, options);
    case HeldLock::Kind::read: return read_write_wire(lock.key, Side::read, false, options);
    case HeldLock::Kind::semaphore: return semaphore_wire(lock.key, 1, options);
    case HeldLock::Kind::redisson: return redisson_wire(lock.key);
    case HeldLock::Kind::exclusive:
    case HeldLock::Kind::latch: break;
  }
  return reentrant_wire(lock.key, options);
}

}  // namespace

TakenAway take_away(redis::Client& client, const HeldLock& lock) {
  HF_CHECK(lock.kind != HeldLock::Kind::latch, "nobody holds a latch");
  const Wire wire = wire_of(lock);
  const std::string script = std::string(kOnlyAHolder) + std::string(wire.release->text);
  const std::string keys = std::to_string(wire.release_keys.size());
  std::vector<std::string_view> command = {"EVAL", script, keys};
  command.insert(command.end(), wire.release_keys.begin(), wire.release_keys.end());
  const std::vector<std::string_view> arguments = wire.release_args(lock.owner);
  command.insert(command.end(), arguments.begin(), arguments.end());
  const redis::Reply reply = client.call(command).reply;
  TakenAway taken{.held = released(reply) == 1};
  // {1, owner[, "read", "write" or permits], ...}
  const bool alone = lock.kind == HeldLock::Kind::exclusive || lock.kind == HeldLock::Kind::redisson;
  for (std::size_t i = 1; i < reply.items.size(); i += alone ? 1 : 2) {
    taken.holders.push_back(reply.items[i].text);
  }
  return taken;
}

}  // namespace holdfast::tools
