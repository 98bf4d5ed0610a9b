// PubSub: who listens to what. Messages go out in the order of subscription.
#pragma once

#include <cstddef>
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
  // The slot is not this node's any more: whoever listens to a sharded channel in it is told that it is
  // over. False: nobody does. Engine::finish_batch() follows.
  bool leave_slot(Engine& engine, std::size_t slot);

  Listeners channels, patterns, shard_channels;
};

}  // namespace holdfast::sim::embedded
