#include "sim/cluster/server_settings.h"

#include <algorithm>
#include <utility>

#include "sim/redis/config.h"

namespace holdfast::sim {
namespace {

constexpr std::string_view kOneThread = "it has no threads";
constexpr std::string_view kNoMemoryOfItsOwn = "it has no memory to tidy up";
constexpr std::string_view kNoRewrite = "it rewrites its append-only file at once";

constexpr std::pair<std::string_view, std::string_view> kDecided[] = {
    {"appendonly", "`persistence` in [cluster]"},
    {"save", "`persistence` in [cluster]"},
    {"replicaof", "`topology` in [cluster]"},
    {"slaveof", "`topology` in [cluster]"},
    {"port", "the harness"},
    {"bind", "the harness"},
    {"bind-source-addr", "the harness"},
    {"dir", "the harness"},
    {"daemonize", "the harness"},
    {"protected-mode", "the harness"},
    {"enable-debug-command", "the harness"},
    {"replica-announce-ip", "the harness"},
    {"replica-announce-port", "the harness"}};

}  // namespace

const std::vector<ServerSetting>& all_server_settings() {
  static const std::vector<ServerSetting> kSettings = {
      {"activedefrag", kNoMemoryOfItsOwn},
      {"aof-load-truncated", "its append-only file is cut between commands only"},
      {"appendfsync"},
      {"auto-aof-rewrite-min-size", kNoRewrite},
      {"auto-aof-rewrite-percentage", kNoRewrite},
      {"busy-reply-threshold"},
      {"client-output-buffer-limit", "it closes no connection for what waits in it"},
      {"hz", "it keeps time ten times a second"},
      {"io-threads", kOneThread},
      {"lazyfree-lazy-expire", kOneThread},
      {"lazyfree-lazy-user-del", kOneThread},
      {"lazyfree-lazy-user-flush", kOneThread},
      {"maxclients", "it takes any number of clients"},
      {"maxmemory"},
      {"maxmemory-policy"},
      {"maxmemory-samples", "it evicts nothing"},
      {"min-replicas-max-lag"},
      {"min-replicas-to-write"},
      {"no-appendfsync-on-rewrite", kNoRewrite},
      {"repl-backlog-size"},
      {"repl-backlog-ttl", "it keeps its backlog for an hour"},
      {"repl-disable-tcp-nodelay", "its connections send at once"},
      {"repl-diskless-load", "it loads what it is sent at once"},
      {"repl-diskless-sync", "its disk takes no time"},
      {"repl-diskless-sync-delay", "it sends its data at once"},
      {"repl-ping-replica-period"},
      {"repl-timeout"},
      {"replica-ignore-maxmemory", "it evicts nothing"},
      {"replica-lazy-flush", kOneThread},
      {"replica-priority"},
      {"replica-read-only"},
      {"replica-serve-stale-data"},
      {"tcp-keepalive", "its connections are not probed"},
      {"timeout", "it closes no idle connection"},
  };
  return kSettings;
}

std::string problem_of(std::string_view name, std::string_view value) {
  embedded::Config config;
  return config.knows(name) ? config.set(name, value) : "";
}

std::string why_not_embedded(std::string_view name, std::string_view value) {
  if (name == "maxmemory-policy" && value != "noeviction") return "it evicts nothing";
  for (const ServerSetting& setting : all_server_settings()) {
    if (setting.name == name) return std::string(setting.not_embedded);
  }
  return "";
}

std::string_view decided_by(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kDecided), std::end(kDecided),
                                         [&](const auto& one) { return one.first == name; });
  return found == std::end(kDecided) ? std::string_view() : found->second;
}

}  // namespace holdfast::sim
