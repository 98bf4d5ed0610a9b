// Config: the parameters that CONFIG GET and SET know, as text; those that this server obeys also as values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim::embedded {

struct SavePoint {
  std::int64_t seconds;
  std::int64_t changes;
};

enum class Fsync : std::uint8_t { always, everysec, no };

class Config {
 public:
  std::int64_t min_replicas_to_write = 0;
  std::int64_t min_replicas_max_lag_s = 10;
  // Where OBJECT ENCODING tells of the larger representation.
  struct Thresholds {
    std::size_t hash_entries = 512, hash_value = 64, zset_entries = 128, zset_value = 64, intset = 512;
  } thresholds;
  std::int64_t max_memory_bytes = 0;  // 0: no limit
  std::int64_t repl_timeout_s = 60;
  std::int64_t repl_ping_period_s = 10;
  std::int64_t shutdown_timeout_s = 10;
  std::int64_t repl_backlog_bytes = 1024 * 1024;
  std::int64_t busy_reply_threshold_ms = 5000;  // 0: a script never makes the server busy
  std::string password;
  bool replica_read_only = true;
  bool replica_serve_stale_data = true;
  bool append_only = false;
  Fsync append_fsync = Fsync::everysec;
  std::vector<SavePoint> save_points;

  std::vector<std::pair<std::string, std::string>> matching(std::string_view pattern) const;  // by name
  // "" when done, else why not (without "ERR CONFIG SET failed ...").
  std::string set(std::string_view name, std::string_view value);
  bool knows(std::string_view name) const;

 private:
  using Texts = std::map<std::string, std::string, std::less<>>;
  static const Texts& at_first();

  Texts set_;  // beside those that are as at first
};

}  // namespace holdfast::sim::embedded
