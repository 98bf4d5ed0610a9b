// PubSub: who listens to what. Messages go out in the order of subscription.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim::embedded {

class Engine;
struct Session;

class PubSub {
 public:
  using Listeners = std::map<std::string, std::vector<Session*>, std::less<>>;

  bool subscribe(Listeners& where, Session& session, std::string_view name);
  bool unsubscribe(Listeners& where, Session& session, std::string_view name);
  // Delivers and counts receivers. `shard`: to SSUBSCRIBErs only.
  std::int64_t publish(Engine& engine, std::string_view channel, std::string_view message, bool shard);
  void forget(Session& session);

  Listeners channels, patterns, shard_channels;
};

}  // namespace holdfast::sim::embedded
