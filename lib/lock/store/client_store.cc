#include "lib/lock/store/client_store.h"

#include <algorithm>

#include "lib/lock/store/release_batch.h"
#include "lib/lock/store/sharded_scripts.h"
#include "lib/redis/failure.h"

namespace holdfast {

redis::Answer ClientStore::call(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                                const redis::CallOptions& options) {
  return client_.eval(script_for(client_.options(), script), keys, args, options);
}

std::vector<std::optional<redis::Error>> ClientStore::release_all(std::span<const Release> releases,
                                                                  const redis::CallOptions& options) {
  return release_together(client_, releases, options);
}

bool ClientStore::run_callback(std::function<void()> callback) {
  return client_.run_callback(std::move(callback));
}

std::unique_ptr<redis::Subscription> ClientStore::subscribe(const std::string& channel,
                                                            std::function<void(std::string_view)> on_message,
                                                            std::function<void()> on_subscribed) {
  return client_.subscribe(channel, std::move(on_message), std::move(on_subscribed));
}

std::unique_ptr<redis::Subscription> ClientStore::subscribe_sharded(
    const std::string& channel, std::function<void(std::string_view)> on_message,
    std::function<void(std::string_view)> on_subscribed) {
  return client_.subscribe_sharded(channel, std::move(on_message), std::move(on_subscribed));
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

ClientStore::Command ClientStore::script_call(std::string_view name, std::string_view script,
                                              std::string_view count, redis::Arguments keys,
                                              redis::Arguments args) {
  Command command{name, script, count};
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), args.begin(), args.end());
  return command;
}

bool ClientStore::is_unknown_script(const redis::Reply& reply) {
  return reply.is_error() && redis::meaning_of(reply.text) == redis::Meaning::unknown;
}

redis::CallOptions ClientStore::on_lane(redis::CallOptions options, redis::Lane lane) {
  options.lane = lane;
  return options;
}

}  // namespace holdfast
