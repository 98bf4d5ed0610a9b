#include "sim/redis/pubsub.h"

#include <algorithm>

#include "lib/redis/hash_slot.h"
#include "sim/redis/engine.h"
#include "sim/redis/glob.h"

namespace holdfast::sim::embedded {

bool PubSub::subscribe(Listeners& where, Session& session, std::string_view name) {
  auto& own = &where == &channels   ? session.channels
              : &where == &patterns ? session.patterns
                                    : session.shard_channels;
  bool created = false;
  own.at(name, created);
  if (created) where[std::string(name)].push_back(&session);
  return created;
}

bool PubSub::unsubscribe(Listeners& where, Session& session, std::string_view name) {
  auto& own = &where == &channels   ? session.channels
              : &where == &patterns ? session.patterns
                                    : session.shard_channels;
  if (!own.erase(name)) return false;
  const auto it = where.find(name);
  if (it != where.end()) {
    std::erase(it->second, &session);
    if (it->second.empty()) where.erase(it);
  }
  return true;
}

std::int64_t PubSub::publish(Engine& engine, std::string_view channel, std::string_view message, bool shard) {
  std::int64_t receivers = 0;
  const Listeners& direct = shard ? shard_channels : channels;
  const auto it = direct.find(channel);
  if (it != direct.end()) {
    for (Session* session : it->second) {
      session->out.push(3);
      session->out.bulk(shard ? "smessage" : "message");
      session->out.bulk(channel);
      session->out.bulk(message);
      engine.push(*session);
      ++receivers;
    }
  }
  if (shard) return receivers;
  for (const auto& [pattern, listeners] : patterns) {
    if (!glob_match(pattern, channel)) continue;
    for (Session* session : listeners) {
      session->out.push(4);
      session->out.bulk("pmessage");
      session->out.bulk(pattern);
      session->out.bulk(channel);
      session->out.bulk(message);
      engine.push(*session);
      ++receivers;
    }
  }
  return receivers;
}

bool PubSub::leave_slot(Engine& engine, std::size_t slot) {
  std::vector<std::string> names;
  for (const auto& [name, sessions] : shard_channels) {
    if (redis::hash_slot(name) == slot) names.push_back(name);
  }
  for (const std::string& name : names) {
    for (Session* const session : shard_channels.at(name)) {
      session->shard_channels.erase(name);
      session->out.push(3);
      session->out.bulk("sunsubscribe");
      session->out.bulk(name);
      session->out.integer(static_cast<std::int64_t>(session->shard_channels.size()));
      engine.push(*session);
    }
    shard_channels.erase(name);
  }
  return !names.empty();
}

void PubSub::forget(Session& session) {
  const auto leave = [&](Listeners& where, OrderedDict<Nothing>& own) {
    std::vector<std::string> names;
    own.each([&](const std::string& name, const Nothing&) { names.push_back(name); });
    for (const std::string& name : names) unsubscribe(where, session, name);
  };
  leave(channels, session.channels);
  leave(patterns, session.patterns);
  leave(shard_channels, session.shard_channels);
}

}  // namespace holdfast::sim::embedded
