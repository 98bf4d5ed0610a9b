#include "tools/holdfast/scenario_schema.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "checker/checks/check.h"
#include "sim/client/lock_kind.h"
#include "sim/client/no_lock.h"
#include "sim/client/workload_kind.h"
#include "sim/cluster/server_settings.h"
#include "sim/comparators/engine.h"
#include "sim/external/external_lock.h"
#include "sim/fault/fault.h"
#include "sim/scenario/scenario.h"

namespace holdfast::tools {
namespace {

using Json = nlohmann::ordered_json;

// --- values

Json reference(const char* name) { return {{"$ref", std::string("#/$defs/") + name}}; }
Json text() { return {{"type", "string"}}; }
Json flag() { return {{"type", "boolean"}}; }
Json integer(std::int64_t low, std::int64_t high) {
  return {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
}
Json any_of(const std::vector<Json>& schemas) { return {{"anyOf", Json(schemas)}}; }
Json required(const std::vector<std::string>& keys) { return {{"required", Json(keys)}}; }
Json choice(const std::vector<std::string>& words) { return {{"enum", words}}; }
Json duration() { return reference("duration"); }
Json range() { return reference("range"); }
Json texts() { return reference("texts"); }
Json count_or_range() {
  return any_of({integer(1, INT64_MAX),
                 {{"type", "string"}, {"pattern", "^[0-9]+(\\.\\.[0-9]+( or never)?| or never)$"}}});
}

struct Key {
  std::string name;
  Json value;
  std::string about;
  bool required = false;
};

Json property(const Key& key) {
  Json value = key.value;
  if (!key.about.empty()) value["description"] = key.about;
  return value;
}

// A table with these keys and no others.
Json table(const std::vector<Key>& keys) {
  Json properties = Json::object(), required = Json::array();
  for (const Key& key : keys) {
    properties[key.name] = property(key);
    if (key.required) required.push_back(key.name);
  }
  Json out = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) out["required"] = required;
  return out;
}

Json definitions() {
  const std::string one = "[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)";
  const std::string seeds = " *[0-9]+ *(\\.\\. *[0-9]+ *)?";
  Json out;
  out["duration"] = {
      {"type", "string"}, {"pattern", "^ *" + one + " *$"}, {"examples", Json::array({"1500ms", "5s"})}};
  out["signed_duration"] = {
      {"type", "string"}, {"pattern", "^ *-?" + one + " *$"}, {"examples", Json::array({"1500ms", "-3s"})}};
  out["range"] = {{"type", "string"},
                  {"pattern", "^ *" + one + " *(\\.\\. *" + one + " *)?$"},
                  {"examples", Json::array({"1ms..5ms", "2s"})}};
  out["percent"] = {
      {"type", "string"}, {"pattern", "^ *([0-9]|[1-9][0-9]|100) *% *$"}, {"examples", Json::array({"60%"})}};
  out["seeds"] = {{"type", "string"},
                  {"pattern", "^ *random:[1-9][0-9]*$|^" + seeds + "(," + seeds + ")*$"},
                  {"examples", Json::array({"1..200", "7", "1..10,42", "random:50"})}};
  out["quota"] = {{"type", "string"},
                  {"pattern", "^ *(all|(>=|<=|==) *[0-9]+ *%?) *$"},
                  {"examples", Json::array({"all", ">= 90%", "== 0"})}};
  out["name"] = {{"type", "string"}, {"pattern", "^[A-Za-z0-9_-]{1,32}$"}};
  out["texts"] = any_of({{{"type", "array"}, {"items", text()}}, text()});
  return out;
}

// --- sections

std::vector<Key> run_keys() {
  return {
      {"seeds", reference("seeds"), "which seeds (1..20)"},
      {"time", duration(), "a cap; the run ends when workload and faults are done (60s)"},
      {"progress", duration(),
       "the check progress is violated when nobody is granted this long after the longest lease left (5s)"},
      {"share", reference("percent"),
       "the check share: of an even share of the grants, what each client gets"},
      {"order", choice({"random", "first-come", "priorities", "partial-order", "instant", "chains"}),
       "embedded: which of the tasks that can run at one moment goes on; chains: messages and timers have "
       "priorities, and some are put down for up to three leases (random)"},
      {"calm", duration(),
       "from then on no fault acts, all is healed but what strikes `stay_broken`, and `progress` is asked "
       "for"},
      {"stay_broken", texts(), "nodes that are not healed then, fewer than half of them (none)"},
      {"clock_bound", duration(), "larger clock steps mark a violation as out of bounds (0s)"}};
}

std::vector<Key> rare_keys() {
  return {{"reads", reference("percent"), "reads that bring a part of what is there (0%)"},
          {"wakeups", reference("percent"), "waits that end early, for no reason; half at most (0%)"},
          {"timers", range(), "waits whose deadline has come end so much later; a second at most (0s)"},
          {"window", integer(1, 262'144), "bytes that a connection takes before they are read (262144)"}};
}

Json server_settings() {
  Json properties = Json::object();
  for (const sim::ServerSetting& setting : sim::all_server_settings())
    properties[std::string(setting.name)] = {{"type", {"string", "integer", "boolean"}}};
  for (const sim::Engine& engine : sim::all_engines()) {
    for (const sim::EngineSetting& setting : engine.settings)
      properties[std::string(setting.name)] = {{"type", {"string", "integer", "boolean"}}};
  }
  return {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
}

std::vector<Key> cluster_keys() {
  std::vector<std::string> engines = {"redis"};
  for (const sim::Engine& engine : sim::all_engines()) engines.emplace_back(engine.name);
  return {
      {"engine", choice(engines),
       "whose servers; others than redis are compared with, in the real world only (redis)"},
      {"topology", choice({"single", "primary-replica", "sentinel", "independent", "cluster", "ensemble"}),
       "sentinel: a primary and its replicas, watched by Sentinels who replace it; "
       "cluster: a Redis Cluster, whose nodes elect; ensemble: servers of another engine that agree by "
       "majority; "
       "independent: servers that know nothing of each other, for a quorum lock (single)"},
      {"nodes", texts(), "names; the first starts as primary, of a Redis Cluster the first `primaries`"},
      {"primaries", integer(3, 16),
       "cluster: so many have hash slots, dealt in order; the others are their replicas in turn (3)"},
      {"node_timeout", duration(), "cluster: silent for so long is down, in one node's opinion (1s)"},
      {"persistence", choice({"none", "rdb", "aof-always", "aof-everysec", "aof-no"}),
       "what a restart finds again (none)"},
      {"tls", flag(),
       "single, primary-replica, independent: clients speak TLS, with a CA of this run; the proxy ends it, "
       "so "
       "that faults see commands (false)"},
      {"min_replicas_to_write", integer(0, 15),
       "a primary takes writes only while so many replicas acknowledge (0)"},
      {"min_replicas_max_lag", duration(), "how old their last acknowledgement may be: whole seconds (10s)"},
      {"follows",
       {{"type", "object"}, {"additionalProperties", text()}},
       "primary-replica: who follows another replica instead of the primary, { r3 = \"r2\" }"},
      {"sentinels", texts(), "sentinel: names of the Sentinels (s1, s2, s3)"},
      {"quorum", integer(1, 9), "sentinel: so many must agree that the primary is down (more than half)"},
      {"down_after", duration(), "sentinel: silent for so long is down, in one Sentinel's opinion (1s)"},
      {"failover_timeout", duration(),
       "sentinel: of one step of a failover; the next attempt comes twice that later (3s)"},
      {"parallel_syncs", integer(1, 15), "sentinel: replicas that turn to a new primary at a time (1)"},
      {"sentinel_pace", choice({"quick", "usual"}),
       "sentinel: they ask in Redis' usual periods, or ten times as often: a failover takes about a second "
       "(quick)"},
      {"settings", server_settings(),
       "of the engine's server, for all nodes; the embedded Redis does not obey all"}};
}

std::vector<std::string> lock_names() {
  std::vector<std::string> names;
  for (const sim::LockKind& kind : sim::all_lock_kinds()) names.emplace_back(kind.name);
  for (const sim::LockKind* const kind : sim::comparator_locks()) names.emplace_back(kind->name);
  names.emplace_back(sim::no_lock_kind().name);
  names.emplace_back(sim::external_lock_kind().name);
  return names;
}

std::vector<Key> lock_keys() {
  return {
      {"kind", choice(lock_names()), "of `holdfast list locks`", true},
      {"lease", duration(), "how long a grant is good without a renewal (the kind's own default)"},
      {"renew", flag(), "whether a watchdog renews it (true)"},
      {"on_lost", choice({"ignore", "abort", "ask"}),
       "what the workload does when told of a loss, or told so when it asks before it writes (ignore)"},
      {"fencing", flag(), "ask for a token with every grant (false)"},
      {"fair", flag(), "of a read-write lock: first come, first served (false)"},
      {"acknowledged", choice({"by-majority", "by-lag"}),
       "of a survivor: whether a majority has each grant, or min-replicas is trusted (by-majority)"},
      {"members", texts(), "of a survivor: those of the nodes that may become the primary (all)"},
      {"permits", integer(1, 1'000'000), "of a semaphore (1)"},
      {"replicas", integer(0, 15), "a grant counts when that many replicas have it (0)"},
      {"replica_timeout", duration(), "within that time (500ms)"},
      {"wait_timeout", duration(), "of a kind whose lock() gives up by itself (the kind's own default)"},
      {"max_renewals", integer(0, 1'000'000), "of one hold (no bound)"},
      {"overtakes", integer(0, 1'000'000), "fair-order: how often the lock lets a waiter be overtaken (0)"}};
}

// The keys that every workload has.
std::vector<Key> workload_keys() {
  return {
      {"clients", integer(1, 1000), "processes c1, c2, ... (3)"},
      {"threads", integer(1, 10'000), "tasks in each (1)"},
      {"key", {{"type", "string"}, {"minLength", 1}}, "the lock's key"},
      {"think", range(), "seckill: between read and write; critical-section: between rounds"},
      {"start", range(), "delay before the first round"},
      {"wait", duration(), "patience of one acquire (none)"},
      {"command_timeout", duration(), "how long a client waits for one answer of the server"},
      {"readers", reference("percent"), "share of the rounds that take the shared side (0%)"},
      {"writers", integer(0, 1000),
       "so many clients, the first, take the exclusive side only, the others the shared one"},
      {"interrupts", reference("percent"),
       "share of the rounds whose thread is interrupted after its work, while it holds the lock (0%)"},
      {"evict", duration(),
       "so often lock objects are dropped that are unused and older than that; threads obtain theirs anew "
       "for each round (never)"},
      {"release", choice({"always", "on-error", "if-held"}),
       "on-error: only rounds whose work failed give the lock back; if-held: only those whose lock says that "
       "it is still held (always)"}};
}

// The value of a key that one kind of fault or workload has of its own.
Json setting_value(const sim::Setting& key) {
  using Type = sim::Setting::Type;
  switch (key.type) {
    case Type::node:
    case Type::any_node:
    case Type::client: return text();
    case Type::parties: return any_of({{{"type", "array"}, {"items", text()}, {"minItems", 1}}, text()});
    case Type::texts: return any_of({{{"type", "array"}, {"items", text()}}, text()});
    case Type::duration: return reference("signed_duration");
    case Type::range: return range();
    case Type::percent: return reference("percent");
    case Type::probability: return {{"type", "number"}, {"minimum", 1e-6}, {"maximum", 1}};
    case Type::count: return integer(key.least, key.most);
    case Type::flag: return flag();
    case Type::text: return key.choices.empty() ? text() : choice({key.choices.begin(), key.choices.end()});
  }
  return Json::object();
}

std::vector<Key> keys_of(const std::vector<sim::Setting>& settings) {
  std::vector<Key> keys;
  for (const sim::Setting& key : settings)
    keys.push_back({std::string(key.name), setting_value(key), std::string(key.about), key.required});
  return keys;
}

Json workload_schema() {
  Json kinds = Json::array();
  for (const sim::WorkloadKind& workload : sim::all_workload_kinds()) {
    std::vector<Key> keys = {{"kind", {{"const", workload.name}}, std::string(workload.about), true}};
    for (const auto& more : {workload_keys(), keys_of(workload.keys)})
      keys.insert(keys.end(), more.begin(), more.end());
    kinds.push_back(table(keys));
  }
  return {{"oneOf", kinds}};
}

std::vector<Key> network_keys() {
  const Json far =
      table({{"clients", any_of({{{"type", "array"}, {"items", text()}, {"minItems", 1}}, text()}),
              "which clients", true},
             {"latency", range(), "of every message from and to them, one way", true}});
  return {{"latency", range(), "of every message, one way"},
          {"client", {{"type", "array"}, {"items", far}}, "clients with a latency of their own, instead"}};
}

// --- faults

// `after`; or `until`, which waits for no message.
Json after_schema(bool begins) {
  std::vector<std::string> events;
  for (const sim::RunEventInfo& event : sim::all_run_events()) events.emplace_back(event.name);
  const Key delay = {"delay", range(), "then this much later (0)"};
  const std::vector<Key> common = {
      {"client", text(), "only of this client"},
      {"node", text(), "only of this node"},
      {"nth", begins ? count_or_range() : integer(1, INT64_MAX),
       "the how many-th (1); two numbers such as \"1..12\": one of them; \"1..12 or never\""},
      delay};
  const auto with = [&](std::vector<Key> keys) {
    keys.insert(keys.end(), common.begin(), common.end());
    return table(keys);
  };
  Json ways = Json::array({with({{"event", choice(events), "of `holdfast list events`", true}}),
                           table({{"fault", text(), "the id of a fault: from its start", true}, delay})});
  if (begins) {
    ways.push_back(
        with({{"message", text(), "the name of a Redis command", true},
              {"phase", choice({"request", "reply"}), "on its way there, or its answer's back (request)"}}));
  }
  return {{"oneOf", ways}};
}

Json fault_schema() {
  Json kinds = Json::array();
  for (const sim::FaultKind& kind : sim::all_fault_kinds()) {
    std::vector<Key> keys = {
        {"id", reference("name"), "its name, for marks and other faults", true},
        {"kind", {{"const", kind.name}}, std::string(kind.about), true},
        {"enabled", flag(), "false: it does not act; for variants (true)"},
        {"at", range(), "when: this long after the start (0s: servers in sync, no client started)"},
        {"every", range(), "when: again and again, this far apart"},
        {"after", reference("after"), "when: after an event, another fault or a message"},
        {"for", range(), "how long until it heals", kind.must_end && kind.knows_length},
        {"until", reference("until"), "instead: it heals at an event, or when another fault acts"},
        {"during", text(), "acts only while that other fault does"},
    };
    for (const Key& key : keys_of(kind.keys)) keys.push_back(key);
    Json one = table(keys);
    if (kind.must_end) one["anyOf"] = Json::array({required({"for"}), required({"until"})});
    one["not"] = required({"for", "until"});
    kinds.push_back(one);
  }
  Json triggers = Json::array();
  for (const std::string trigger : {"at", "every", "after"}) triggers.push_back(required({trigger}));
  return {{"allOf", Json::array({{{"oneOf", triggers}}, {{"oneOf", kinds}}})}};
}

// --- expectations and variants

Json expectation_schema() {
  std::vector<std::string> checks, marks;
  for (const checker::Check* check : checker::all_checks()) checks.emplace_back(check->name());
  for (const sim::MarkInfo& mark : sim::all_marks()) marks.push_back(mark.name);
  const Json mark = any_of({choice(marks), {{"type", "string"}, {"pattern", "^fault\\."}}});
  Json out = table({{"check", choice(checks), "of `holdfast list checks`", true},
                    {"is", choice({"holds", "violated"}), "(holds)"},
                    {"kind", text(), "violated: by a witness of this kind, such as double-grant or overrun"},
                    {"seeds", reference("quota"), "on how many of the seeds (all)"},
                    {"marks", any_of({{{"type", "array"}, {"items", mark}, {"minItems", 1}}, mark}),
                     "reached: points of the story, `holdfast list marks`"}});
  out["if"] = {{"properties", {{"check", {{"const", "reached"}}}}}};
  out["then"] = required({"marks"});
  out["else"] = {{"not", required({"marks"})}};
  return out;
}

// What a variant may set: "lock.kind", or lock = { kind = ... }, or "fault.ID.key".
Json set_schema() {
  const std::vector<std::pair<const char*, std::vector<Key>>> sections = [] {
    std::vector<Key> workload = {{"kind", text(), ""}};
    const auto add = [&](const std::vector<Key>& more) {
      for (const Key& key : more) {
        const bool there = std::any_of(workload.begin(), workload.end(),
                                       [&](const Key& one) { return one.name == key.name; });
        if (!there) workload.push_back(key);
      }
    };
    add(workload_keys());
    std::vector<std::string> kinds;
    for (const sim::WorkloadKind& one : sim::all_workload_kinds()) {
      add(keys_of(one.keys));
      kinds.emplace_back(one.name);
    }
    workload.front().value = choice(kinds);
    return std::vector<std::pair<const char*, std::vector<Key>>>{
        {"run", run_keys()},    {"cluster", cluster_keys()}, {"lock", lock_keys()},
        {"workload", workload}, {"network", network_keys()}, {"rare", rare_keys()}};
  }();
  Json properties = Json::object();
  for (const auto& [section, keys] : sections) {
    Json nested = Json::object();
    for (const Key& key : keys) {
      properties[std::string(section) + "." + key.name] = property(key);
      nested[key.name] = property(key);
    }
    properties[section] = {{"type", "object"}, {"properties", nested}, {"additionalProperties", false}};
  }
  properties["fault"] = {{"type", "object"}, {"additionalProperties", {{"type", "object"}}}};
  return {{"type", "object"},
          {"properties", properties},
          {"patternProperties", {{"^fault\\.[A-Za-z0-9_-]+(\\.[a-z_]+)?$", true}}},
          {"additionalProperties", false}};
}

Json recogniser_schema() {
  Json pattern = table({{"does", choice({"acquire", "extend", "release"}), "what the command does", true},
                        {"command", text(), "a plain command: its words, such as \"SET $key $owner\""},
                        {"options", texts(), "and those that follow, in any order"},
                        {"script", texts(), "of a call of a script: what its text has"},
                        {"without", texts(), "and what it has not"},
                        {"keys", text(), "the KEYS of the call"},
                        {"args", text(), "and its ARGV"},
                        {"done", texts(), "answers that mean that it was done", true},
                        {"refused", texts(), "answers that mean that it was not"},
                        {"lease", reference("duration"), "where no word says it"},
                        {"shared", flag(), "others may have it beside this one (false)"}});
  return table({{"name", text(), "how it is called", true},
                {"about", text(), "what it knows"},
                {"counts", flag(), "who has it may take it again, and gives it back as often (false)"},
                {"majority", flag(), "of independent servers most must grant, extend and release (false)"},
                {"pattern", {{"type", "array"}, {"items", pattern}, {"minItems", 1}}, "the commands", true}});
}

Json variant_schema() {
  Json out =
      table({{"name", reference("name"), "how it is called; with locks, what stands before the lock's name"},
             {"about", text(), "instead of the file's"},
             {"set", set_schema(), "keys that are different, such as { \"lock.kind\" = \"fair\" }"},
             {"unset", texts(), "keys that are not there, such as [\"workload.stock\"]"},
             {"locks",
              {{"type", "array"}, {"items", choice(lock_names())}, {"minItems", 1}},
              "one variant for each of them"},
             {"expect", {{"type", "array"}, {"items", reference("expect")}}, "instead of the file's"}});
  out["anyOf"] = Json::array({required({"name"}), required({"locks"})});
  return out;
}

}  // namespace

std::string scenario_schema() {
  const auto list_of = [](const char* name) { return Json{{"type", "array"}, {"items", reference(name)}}; };
  Json expectations = list_of("expect");
  expectations["minItems"] = 1;
  const Json whole =
      table({{"schema", {{"const", 1}}, "version of this format", true},
             {"name", text(), "how the scenario is called", true},
             {"about", text(), "what it shows, in a sentence"},
             {"run", table(run_keys()), "seeds and time"},
             {"cluster", table(cluster_keys()), "the servers"},
             {"lock", table(lock_keys()), "the lock under test", true},
             {"workload", workload_schema(), "what the clients do", true},
             {"recogniser", recogniser_schema(), "what the commands of a watched lock mean"},
             {"network", table(network_keys()), "between clients and servers"},
             {"rare", table(rare_keys()), "embedded: what a client's machine does now and then"},
             {"fault", list_of("fault"), "what goes wrong, and when"},
             {"expect", expectations, "what the checks must say", true},
             {"variant", list_of("variant"), "the same schedule with something changed"}});
  Json document = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "Holdfast scenario"},
      {"description", "Network, faults and expectations of one story; `holdfast run FILE` runs it"}};
  document.update(whole);
  Json definition = definitions();
  definition["after"] = after_schema(true);
  definition["until"] = after_schema(false);
  definition["fault"] = fault_schema();
  definition["expect"] = expectation_schema();
  definition["variant"] = variant_schema();
  document["$defs"] = definition;
  return document.dump(2) + "\n";
}

}  // namespace holdfast::tools
