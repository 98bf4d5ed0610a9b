#include "sim/historic/redisson/redisson_wait_connected.h"

#include <array>
#include <charconv>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/lock_error_from.h"
#include "lib/lock/engine/uuid.h"
#include "lib/redis/error.h"
#include "sim/historic/redisson/redisson_reentrant.h"

namespace holdfast::historic {

const redis::Script kRedissonLatchUnlock = historic_scripts::redisson_latch_unlock;

namespace {

constexpr std::string_view kLatchMs = "13500";  // (timeout 3000 + delay 1500) x 3 attempts
constexpr std::string_view kConnected = "connected_slaves:";

}  // namespace

int ConnectedReplicas::count() {
  {
    const std::scoped_lock guard(mutex_);
    if (known_) return *known_;
  }
  const std::string info = ask();
  int replicas = 0;
  const std::size_t at = info.find(kConnected);
  if (at != std::string::npos) {
    std::from_chars(info.data() + at + kConnected.size(), info.data() + info.size(), replicas);
  }
  const std::scoped_lock guard(mutex_);
  known_ = replicas;
  return replicas;
}

std::string ConnectedReplicas::ask() {
  for (int attempt = 0;; ++attempt) {
    try {
      return redisson_->client().call({"INFO", "replication"}).reply.text;
    } catch (const redis::Error& error) {
      const bool again = error.code().empty() && error.worth_another_attempt();
      if (!again || attempt == Redisson::kRetryAttempts || !redisson_->pause(Redisson::kRetryInterval)) throw;
    }
  }
}

void ConnectedReplicas::acknowledged(std::int64_t replicas) {
  const std::scoped_lock guard(mutex_);
  if (known_ && *known_ != replicas) known_.reset();
}

CheckedAnswer eval_checked(Redisson& redisson, ConnectedReplicas& replicas, const redis::Script& script,
                           redis::Arguments keys, redis::Arguments args) {
  const int connected = redisson.replicas() > 0 ? replicas.count() : 0;
  auto [answer, synced] = redisson.eval_and_wait(script, keys, args, connected, false);
  if (connected > 0) replicas.acknowledged(synced);
  return {std::move(answer), connected == 0 || synced > 0};
}

RedissonLock::Told RedissonWaitConnected::ask(Request& request) {
  const std::string lease = std::to_string(request.lease_ms);
  const std::array<std::string_view, 1> keys{key_};
  const std::array<std::string_view, 2> args{lease, request.owner};
  bool unseen = false;  // a grant may not have been taken back
  for (int attempt = 0;; ++attempt) {
    CheckedAnswer checked;
    try {
      checked = eval_checked(kRedissonAcquire, keys, args);
    } catch (const redis::Error& error) {
      throw_lock_error(error, key_, unseen || error.may_have_executed());
    }
    Told answer = told(std::move(checked.answer));
    if (answer.ttl_ms || checked.synced) return answer;
    try {
      unlock_once(request.owner, latch_name());
    } catch (const redis::Error&) {
      unseen = true;
    }
    if (attempt == Redisson::kRetryAttempts || !redisson_->pause(Redisson::kRetryInterval)) {
      throw Unavailable("lock '" + key_ + "': none of the replicas acknowledged it", key_,
                        std::string(answer.answer.node), unseen);
    }
  }
}

std::string RedissonWaitConnected::latch_name() const {
  return prefixed("redisson_unlock_latch", key_) + ":" + random_uuid(runtime());
}

CheckedAnswer RedissonWaitConnected::unlock_once(const std::string& owner, const std::string& latch) {
  const std::string lease = std::to_string(lease_ms_->load()), channel = channel_of(key_);
  const std::array<std::string_view, 3> keys{key_, channel, latch};
  const std::array<std::string_view, 5> args{"0", lease, owner, "publish", kLatchMs};
  return eval_checked(kRedissonLatchUnlock, keys, args);
}

redis::Answer RedissonWaitConnected::give_back(const std::string& owner) {
  const std::string latch = latch_name();
  bool unseen = false;
  for (int attempt = 0;; ++attempt) {
    const bool last = attempt == Redisson::kRetryAttempts;
    try {
      CheckedAnswer checked = unlock_once(owner, latch);
      if (!checked.synced && last) {
        throw Unavailable("lock '" + key_ + "': none of the replicas acknowledged its release", key_,
                          std::string(checked.answer.node), true);
      }
      if (checked.synced) {
        redisson_->client().call({"DEL", latch});
        return std::move(checked.answer);
      }
    } catch (const redis::Error& error) {
      unseen = unseen || error.may_have_executed();
      if (last || !error.code().empty() || !error.worth_another_attempt())
        throw_lock_error(error, key_, unseen);
    }
    if (!redisson_->pause(Redisson::kRetryInterval)) {
      throw Unavailable("lock '" + key_ + "': shut down while it was released", key_, "", true);
    }
  }
}

redis::Answer RedissonWaitConnected::force() {
  const std::string channel = channel_of(key_);
  const std::array<std::string_view, 2> keys{key_, channel};
  const std::array<std::string_view, 1> args{"0"};
  return redisson_->eval_write(key_, kRedissonForceUnlock, keys, args);
}

}  // namespace holdfast::historic
