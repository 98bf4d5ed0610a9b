#include "sim/truth/decoders.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <utility>

namespace holdfast::sim {
namespace {

using embedded::Entry;
using embedded::Hash;
using embedded::Keyspace;
using embedded::SortedSet;

constexpr std::int64_t kForeverMs = std::numeric_limits<std::int64_t>::max();

// A key stands as long as the clock shows no more than its expiry.
std::int64_t end_of(const Entry& entry) {
  return entry.expires_at == embedded::kNoExpiry ? kForeverMs : entry.expires_at + 1;
}

template <class T>
const T* value_of(const Entry* entry) {
  if (entry == nullptr) return nullptr;
  const auto* held = std::get_if<std::unique_ptr<T>>(&entry->value);
  return held == nullptr ? nullptr : held->get();
}

std::vector<Holding> by_owner(std::vector<Holding> holdings) {
  std::sort(holdings.begin(), holdings.end(),
            [](const Holding& a, const Holding& b) { return a.owner < b.owner; });
  return holdings;
}

std::optional<std::string> itself(std::string_view name) {
  if (name.starts_with("holdfast:") || name.starts_with("redisson_")) return std::nullopt;
  return std::string(name);
}

// STRING <key>: the owner. "<owner> called" is kept for somebody, and nobody's.
std::vector<Holding> decode_string(Keyspace& keys, const std::string& lock) {
  const Entry* const entry = keys.find(lock);
  if (entry == nullptr) return {};
  const std::string* const owner = std::get_if<std::string>(&entry->value);
  if (owner == nullptr || owner->ends_with(" called")) return {};
  return {{.owner = *owner, .until_ms = end_of(*entry)}};
}

// HASH <key> { owner: depth }.
std::vector<Holding> decode_hash(Keyspace& keys, const std::string& lock) {
  const Entry* const entry = keys.find(lock);
  const Hash* const hash = value_of<Hash>(entry);
  if (hash == nullptr) return {};
  std::vector<Holding> holdings;
  hash->each([&](const std::string& owner, const std::string& depth) {
    holdings.push_back({.owner = owner, .until_ms = end_of(*entry)});
    std::from_chars(depth.data(), depth.data() + depth.size(), holdings.back().depth);
  });
  return by_owner(std::move(holdings));
}

// The counter of tokens beside the lock.
std::optional<std::string> lock_of_fenced(std::string_view name) {
  return name.ends_with(":fencing") ? std::nullopt : itself(name);
}

// "PREFIX:{key}"; "PREFIX::key" where a hash tag of the key is in force; "PREFIX:{tag}:key" for any other key
// with a '}' (lib/lock/engine/key_names.h). `prefix` ends with the first ':'.
std::optional<std::string> beside(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  if (name.starts_with(':')) return std::string(name.substr(1));
  const std::size_t close = name.find('}');
  if (!name.starts_with('{') || close == std::string_view::npos) return std::nullopt;
  const bool wrapped = close == name.size() - 1;
  return std::string(wrapped ? name.substr(1, close - 1) : name.substr(std::min(close + 2, name.size())));
}

// Which tag a key with a '}' but without one of its own was given is searched for.
const Entry* find_beside(Keyspace& keys, std::string_view prefix, const std::string& lock) {
  if (lock.find('}') == std::string::npos) return keys.find(std::string(prefix) + "{" + lock + "}");
  const Entry* found = keys.find(std::string(prefix) + ":" + lock);
  const std::string begins = std::string(prefix) + "{", ends = "}:" + lock;
  if (found != nullptr) return found;
  keys.each([&](const Entry& entry) {
    if (entry.key->starts_with(begins) && entry.key->ends_with(ends) && beside(*entry.key, prefix) == lock)
      found = &entry;
  });
  return found;
}

// Members by the end of their lease; the key's own expiry may come first.
void add_members(const Entry* entry, std::vector<Holding>& holdings) {
  const SortedSet* const members = value_of<SortedSet>(entry);
  if (members == nullptr) return;
  for (const SortedSet::Item& item : members->items()) {
    holdings.push_back({.owner = item.member,
                        .shared = true,
                        .until_ms = std::min(static_cast<std::int64_t>(item.score), end_of(*entry))});
  }
}

constexpr std::string_view kReaders = "holdfast:rw:readers:";

std::optional<std::string> lock_of_read_write(std::string_view name) {
  const auto readers = beside(name, kReaders);
  return readers ? readers : itself(name);
}

// STRING <key>: "<owner> write"; or "readers", and who they are tells the ZSET of readers alone.
std::vector<Holding> decode_read_write(Keyspace& keys, const std::string& lock) {
  constexpr std::string_view kWrite = " write";
  std::vector<Holding> holdings = decode_string(keys, lock);
  std::erase_if(holdings, [](const Holding& record) { return record.owner == "readers"; });
  for (Holding& record : holdings) {
    if (record.owner.ends_with(kWrite)) record.owner.resize(record.owner.size() - kWrite.size());
  }
  add_members(find_beside(keys, kReaders, lock), holdings);
  return by_owner(std::move(holdings));
}

constexpr std::string_view kTaken = "holdfast:semaphore:taken:";

std::optional<std::string> lock_of_semaphore(std::string_view name) {
  const auto taken = beside(name, kTaken);
  return taken ? taken : itself(name);
}

// ZSET <key> of owners. HASH { owner: permits }: who is not in it has taken none.
std::vector<Holding> decode_semaphore(Keyspace& keys, const std::string& lock) {
  std::vector<Holding> holdings;
  add_members(keys.find(lock), holdings);
  const Hash* const taken = value_of<Hash>(find_beside(keys, kTaken, lock));
  for (Holding& holding : holdings) {
    const std::string* const text = taken == nullptr ? nullptr : taken->find(holding.owner);
    if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), holding.permits);
  }
  std::erase_if(holdings, [](const Holding& holding) { return holding.permits == 0; });
  return by_owner(std::move(holdings));
}

// "{KEY}:OWNER:rwlock_timeout:N" only counts how long one hold of a reader lasts.
std::optional<std::string> lock_of_redisson_read_write(std::string_view name) {
  return name.find(":rwlock_timeout:") != std::string_view::npos ? std::nullopt : itself(name);
}

// HASH <key> { mode: "read" or "write", owner: reads, "owner:write": writes }. Who writes may read as well.
std::vector<Holding> decode_redisson_read_write(Keyspace& keys, const std::string& lock) {
  std::vector<Holding> holdings = decode_hash(keys, lock);
  std::erase_if(holdings, [](const Holding& field) { return field.owner == "mode"; });
  constexpr std::string_view kWrite = ":write";
  for (Holding& holding : holdings) {
    holding.shared = !holding.owner.ends_with(kWrite);
    holding.party =
        holding.shared ? holding.owner : holding.owner.substr(0, holding.owner.size() - kWrite.size());
  }
  return holdings;
}

constexpr std::string_view kAnnotated = "lock:";

std::optional<std::string> lock_of_annotation(std::string_view name) {
  if (!name.starts_with(kAnnotated)) return std::nullopt;
  return std::string(name.substr(kAnnotated.size()));
}
std::vector<Holding> decode_annotation(Keyspace& keys, const std::string& lock) {
  return decode_string(keys, std::string(kAnnotated) + lock);
}

// STRING locks:<key>: the registry, of which a process has one.
constexpr std::string_view kRegistry = "locks:";

std::optional<std::string> lock_of_registry(std::string_view name) {
  if (!name.starts_with(kRegistry)) return std::nullopt;
  return std::string(name.substr(kRegistry.size()));
}
std::vector<Holding> decode_registry(Keyspace& keys, const std::string& lock) {
  return decode_string(keys, std::string(kRegistry) + lock);
}

// STRING <key>: {"threadId":N,"count":C}, of thread N of any process.
std::int64_t number_after(std::string_view text, std::string_view label) {
  std::int64_t number = -1;
  const std::size_t at = text.find(label);
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + label.size(), text.data() + text.size(), number);
  return number;
}
std::vector<Holding> decode_thread(Keyspace& keys, const std::string& lock) {
  std::vector<Holding> holdings = decode_string(keys, lock);
  for (Holding& holding : holdings) {
    holding.depth = number_after(holding.owner, "\"count\":");
    holding.owner = "thread " + std::to_string(number_after(holding.owner, "\"threadId\":"));
  }
  return holdings;
}

// STRING <key>: how many permits are free.
std::vector<Holding> decode_free_permits(Keyspace& keys, const std::string& lock) {
  std::vector<Holding> holdings = decode_string(keys, lock);
  for (Holding& holding : holdings) {
    const std::string text = std::exchange(holding.owner, "free permits");
    std::from_chars(text.data(), text.data() + text.size(), holding.permits);
  }
  return holdings;
}

const std::map<std::string_view, Decoder>& decoders() {
  static const Decoder string{itself, decode_string}, hash{itself, decode_hash};
  static const Decoder semaphore{lock_of_semaphore, decode_semaphore};
  static const std::map<std::string_view, Decoder> all = {
      {"reentrant", string},
      {"non-reentrant", string},
      {"fair", string},
      {"spin", string},
      {"survivor", string},
      {"survivor-fair", string},
      {"fenced", string},
      {"redlock", string},
      {"multi", string},
      {"redisson", hash},
      {"read-write", {lock_of_read_write, decode_read_write}},
      {"survivor-read-write", {lock_of_read_write, decode_read_write}},
      {"semaphore", semaphore},
      {"permit-semaphore", semaphore},
      {"spring-registry", {lock_of_registry, decode_registry, true}},
      {"spring-registry-7", {lock_of_registry, decode_registry, true}},
      {"spring-registry-7-pub-sub", {lock_of_registry, decode_registry, true}},
      {"annotation", {lock_of_annotation, decode_annotation}},
      {"annotation-renewing", {lock_of_annotation, decode_annotation}},
      {"lock-interface", string},
      {"lock-interface-fair", string},
      {"lock-interface-reentrant", {itself, decode_thread, true}},
      {"lock-interface-watchdog-thread-local", string},
      {"lock-interface-watchdog-blind", string},
      {"get-del-unlock", string},
      {"setnx-expire", string},
      {"fencing-incr", {lock_of_fenced, decode_string}},
      {"redlock-classic", string},
      {"redlock-cpp", string},
      {"redsync", string},
      {"redisson-3.13-reentrant", hash},
      {"redisson-3.13-fair", hash},
      {"redisson-3.13-fair-as-described", hash},
      {"redisson-wait-connected", hash},
      {"redisson-fenced", hash},
      {"redis-plus-plus-tx", string},
      {"redisson-3.13-read-write", {lock_of_redisson_read_write, decode_redisson_read_write}},
      {"redisson-3.13-redlock", hash},
      {"redisson-3.13-semaphore", {.lock_of = itself, .decode = decode_free_permits, .free_permits = true}},
      {"redisson-semaphore", {.lock_of = itself, .decode = decode_free_permits, .free_permits = true}},
  };
  return all;
}

}  // namespace

const Decoder* find_decoder(std::string_view lock_kind) {
  const auto found = decoders().find(lock_kind);
  return found == decoders().end() ? nullptr : &found->second;
}

}  // namespace holdfast::sim
