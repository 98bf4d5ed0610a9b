// Engine, third part: WATCH.
#include <algorithm>

#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

void Engine::watch(Session& session, std::string_view key) {
  for (const WatchedKey& known : session.watched) {
    if (known.db == session.db && known.key == key) return;
  }
  const Entry* entry = db(session.db).find(key);
  const bool expired = entry != nullptr && entry->expires_at != kNoExpiry && frozen_now_ > entry->expires_at;
  session.watched.push_back({session.db, std::string(key), expired});
  watchers_[{session.db, std::string(key)}].push_back(session.id);
}

void Engine::unwatch_all(Session& session) {
  for (const WatchedKey& key : session.watched) {
    const auto it = watchers_.find({key.db, key.key});
    if (it == watchers_.end()) continue;
    std::erase(it->second, session.id);
    if (it->second.empty()) watchers_.erase(it);
  }
  session.watched.clear();
  session.watch_failed = false;
}

void Engine::touch_watchers_slowly(int db, std::string_view key) {
  const auto it = watchers_.find({db, std::string(key)});
  if (it == watchers_.end()) return;
  for (const std::uint64_t id : it->second) {
    Session* session = session_by_id(id);
    if (session == nullptr) continue;
    for (WatchedKey& known : session->watched) {
      if (known.db != db || known.key != key) continue;
      // The deletion of a key that had expired before WATCH is no change; whatever comes after it is one.
      if (!known.was_expired)
        session->watch_failed = true;
      else if (dbs_[static_cast<std::size_t>(db)].find(key) == nullptr)
        known.was_expired = false;
    }
  }
}

void Engine::touch_all_watchers(int db, Keyspace* instead) {
  const auto expired = [&](const Entry* entry) {
    return entry != nullptr && entry->expires_at != kNoExpiry && frozen_now_ > entry->expires_at;
  };
  for (const auto& [where, ids] : watchers_) {
    if (where.first != db) continue;
    const bool present = dbs_[static_cast<std::size_t>(db)].find(where.second) != nullptr;
    const Entry* next = instead == nullptr ? nullptr : instead->find(where.second);
    if (!present && next == nullptr) continue;
    for (const std::uint64_t id : ids) {
      Session* session = session_by_id(id);
      if (session == nullptr) continue;
      for (WatchedKey& known : session->watched) {
        if (known.db != db || known.key != where.second) continue;
        if (known.was_expired && next == nullptr)
          known.was_expired = false;  // gone now: no change
        else if (!known.was_expired && !present && expired(next))
          known.was_expired = true;  // was not there, and still is not
        else if (!known.was_expired || !expired(next))
          session->watch_failed = true;
      }
    }
  }
}

bool Engine::watched_key_expired(const Session& session) {
  return std::any_of(session.watched.begin(), session.watched.end(), [&](const WatchedKey& known) {
    if (known.was_expired) return false;
    const Entry* entry = dbs_[static_cast<std::size_t>(known.db)].find(known.key);
    return entry != nullptr && entry->expires_at != kNoExpiry && frozen_now_ > entry->expires_at;
  });
}

}  // namespace holdfast::sim::embedded
