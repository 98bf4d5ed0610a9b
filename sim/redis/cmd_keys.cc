// Keys of any type: existence, expiry, names.
#include <algorithm>
#include <charconv>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"
#include "sim/redis/expiry.h"
#include "sim/redis/glob.h"

namespace holdfast::sim::embedded {

bool expiry_argument(Call& c, std::size_t i, ExpiryUnit unit, std::int64_t& at_ms) {
  std::int64_t value = 0;
  if (!integer_arg(c, i, value)) return false;
  const auto refuse = [&] {
    c.out.error("ERR invalid expire time in '" + std::string(c.spec.name) + "' command");
    return false;
  };
  const bool in_seconds = unit == ExpiryUnit::seconds || unit == ExpiryUnit::at_seconds;
  if (value <= 0 || (in_seconds && value > INT64_MAX / 1000)) return refuse();
  if (in_seconds) value *= 1000;
  const bool relative = unit == ExpiryUnit::seconds || unit == ExpiryUnit::milliseconds;
  if (relative && value > INT64_MAX - c.now) return refuse();
  at_ms = relative ? value + c.now : value;
  return true;
}

namespace {

void del(Call& c) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < c.argc(); ++i) {
    Entry* entry = find_key(c, c.arg(i), true);
    if (entry == nullptr) continue;
    erase_key(c, *entry);
    ++count;
  }
  c.out.integer(count);
}

void exists(Call& c) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < c.argc(); ++i) count += peek_key(c, c.arg(i)) != nullptr ? 1 : 0;
  c.out.integer(count);
}

void touch(Call& c) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < c.argc(); ++i) count += find_key(c, c.arg(i), false) != nullptr ? 1 : 0;
  c.out.integer(count);
}

void type(Call& c) {
  const Entry* entry = peek_key(c, c.arg(1));
  c.out.status(entry == nullptr ? "none" : type_name(entry->value));
}

void expire_generic(Call& c, std::int64_t base, bool seconds) {
  bool nx = false, xx = false, gt = false, lt = false;
  for (std::size_t i = 3; i < c.argc(); ++i) {
    if (c.option(i, "NX"))
      nx = true;
    else if (c.option(i, "XX"))
      xx = true;
    else if (c.option(i, "GT"))
      gt = true;
    else if (c.option(i, "LT"))
      lt = true;
    else
      return c.out.error("ERR Unsupported option " + std::string(c.arg(i)));
  }
  if (nx && (xx || gt || lt)) {
    return c.out.error("ERR NX and XX, GT or LT options at the same time are not compatible");
  }
  if (gt && lt) return c.out.error("ERR GT and LT options at the same time are not compatible");
  std::int64_t when = 0;
  if (!integer_arg(c, 2, when)) return;
  const auto refuse = [&] {
    c.out.error("ERR invalid expire time in '" + std::string(c.spec.name) + "' command");
  };
  if (seconds) {
    if (when > INT64_MAX / 1000 || when < INT64_MIN / 1000) return refuse();
    when *= 1000;
  }
  if (when > INT64_MAX - base) return refuse();
  when += base;

  Entry* entry = find_key(c, c.arg(1), true);
  if (entry == nullptr) return c.out.integer(0);
  const std::int64_t current = entry->expires_at;
  if ((nx && current != kNoExpiry) || (xx && current == kNoExpiry)) return c.out.integer(0);
  if (gt && (current == kNoExpiry || when <= current)) return c.out.integer(0);
  if (lt && current != kNoExpiry && when >= current) return c.out.integer(0);
  if (when <= c.now && !c.engine.is_replica() && !c.session.fake) {
    erase_key(c, *entry);
    c.propagate_instead({"DEL", c.arg(1)});
    return c.out.integer(1);
  }
  c.db().set_expiry(*entry, when);
  changed(c, c.arg(1));
  if (c.engine.propagating()) {
    char moment[24];
    const char* end = std::to_chars(moment, moment + sizeof moment, when).ptr;
    const std::string_view words[] = {
        "PEXPIREAT", c.arg(1), {moment, static_cast<std::size_t>(end - moment)}};
    if (c.argc() == 3) return c.propagate_instead(words), c.out.integer(1);
    std::vector<std::string_view> effect(std::begin(words), std::end(words));
    for (std::size_t i = 3; i < c.argc(); ++i) effect.push_back(c.arg(i));  // the flags go along
    c.propagate_instead(effect);
  }
  c.out.integer(1);
}
void expire(Call& c) { expire_generic(c, c.now, true); }
void pexpire(Call& c) { expire_generic(c, c.now, false); }
void expireat(Call& c) { expire_generic(c, 0, true); }
void pexpireat(Call& c) { expire_generic(c, 0, false); }

void ttl_generic(Call& c, bool in_ms, bool absolute) {
  const Entry* entry = peek_key(c, c.arg(1));
  if (entry == nullptr) return c.out.integer(-2);
  if (entry->expires_at == kNoExpiry) return c.out.integer(-1);
  std::int64_t value = absolute ? entry->expires_at : entry->expires_at - c.now;
  if (value < 0) value = 0;
  c.out.integer(in_ms ? value : (value + 500) / 1000);
}
void ttl(Call& c) { ttl_generic(c, false, false); }
void pttl(Call& c) { ttl_generic(c, true, false); }
void expiretime(Call& c) { ttl_generic(c, false, true); }
void pexpiretime(Call& c) { ttl_generic(c, true, true); }

void persist(Call& c) {
  Entry* entry = find_key(c, c.arg(1), true);
  if (entry == nullptr || entry->expires_at == kNoExpiry) return c.out.integer(0);
  c.db().clear_expiry(*entry);
  changed(c, c.arg(1));
  c.out.integer(1);
}

void rename_generic(Call& c, bool only_if_absent) {
  const bool same = c.arg(1) == c.arg(2);
  Entry* from = find_key(c, c.arg(1), true);
  if (from == nullptr) return c.out.error(kNoSuchKey);
  if (same) return only_if_absent ? c.out.integer(0) : c.out.ok();
  Entry* to = find_key(c, c.arg(2), true);
  if (to != nullptr) {
    if (only_if_absent) return c.out.integer(0);
    c.db().erase(*to);
  }
  const std::int64_t expires_at = from->expires_at;
  Value value = std::move(from->value);
  c.db().erase(*from);
  Entry& entry = c.db().insert(c.arg(2), std::move(value));
  if (expires_at != kNoExpiry) c.db().set_expiry(entry, expires_at);
  changed(c, c.arg(1));
  changed(c, c.arg(2), 0);
  c.engine.signal_key(c.session.db, c.arg(2));
  only_if_absent ? c.out.integer(1) : c.out.ok();
}
void rename(Call& c) { rename_generic(c, false); }
void renamenx(Call& c) { rename_generic(c, true); }

void copy(Call& c) {
  bool replace = false;
  std::int64_t db = c.session.db;
  for (std::size_t i = 3; i < c.argc(); ++i) {
    if (c.option(i, "REPLACE")) {
      replace = true;
    } else if (c.option(i, "DB") && i + 1 < c.argc()) {
      if (!database_arg(c, ++i, db)) return;
    } else {
      return c.out.error(kSyntax);
    }
  }
  if (c.engine.cluster() != nullptr && db != 0)
    return c.out.error("ERR Copying to another database is not allowed in cluster mode");
  if (db == c.session.db && c.arg(1) == c.arg(2)) {
    return c.out.error("ERR source and destination objects are the same");
  }
  Entry* from = find_key(c, c.arg(1), false);
  if (from == nullptr) return c.out.integer(0);
  Value value = copy_of(from->value);
  const std::int64_t expires_at = from->expires_at;
  const int own_db = c.session.db;
  c.session.db = static_cast<int>(db);
  Entry* to = find_key(c, c.arg(2), true);
  const bool refused = to != nullptr && !replace;
  if (!refused) {
    if (to != nullptr) c.db().erase(*to);
    Entry& entry = c.db().insert(c.arg(2), std::move(value));
    if (expires_at != kNoExpiry) c.db().set_expiry(entry, expires_at);
    changed(c, c.arg(2));
    c.engine.signal_key(c.session.db, c.arg(2));
  }
  c.session.db = own_db;
  c.out.integer(refused ? 0 : 1);
}

bool hidden(const Call& c, const Entry& entry) {
  return entry.expires_at != kNoExpiry && c.now > entry.expires_at;
}

void keys(Call& c) {
  std::vector<std::string_view> matching;
  for (const Entry* entry : c.db().sorted()) {
    if (!hidden(c, *entry) && glob_match(c.arg(1), *entry->key)) matching.push_back(*entry->key);
  }
  c.out.array(matching.size());
  for (const std::string_view key : matching) c.out.bulk(key);
}

void dbsize(Call& c) { c.out.integer(static_cast<std::int64_t>(c.db().size())); }

void randomkey(Call& c) {
  for (int attempt = 0; attempt < 100 && c.db().size() > 0; ++attempt) {
    const std::string key = *c.db().nth(c.engine.runtime().random())->key;
    if (find_key(c, key, false) != nullptr) return c.out.bulk(key);
  }
  c.out.nil();
}

bool flush_mode(Call& c) {
  if (c.argc() == 1 || (c.argc() == 2 && (c.option(1, "SYNC") || c.option(1, "ASYNC")))) return true;
  c.out.error(kSyntax);
  return false;
}
void flushdb(Call& c) {
  if (!flush_mode(c)) return;
  c.engine.flush_db(c.session.db);
  c.engine.add_dirty(1);  // replicas are told even when nothing was there
  c.out.ok();
}
void flushall(Call& c) {
  if (!flush_mode(c)) return;
  for (int db = 0; db < kDatabases; ++db) c.engine.flush_db(db);
  if (!c.engine.config().save_points.empty()) c.engine.save();  // or a restart would bring it all back
  c.engine.add_dirty(1);
  c.out.ok();
}

void object_encoding(Call& c) {
  const Entry* entry = peek_key(c, c.arg(2));
  if (entry == nullptr) return c.out.nil();
  c.out.bulk(entry->raw_text ? "raw" : encoding_name(entry->value, c.engine.config().thresholds));
}
void object_refcount(
    Call& c) {  // a real server keeps the integers below 10,000 once, and says INT_MAX of them
  const Entry* entry = peek_key(c, c.arg(2));
  if (entry == nullptr) return c.out.nil();
  std::int64_t number = 0;
  const auto* text = std::get_if<std::string>(&entry->value);
  const bool shared =
      text != nullptr && !entry->raw_text && parse_integer(*text, number) && number >= 0 && number < 10'000;
  c.out.integer(shared ? INT32_MAX : 1);
}
void object_idletime(Call& c) {
  const Entry* entry = peek_key(c, c.arg(2));
  if (entry == nullptr) return c.out.nil();
  c.out.integer(std::max<std::int64_t>(0, c.now / 1000 - entry->used_ms / 1000));
}
void object_freq(Call& c) {  // nothing is evicted here, so nobody counts
  if (peek_key(c, c.arg(2)) == nullptr) return c.out.nil();
  c.out.error(
      "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when "
      "switching between policies at runtime LRU and LFU data will take some time to adjust.");
}

void move(Call& c) {
  if (c.engine.cluster() != nullptr) return c.out.error("ERR MOVE is not allowed in cluster mode");
  std::int64_t target = 0;
  if (!database_arg(c, 2, target)) return;
  if (target == c.session.db) return c.out.error("ERR source and destination objects are the same");
  Entry* from = find_key(c, c.arg(1), true);
  if (from == nullptr) return c.out.integer(0);
  const int own_db = c.session.db;
  c.session.db = static_cast<int>(target);
  const bool taken = find_key(c, c.arg(1), true) != nullptr;
  if (!taken) {
    const std::int64_t expires_at = from->expires_at;
    Entry& entry = c.db().insert(c.arg(1), std::move(from->value));
    if (expires_at != kNoExpiry) c.db().set_expiry(entry, expires_at);
    changed(c, c.arg(1), 0);
    c.engine.signal_key(c.session.db, c.arg(1));
  }
  c.session.db = own_db;
  if (taken) return c.out.integer(0);
  erase_key(c, *from);
  c.out.integer(1);
}

}  // namespace

void add_key_commands(Specs& specs) {
  constexpr Keys kOne{1, 1, 1};
  constexpr Keys kAll{1, -1, 1};
  constexpr Keys kTwo{1, 2, 1};
  specs.insert(specs.end(), {
                                {"del", del, -2, kWrite, kAll},
                                {"unlink", del, -2, kWrite | kFast, kAll},
                                {"exists", exists, -2, kReadonly | kFast, kAll},
                                {"touch", touch, -2, kReadonly | kFast, kAll},
                                {"type", type, 2, kReadonly | kFast, kOne},
                                {"expire", expire, -3, kWrite | kFast, kOne},
                                {"pexpire", pexpire, -3, kWrite | kFast, kOne},
                                {"expireat", expireat, -3, kWrite | kFast, kOne},
                                {"pexpireat", pexpireat, -3, kWrite | kFast, kOne},
                                {"ttl", ttl, 2, kReadonly | kFast, kOne},
                                {"pttl", pttl, 2, kReadonly | kFast, kOne},
                                {"expiretime", expiretime, 2, kReadonly | kFast, kOne},
                                {"pexpiretime", pexpiretime, 2, kReadonly | kFast, kOne},
                                {"persist", persist, 2, kWrite | kFast, kOne},
                                {"rename", rename, 3, kWrite, kTwo},
                                {"renamenx", renamenx, 3, kWrite | kFast, kTwo},
                                {"copy", copy, -3, kWrite | kDenyOom, kTwo},
                                {"move", move, 3, kWrite | kFast, kOne},
                                {"keys", keys, 2, kReadonly},
                                {"dbsize", dbsize, 1, kReadonly | kFast},
                                {"randomkey", randomkey, 1, kReadonly | kAnyKeys},
                                {"flushdb", flushdb, -1, kWrite},
                                {"flushall", flushall, -1, kWrite},
                                {"object", nullptr, -2, kReadonly | kContainer},
                                {"object|encoding", object_encoding, 3, kReadonly, {2, 2, 1}},
                                {"object|refcount", object_refcount, 3, kReadonly, {2, 2, 1}},
                                {"object|idletime", object_idletime, 3, kReadonly, {2, 2, 1}},
                                {"object|freq", object_freq, 3, kReadonly, {2, 2, 1}},
                            });
  add_scan_commands(specs);
  add_sort_commands(specs);
}

}  // namespace holdfast::sim::embedded
