// The server itself: TIME, INFO, CONFIG, COMMAND, DEBUG, SAVE, SHUTDOWN ...
#include <algorithm>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"
#include "sim/redis/info.h"
#include "sim/redis/script_engine.h"
#include "sim/redis/snapshot.h"

namespace holdfast::sim::embedded {
namespace {

void time(Call& c) {
  const std::int64_t now_us = c.engine.frozen_us();  // in a script it stands still
  c.out.array(2);
  c.out.bulk_integer(now_us / 1'000'000);
  c.out.bulk_integer(now_us % 1'000'000);
}

void info(Call& c) { c.out.verbatim(info_text(c.engine, c.argv.subspan(1))); }

void config_get(Call& c) {
  std::vector<std::pair<std::string, std::string>> all;
  for (std::size_t i = 2; i < c.argc(); ++i) {
    const bool one = c.arg(i).find_first_of("*?[") == std::string_view::npos;
    for (auto& entry : c.engine.config().matching(c.arg(i))) {
      const Endpoint& primary = c.engine.replication().primary();
      if (c.engine.is_replica() && (entry.first == "replicaof" || entry.first == "slaveof"))
        entry.second = primary.host + ' ' + std::to_string(primary.port);
      if (one) entry.first = c.arg(i);  // in the caller's spelling
      if (std::find(all.begin(), all.end(), entry) == all.end()) all.push_back(std::move(entry));
    }
  }
  c.out.map(all.size());
  for (const auto& [name, value] : all) {
    c.out.bulk(name);
    c.out.bulk(value);
  }
}

void config_set(Call& c) {
  if (c.argc() % 2 != 0) return c.out.error(kSyntax);
  Config& config = c.engine.config();
  const auto refuse = [&](std::size_t i, std::string_view why) {
    c.out.error("ERR CONFIG SET failed (possibly related to argument '" + std::string(c.arg(i)) + "') - " +
                std::string(why));
  };
  for (std::size_t i = 2; i < c.argc(); i += 2) {
    if (!config.knows(c.arg(i))) {
      return c.out.error("ERR Unknown option or number of arguments for CONFIG SET - '" +
                         std::string(c.arg(i)) + "'");
    }
    for (std::size_t earlier = 2; earlier < i; earlier += 2) {
      if (equals_ignoring_case(c.arg(earlier), c.arg(i))) return refuse(i, "duplicate parameter");
    }
  }
  const bool was_append_only = config.append_only;
  const Config before = config;  // all or nothing
  for (std::size_t i = 2; i < c.argc(); i += 2) {
    const std::string why_not = config.set(c.arg(i), c.arg(i + 1));
    if (!why_not.empty()) {
      config = before;
      return refuse(i, why_not);
    }
  }
  if (config.append_only != was_append_only) c.engine.set_append_only(config.append_only);
  c.engine.replication().refresh_good_replicas();
  c.out.ok();
}
void config_resetstat(Call& c) {
  c.engine.stats() = EngineStats{};
  c.out.ok();
}
void config_rewrite(Call& c) {
  if (!c.engine.on_config_rewrite) return c.out.error("ERR The server is running without a config file");
  c.engine.on_config_rewrite(c.engine.replication().primary());
  c.out.ok();
}

// There are no functions here, so that flushing them is always done.
void function_flush(Call& c) {
  if (c.argc() > 3 || (c.argc() == 3 && !c.option(2, "SYNC") && !c.option(2, "ASYNC")))
    return c.out.error("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  c.out.ok();
}

void save(Call& c) {
  c.engine.save();
  c.out.ok();
}
void bgsave(Call& c) {
  c.engine.save();
  c.out.status("Background saving started");
}
void bgrewriteaof(Call& c) {
  if (c.engine.config().append_only) c.engine.set_append_only(true);
  c.out.status("Background append only file rewriting started");
}
void lastsave(Call& c) { c.out.integer(c.engine.last_save_s()); }

void shutdown(Call& c) {
  bool save = !c.engine.config().save_points.empty();
  bool save_asked = true;  // by not saying NOSAVE
  bool now = false, saves = false, abort = false;
  for (std::size_t i = 1; i < c.argc(); ++i) {
    if (c.option(i, "NOSAVE"))
      save = save_asked = false;
    else if (c.option(i, "SAVE"))
      save = saves = true;
    else if (c.option(i, "NOW"))
      now = true;
    else if (c.option(i, "ABORT"))
      abort = true;
    else if (!c.option(i, "FORCE"))
      return c.out.error(kSyntax);
  }
  if ((abort && c.argc() > 2) || (saves && !save_asked)) return c.out.error(kSyntax);
  if (abort) {
    if (!c.engine.abort_shutdown()) return c.out.error("ERR No shutdown in progress.");
    return c.out.ok();
  }
  if (c.engine.script_paused() && save_asked) {
    return c.out.error(
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.");
  }
  c.engine.shut_down(c.session, save, now);
}

void debug_sleep(Call& c) {  // the server sleeps for everybody: nobody is served until then
  double seconds = 0;
  if (!real_arg(c, 2, seconds)) return;
  c.engine.pause_clients(Engine::Pause::by_command,
                         c.engine.mono_ms() + static_cast<std::int64_t>(seconds * 1000), true);
  c.out.ok();
}
void debug_ok(Call& c) { c.out.ok(); }
void debug_reload(Call& c) {  // to a snapshot and back
  const std::string snapshot = write_snapshot(c.engine.databases());
  for (Keyspace& db : c.engine.databases()) db.clear();
  if (!read_snapshot(snapshot, c.engine.databases(), c.engine.wall_ms()))
    return c.out.error("ERR Error trying to load the RDB dump");
  c.out.ok();
}
void debug_set_active_expire(Call& c) {
  std::int64_t on = 0;
  parse_integer(c.arg(2), on);
  c.engine.set_active_expiry(on != 0);
  c.out.ok();
}

// One reply of each kind, for tests of clients and scripts.
void debug_protocol(Call& c) {
  const std::string kind = lower(c.arg(2));
  const bool three = c.out.protocol > 2;
  if (kind == "string") return c.out.bulk("Hello World");
  if (kind == "integer") return c.out.integer(12345);
  if (kind == "double") return c.out.real(3.141);
  if (kind == "null") return c.out.nil();
  if (kind == "true" || kind == "false") return c.out.boolean(kind == "true");
  if (kind == "bignum") return c.out.big_number("1234567999999999999999999999999999999");
  if (kind == "verbatim") return c.out.verbatim("This is a verbatim\nstring");
  if (kind == "array" || kind == "set") {
    kind == "array" ? c.out.array(3) : c.out.set(3);
    for (int i = 0; i < 3; ++i) c.out.integer(i);
    return;
  }
  if (kind == "map") {
    c.out.map(3);
    for (int i = 0; i < 3; ++i) {
      c.out.integer(i);
      c.out.boolean(i == 1);
    }
    return;
  }
  if (kind == "attrib") {
    if (three) {
      c.out.raw("|1\r\n");
      c.out.bulk("key-popularity");
      c.out.array(2);
      c.out.bulk("key:123");
      c.out.integer(90);
    }
    return c.out.bulk("Some real reply following the attribute");
  }
  if (kind == "push") {
    if (!three) return c.out.error("ERR RESP2 is not supported by this command");
    c.out.push(2);
    c.out.bulk("server-cpu-usage");
    c.out.integer(42);
    return c.out.bulk("Some real reply following the push reply");
  }
  c.out.error(
      "ERR Wrong protocol type name. Please use one of the following: "
      "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false");
}

// A digest of what keys hold: equal here means equal, but a real server's digest of the same is another.
std::string digest_of(const Value& value) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view a, std::string_view b) {
    parts.push_back(std::to_string(a.size()) + ' ' + std::string(a) + std::string(b));
  };
  if (const auto* text = std::get_if<std::string>(&value)) {
    add(*text, "");
  } else if (const auto* list = std::get_if<std::unique_ptr<List>>(&value)) {
    for (const std::string& item : **list) add(item, "");
  } else if (const auto* hash = std::get_if<std::unique_ptr<Hash>>(&value)) {
    (*hash)->each([&](const std::string& field, const std::string& held) { add(field, held); });
  } else if (const auto* set = std::get_if<std::unique_ptr<Set>>(&value)) {
    for (const std::string_view member : (*set)->ordered()) add(member, "");
  } else if (const auto* zset = std::get_if<std::unique_ptr<SortedSet>>(&value)) {
    for (const auto& item : (*zset)->items()) add(item.member, format_real(item.score));
  }
  if (!std::holds_alternative<std::unique_ptr<List>>(value)) std::sort(parts.begin(), parts.end());
  std::string all(type_name(value));
  for (const std::string& part : parts) all += ' ' + std::to_string(part.size()) + ' ' + part;
  return sha1_hex(all);
}
void debug_digest_value(Call& c) {
  c.out.array(c.argc() - 2);
  for (std::size_t i = 2; i < c.argc(); ++i) {
    const Entry* entry = peek_key(c, c.arg(i));
    c.out.status(entry == nullptr ? std::string(40, '0') : digest_of(entry->value));
  }
}
void debug_digest(Call& c) {
  std::string text;
  for (int db = 0; db < kDatabases; ++db) {
    for (const Entry* entry : c.engine.db(db).sorted())
      text += std::to_string(db) + ' ' + *entry->key + ' ' + std::to_string(entry->expires_at != kNoExpiry) +
              ' ' + digest_of(entry->value) + '\n';
  }
  c.out.status(text.empty() ? std::string(40, '0') : sha1_hex(text));
}
void debug_loadaof(Call& c) {
  if (!c.engine.reload_append_only()) return c.out.error("ERR Error trying to load the AOF files");
  c.out.ok();
}

void memory_usage(Call& c) {  // an estimate, as used_memory
  if (c.argc() != 3) {
    std::int64_t samples = 0;
    if (c.argc() != 5 || !c.option(3, "SAMPLES")) return c.out.error(kSyntax);
    if (!integer_arg(c, 4, samples)) return;
    if (samples < 0) return c.out.error(kSyntax);
  }
  const Entry* entry = peek_key(c, c.arg(2));
  if (entry == nullptr) return c.out.nil();
  c.out.integer(static_cast<std::int64_t>(kBytesOfKey + c.arg(2).size() + bytes_of(entry->value)));
}

void swapdb(Call& c) {
  if (c.engine.cluster() != nullptr) return c.out.error("ERR SWAPDB is not allowed in cluster mode");
  std::int64_t a = 0, b = 0;
  if (!int_arg(c, 1, a, "ERR invalid first DB index") || !int_arg(c, 2, b, "ERR invalid second DB index"))
    return;
  if (a < 0 || a >= kDatabases || b < 0 || b >= kDatabases)
    return c.out.error("ERR DB index is out of range");
  if (a != b) {
    Keyspace& first = c.engine.db(static_cast<int>(a));
    Keyspace& second = c.engine.db(static_cast<int>(b));
    c.engine.touch_all_watchers(static_cast<int>(a), &second);
    c.engine.touch_all_watchers(static_cast<int>(b), &first);
    std::swap(first, second);
    c.engine.databases_replaced();
    c.engine.signal_waiting(static_cast<int>(a));
    c.engine.signal_waiting(static_cast<int>(b));
  }
  c.engine.add_dirty(1);
  c.out.ok();
}

}  // namespace

void add_command_commands(Specs& specs);  // cmd_command.cc

void add_server_commands(Specs& specs) {
  add_command_commands(specs);
  constexpr std::uint32_t kA = kAdmin | kNoScript;
  specs.insert(specs.end(), {
                                {"time", time, 1, kFast},
                                {"info", info, -1, 0},
                                {"config", nullptr, -2, kA | kContainer},
                                {"config|get", config_get, -3, kA},
                                {"config|set", config_set, -4, kA},
                                {"config|resetstat", config_resetstat, 2, kA},
                                {"config|rewrite", config_rewrite, 2, kA},
                                {"save", save, 1, kA | kNoMulti},
                                {"bgsave", bgsave, -1, kA},
                                {"bgrewriteaof", bgrewriteaof, 1, kA},
                                {"lastsave", lastsave, 1, kFast},
                                {"shutdown", shutdown, -1, kA | kNoMulti | kAllowBusy},
                                {"debug", nullptr, -2, kA | kContainer},
                                {"debug|sleep", debug_sleep, 3, kA},
                                {"debug|set-active-expire", debug_set_active_expire, 3, kA},
                                {"debug|reload", debug_reload, -2, kA},
                                {"debug|protocol", debug_protocol, 3, kA},
                                {"debug|jmap", debug_ok, 2, kA},
                                {"debug|digest", debug_digest, 2, kA},
                                {"debug|digest-value", debug_digest_value, -2, kA},
                                {"debug|loadaof", debug_loadaof, 2, kA},
                                {"debug|quicklist-packed-threshold", debug_ok, 3, kA},
                                {"memory", nullptr, -2, kContainer},
                                {"memory|usage", memory_usage, -3, kReadonly, {2, 2, 1}},
                                {"function", nullptr, -2, kNoScript | kContainer},
                                {"function|flush", function_flush, -2, kWrite | kNoScript},
                                {"swapdb", swapdb, 3, kWrite | kFast},
                            });
}

}  // namespace holdfast::sim::embedded
