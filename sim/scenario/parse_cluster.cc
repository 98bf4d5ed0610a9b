// [cluster]: servers, Sentinels, and the settings of both.
#include "sim/scenario/parse_cluster.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cluster/server_settings.h"
#include "sim/comparators/engine.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/parse_setting.h"
#include "sim/scenario/table_reader.h"

namespace holdfast::sim {
namespace {

constexpr std::pair<std::string_view, Topology> kTopologies[] = {
    {"single", Topology::single},     {"primary-replica", Topology::primary_replica},
    {"sentinel", Topology::sentinel}, {"independent", Topology::independent},
    {"cluster", Topology::cluster},   {"ensemble", Topology::ensemble}};

// Whole milliseconds, as Sentinels count them.
Duration in_whole_ms(TableReader& reader, std::string_view key, Duration otherwise) {
  const Duration value = reader.duration(key).value_or(otherwise);
  if (value < std::chrono::milliseconds(1) || value % std::chrono::milliseconds(1) != Duration{}) {
    throw BadScenario(reader.at(key), "`" + std::string(key) + "` is " + format_duration(value) +
                                          ", expected whole milliseconds, such as \"500ms\"");
  }
  return value;
}

// The keys of the topology "sentinel". `taken`: names of servers.
void parse_sentinels(TableReader& reader, ClusterOptions& cluster, std::set<std::string> taken) {
  static constexpr const char* kKeys[] = {"sentinels",        "quorum",         "down_after",
                                          "failover_timeout", "parallel_syncs", "sentinel_pace"};
  if (cluster.topology != Topology::sentinel) {
    for (const char* const key : kKeys) {
      if (reader.value(key) == nullptr) continue;
      throw BadScenario(reader.at(key),
                        "`" + std::string(key) + "` goes with topology = \"sentinel\" only, expected none");
    }
    return;
  }
  SentinelSettings& sentinels = cluster.sentinels;
  sentinels.names = reader.texts("sentinels").value_or(sentinels.names);
  if (sentinels.names.empty() || sentinels.names.size() > 9)
    throw BadScenario(reader.at("sentinels"), "`sentinels` has " + std::to_string(sentinels.names.size()) +
                                                  " names, expected 1 to 9, such as three");
  for (const std::string& name : sentinels.names) {
    if (!is_name(name)) {
      throw BadScenario(reader.at("sentinels"),
                        "`" + name + "` is no name, expected letters, digits, - and _");
    }
    if (!taken.insert(name).second)
      throw BadScenario(reader.at("sentinels"), "`" + name + "` twice, expected different names");
  }
  const auto all = static_cast<std::int64_t>(sentinels.names.size());
  sentinels.quorum = static_cast<int>(reader.integer("quorum", 1, all).value_or(all / 2 + 1));
  sentinels.down_after = in_whole_ms(reader, "down_after", sentinels.down_after);
  sentinels.failover_timeout = in_whole_ms(reader, "failover_timeout", sentinels.failover_timeout);
  sentinels.parallel_syncs = static_cast<int>(reader.integer("parallel_syncs", 1, 15).value_or(1));
  sentinels.quick = reader.choice("sentinel_pace", {"quick", "usual"}).value_or("quick") == "quick";
}

// The keys of the topology "cluster".
void parse_election(TableReader& reader, ClusterOptions& cluster) {
  ElectionSettings& election = cluster.election;
  const auto primaries = reader.integer("primaries", 3, 16);
  election.node_timeout = in_whole_ms(reader, "node_timeout", election.node_timeout);
  if (cluster.topology != Topology::cluster) {
    for (const char* const key : {"primaries", "node_timeout"}) {
      if (reader.value(key) == nullptr) continue;
      throw BadScenario(reader.at(key),
                        "`" + std::string(key) + "` goes with topology = \"cluster\" only, expected none");
    }
    return;
  }
  const auto nodes = static_cast<std::int64_t>(cluster.nodes.size());
  election.primaries = static_cast<int>(primaries.value_or(3));
  if (election.primaries > nodes) {
    throw BadScenario(reader.at("primaries"), "`primaries` is " + std::to_string(election.primaries) +
                                                  ", but `nodes` has " + std::to_string(nodes) +
                                                  " names, expected at most that many");
  }
}

// follows = { r3 = "r2" }
void parse_follows(const Value& table, ClusterOptions& cluster) {
  if (table.kind != Value::Kind::table)
    throw BadScenario(
        table.at, "`follows` is " + std::string(table.kind_name()) + ", expected such as { r3 = \"r2\" }");
  if (cluster.topology != Topology::primary_replica)
    throw BadScenario(table.at, "`follows` goes with topology = \"primary-replica\" only, expected none");
  for (const Member& member : table.members) {
    check_name(member.key, cluster.nodes, member.at, "follows");
    if (member.value.kind != Value::Kind::text)
      throw BadScenario(member.value.at, "`" + member.key + "` follows " +
                                             std::string(member.value.kind_name()) + ", expected a node");
    check_name(member.value.text, cluster.nodes, member.value.at, member.key);
    const auto place = [&](const std::string& name) {
      return std::find(cluster.nodes.begin(), cluster.nodes.end(), name);
    };
    if (place(member.value.text) >= place(member.key)) {
      throw BadScenario(member.value.at, "`" + member.key + "` follows `" + member.value.text +
                                             "`, expected a node that stands before it in `nodes`");
    }
    cluster.follows[member.key] = member.value.text;
  }
}

// The value of a setting as redis-server reads it.
std::string text_of(const Value& value, const std::string& name) {
  switch (value.kind) {
    case Value::Kind::text: return value.text;
    case Value::Kind::integer: return std::to_string(value.integer);
    case Value::Kind::flag: return value.flag ? "yes" : "no";
    default: break;
  }
  throw BadScenario(value.at, "`" + name + "` is " + std::string(value.kind_name()) +
                                  ", expected a string, a number, true or false");
}

// tls = true
void parse_tls(TableReader& reader, ClusterOptions& cluster) {
  cluster.tls = reader.flag("tls").value_or(false);
  if (cluster.tls && (cluster.topology == Topology::sentinel || cluster.topology == Topology::cluster)) {
    throw BadScenario(reader.at("tls"),
                      "`tls` with this topology: servers would come to the doors that are the clients', and "
                      "they speak plain, expected topology = \"single\", \"primary-replica\" or "
                      "\"independent\"");
  }
}

// Of another engine: any of those that it takes, in its own words.
void parse_engine_settings(const Value& table, const Engine& engine, ClusterOptions& cluster) {
  std::vector<std::string> known;
  for (const EngineSetting& setting : engine.settings) known.emplace_back(setting.name);
  for (const Member& member : table.members) {
    if (std::find(known.begin(), known.end(), member.key) == known.end()) {
      throw BadScenario(member.at, "unknown setting `" + member.key + "` of " + std::string(engine.name) +
                                       ", expected " + one_of(known) + did_you_mean(member.key, known));
    }
    cluster.settings.emplace_back(member.key, text_of(member.value, member.key));
  }
}

void parse_server_settings(const Value& table, Scenario& scenario) {
  if (table.kind != Value::Kind::table) {
    throw BadScenario(table.at, "`settings` is " + std::string(table.kind_name()) +
                                    ", expected a table: [cluster.settings]");
  }
  ClusterOptions& cluster = scenario.cluster;
  if (const Engine* const engine = find_engine(cluster.engine))
    return parse_engine_settings(table, *engine, cluster);
  std::vector<std::string> known;
  for (const ServerSetting& setting : all_server_settings()) known.emplace_back(setting.name);
  for (const Member& member : table.members) {
    const std::string& name = member.key;
    if (const std::string_view who = decided_by(name); !who.empty())
      throw BadScenario(member.at,
                        "`" + name + "` is decided by " + std::string(who) + ", expected none here");
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw BadScenario(member.at, "unknown setting `" + name +
                                       "`, expected a setting of redis-server that `holdfast schema` has" +
                                       did_you_mean(name, known));
    }
    const std::string value = text_of(member.value, name);
    if (const std::string problem = problem_of(name, value); !problem.empty())
      throw BadScenario(member.value.at, "`" + name + "` = \"" + value + "\": " + problem);
    if (name == "appendfsync" &&
        (cluster.persistence == Persistence::none || cluster.persistence == Persistence::rdb)) {
      throw BadScenario(member.at,
                        "`appendfsync` means nothing without an append-only file, expected "
                        "persistence = \"aof-everysec\" or its like");
    }
    if ((name == "min-replicas-to-write" || name == "min-replicas-max-lag") &&
        cluster.min_replicas_to_write > 0)
      throw BadScenario(member.at, "`" + name + "` beside `min_replicas_to_write`, expected one of the two");
    cluster.settings.emplace_back(name, value);
    scenario.settings_at[name] = member.value.at;
  }
}

// What another engine has not.
void of_engine(TableReader& reader, const Engine& engine, Topology topology) {
  if (std::find(engine.topologies.begin(), engine.topologies.end(), topology) == engine.topologies.end()) {
    std::vector<std::string> known;
    for (const auto& [name, one] : kTopologies) {
      if (std::find(engine.topologies.begin(), engine.topologies.end(), one) != engine.topologies.end())
        known.emplace_back(name);
    }
    throw BadScenario(reader.at("topology"), "`topology`: " + std::string(engine.name) +
                                                 " has no such one, expected " + one_of(known));
  }
  for (const char* const key : {"persistence", "min_replicas_to_write", "min_replicas_max_lag", "tls"}) {
    if (reader.value(key) == nullptr) continue;
    throw BadScenario(reader.at(key), "`" + std::string(key) + "` goes with Redis only, expected none");
  }
}

}  // namespace

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

void needs_engine(std::string_view what, std::string_view name, std::string_view engine,
                  const Scenario& scenario, const Position& at) {
  if (engine == scenario.cluster.engine) return;
  throw BadScenario(at, "the " + std::string(what) + " `" + std::string(name) + "` needs engine = \"" +
                            std::string(engine) + "\" in [cluster], and there it is \"" +
                            scenario.cluster.engine + "\", expected that");
}

void parse_cluster(const Value& table, Scenario& scenario) {
  TableReader reader(table, "[cluster]");
  std::vector<std::string> topologies;
  for (const auto& [name, one] : kTopologies) topologies.emplace_back(name);
  const std::string topology = reader.choice("topology", topologies).value_or("single");
  ClusterOptions& cluster = scenario.cluster;
  std::vector<std::string> engines = {std::string(kRedis)};
  for (const Engine& engine : all_engines()) engines.emplace_back(engine.name);
  cluster.engine = reader.choice("engine", engines).value_or(std::string(kRedis));
  for (const auto& [name, one] : kTopologies) {
    if (topology == name) cluster.topology = one;
  }
  const Engine* const engine = find_engine(cluster.engine);
  if (engine != nullptr) of_engine(reader, *engine, cluster.topology);
  if (engine == nullptr && cluster.topology == Topology::ensemble)
    throw BadScenario(reader.at("topology"), "`topology`: " + cluster.engine +
                                                 " has no ensemble, expected engine = \"etcd\" or its like");
  std::vector<std::string> usual = {"r1"};
  if (cluster.topology != Topology::single) usual.emplace_back("r2");
  if (cluster.topology == Topology::ensemble) usual = {"r1", "r2", "r3"};
  if (cluster.topology == Topology::cluster) usual = {"r1", "r2", "r3", "r4", "r5", "r6"};
  cluster.nodes = reader.texts("nodes").value_or(usual);
  const std::size_t least = elects(cluster.topology) ? 3 : has_replicas(cluster.topology) ? 2 : 1;
  const std::size_t most = cluster.topology == Topology::single ? 1 : 16;
  if (cluster.nodes.size() < least || cluster.nodes.size() > most) {
    throw BadScenario(reader.at("nodes"), "`nodes` has " + std::to_string(cluster.nodes.size()) +
                                              " names, expected " + std::to_string(least) + " to " +
                                              std::to_string(most) + " for the topology \"" + topology +
                                              "\"");
  }
  std::set<std::string> seen;
  for (const std::string& node : cluster.nodes) {
    if (!is_name(node))
      throw BadScenario(reader.at("nodes"), "`" + node + "` is no name, expected letters, digits, - and _");
    if (!seen.insert(node).second)
      throw BadScenario(reader.at("nodes"), "node `" + node + "` twice, expected different names");
  }
  parse_sentinels(reader, cluster, seen);
  parse_election(reader, cluster);
  if (const Value* const follows = reader.value("follows")) parse_follows(*follows, cluster);
  const std::string persistence =
      reader.choice("persistence", {"none", "rdb", "aof-always", "aof-everysec", "aof-no"}).value_or("none");
  cluster.persistence = persistence == "none"         ? Persistence::none
                        : persistence == "rdb"        ? Persistence::rdb
                        : persistence == "aof-always" ? Persistence::aof_always
                        : persistence == "aof-no"     ? Persistence::aof_no
                                                      : Persistence::aof_everysec;
  const auto replicas = static_cast<std::int64_t>(direct_replicas(cluster));
  const auto least_replicas = reader.integer("min_replicas_to_write", 0, 15).value_or(0);
  if (least_replicas > replicas) {
    throw BadScenario(reader.at("min_replicas_to_write"),
                      "`min_replicas_to_write` is " + std::to_string(least_replicas) +
                          ", but the cluster has " + std::to_string(replicas) +
                          " replicas: no write would ever be taken, expected at most that many");
  }
  cluster.min_replicas_to_write = static_cast<int>(least_replicas);
  if (const auto lag = reader.duration("min_replicas_max_lag")) {
    cluster.min_replicas_max_lag = std::chrono::duration_cast<std::chrono::seconds>(*lag);
    if (cluster.min_replicas_max_lag != *lag || lag->count() == 0)
      throw BadScenario(reader.at("min_replicas_max_lag"),
                        "`min_replicas_max_lag` is " + format_duration(*lag) +
                            ", expected whole seconds, as Redis counts them, such as \"2s\"");
    if (least_replicas == 0)
      throw BadScenario(
          reader.at("min_replicas_max_lag"),
          "`min_replicas_max_lag` means nothing without `min_replicas_to_write`, expected both");
  }
  parse_tls(reader, cluster);
  if (const Value* const settings = reader.value("settings")) parse_server_settings(*settings, scenario);
  reader.finish();
}

}  // namespace holdfast::sim
