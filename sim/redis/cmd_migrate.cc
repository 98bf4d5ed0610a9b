// Values on their way: DUMP, RESTORE, and MIGRATE, which is both with a network in between.
#include <chrono>

#include "sim/redis/engine.h"
#include "sim/redis/snapshot.h"

namespace holdfast::sim::embedded {
namespace {

void dump(Call& c) {
  const Entry* const entry = find_key(c, c.arg(1), false);
  if (entry == nullptr) return c.out.nil();
  c.out.bulk(dump_value(entry->value));
}

void restore(Call& c) {
  bool replace = false, absolute = false, idle = false, frequent = false;
  for (std::size_t i = 4; i < c.argc(); ++i) {
    const bool more = i + 1 < c.argc();
    std::int64_t number = 0;
    if (c.option(i, "replace")) {
      replace = true;
    } else if (c.option(i, "absttl")) {
      absolute = true;
    } else if (c.option(i, "idletime") && more && !frequent) {
      if (!integer_arg(c, ++i, number)) return;
      if (number < 0) return c.out.error("ERR Invalid IDLETIME value, must be >= 0");
      idle = true;
    } else if (c.option(i, "freq") && more && !idle) {
      if (!integer_arg(c, ++i, number)) return;
      if (number < 0 || number > 255) return c.out.error("ERR Invalid FREQ value, must be >= 0 and <= 255");
      frequent = true;
    } else {
      return c.out.error(kSyntax);
    }
  }
  Entry* const old = find_key(c, c.arg(1), true);
  if (old != nullptr && !replace) return c.out.error("BUSYKEY Target key name already exists.");
  std::int64_t ttl = 0;
  if (!integer_arg(c, 2, ttl)) return;
  if (ttl < 0) return c.out.error("ERR Invalid TTL value, must be >= 0");
  Value value;
  switch (restore_value(c.arg(3), value)) {
    case Restored::wrong_checksum: return c.out.error("ERR DUMP payload version or checksum are wrong");
    case Restored::not_understood: return c.out.error("ERR Bad data format");
    case Restored::yes: break;
  }
  const std::int64_t expires_at = ttl == 0 || absolute ? ttl : ttl + c.now;
  if (expires_at != 0 && expires_at <= c.now && !c.engine.is_replica() && !c.session.fake) {
    if (old != nullptr) {
      erase_key(c, *old);
      c.propagate_instead({"DEL", c.arg(1)});
    }
    return c.out.ok();
  }
  Entry& entry = put(c, c.arg(1), std::move(value));
  if (expires_at != 0) c.db().set_expiry(entry, expires_at);
  c.engine.signal_key(c.session.db, c.arg(1));
  if (expires_at != 0 && !absolute) {
    const std::string at = std::to_string(expires_at);
    std::vector<std::string_view> effect(c.argv.begin(), c.argv.end());
    effect[2] = at;
    effect.push_back("ABSTTL");
    c.propagate_instead(effect);
  }
  c.out.ok();
}

void migrate(Call& c) {
  Transfer transfer;
  bool replace = false;
  std::vector<std::string_view> login;
  std::size_t first_key = 3, keys = 1;
  for (std::size_t i = 6; i < c.argc(); ++i) {
    const std::size_t more = c.argc() - 1 - i;
    if (c.option(i, "copy")) {
      transfer.keep = true;
    } else if (c.option(i, "replace")) {
      replace = true;
    } else if (c.option(i, "auth") || c.option(i, "auth2")) {
      const std::size_t words = c.option(i, "auth") ? 1 : 2;
      if (more < words) return c.out.error(kSyntax);
      login = {"AUTH"};
      for (std::size_t word = 0; word < words; ++word) login.push_back(c.arg(++i));
    } else if (c.option(i, "keys")) {
      if (!c.arg(3).empty()) {
        return c.out.error(
            "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string");
      }
      first_key = i + 1;
      keys = more;
      break;
    } else {
      return c.out.error(kSyntax);
    }
  }
  std::int64_t patience_ms = 0, database = 0;
  if (!integer_arg(c, 5, patience_ms) || !integer_arg(c, 4, database)) return;
  if (patience_ms <= 0) patience_ms = 1000;
  transfer.patience = std::chrono::milliseconds(std::min<std::int64_t>(patience_ms, INT32_MAX));
  transfer.db = c.session.db;
  std::vector<const Entry*> entries;
  for (std::size_t i = first_key; i < first_key + keys; ++i) {
    const Entry* const entry = find_key(c, c.arg(i), false);
    if (entry == nullptr) continue;
    entries.push_back(entry);
    transfer.keys.emplace_back(c.arg(i));
  }
  if (entries.empty()) return c.out.raw("+NOKEY\r\n");
  // Redis hands these to the resolver and to atoi(); what is no address ends as one that cannot be reached.
  std::int64_t port = 0;
  parse_integer(c.arg(2), port);
  transfer.to = {std::string(c.arg(1)), static_cast<std::uint16_t>(port)};
  if (!login.empty()) {
    append_request(transfer.preface, login);
    ++transfer.prefaces;
  }
  const std::string number = std::to_string(database);
  const std::string_view select[] = {"SELECT", number};
  append_request(transfer.preface, select);
  ++transfer.prefaces;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = *entries[i];
    const bool expires = entry.expires_at != kNoExpiry;
    const std::string ttl = std::to_string(expires ? std::max<std::int64_t>(1, entry.expires_at - c.now) : 0);
    const std::string value = dump_value(entry.value);
    std::vector<std::string_view> words = {c.engine.cluster() != nullptr ? "RESTORE-ASKING" : "RESTORE",
                                           transfer.keys[i], ttl, value};
    if (replace) words.push_back("REPLACE");
    append_request(transfer.requests, words);
  }
  const bool alone = !c.session.in_multi && !c.session.fake && &c.out == &c.session.out;
  if (!alone || !c.engine.begin_transfer(c.session, std::move(transfer)))
    c.out.error("ERR the embedded server takes MIGRATE from clients alone, not in MULTI and scripts");
}

}  // namespace

void add_migration_commands(Specs& specs) {
  constexpr Keys kOne{1, 1, 1};
  specs.insert(specs.end(), {
                                {"dump", dump, 2, kReadonly, kOne},
                                {"restore", restore, -4, kWrite | kDenyOom, kOne},
                                {"restore-asking", restore, -4, kWrite | kDenyOom, kOne},
                                {"migrate", migrate, -6, kWrite, {3, 3, 1}},
                            });
}

}  // namespace holdfast::sim::embedded
