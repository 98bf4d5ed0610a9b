// WAIT (https://redis.io/docs/latest/commands/wait/) goes out right behind the script on the same connection
// and answers how many replicas have acknowledged everything that this connection has written. It does not
// make Redis consistent: an acknowledgement is no promise to be elected. With a majority of the *configured*
// replicas, and a failover that promotes only one that has the newest data, a grant survives the failover.
#include "lib/lock/store/store.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lib/redis/failure.h"

namespace holdfast {
namespace {

using Command = std::vector<std::string_view>;

Command script_call(std::string_view name, std::string_view script, std::string_view count,
                    redis::Arguments keys, redis::Arguments args) {
  Command command{name, script, count};
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), args.begin(), args.end());
  return command;
}

bool is_error(const redis::Reply& reply, std::string_view code) {
  return reply.type == redis::Reply::Type::error && reply.text.starts_with(code);
}

class OneRedis final : public Store {
 public:
  OneRedis(redis::Client& client, const LockOptions& options)
      : client_(client), replicas_(options.replicas), replica_timeout_(options.replica_timeout) {}

  redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) override {
    return acknowledged(*wire.acquire, keys, args, options, [](const redis::Reply& reply) {
      return !reply.items.empty() && reply.items[0].integer == 0;
    });
  }
  std::optional<redis::Answer> set_if_absent(std::string_view key, std::string_view owner,
                                             std::string_view lease_ms,
                                             const redis::CallOptions& options) override {
    if (replicas_ > 0) return std::nullopt;
    return client_.call({"SET", key, owner, "NX", "PX", lease_ms}, options);
  }
  redis::Answer renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                      const redis::CallOptions& options) override {
    return acknowledged(script, keys, args, options, [](const redis::Reply& reply) {
      const auto& items = reply.items;
      return reply.integer == 0 && std::all_of(items.begin(), items.end(), [](const redis::Reply& item) {
               return item.type != redis::Reply::Type::integer || item.integer == 0;
             });
    });
  }
  redis::Answer call(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                     const redis::CallOptions& options) override {
    return client_.eval(script, keys, args, options);
  }
  std::unique_ptr<redis::Subscription> subscribe(const std::string& channel,
                                                 std::function<void(std::string_view)> on_message,
                                                 std::function<void()> on_subscribed) override {
    return client_.subscribe(channel, std::move(on_message), std::move(on_subscribed));
  }
  Runtime& runtime() noexcept override { return client_.runtime(); }
  const redis::ClientOptions& options() const noexcept override { return client_.options(); }

 private:
  // `refused`: by that answer nothing was changed that would have to be replicated.
  redis::Answer acknowledged(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                             const redis::CallOptions& options, bool (*refused)(const redis::Reply&));

  redis::Client& client_;
  const int replicas_;
  const Duration replica_timeout_;
};

redis::Answer OneRedis::acknowledged(const redis::Script& script, redis::Arguments keys,
                                     redis::Arguments args, const redis::CallOptions& options,
                                     bool (*refused)(const redis::Reply&)) {
  if (replicas_ == 0) return client_.eval(script, keys, args, options);
  const std::string count = std::to_string(keys.size()), replicas = std::to_string(replicas_);
  const std::string timeout = milliseconds_text(replica_timeout_);
  std::array<Command, 2> commands{script_call("EVALSHA", script.sha1, count, keys, args),
                                  Command{"WAIT", replicas, timeout}};
  std::vector<redis::Answer> answers = client_.call_all(commands, options);
  if (is_error(answers[0].reply, "NOSCRIPT")) {
    commands[0] = script_call("EVAL", script.text, count, keys, args);
    answers = client_.call_all(commands, options);
  }
  for (const redis::Answer& answer : answers) {
    if (answer.reply.is_error()) throw redis::rejection(answer.node, "EVALSHA", answer.reply);
  }
  if (!refused(answers[0].reply) && answers[1].reply.integer < replicas_) {
    throw redis::failure(redis::Error::Kind::unavailable, answers[0].node, "EVALSHA", true,
                         "only " + std::to_string(answers[1].reply.integer) + " of " + replicas +
                             " replicas acknowledged it within " + timeout + " ms");
  }
  return std::move(answers[0]);
}

}  // namespace

std::unique_ptr<Store> make_store(redis::Client& client, const LockOptions& options) {
  return std::make_unique<OneRedis>(client, options);
}

}  // namespace holdfast
