// A document -> one scenario. Variants: parse_variants.cc.
#include "sim/scenario/parse_scenario.h"

#include <algorithm>
#include <filesystem>

#include "checker/checks/check.h"
#include "checker/history/liveness.h"
#include "sim/client/lock_kind.h"
#include "sim/client/no_lock.h"
#include "sim/client/workload_kind.h"
#include "sim/cluster/server_settings.h"
#include "sim/comparators/engine.h"
#include "sim/external/external_lock.h"
#include "sim/scenario/parse_calm.h"
#include "sim/scenario/parse_cluster.h"
#include "sim/scenario/parse_fault.h"
#include "sim/scenario/parse_rare.h"
#include "sim/scenario/parse_recogniser.h"
#include "sim/scenario/parse_setting.h"
#include "sim/scenario/table_reader.h"

namespace holdfast::sim {
namespace {

const Value& section(TableReader& root, std::string_view name) {
  static const Value kEmpty;
  const Value* found = root.value(name);
  return found == nullptr ? kEmpty : *found;
}

void parse_run(const Value& table, Scenario& scenario) {
  TableReader reader(table, "[run]");
  const std::string seeds = reader.text("seeds").value_or("1..20");
  const auto parsed = parse_seeds(seeds);
  if (!parsed) {
    throw BadScenario(reader.at("seeds"),
                      "`seeds` is \"" + seeds + "\", expected such as \"1..200\", \"7\" or \"random:50\"");
  }
  scenario.seeds = *parsed;
  scenario.time = reader.duration("time").value_or(scenario.time);
  scenario.progress_bound = reader.duration("progress").value_or(scenario.progress_bound);
  scenario.clock_bound = reader.duration("clock_bound").value_or(scenario.clock_bound);
  scenario.share_percent = reader.percent("share").value_or(scenario.share_percent);
  const std::string order =
      reader.choice("order", {"random", "first-come", "priorities", "partial-order", "instant", "chains"})
          .value_or("random");
  scenario.chains = order == "chains";
  for (const char* const key : {"calm", "stay_broken"}) reader.value(key);
  scenario.order = order == "first-come"      ? OrderKind::first_come
                   : order == "priorities"    ? OrderKind::priorities
                   : order == "partial-order" ? OrderKind::partial_order
                   : order == "instant"       ? OrderKind::instant
                                              : OrderKind::random;
  reader.finish();
  if (scenario.time.count() == 0)
    throw BadScenario(reader.at("time"), "`time` is zero, expected a duration above \"0s\"");
}

// Throws: the scenario's lock is not of the sort that is needed. Names those that are.
[[noreturn]] void lock_cannot(const Position& at, const std::string& what, bool (*able)(const LockKind&)) {
  std::vector<std::string> names;
  for (const LockKind& kind : all_lock_kinds()) {
    if (able(kind)) names.emplace_back(kind.name);
  }
  throw BadScenario(at, what + ", expected " + (names.empty() ? "another kind of lock" : one_of(names)));
}

std::vector<std::string> workloads_of_latches() {
  std::vector<std::string> names;
  for (const WorkloadKind& kind : all_workload_kinds()) {
    if (kind.latch) names.emplace_back(kind.name);
  }
  return names;
}

void parse_lock(const Value& table, Scenario& scenario) {
  TableReader reader(table, "[lock]");
  std::vector<std::string> kinds;
  for (const LockKind& kind : all_lock_kinds()) kinds.emplace_back(kind.name);
  for (const LockKind& kind : hidden_lock_kinds()) kinds.emplace_back(kind.name);
  for (const LockKind* const kind : comparator_locks()) kinds.emplace_back(kind->name);
  kinds.emplace_back(no_lock_kind().name);  // what locks are compared with: no row of `holdfast list locks`
  WorkloadOptions& workload = scenario.workload;
  kinds.emplace_back(external_lock_kind().name);
  const auto kind = reader.choice("kind", kinds);
  const auto lease = reader.duration("lease");
  if (lease.value_or(workload.lease) < std::chrono::milliseconds(1))
    throw BadScenario(reader.at("lease"), "`lease` is below a millisecond, expected such as \"5s\"");
  workload.renew = reader.flag("renew").value_or(true);
  const std::string on_lost = reader.choice("on_lost", {"ignore", "abort", "ask"}).value_or("ignore");
  workload.on_lost = on_lost == "abort" ? OnLost::abort : on_lost == "ask" ? OnLost::ask : OnLost::ignore;
  workload.fencing = reader.flag("fencing").value_or(false);
  workload.fair = reader.flag("fair").value_or(false);
  workload.by_lag =
      reader.choice("acknowledged", {"by-majority", "by-lag"}).value_or("by-majority") == "by-lag";
  workload.members = reader.texts("members").value_or(workload.members);
  workload.permits = static_cast<int>(reader.integer("permits", 1, 1'000'000).value_or(workload.permits));
  workload.replicas = static_cast<int>(reader.integer("replicas", 0, 15).value_or(workload.replicas));
  workload.replica_timeout = reader.duration("replica_timeout").value_or(workload.replica_timeout);
  workload.wait_timeout = reader.duration("wait_timeout");
  if (const auto most = reader.integer("max_renewals", 0, 1'000'000)) {
    workload.max_renewals = static_cast<int>(*most);
  }
  scenario.overtakes = reader.integer("overtakes", 0, 1'000'000).value_or(0);
  reader.finish();
  workload.lock = reader.require("kind", kind);
  scenario.lock = find_lock_kind(workload.lock);
  if (scenario.lock == nullptr) scenario.lock = workload.own_lock = find_comparator(workload.lock);
  if (scenario.lock == nullptr) {
    const bool external = workload.lock == external_lock_kind().name;
    scenario.lock = workload.own_lock = external ? &external_lock_kind() : &no_lock_kind();
  }
  const LockKind& lock = *scenario.lock;
  if (&lock != &no_lock_kind()) needs_engine("lock", lock.name, lock.engine, scenario, reader.at("kind"));
  if (lease && lock.lease == Duration::zero()) {
    throw BadScenario(reader.at("lease"), "`lease`: the lock `" + std::string(lock.name) +
                                              "` has none, it lasts as long as its session, expected none");
  }
  workload.lease = lease.value_or(lock.lease);
  if (workload.lease % lock.lease_unit != Duration::zero())
    throw BadScenario(reader.at("lease"), "`lease`: the lock `" + std::string(lock.name) + "` counts in " +
                                              format_duration(lock.lease_unit) + ", expected such as \"5s\"");
  const auto needs = [&](std::string_view key, bool asked, bool (*can)(const LockKind&), const char* what) {
    if (!asked || can(lock)) return;
    lock_cannot(reader.at(key),
                "`" + std::string(key) + "`: the lock `" + std::string(lock.name) + "` " + what, can);
  };
  needs(
      "fencing", workload.fencing, [](const LockKind& kind) { return kind.tokens; }, "gives no tokens");
  needs(
      "fair", workload.fair, [](const LockKind& kind) { return kind.shared; },
      "has no readers to be fair to");
  needs(
      "acknowledged", table.find("acknowledged") != nullptr,
      [](const LockKind& kind) { return kind.survives_failover; }, "asks no members");
  needs(
      "members", !workload.members.empty(), [](const LockKind& kind) { return kind.survives_failover; },
      "asks no members");
  needs(
      "permits", table.find("permits") != nullptr, [](const LockKind& kind) { return kind.counts_permits; },
      "counts no permits");
  needs(
      "wait_timeout", workload.wait_timeout.has_value(),
      [](const LockKind& kind) { return kind.wait_timeout.has_value(); }, "has no wait timeout of its own");
  const auto& cluster = scenario.cluster;
  for (const std::string& member : workload.members) {
    check_name(member, cluster.nodes, reader.at("members"), "members");
    if (std::count(workload.members.begin(), workload.members.end(), member) > 1)
      throw BadScenario(reader.at("members"), "`members` names `" + member + "` twice, expected each once");
  }
  const std::size_t replicas = direct_replicas(cluster);
  if (static_cast<std::size_t>(workload.replicas) > replicas) {
    throw BadScenario(reader.at("replicas"), "`replicas` is " + std::to_string(workload.replicas) +
                                                 ", but the cluster has " + std::to_string(replicas) +
                                                 ", expected at most that many");
  }
}

// What clients of ours do is no matter of programs that bring their own lock.
void check_programs(const Value& table, const TableReader& reader, const WorkloadKind& kind,
                    const LockKind& lock) {
  const bool external = &lock == &external_lock_kind();
  if (kind.programs != external) {
    throw BadScenario(
        reader.at("kind"),
        "`kind` is \"" + std::string(kind.name) + "\", but the lock is `" + std::string(lock.name) +
            (external ? "`, expected the workload \"external\""
                      : "`: programs bring their own, expected `kind = \"external\"` in [lock]"));
  }
  if (!external) return;
  for (const std::string_view key : {"threads", "think", "wait", "command_timeout", "readers", "writers",
                                     "interrupts", "evict", "release"}) {
    if (table.find(key) == nullptr) continue;
    throw BadScenario(reader.at(key), "`" + std::string(key) +
                                          "`: what a program does is its own matter, expected none; "
                                          "arguments of `command` and `environment` reach it");
  }
}

// The keys that every workload has. The others are in its own table of settings.
void parse_workload(const Value& table, TableReader& root, Scenario& scenario, const SettingNames& names) {
  TableReader reader(table, "[workload]");
  WorkloadOptions& workload = scenario.workload;
  std::vector<std::string> kinds;
  for (const WorkloadKind& kind : all_workload_kinds()) kinds.emplace_back(kind.name);
  const auto kind_name = reader.choice("kind", kinds);
  workload.clients = static_cast<int>(reader.integer("clients", 1, 1000).value_or(workload.clients));
  workload.threads = static_cast<int>(reader.integer("threads", 1, 10'000).value_or(workload.threads));
  workload.key = reader.text("key").value_or(workload.key);
  workload.think = reader.duration_range("think").value_or(workload.think);
  workload.start = reader.duration_range("start").value_or(workload.start);
  workload.wait = reader.duration("wait");
  workload.command_timeout = reader.duration("command_timeout").value_or(workload.command_timeout);
  workload.readers = reader.percent("readers").value_or(0);
  workload.writers = reader.integer("writers", 0, 1000);
  workload.interrupts = reader.percent("interrupts").value_or(0);
  workload.evict = reader.duration("evict");
  const auto release = reader.choice("release", {"always", "on-error", "if-held"});
  workload.release = release == "on-error"  ? Release::on_error
                     : release == "if-held" ? Release::if_held
                                            : Release::always;
  const WorkloadKind* const kind = kind_name ? find_workload_kind(*kind_name) : nullptr;
  for (const WorkloadKind& each : all_workload_kinds()) {
    if (kind != nullptr && kind != &each) continue;
    for (const Setting& key : each.keys) reader.value(key.name);
  }
  reader.finish();
  if (kind == nullptr) reader.missing("kind");
  workload.kind = kind->name;
  workload.own = parse_settings(reader, kind->keys, names, "[workload]");

  if (!kind->engine.empty()) needs_engine("workload", kind->name, kind->engine, scenario, reader.at("kind"));
  const LockKind& lock = *scenario.lock;
  check_programs(table, reader, *kind, lock);
  workload.recogniser = parse_judge(root, reader, workload.own);
  if (workload.command_timeout.count() == 0)
    throw BadScenario(reader.at("command_timeout"), "`command_timeout` is zero, expected such as \"3s\"");
  if (kind->latch != lock.latch) {
    throw BadScenario(reader.at("kind"),
                      "`kind` is \"" + workload.kind + "\", but the lock `" + workload.lock + "` is " +
                          (kind->latch ? "no latch, expected another workload or a latch"
                                       : "a latch, expected " + one_of(workloads_of_latches())));
  }
  if (kind->problem != nullptr) {
    if (const auto problem = kind->problem(workload, lock)) {
      if (problem->able == nullptr) throw BadScenario(reader.at(problem->key), problem->what);
      lock_cannot(reader.at(problem->key), problem->what, problem->able);
    }
  }
  if (release && kind->latch)
    throw BadScenario(reader.at("release"), "`release`: a latch is not released, expected none");
  for (const std::string_view key : {"readers", "writers"}) {
    if (lock.shared || (key == "readers" ? workload.readers == 0 : !workload.writers)) continue;
    lock_cannot(reader.at(key),
                "`" + std::string(key) + "`: the lock `" + workload.lock + "` has no side for readers",
                [](const LockKind& each) { return each.shared; });
  }
  if (kind->latch && workload.interrupts > 0)
    throw BadScenario(reader.at("interrupts"),
                      "`interrupts`: nobody is interrupted at a latch, expected none");
  if (workload.evict && workload.evict->count() == 0)
    throw BadScenario(reader.at("evict"), "`evict` is zero, expected such as \"20ms\"");
  if (workload.evict && !lock.registry) {
    lock_cannot(reader.at("evict"),
                "`evict`: the lock `" + workload.lock + "` keeps no registry of lock objects",
                [](const LockKind& each) { return each.registry; });
  }
  if (workload.key.empty())
    throw BadScenario(reader.at("key"), "`key` is empty, expected the name of a lock");
  if (std::int64_t{workload.clients} * workload.threads > 20'000) {
    throw BadScenario(reader.at("threads"),
                      "more than 20000 client tasks, expected `clients` times `threads` below that");
  }
}

// `parent`: "network." of the table in which it stands.
const std::vector<Value>& list(TableReader& root, std::string_view name, const std::string& parent = "") {
  static const std::vector<Value> kNone;
  const Value* found = root.value(name);
  if (found == nullptr) return kNone;
  if (found->kind != Value::Kind::list) {
    throw BadScenario(found->at, "`" + std::string(name) + "` is " + std::string(found->kind_name()) +
                                     ", expected a list of tables: [[" + parent + std::string(name) + "]]");
  }
  return found->items;
}

void parse_network(const Value& table, Scenario& scenario, const std::vector<std::string>& clients) {
  TableReader reader(table, "[network]");
  scenario.latency = reader.duration_range("latency").value_or(DurationRange{});
  for (const Value& far : list(reader, "client", "network.")) {
    TableReader its(far, "[[network.client]]");
    for (const char* const key : {"clients", "latency"}) its.value(key);
    its.finish();
    const DurationRange latency = its.require("latency", its.duration_range("latency"));
    for (const std::string& name : its.require("clients", its.texts("clients"))) {
      check_name(name, clients, its.at("clients"), "clients");
      if (!scenario.far_clients.emplace(name, latency).second)
        throw BadScenario(its.at("clients"),
                          "client `" + name + "` twice, expected one latency of each client");
    }
  }
  reader.finish();
}

std::vector<std::string> check_names() {
  std::vector<std::string> names;
  for (const checker::Check* check : checker::all_checks()) names.emplace_back(check->name());
  return names;
}

// What the witnesses of a check may be.
std::vector<std::string> kinds_of(const std::string& check) {
  std::vector<std::string> kinds;
  for (const std::string_view kind : checker::find_check(check)->kinds()) kinds.emplace_back(kind);
  return kinds;
}

// Some checks are about what one sort of workload does.
void fits_workload(const std::string& check, const Scenario& scenario, const Position& at) {
  const WorkloadKind& its = *find_workload_kind(scenario.workload.kind);
  if (check == "at-rest" && (its.latch || its.programs)) {
    throw BadScenario(at, "the check `at-rest` asks for a lock of ours after the work, and the workload `" +
                              scenario.workload.kind + "` has none, expected another check");
  }
  if (check == "at-rest" && scenario.cluster.engine != kRedis) {
    throw BadScenario(at, "the check `at-rest` looks into servers of Redis, and these are of `" +
                              scenario.cluster.engine + "`, expected another check");
  }
  std::vector<std::string> owners;
  for (const WorkloadKind& kind : all_workload_kinds()) {
    if (std::find(kind.checks.begin(), kind.checks.end(), check) == kind.checks.end()) continue;
    if (kind.name == scenario.workload.kind) return;
    owners.emplace_back(kind.name);
  }
  if (owners.empty()) return;
  throw BadScenario(at, "the check `" + check + "` is about the workload " + one_of(owners) +
                            ", but this one is `" + scenario.workload.kind + "`, expected another check");
}

Expectation parse_expectation(const Value& table, const Scenario& scenario) {
  TableReader reader(table, "[[expect]]");
  Expectation expectation;
  expectation.at = table.at;
  for (const char* const key : {"check", "is", "kind", "seeds", "marks"}) reader.value(key);
  reader.finish();
  expectation.check = reader.require("check", reader.choice("check", check_names()));
  fits_workload(expectation.check, scenario, reader.at("check"));
  expectation.violated = reader.choice("is", {"holds", "violated"}).value_or("holds") == "violated";
  if (auto kind = reader.text("kind")) {
    if (!expectation.violated)
      throw BadScenario(reader.at("kind"), "`kind` goes with is = \"violated\" only, expected none");
    const auto known = kinds_of(expectation.check);
    if (std::find(known.begin(), known.end(), *kind) == known.end()) {
      throw BadScenario(reader.at("kind"), "`kind` is \"" + *kind + "\", but a violation of `" +
                                               expectation.check + "` is never of that kind, expected " +
                                               one_of(known) + did_you_mean(*kind, known));
    }
    expectation.kind = *kind;
  }
  if (auto seeds = reader.text("seeds")) {
    const auto quota = parse_seed_quota(*seeds);
    if (!quota)
      throw BadScenario(reader.at("seeds"),
                        "`seeds` is \"" + *seeds + "\", expected such as \"all\", \">= 90%\" or \"== 0\"");
    expectation.seeds = *quota;
  }
  if (auto marks = reader.texts("marks")) {
    if (expectation.check != "reached")
      throw BadScenario(reader.at("marks"), "`marks` goes with check = \"reached\" only, expected none");
    std::vector<std::string> known;
    for (const MarkInfo& mark : all_marks()) known.push_back(mark.name);
    for (const FaultPlan& fault : scenario.faults) {
      known.push_back("fault." + fault.config.id);
      known.push_back("fault." + fault.config.id + ".healed");
    }
    for (const std::string& mark : *marks) {
      if (std::find(known.begin(), known.end(), mark) != known.end()) continue;
      throw BadScenario(reader.at("marks"),
                        "unknown mark `" + mark + "`, expected " + one_of(known) + did_you_mean(mark, known));
    }
    expectation.marks = *marks;
  }
  if (expectation.check == "reached" && expectation.marks.empty()) reader.missing("marks");
  return expectation;
}

}  // namespace

std::string Scenario::folder() const {
  const std::filesystem::path path = std::filesystem::absolute(file).parent_path();
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? path.string()
                                                    : std::filesystem::current_path().string();
}

Scenario parse_base(const Value& document, const std::string& file) {
  TableReader root(document, "the file");
  for (const char* const key : {"schema", "name", "about", "run", "cluster", "lock", "workload", "recogniser",
                                "network", "rare", "fault", "expect", "variant"}) {
    root.value(key);
  }
  root.finish();  // first, so that a misspelt section is told as such and not as one that is missing
  Scenario scenario;
  scenario.file = file;
  scenario.at = document.at;
  const auto schema = root.require("schema", root.integer("schema", 1, 1));
  static_cast<void>(schema);
  scenario.name = root.require("name", root.text("name"));
  scenario.about = root.text("about").value_or("");
  parse_run(section(root, "run"), scenario);
  parse_cluster(section(root, "cluster"), scenario);
  parse_calm(section(root, "run"), scenario);
  if (root.value("lock") == nullptr) root.missing("lock");
  parse_lock(section(root, "lock"), scenario);
  if (root.value("workload") == nullptr) root.missing("workload");
  SettingNames names;
  names.nodes = scenario.cluster.nodes;
  names.append_only = appends(scenario.cluster);
  names.has_replicas = has_replicas(scenario.cluster.topology);
  if (scenario.cluster.topology == Topology::sentinel) names.sentinels = scenario.cluster.sentinels.names;
  names.elects = elects(scenario.cluster.topology);
  names.engine = scenario.cluster.engine;
  parse_workload(section(root, "workload"), root, scenario, names);
  if (scenario.cluster.tls && find_workload_kind(scenario.workload.kind)->programs) {
    throw BadScenario(section(root, "cluster").find("tls")->at,
                      "`tls` goes with locks of this library: a program comes to a door of its own, which "
                      "speaks plain, expected none");
  }
  for (std::int64_t i = 1; i <= scenario.workload.clients; ++i)
    names.clients.push_back("c" + std::to_string(i));
  parse_network(section(root, "network"), scenario, names.clients);
  scenario.rare = parse_rare(section(root, "rare"));
  const std::vector<Value>& faults = list(root, "fault");
  for (const Value& fault : faults) {
    if (const Value* id = fault.find("id"); id != nullptr && id->kind == Value::Kind::text) {
      if (std::find(names.faults.begin(), names.faults.end(), id->text) != names.faults.end()) {
        throw BadScenario(id->at, "fault `" + id->text + "` twice, expected an id of its own");
      }
      names.faults.push_back(id->text);
    }
  }
  for (const Value& fault : faults) scenario.faults.push_back(parse_fault(fault, names));
  check_faults(faults, scenario.faults, scenario.time);
  if (find_workload_kind(scenario.workload.kind)->programs) {
    for (std::size_t i = 0; i < faults.size(); ++i) {
      const FaultKind& kind = *scenario.faults[i].kind;
      if (!kind.inside_client || faults[i].find("client") == nullptr) continue;
      if (kind.inside_programs) {
        scenario.workload.steps_clocks = true;
        continue;
      }
      throw BadScenario(faults[i].find("client")->at,
                        "`" + std::string(kind.name) +
                            "` reaches into a client, and those of `external` are programs, expected such as "
                            "pause-client, crash or partition");
    }
  }
  for (const Value& expectation : list(root, "expect")) {
    scenario.expectations.push_back(parse_expectation(expectation, scenario));
  }
  if (scenario.expectations.empty())
    throw BadScenario(scenario.at, "nothing is expected, expected at least one [[expect]] table");
  return scenario;
}

void require_world(const Scenario& scenario, bool embedded) {
  if (embedded && find_workload_kind(scenario.workload.kind)->programs) {
    throw BadScenario(scenario.at, "the embedded world cannot run `" + scenario.workload.kind +
                                       "`: its clients are programs, on the clocks and sockets of this "
                                       "machine, expected --world real");
  }
  if (const std::string& engine = scenario.cluster.engine; embedded && engine != kRedis) {
    throw BadScenario(scenario.at,
                      "the embedded world has no `" + engine +
                          "`: its servers are programs, on the clocks and sockets of this machine, "
                          "expected --world real");
  }
  for (const auto& [name, value] : scenario.cluster.settings) {
    const std::string why_not = embedded ? why_not_embedded(name, value) : "";
    if (why_not.empty()) continue;
    throw BadScenario(scenario.settings_at.at(name), "the embedded Redis does not do `" + name + "` = \"" +
                                                         value + "\": " + why_not +
                                                         ", expected --world real or another setting");
  }
  for (const FaultPlan& fault : scenario.faults) {
    if (!fault.enabled || (embedded ? fault.kind->embedded : fault.kind->real)) continue;
    throw BadScenario(fault.at, "the " + std::string(embedded ? "embedded" : "real") + " world cannot do `" +
                                    std::string(fault.kind->name) + "`, expected another fault or --world " +
                                    (embedded ? "real" : "embedded"));
  }
}

const std::vector<MarkInfo>& all_marks() {
  static const std::vector<MarkInfo> kMarks = [] {
    std::vector<MarkInfo> marks;
    for (const RunEventInfo& event : all_run_events())
      marks.push_back({std::string(event.name), std::string(event.about)});
    marks.push_back(
        {"granted-after-promotion",
         "a node granted a lock after it had been promoted, by a fault, by Sentinels or by an election"});
    marks.push_back({"replica-turned", "a Sentinel told a replica to follow another primary"});
    marks.push_back({"granted-after-restart", "a node granted a lock after it had been restarted"});
    marks.push_back(
        {std::string(kGrantedDuringFault), "an acquire returned ok while a fault with `for` acted"});
    marks.push_back({std::string(checker::kLiveness),
                     "the faults were over and somebody still asked for the lock (`calm`)"});
    marks.push_back({std::string(kObjectsDropped), "a client dropped unused lock objects (`evict`)"});
    for (const WorkloadKind& kind : all_workload_kinds()) {
      marks.insert(marks.end(), kind.marks.begin(), kind.marks.end());
    }
    return marks;
  }();
  return kMarks;
}

}  // namespace holdfast::sim
