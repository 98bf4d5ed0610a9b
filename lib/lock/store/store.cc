// WAIT (https://redis.io/docs/latest/commands/wait/) goes out right behind the script on the same connection
// and answers how many replicas have acknowledged everything that this connection has written. It does not
// make Redis consistent: an acknowledgement is no promise to be elected. With a majority of the *configured*
// replicas, and a failover that promotes only one that has the newest data, a grant survives the failover.
#include "lib/lock/store/store.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lib/lock/store/release_batch.h"
#include "lib/redis/error.h"
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

bool is_unknown_script(const redis::Reply& reply) {
  return reply.is_error() && redis::meaning_of(reply.text) == redis::Meaning::unknown;
}

redis::CallOptions on_lane(redis::CallOptions options, redis::Lane lane) {
  options.lane = lane;
  return options;
}

std::string place_of(const redis::ClientOptions& options) {
  std::vector<std::string> addresses;
  for (const redis::Node& node : options.nodes) addresses.push_back(node.endpoint.to_string());
  if (!options.sentinels.empty()) {  // then the nodes are names only
    addresses.assign(1, options.primary_name);
    for (const redis::Node& sentinel : options.sentinels) addresses.push_back(sentinel.endpoint.to_string());
  }
  std::sort(addresses.begin(), addresses.end());
  std::string place;
  for (const std::string& address : addresses) place.append(address).append(1, ',');
  return place + std::to_string(options.database);
}

class OneRedis final : public Store {
 public:
  OneRedis(redis::Client& client, const LockOptions& options)
      : client_(client), replicas_(options.replicas), replica_timeout_(options.replica_timeout) {}

  redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) override {
    if (replicas_ == 0) return client_.eval(*wire.acquire, keys, args, options);
    return acknowledged(
        *wire.acquire, keys, args, on_lane(options, redis::Lane::replicas),
        [](const redis::Reply& reply) { return !reply.items.empty() && reply.items[0].integer == 0; });
  }
  std::optional<redis::Answer> set_if_absent(std::string_view key, std::string_view owner,
                                             std::string_view lease_ms,
                                             const redis::CallOptions& options) override {
    if (replicas_ > 0) return std::nullopt;
    return client_.call({"SET", key, owner, "NX", "PX", lease_ms}, options);
  }
  redis::Answer renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                      const redis::CallOptions& options) override {
    if (replicas_ == 0) return renew_alone(script, keys, args, options);
    return acknowledged(
        script, keys, args, on_lane(options, redis::Lane::replica_leases), [](const redis::Reply& reply) {
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
  std::vector<std::optional<redis::Error>> release_all(std::span<const Release> releases,
                                                       const redis::CallOptions& options) override {
    return release_together(client_, releases, options);
  }
  bool run_callback(std::function<void()> callback) override {
    return client_.run_callback(std::move(callback));
  }
  std::unique_ptr<redis::Subscription> subscribe(const std::string& channel,
                                                 std::function<void(std::string_view)> on_message,
                                                 std::function<void()> on_subscribed) override {
    return client_.subscribe(channel, std::move(on_message), std::move(on_subscribed));
  }
  std::string place() const override { return place_of(client_.options()); }
  Runtime& runtime() noexcept override { return client_.runtime(); }
  const redis::ClientOptions& options() const noexcept override { return client_.options(); }

 private:
  redis::Answer renew_alone(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                            const redis::CallOptions& options);
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
  const std::string count = std::to_string(keys.size()), replicas = std::to_string(replicas_);
  const std::string timeout = milliseconds_text(replica_timeout_);
  std::array<Command, 2> commands{script_call("EVALSHA", script.sha1, count, keys, args),
                                  Command{"WAIT", replicas, timeout}};
  std::vector<redis::Answer> answers = client_.call_all(commands, options);
  if (is_unknown_script(answers[0].reply)) {
    commands[0] = script_call("EVAL", script.text, count, keys, args);
    answers = client_.call_all(commands, options);
  }
  for (const redis::Answer& answer : answers) {
    if (answer.reply.is_error()) throw client_.refusal("EVALSHA", answer);
  }
  if (!refused(answers[0].reply) && answers[1].reply.integer < replicas_) {
    throw redis::failure(redis::Error::Kind::unavailable, answers[0].node, "EVALSHA", true,
                         "only " + std::to_string(answers[1].reply.integer) + " of " + replicas +
                             " replicas acknowledged it within " + timeout + " ms");
  }
  return std::move(answers[0]);
}

// Where no further connection can be made (the server's limit is reached), the shared one has to do.
redis::Answer OneRedis::renew_alone(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                                    const redis::CallOptions& options) {
  try {
    return client_.eval(script, keys, args, on_lane(options, redis::Lane::renewals));
  } catch (const redis::Error& error) {
    const bool not_connected = error.kind() == redis::Error::Kind::unavailable && error.code().empty();
    if (!not_connected || error.may_have_executed()) throw;
  }
  return client_.eval(script, keys, args, options);
}

}  // namespace

std::vector<std::optional<redis::Error>> Store::release_all(std::span<const Release> releases,
                                                            const redis::CallOptions& options) {
  std::vector<std::optional<redis::Error>> errors(releases.size());
  for (std::size_t i = 0; i < releases.size(); ++i) {
    const Wire& wire = *releases[i].wire;
    const std::vector<std::string_view> keys(wire.release_keys.begin(), wire.release_keys.end());
    try {
      call(*wire.release, keys, wire.release_args(releases[i].owner), options);
    } catch (const redis::Error& error) {
      errors[i] = error;
      // A server that does not answer will not for the others either.
      if (error.code().empty() && error.worth_another_attempt()) {
        for (std::size_t later = i + 1; later < releases.size(); ++later) errors[later] = error;
        break;
      }
    }
  }
  return errors;
}

std::unique_ptr<Store> make_store(redis::Client& client, const LockOptions& options) {
  return std::make_unique<OneRedis>(client, options);
}

}  // namespace holdfast
