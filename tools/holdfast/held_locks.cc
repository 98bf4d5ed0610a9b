#include "tools/holdfast/held_locks.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "lib/lock/engine/key_names.h"
#include "sim/scenario/units.h"

namespace holdfast::tools {
namespace {

using Kind = HeldLock::Kind;

constexpr const char* kKeysAStep = "100";
constexpr const char* kLastByte = "127";  // of a string: no record is as long
constexpr const char* kMostHolders = "1000";

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "<uuid>:<number>"
bool is_owner(std::string_view text) {
  if (text.size() < 38 || text[36] != ':') return false;
  return text.find_first_not_of("0123456789", 37) == std::string_view::npos &&
         text.find_first_not_of("0123456789abcdef-") == 36;
}

// Commands that go out together, and their answers one after the other.
class Batch {
 public:
  explicit Batch(redis::Client& client) : client_(client) {}

  void add(std::vector<std::string> command) { commands_.push_back(std::move(command)); }
  void send() {
    std::vector<std::vector<std::string_view>> views;
    for (const auto& command : commands_) views.emplace_back(command.begin(), command.end());
    answers_ = client_.call_all(views);
  }
  // The reply to the next command. None: the record has become another one meanwhile. Throws redis::Error.
  redis::Reply next() {
    redis::Answer& answer = answers_.at(taken_);
    const std::string& command = commands_.at(taken_++).front();
    if (!answer.reply.is_error()) return std::move(answer.reply);
    if (answer.reply.error_code() != "WRONGTYPE") throw client_.refusal(command, answer);
    return {};
  }

 private:
  redis::Client& client_;
  std::vector<std::vector<std::string>> commands_;
  std::vector<redis::Answer> answers_;
  std::size_t taken_ = 0;
};

// A key that has a record, as far as is known after the first look.
struct Found {
  std::string key;
  Kind kind;
  HeldLock first;  // of an exclusive kind or a latch: the hold itself
};

std::string patience_of(Kind kind, const std::string& key) {
  switch (kind) {
    case Kind::write:
    case Kind::read: return beside_key("holdfast:rw:line-patience", key);
    case Kind::semaphore: return beside_key("holdfast:semaphore:patience", key);
    case Kind::redisson: return beside_key("holdfast:redisson:patience", key);
    case Kind::exclusive:
    case Kind::latch: break;
  }
  return beside_key("holdfast:fair:patience", key);
}

std::optional<Found> found_string(const std::string& key, std::string_view record) {
  constexpr std::string_view kWrite = " write";
  if (record == "readers") return Found{key, Kind::read, {}};
  const bool writes = record.ends_with(kWrite);
  if (writes) record.remove_suffix(kWrite.size());
  if (!is_owner(record)) return std::nullopt;
  const Kind kind = writes ? Kind::write : Kind::exclusive;
  return Found{key, kind, {.key = key, .kind = kind, .owner = std::string(record)}};
}

std::optional<Found> found_hash(const std::string& key, const redis::Reply& latch, const redis::Reply& size,
                                const redis::Reply& owners) {
  if (latch.items.size() == 2 && !latch.items[0].is_nil() && !latch.items[1].is_nil()) {
    const std::int64_t left = number_in(latch.items[0].text);
    if (left <= 0) return std::nullopt;
    return Found{key, Kind::latch, {.key = key, .kind = Kind::latch, .permits = left}};
  }
  if (size.integer != 1 || owners.type != redis::Reply::Type::bulk || !is_owner(owners.text))
    return std::nullopt;
  return Found{key, Kind::redisson, {.key = key, .kind = Kind::redisson, .owner = owners.text}};
}

std::vector<Found> look(redis::Client& client, const std::vector<std::string>& keys) {
  Batch types(client);
  for (const std::string& key : keys) types.add({"TYPE", key});
  types.send();
  std::vector<std::pair<std::string, std::string>> of_type;
  Batch records(client);
  for (const std::string& key : keys) {
    const std::string type = types.next().text;
    if (type == "string") {
      records.add({"GETRANGE", key, "0", kLastByte});
    } else if (type == "zset") {
      records.add({"EXISTS", beside_key("holdfast:semaphore:taken", key)});
    } else if (type == "hash") {
      records.add({"HMGET", key, "left", "by"});
      records.add({"HLEN", key});
      records.add({"HRANDFIELD", key});
    } else {
      continue;
    }
    of_type.emplace_back(key, type);
  }
  if (of_type.empty()) return {};
  records.send();
  std::vector<Found> all;
  for (const auto& [key, type] : of_type) {
    std::optional<Found> found;
    if (type == "string") {
      found = found_string(key, records.next().text);
    } else if (type == "zset") {
      if (records.next().integer == 1) found = Found{key, Kind::semaphore, {}};
    } else {
      const redis::Reply latch = records.next(), size = records.next(), owner = records.next();
      found = found_hash(key, latch, size, owner);
    }
    if (found) all.push_back(std::move(*found));
  }
  return all;
}

// By whom and for how long: of a semaphore and of readers each owner has a lease of its own.
std::vector<HeldLock> holds_of(Batch& batch, const Found& found, std::int64_t now_ms) {
  const redis::Reply left = batch.next(), token = batch.next(), waiters = batch.next();
  std::vector<HeldLock> holds;
  if (found.kind == Kind::semaphore || found.kind == Kind::read) {
    const redis::Reply owners = batch.next();
    for (std::size_t i = 0; i + 1 < owners.items.size(); i += 2) {
      const std::string& owner = owners.items[i].text;
      if (!is_owner(owner)) continue;
      holds.push_back({.key = found.key,
                       .kind = found.kind,
                       .owner = owner,
                       .left_ms = number_in(owners.items[i + 1].text) - now_ms});
    }
  } else if (left.type == redis::Reply::Type::integer && left.integer != -2) {
    holds.push_back(found.first);
    if (left.integer >= 0) holds.back().left_ms = left.integer;
  }
  for (HeldLock& hold : holds) {
    hold.waiters = static_cast<std::uint64_t>(waiters.integer);
    if (token.type != redis::Reply::Type::bulk) continue;
    hold.token = static_cast<std::uint64_t>(number_in(token.text));
    const std::int64_t drawn_ms = number_in(token.text) / 1000;
    const bool alone = found.kind == Kind::exclusive || found.kind == Kind::write;
    if (alone && drawn_ms > 0 && drawn_ms <= now_ms) hold.since_ms = drawn_ms;
  }
  return holds;
}

void read_permits(redis::Client& client, std::vector<HeldLock>& holds) {
  Batch batch(client);
  bool any = false;
  for (const HeldLock& hold : holds) {
    if (hold.kind != Kind::semaphore) continue;
    batch.add({"HGET", beside_key("holdfast:semaphore:taken", hold.key), hold.owner});
    any = true;
  }
  if (!any) return;
  batch.send();
  for (HeldLock& hold : holds) {
    if (hold.kind == Kind::semaphore) hold.permits = std::max<std::int64_t>(1, number_in(batch.next().text));
  }
}

std::vector<HeldLock> read(redis::Client& client, const std::vector<std::string>& keys) {
  if (keys.empty()) return {};
  const std::vector<Found> all = look(client, keys);
  if (all.empty()) return {};
  const redis::Reply time = client.call({"TIME"}).reply;
  std::int64_t now_ms = 0;
  if (time.items.size() == 2)
    now_ms = number_in(time.items[0].text) * 1000 + number_in(time.items[1].text) / 1000;
  const std::string after_now = "(" + std::to_string(now_ms);
  Batch batch(client);
  for (const Found& found : all) {
    batch.add({"PTTL", found.key});
    batch.add({"GET", token_key(found.key)});
    batch.add({"ZCOUNT", patience_of(found.kind, found.key), after_now, "+inf"});
    if (found.kind != Kind::semaphore && found.kind != Kind::read) continue;
    const std::string owners =
        found.kind == Kind::semaphore ? found.key : beside_key("holdfast:rw:readers", found.key);
    batch.add({"ZRANGEBYSCORE", owners, after_now, "+inf", "WITHSCORES", "LIMIT", "0", kMostHolders});
  }
  batch.send();
  std::vector<HeldLock> holds;
  for (const Found& found : all) {
    std::vector<HeldLock> more = holds_of(batch, found, now_ms);
    holds.insert(holds.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  read_permits(client, holds);
  return holds;
}

}  // namespace

std::string to_string(HeldLock::Kind kind) {
  switch (kind) {
    case Kind::exclusive: return "exclusive";
    case Kind::write: return "write";
    case Kind::read: return "read";
    case Kind::semaphore: return "semaphore";
    case Kind::redisson: return "redisson";
    case Kind::latch: return "latch";
  }
  return "?";
}

std::string left_text(const HeldLock& lock) {
  if (!lock.left_ms) return "no lease";
  const std::int64_t ms = *lock.left_ms;
  return sim::format_duration(std::chrono::milliseconds(ms < 10'000 ? ms : ms / 1000 * 1000));
}

HeldLocks held_on(redis::Client& client, const std::string& pattern, std::size_t most) {
  HeldLocks held;
  std::set<std::string> seen;  // SCAN may tell of a key twice
  std::string cursor = "0";
  do {
    const redis::Reply page = client.call({"SCAN", cursor, "MATCH", pattern, "COUNT", kKeysAStep}).reply;
    if (page.items.size() != 2) break;
    cursor = page.items[0].text;
    std::vector<std::string> keys;
    for (const redis::Reply& key : page.items[1].items) {
      if (!key.text.starts_with(kNamesBegin) && !key.text.empty()) keys.push_back(key.text);
    }
    for (HeldLock& hold : read(client, keys)) {
      if (seen.insert(hold.key + '\0' + hold.owner).second) held.locks.push_back(std::move(hold));
    }
    if (held.locks.size() >= most) held.all = cursor == "0";
  } while (cursor != "0" && held.all);
  std::sort(held.locks.begin(), held.locks.end(), [](const HeldLock& a, const HeldLock& b) {
    return std::tie(a.key, a.owner) < std::tie(b.key, b.owner);
  });
  return held;
}

std::vector<HeldLock> held_under(redis::Client& client, const std::string& key) {
  return read(client, {key});
}

}  // namespace holdfast::tools
