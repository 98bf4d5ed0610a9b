#include "sim/historic/redisson/redisson.h"

#include <array>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/lock_error_from.h"
#include "lib/lock/engine/uuid.h"
#include "lib/redis/error.h"
#include "lib/redis/failure.h"

namespace holdfast::historic {

const redis::Script kRedissonRenew = historic_scripts::redisson_renew;

namespace {

LockOptions checked(LockOptions options) {
  if (options.lease < std::chrono::milliseconds(1))
    throw std::invalid_argument("a lease must be at least 1 ms");
  return options;
}

}  // namespace

std::string prefixed(std::string_view prefix, const std::string& key) {
  std::string name(prefix);
  return key.find('{') == std::string::npos ? name.append(":{").append(key).append("}")
                                            : name.append(":").append(key);
}

Redisson::Redisson(redis::Client& client, LockOptions options, RedissonRenewals::Persistence persistence,
                   std::string uuid)
    : client_(client),
      replicas_(static_cast<int>(client.options().nodes.size()) - 1),
      options_(checked(std::move(options))),
      uuid_(uuid.empty() ? random_uuid(client.runtime()) : std::move(uuid)),
      mutex_(client.runtime()),
      changed_(client.runtime()),
      latches_(client),
      renewals_(client.runtime(), persistence) {}

Redisson::~Redisson() {
  try {
    {
      const std::scoped_lock guard(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    renewals_.close();
  } catch (const TaskCancelled&) {
  }
}

std::int64_t Redisson::lease_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count();
}

bool Redisson::pause(Duration time) {
  std::unique_lock guard(mutex_);
  const MonotonicTime until = deadline_after(client_.runtime().now(), time);
  return !changed_.wait_until(guard, until, [this] { return closing_; });
}

template <class Once>
redis::Answer Redisson::answered(const std::string& name, const Once& once) {
  bool unseen = false;  // an earlier try may have been executed
  for (int attempt = 0;; ++attempt) {
    try {
      return once();
    } catch (const redis::Error& error) {
      unseen = unseen || error.may_have_executed();
      const bool answered = !error.code().empty();  // only what was not answered is sent again
      if (answered || !error.worth_another_attempt() || attempt == kRetryAttempts || !pause(kRetryInterval)) {
        throw_lock_error(error, name, unseen);
      }
    }
  }
}

redis::Answer Redisson::eval_write(const std::string& name, const redis::Script& script,
                                   redis::Arguments keys, redis::Arguments args, bool background) {
  return answered(name, [&] { return eval_and_wait(script, keys, args, replicas(), background).first; });
}

redis::Answer Redisson::eval_unsynced(const std::string& name, const redis::Script& script,
                                      redis::Arguments keys, redis::Arguments args) {
  return answered(name, [&] { return client_.eval(script, keys, args); });
}

redis::Answer Redisson::call(const std::string& name, redis::Arguments command) {
  return answered(name, [&] { return client_.call(command); });
}

std::pair<redis::Answer, std::int64_t> Redisson::eval_and_wait(const redis::Script& script,
                                                               redis::Arguments keys, redis::Arguments args,
                                                               int replicas, bool background) {
  const redis::CallOptions call{.background = background};
  if (replicas <= 0) return {client_.eval(script, keys, args, call), 0};
  const std::string count = std::to_string(keys.size()), wanted = std::to_string(replicas);
  std::vector<std::string_view> head{"EVALSHA", script.sha1, count};
  for (;;) {
    std::array<std::vector<std::string_view>, 2> commands{head, {"WAIT", wanted, kSyncTimeoutMs}};
    commands[0].insert(commands[0].end(), keys.begin(), keys.end());
    commands[0].insert(commands[0].end(), args.begin(), args.end());
    std::vector<redis::Answer> answers = client_.call_all(commands, call);
    redis::Answer& answer = answers.front();
    if (!answer.reply.is_error()) return {std::move(answer), answers.back().reply.integer};
    if (answer.reply.error_code() != "NOSCRIPT" || head.front() == "EVAL") {
      throw redis::rejection(answer.node, head.front(), answer.reply);
    }
    head = {"EVAL", script.text, count};
  }
}

RedissonRenewals::Outcome Redisson::renew(const std::string& name, const std::string& owner,
                                          const redis::Script& script, redis::Arguments keys,
                                          std::int64_t lease_ms) {
  const std::string lease = std::to_string(lease_ms);
  LockEvent event{.kind = LockEvent::Kind::renewing, .key = name, .acquisition = owner};
  tell(event);
  const std::array<std::string_view, 2> args{lease, owner};
  try {
    const redis::Answer answer = eval_write(name, script, keys, args, true);
    event.node = answer.node;
    if (answer.reply.integer == 1) {
      event.kind = LockEvent::Kind::renewed;
      event.sent_at = answer.sent_at;
      event.valid_until = answer.sent_at + std::chrono::milliseconds(lease_ms);
      tell(event);
      return RedissonRenewals::Outcome::renewed;
    }
    event.kind = LockEvent::Kind::renew_failed;
    event.reason = "the server no longer holds it for this owner";
    tell(event);
    return RedissonRenewals::Outcome::gone;
  } catch (const LockError& error) {
    event.kind = LockEvent::Kind::renew_failed;
    event.reason = error.what();
    tell(event);
    return RedissonRenewals::Outcome::failed;
  }
}

}  // namespace holdfast::historic
