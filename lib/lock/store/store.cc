// WAIT (https://redis.io/docs/latest/commands/wait/) goes out behind the script on the same connection, one
// for all grants that are asked for at once (group_commit.h), and answers how many replicas have acknowledged
// everything that this connection has written. It does not make Redis consistent: an acknowledgement is no
// promise to be elected. With a majority of the *configured* replicas, and a failover that promotes only one
// that has the newest data, a grant survives the failover.
#include "lib/lock/store/store.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lib/lock/store/client_store.h"
#include "lib/lock/store/group_commit.h"
#include "lib/lock/store/survivor_store.h"
#include "lib/redis/error.h"
#include "lib/redis/failure.h"
#include "lib/redis/hash_slot.h"
#include "lib/runtime/task_pool.h"

namespace holdfast {
namespace {

class OneRedis final : public ClientStore {
 public:
  OneRedis(redis::Client& client, const LockOptions& options)
      : ClientStore(client),
        replicas_(options.replicas),
        replica_timeout_(options.replica_timeout),
        grants_(GroupCommit::of(client)),
        renewals_(client.runtime(), "renewal") {}

  redis::Answer acquire(const Wire& wire, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options) override {
    if (replicas_ == 0) return client_.eval(*wire.acquire, keys, args, options);
    const bool cluster = client_.options().cluster;
    const std::uint16_t slot = cluster ? redis::hash_slot(keys[0]) : std::uint16_t{0};
    return acknowledged(
        *wire.acquire, keys, args,
        [&](const Command& command) {
          return grants_->call({.before = {&command, 1},
                                .wait = {static_cast<std::size_t>(replicas_), replica_timeout_},
                                .slot = slot},
                               options);
        },
        [](const redis::Reply& reply) { return !reply.items.empty() && reply.items[0].integer == 0; });
  }
  std::optional<redis::Answer> set_if_absent(std::string_view key, std::string_view owner,
                                             std::string_view lease_ms,
                                             const redis::CallOptions& options) override {
    if (replicas_ > 0) return std::nullopt;
    return client_.call({"SET", key, owner, "NX", "PX", lease_ms}, options);
  }
  Renewal renew(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                const redis::CallOptions& options) override {
    if (client_.options().cluster && args.size() > 2) return renew_by_slot(script, keys, args, options);
    return renew_together(script, keys, args, options);
  }

 private:
  redis::Answer renew_together(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                               const redis::CallOptions& options) {
    if (replicas_ == 0) return renew_alone(script, keys, args, options);
    const std::string replicas = std::to_string(replicas_), timeout = milliseconds_text(replica_timeout_);
    return acknowledged(
        script, keys, args,
        [&](const Command& command) {
          const std::array<Command, 2> commands{command, Command{"WAIT", replicas, timeout}};
          return client_.call_all(commands, on_lane(options, redis::Lane::replica_leases));
        },
        [](const redis::Reply& reply) {
          const auto& items = reply.items;
          return reply.integer == 0 && std::all_of(items.begin(), items.end(), [](const redis::Reply& item) {
                   return item.type != redis::Reply::Type::integer || item.integer == 0;
                 });
        });
  }
  Renewal renew_by_slot(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                        const redis::CallOptions& options);
  redis::Answer renew_alone(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                            const redis::CallOptions& options);
  // `send`: the script with a WAIT behind it; returns both answers. `refused`: by that answer nothing was
  // changed that would have to be replicated.
  redis::Answer acknowledged(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                             const std::function<std::vector<redis::Answer>(const Command&)>& send,
                             bool (*refused)(const redis::Reply&));

  const int replicas_;
  const Duration replica_timeout_;
  const std::shared_ptr<GroupCommit> grants_;
  TaskPool renewals_;  // of several nodes of a Cluster at once
};

// The locks of one slot at a time, and the nodes beside each other: one that does not answer costs nobody
// else a lease. What went wrong with a slot stands as text in the place of each of its locks. Throws only
// when no slot had an answer.
Store::Renewal OneRedis::renew_by_slot(const redis::Script& script, redis::Arguments keys,
                                       redis::Arguments args, const redis::CallOptions& options) {
  const std::size_t locks = args.size() - 1, keys_each = keys.size() / locks;
  struct Group {
    std::vector<std::size_t> locks = {};
    std::vector<std::string_view> keys = {}, args = {};
    std::optional<redis::Answer> answer = std::nullopt;
    std::optional<redis::Error> error = std::nullopt;
  };
  std::map<std::uint16_t, Group> groups;
  for (std::size_t i = 0; i < locks; ++i) {
    Group& group = groups[redis::hash_slot(keys[i * keys_each])];
    if (group.args.empty()) group.args.push_back(args[0]);
    group.locks.push_back(i);
    for (std::size_t k = 0; k < keys_each; ++k) group.keys.push_back(keys[i * keys_each + k]);
    group.args.push_back(args[i + 1]);
  }
  std::map<std::size_t, std::vector<Group*>> nodes;
  for (auto& [slot, group] : groups) nodes[client_.node_of(group.keys.front())].push_back(&group);
  const auto renew_those = [&](const std::vector<Group*>& of_node) {
    for (Group* const group : of_node) {
      try {
        group->answer = renew_together(script, group->keys, group->args, options);
      } catch (const redis::Error& error) {
        group->error = error;
      }
    }
  };
  std::vector<std::function<void()>> jobs;
  for (const auto& [node, of_node] : nodes) jobs.push_back([&, those = &of_node] { renew_those(*those); });
  renewals_.run_all(std::move(jobs));

  std::optional<Renewal> all;
  for (const auto& [slot, group] : groups) {
    if (!group.answer) continue;
    if (!all) {
      all.emplace(redis::Answer{{}, group.answer->node, group.answer->sent_at});
      all->reply.type = redis::Reply::Type::array;
      all->reply.items.resize(locks);
      all->nodes.resize(locks);
    }
    all->sent_at = std::min(all->sent_at, group.answer->sent_at);
  }
  if (!all) throw *groups.begin()->second.error;
  for (auto& [slot, group] : groups) {
    const bool fits = group.answer && group.answer->reply.items.size() == group.locks.size();
    for (std::size_t i = 0; i < group.locks.size(); ++i) {
      redis::Reply& item = all->reply.items[group.locks[i]];
      if (group.answer) all->nodes[group.locks[i]] = group.answer->node;
      if (fits) {
        item = std::move(group.answer->reply.items[i]);
      } else {
        item.type = redis::Reply::Type::bulk;
        item.text =
            group.error ? group.error->what() : "the renewal script gave an answer of an unknown form";
      }
    }
  }
  return std::move(*all);
}

redis::Answer OneRedis::acknowledged(const redis::Script& script, redis::Arguments keys,
                                     redis::Arguments args,
                                     const std::function<std::vector<redis::Answer>(const Command&)>& send,
                                     bool (*refused)(const redis::Reply&)) {
  const std::string count = std::to_string(keys.size());
  std::vector<redis::Answer> answers = send(script_call("EVALSHA", script.sha1, count, keys, args));
  if (is_unknown_script(answers[0].reply))
    answers = send(script_call("EVAL", script.text, count, keys, args));
  for (const redis::Answer& answer : answers) {
    if (answer.reply.is_error()) throw client_.refusal("EVALSHA", answer);
  }
  if (!refused(answers[0].reply) && answers[1].reply.integer < replicas_) {
    throw redis::failure(redis::Error::Kind::unavailable, answers[0].node, "EVALSHA", true,
                         "only " + std::to_string(answers[1].reply.integer) + " of " +
                             std::to_string(replicas_) + " replicas acknowledged it within " +
                             milliseconds_text(replica_timeout_) + " ms");
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
  if (options.survivor) return SurvivorStore::make(client, options);
  return std::make_unique<OneRedis>(client, options);
}

}  // namespace holdfast
