#include "sim/redis/info.h"

#include <algorithm>
#include <vector>

#include "sim/redis/engine.h"
#include "sim/redis/script_engine.h"

namespace holdfast::sim::embedded {
namespace {

void line(std::string& to, std::string_view name, std::string_view value) {
  to += name;
  to += ':';
  to += value;
  to += "\r\n";
}
void line(std::string& to, std::string_view name, std::int64_t value) {
  line(to, name, std::to_string(value));
}

void server(std::string& to, Engine& e) {
  line(to, "redis_version", kRedisVersion);
  line(to, "redis_git_sha1", "00000000");
  line(to, "redis_git_dirty", 0);
  line(to, "redis_mode", e.cluster() != nullptr ? "cluster" : "standalone");
  line(to, "os", "Linux");
  line(to, "arch_bits", 64);
  line(to, "process_id", 1);
  line(to, "run_id", e.run_id());
  line(to, "tcp_port", e.port());
  line(to, "server_time_usec", e.wall_us());
  line(to, "uptime_in_seconds", (e.mono_ms() - e.started_ms()) / 1000);
  line(to, "uptime_in_days", (e.mono_ms() - e.started_ms()) / 86'400'000);
  line(to, "hz", 10);
  line(to, "configured_hz", 10);
}

void clients(std::string& to, Engine& e) {
  std::int64_t connected = 0, blocked = 0, limited = 0;
  for (const auto& [id, session] : e.sessions()) {
    if (session->replica == ReplicaState::none) ++connected;
    if (session->blocked != Blocked::no) ++blocked;
    if (session->blocked != Blocked::no && session->blocked_until_ms != 0) ++limited;
  }
  line(to, "connected_clients", connected);
  line(to, "maxclients", 10000);
  line(to, "blocked_clients", blocked);
  line(to, "tracking_clients", 0);
  line(to, "clients_in_timeout_table", limited);
}

void memory(std::string& to, Engine& e) {
  line(to, "used_memory", e.used_memory());
  line(to, "number_of_cached_scripts", static_cast<std::int64_t>(e.scripts().cached()));
  line(to, "maxmemory", e.config().max_memory_bytes);
  line(to, "maxmemory_policy", "noeviction");
}

void persistence(std::string& to, Engine& e) {
  line(to, "loading", e.loads() ? 1 : 0);
  line(to, "async_loading", 0);
  line(to, "rdb_changes_since_last_save", e.unsaved_changes());
  line(to, "rdb_bgsave_in_progress", 0);
  line(to, "rdb_last_save_time", e.last_save_s());
  line(to, "rdb_last_bgsave_status", "ok");
  line(to, "aof_enabled", e.config().append_only ? 1 : 0);
  line(to, "aof_rewrite_in_progress", 0);
  line(to, "aof_rewrite_scheduled", 0);
  line(to, "aof_last_bgrewrite_status", "ok");
  line(to, "aof_last_write_status", e.append_failed() ? "err" : "ok");
}

void stats(std::string& to, Engine& e) {
  const EngineStats& s = e.stats();
  line(to, "total_connections_received", s.connections);
  line(to, "total_commands_processed", s.commands);
  line(to, "sync_full", s.sync_full);
  line(to, "sync_partial_ok", s.sync_partial_ok);
  line(to, "sync_partial_err", s.sync_partial_err);
  line(to, "expired_keys", s.expired_keys);
  line(to, "evicted_keys", 0);
  line(to, "keyspace_hits", s.keyspace_hits);
  line(to, "keyspace_misses", s.keyspace_misses);
  line(to, "pubsub_channels", static_cast<std::int64_t>(e.pubsub().channels.size()));
  line(to, "pubsub_patterns", static_cast<std::int64_t>(e.pubsub().patterns.size()));
  line(to, "total_error_replies", s.errors);
}

void replication(std::string& to, Engine& e) {
  const Replication& r = e.replication();
  line(to, "role", r.is_replica() ? "slave" : "master");
  if (r.is_replica()) {
    const bool up = r.link_state() == LinkState::connected;
    line(to, "master_host", r.primary().host);
    line(to, "master_port", r.primary().port);
    line(to, "master_link_status", up ? "up" : "down");
    line(to, "master_last_io_seconds_ago", up ? (e.wall_ms() - r.last_io_ms()) / 1000 : -1);
    line(to, "master_sync_in_progress", r.link_state() == LinkState::sync ? 1 : 0);
    line(to, "slave_read_repl_offset", r.offset());
    line(to, "slave_repl_offset", r.offset());
    if (!up) line(to, "master_link_down_since_seconds", (e.wall_ms() - r.link_down_since_ms()) / 1000);
    line(to, "slave_priority", e.config().matching("replica-priority").at(0).second);
    line(to, "slave_read_only", e.config().replica_read_only ? 1 : 0);
    line(to, "replica_announced", 1);
  }
  line(to, "connected_slaves", static_cast<std::int64_t>(r.replica_count()));
  if (e.config().min_replicas_to_write > 0 && e.config().min_replicas_max_lag_s > 0) {
    line(to, "min_slaves_good_slaves", r.good_replicas());
  }
  int number = 0;
  for (const Session* s : r.replicas()) {
    const std::string host =
        s->announced_host.empty() ? s->peer.substr(0, s->peer.rfind(':')) : s->announced_host;
    line(to, "slave" + std::to_string(number++),
         "ip=" + host + ",port=" + std::to_string(s->listening_port) + ",state=online,offset=" +
             std::to_string(s->acked_offset) + ",lag=" + std::to_string(r.lag_s(*s)));
  }
  line(to, "master_failover_state",
       r.failover() == Replication::Failover::none          ? "no-failover"
       : r.failover() == Replication::Failover::in_progress ? "failover-in-progress"
                                                            : "waiting-for-sync");
  line(to, "master_replid", r.id());
  line(to, "master_replid2", r.second_id());
  line(to, "master_repl_offset", r.offset());
  line(to, "second_repl_offset", r.second_offset());
  line(to, "repl_backlog_active", r.backlog_active() ? 1 : 0);
  line(to, "repl_backlog_size", e.config().repl_backlog_bytes);
  line(to, "repl_backlog_first_byte_offset", r.backlog_active() ? r.backlog_first() : 0);
  line(to, "repl_backlog_histlen", r.backlog_active() ? r.backlog_length() : 0);
}

void cpu(std::string& to, Engine&) {
  line(to, "used_cpu_sys", "0.000000");
  line(to, "used_cpu_user", "0.000000");
  line(to, "used_cpu_sys_children", "0.000000");
  line(to, "used_cpu_user_children", "0.000000");
}
void cluster(std::string& to, Engine& e) { line(to, "cluster_enabled", e.cluster() != nullptr ? 1 : 0); }

void keyspace(std::string& to, Engine& e) {
  for (int db = 0; db < kDatabases; ++db) {
    const Keyspace& keys = e.db(db);
    if (keys.size() == 0) continue;
    line(to, "db" + std::to_string(db),
         "keys=" + std::to_string(keys.size()) + ",expires=" + std::to_string(keys.with_ttl()) +
             ",avg_ttl=" + std::to_string(static_cast<std::int64_t>(keys.average_ttl(e.wall_ms()))));
  }
}

// A command takes no time here.
void command_stats(std::string& to, Engine& e) {
  const std::vector<CommandSpec>& all = CommandTable::instance().all();
  for (std::size_t i = 0; i < e.stats().by_command.size(); ++i) {
    const CommandStats& s = e.stats().by_command[i];
    if (s.calls + s.rejected == 0) continue;
    line(to, "cmdstat_" + std::string(all[i].name),
         "calls=" + std::to_string(s.calls) + ",usec=0,usec_per_call=0.00,rejected_calls=" +
             std::to_string(s.rejected) + ",failed_calls=" + std::to_string(s.failed));
  }
}
void error_stats(std::string& to, Engine& e) {
  for (const auto& [code, count] : e.stats().errors_by_code)
    line(to, "errorstat_" + code, "count=" + std::to_string(count));
}
void modules(std::string&, Engine&) {}

struct Section {
  std::string_view name, title;
  void (*write)(std::string&, Engine&);
  bool by_default = true;
};
constexpr Section kSections[] = {{"server", "Server", server},
                                 {"clients", "Clients", clients},
                                 {"memory", "Memory", memory},
                                 {"persistence", "Persistence", persistence},
                                 {"stats", "Stats", stats},
                                 {"replication", "Replication", replication},
                                 {"cpu", "CPU", cpu},
                                 {"modules", "Modules", modules},
                                 {"commandstats", "Commandstats", command_stats, false},
                                 {"errorstats", "Errorstats", error_stats},
                                 {"cluster", "Cluster", cluster},
                                 {"keyspace", "Keyspace", keyspace}};

}  // namespace

std::string info_text(Engine& engine, Args sections) {
  std::vector<std::string> wanted;
  bool by_default = sections.empty(), all = false;
  for (const std::string_view section : sections) {
    wanted.push_back(lower(section));
    all = all || wanted.back() == "all" || wanted.back() == "everything";
    by_default = by_default || wanted.back() == "default";
  }
  std::string text;
  for (const Section& section : kSections) {
    if (!all && !(by_default && section.by_default) &&
        std::find(wanted.begin(), wanted.end(), section.name) == wanted.end())
      continue;
    if (!text.empty()) text += "\r\n";
    text += "# " + std::string(section.title) + "\r\n";
    section.write(text, engine);
  }
  return text;
}

}  // namespace holdfast::sim::embedded
