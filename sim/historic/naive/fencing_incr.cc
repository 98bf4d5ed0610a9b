#include "sim/historic/naive/fencing_incr.h"

namespace holdfast::historic {

FencingIncr::FencingIncr(redis::Client& client, LockOptions options, std::string key)
    : LockInterface(client, std::move(options), key), counter_(key + ":fencing") {}

std::optional<PollingLock::Granted> FencingIncr::attempt() {
  std::optional<Granted> grant = LockInterface::attempt();
  if (grant) grant->token = static_cast<std::uint64_t>(client_.call({"INCR", counter_}).reply.integer);
  return grant;
}

}  // namespace holdfast::historic
