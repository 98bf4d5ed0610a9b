#include "sim/redis/config.h"

#include <algorithm>

#include "sim/redis/glob.h"
#include "sim/redis/resp.h"

namespace holdfast::sim::embedded {
namespace {

struct Limits {
  std::string_view name;
  std::int64_t low, high;
};
constexpr Limits kIntegers[] = {
    {"min-replicas-to-write", 0, INT32_MAX},
    {"min-replicas-max-lag", 0, INT32_MAX},
    {"repl-timeout", 1, INT32_MAX},
    {"repl-ping-replica-period", 1, INT32_MAX},
    {"repl-backlog-ttl", 0, INT64_MAX},
    {"timeout", 0, INT32_MAX},
    {"maxclients", 1, UINT32_MAX},
    {"hz", 0, INT32_MAX},
    {"busy-reply-threshold", 0, INT64_MAX},
    {"shutdown-timeout", 0, INT32_MAX},
    {"repl-diskless-sync-delay", 0, INT32_MAX},
    {"slowlog-log-slower-than", -1, INT64_MAX},
    {"hash-max-listpack-entries", 0, INT64_MAX},
    {"set-max-intset-entries", 0, INT64_MAX},
    {"zset-max-listpack-entries", 0, INT64_MAX},
    {"list-max-listpack-size", INT32_MIN, INT32_MAX},
    {"list-compress-depth", 0, INT32_MAX},
    {"replica-announce-port", 0, 65535},
    {"replica-priority", 0, INT32_MAX},
    {"latency-monitor-threshold", 0, INT64_MAX},
    {"maxmemory-samples", 1, INT32_MAX},
    {"tcp-keepalive", 0, INT32_MAX},
    {"key-load-delay", INT32_MIN, INT32_MAX},
    {"rdb-key-save-delay", INT32_MIN, INT32_MAX},
};
constexpr std::string_view kBooleans[] = {"appendonly",
                                          "aof-use-rdb-preamble",
                                          "replica-read-only",
                                          "replica-serve-stale-data",
                                          "repl-diskless-sync",
                                          "protected-mode",
                                          "stop-writes-on-bgsave-error",
                                          "activerehashing",
                                          "lazyfree-lazy-eviction",
                                          "lazyfree-lazy-expire",
                                          "lazyfree-lazy-server-del",
                                          "lazyfree-lazy-user-del",
                                          "lazyfree-lazy-user-flush"};

// Told only to who asks for the very name.
constexpr std::string_view kHidden[] = {"key-load-delay", "rdb-key-save-delay"};

// Older names of settings. Either is known, CONFIG GET tells the one that was asked for.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"hash-max-ziplist-entries", "hash-max-listpack-entries"},
    {"hash-max-ziplist-value", "hash-max-listpack-value"},
    {"list-max-ziplist-size", "list-max-listpack-size"},
    {"lua-time-limit", "busy-reply-threshold"},
    {"min-slaves-max-lag", "min-replicas-max-lag"},
    {"min-slaves-to-write", "min-replicas-to-write"},
    {"repl-ping-slave-period", "repl-ping-replica-period"},
    {"slaveof", "replicaof"},
    {"slave-announce-ip", "replica-announce-ip"},
    {"slave-announce-port", "replica-announce-port"},
    {"slave-priority", "replica-priority"},
    {"slave-read-only", "replica-read-only"},
    {"slave-serve-stale-data", "replica-serve-stale-data"},
    {"zset-max-ziplist-entries", "zset-max-listpack-entries"},
    {"zset-max-ziplist-value", "zset-max-listpack-value"}};

// "100mb" and the like. False: no size.
bool parse_size(std::string_view text, std::int64_t& bytes) {
  const std::string folded = lower(text);
  std::size_t digits = 0;
  while (digits < folded.size() && folded[digits] >= '0' && folded[digits] <= '9') ++digits;
  const std::string_view unit = std::string_view(folded).substr(digits);
  std::int64_t factor = 1;
  if (unit == "k")
    factor = 1000;
  else if (unit == "kb")
    factor = 1024;
  else if (unit == "m")
    factor = 1000 * 1000;
  else if (unit == "mb")
    factor = 1024 * 1024;
  else if (unit == "g")
    factor = 1000LL * 1000 * 1000;
  else if (unit == "gb")
    factor = 1024LL * 1024 * 1024;
  else if (!unit.empty() && unit != "b")
    return false;
  if (!parse_integer(std::string_view(folded).substr(0, digits), bytes)) return false;
  bytes *= factor;
  return true;
}

bool parse_save_points(std::string_view text, std::vector<SavePoint>& points) {
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    std::int64_t value = 0;
    if (!parse_integer(word, value) || value < 0) return false;
    numbers.push_back(value);
  }
  if (numbers.size() % 2 != 0) return false;
  points.clear();
  for (std::size_t i = 0; i < numbers.size(); i += 2) points.push_back({numbers[i], numbers[i + 1]});
  return true;
}

}  // namespace

const Config::Texts& Config::at_first() {
  static const Texts kAtFirst = {{"appendfsync", "everysec"},
                                 {"appendonly", "no"},
                                 {"aof-use-rdb-preamble", "yes"},
                                 {"daemonize", "no"},
                                 {"key-load-delay", "0"},
                                 {"replicaof", ""},
                                 {"slaveof", ""},
                                 {"rdb-key-save-delay", "0"},
                                 {"zset-max-ziplist-value", "64"},
                                 {"zset-max-ziplist-entries", "128"},
                                 {"tcp-keepalive", "300"},
                                 {"slave-serve-stale-data", "yes"},
                                 {"slave-priority", "100"},
                                 {"slave-announce-port", "0"},
                                 {"slave-announce-ip", ""},
                                 {"repl-ping-slave-period", "10"},
                                 {"proto-max-bulk-len", "536870912"},
                                 {"maxmemory-samples", "5"},
                                 {"list-max-ziplist-size", "-2"},
                                 {"list-compress-depth", "0"},
                                 {"lazyfree-lazy-user-flush", "no"},
                                 {"lazyfree-lazy-user-del", "no"},
                                 {"lazyfree-lazy-server-del", "no"},
                                 {"lazyfree-lazy-eviction", "no"},
                                 {"latency-monitor-threshold", "0"},
                                 {"hash-max-ziplist-value", "64"},
                                 {"hash-max-ziplist-entries", "512"},
                                 {"activerehashing", "yes"},
                                 {"bind", "* -::*"},
                                 {"busy-reply-threshold", "5000"},
                                 {"databases", "16"},
                                 {"dbfilename", "dump.rdb"},
                                 {"dir", "/"},
                                 {"hash-max-listpack-entries", "512"},
                                 {"hash-max-listpack-value", "64"},
                                 {"hz", "10"},
                                 {"lazyfree-lazy-expire", "no"},
                                 {"list-max-listpack-size", "-2"},
                                 {"lua-time-limit", "5000"},
                                 {"maxclients", "10000"},
                                 {"maxmemory", "0"},
                                 {"maxmemory-policy", "noeviction"},
                                 {"min-replicas-max-lag", "10"},
                                 {"min-replicas-to-write", "0"},
                                 {"min-slaves-max-lag", "10"},
                                 {"min-slaves-to-write", "0"},
                                 {"notify-keyspace-events", ""},
                                 {"protected-mode", "no"},
                                 {"repl-backlog-size", "1048576"},
                                 {"repl-backlog-ttl", "3600"},
                                 {"repl-diskless-sync", "yes"},
                                 {"repl-diskless-sync-delay", "0"},
                                 {"repl-ping-replica-period", "10"},
                                 {"repl-timeout", "60"},
                                 {"replica-announce-ip", ""},
                                 {"replica-announce-port", "0"},
                                 {"replica-priority", "100"},
                                 {"replica-read-only", "yes"},
                                 {"replica-serve-stale-data", "yes"},
                                 {"requirepass", ""},
                                 {"save", ""},
                                 {"set-max-intset-entries", "512"},
                                 {"shutdown-timeout", "10"},
                                 {"slave-read-only", "yes"},
                                 {"slowlog-log-slower-than", "10000"},
                                 {"stop-writes-on-bgsave-error", "yes"},
                                 {"timeout", "0"},
                                 {"zset-max-listpack-entries", "128"},
                                 {"zset-max-listpack-value", "64"}};
  return kAtFirst;
}

std::vector<std::pair<std::string, std::string>> Config::matching(std::string_view pattern) const {
  std::vector<std::pair<std::string, std::string>> result;
  const std::string folded = lower(pattern);
  Texts texts = set_;
  texts.insert(at_first().begin(), at_first().end());
  for (const auto& [name, text] : texts) {
    const bool hidden = std::find(std::begin(kHidden), std::end(kHidden), name) != std::end(kHidden);
    if (hidden ? folded == name : glob_match(folded, name)) result.emplace_back(name, text);
  }
  return result;
}

bool Config::knows(std::string_view name) const {
  const std::string folded = lower(name);
  return at_first().contains(folded) || set_.contains(folded);
}

static std::string todays_name(std::string_view given) {
  std::string name = lower(given);
  for (const auto& [other, today] : kOtherNames) {
    if (other == name) name = today;
  }
  return name;
}

std::string Config::set(std::string_view given, std::string_view value) {
  const std::string name = todays_name(given);
  std::string text(value);
  std::int64_t number = 0;
  for (const Limits& limit : kIntegers) {
    if (limit.name != name) continue;
    if (!parse_integer(value, number)) return "argument couldn't be parsed into an integer";
    if (number < limit.low || number > limit.high) {
      return "argument must be between " + std::to_string(limit.low) + " and " + std::to_string(limit.high) +
             " inclusive";
    }
  }
  for (const std::string_view boolean : kBooleans) {
    if (boolean != name) continue;
    text = lower(value);
    if (text != "yes" && text != "no") return "argument must be 'yes' or 'no'";
  }
  if (name == "min-replicas-to-write") {
    min_replicas_to_write = number;
  } else if (name == "min-replicas-max-lag") {
    min_replicas_max_lag_s = number;
  } else if (name == "replica-read-only") {
    replica_read_only = text == "yes";
  } else if (name == "replica-serve-stale-data") {
    replica_serve_stale_data = text == "yes";
  } else if (name == "busy-reply-threshold") {
    busy_reply_threshold_ms = number;
  } else if (name == "shutdown-timeout") {
    shutdown_timeout_s = number;
  } else if (name == "repl-timeout") {
    repl_timeout_s = number;
  } else if (name == "repl-ping-replica-period") {
    repl_ping_period_s = number;
  } else if (name == "appendonly") {
    append_only = text == "yes";
  } else if (name == "appendfsync") {
    text = lower(value);
    if (text != "everysec" && text != "always" && text != "no") {
      return "argument(s) must be one of the following: always, everysec, no";
    }
    append_fsync = text == "always" ? Fsync::always : text == "no" ? Fsync::no : Fsync::everysec;
  } else if (name == "requirepass") {
    password = text;
  } else if (name == "save") {
    if (!parse_save_points(value, save_points)) return "Invalid save parameters";
  } else if (name == "repl-backlog-size" || name == "maxmemory" || name == "hash-max-listpack-value" ||
             name == "zset-max-listpack-value" || name == "proto-max-bulk-len") {
    if (!parse_size(value, number)) return "argument must be a memory value";
    text = std::to_string(number);
    if (name == "repl-backlog-size") repl_backlog_bytes = number;
    if (name == "maxmemory") max_memory_bytes = number;
  } else if (name == "databases" || name == "daemonize" || name == "replicaof") {
    return "can't set immutable config";
  }
  const auto sized = [&](std::string_view wanted, std::size_t& into) {
    if (name == wanted) into = static_cast<std::size_t>(number);
  };
  sized("hash-max-listpack-entries", thresholds.hash_entries);
  sized("hash-max-listpack-value", thresholds.hash_value);
  sized("zset-max-listpack-entries", thresholds.zset_entries);
  sized("zset-max-listpack-value", thresholds.zset_value);
  sized("set-max-intset-entries", thresholds.intset);
  set_[name] = text;
  for (const auto& [other, today] : kOtherNames) {
    if (today == name) set_[std::string(other)] = text;
  }
  return {};
}

}  // namespace holdfast::sim::embedded
