// A document -> one scenario. Variants: parse_variants.cc.
#include "sim/scenario/parse_scenario.h"

#include <algorithm>
#include <set>

#include "checker/checks/check.h"
#include "sim/client/lock_kind.h"
#include "sim/scenario/parse_fault.h"
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
  reader.finish();
  if (scenario.time.count() == 0)
    throw BadScenario(reader.at("time"), "`time` is zero, expected a duration above \"0s\"");
}

}  // namespace

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

namespace {

void parse_cluster(const Value& table, Scenario& scenario) {
  TableReader reader(table, "[cluster]");
  const std::string topology =
      reader.choice("topology", {"single", "primary-replica", "independent"}).value_or("single");
  ClusterOptions& cluster = scenario.cluster;
  cluster.topology = topology == "single"        ? Topology::single
                     : topology == "independent" ? Topology::independent
                                                 : Topology::primary_replica;
  const std::vector<std::string> usual = cluster.topology == Topology::single
                                             ? std::vector<std::string>{"r1"}
                                             : std::vector<std::string>{"r1", "r2"};
  cluster.nodes = reader.texts("nodes").value_or(usual);
  const std::size_t least = cluster.topology == Topology::primary_replica ? 2 : 1;
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
  const std::string persistence =
      reader.choice("persistence", {"none", "rdb", "aof-always", "aof-everysec"}).value_or("none");
  cluster.persistence = persistence == "none"         ? Persistence::none
                        : persistence == "rdb"        ? Persistence::rdb
                        : persistence == "aof-always" ? Persistence::aof_always
                                                      : Persistence::aof_everysec;
  reader.finish();
}

// `lock` is not of the sort that `key` needs.
[[noreturn]] void lock_cannot(const Position& at, std::string_view key, const LockKind& lock,
                              bool (*can)(const LockKind&), const std::string& what) {
  std::vector<std::string> able;
  for (const LockKind& kind : all_lock_kinds()) {
    if (can(kind)) able.emplace_back(kind.name);
  }
  throw BadScenario(at, "`" + std::string(key) + "`: the lock `" + std::string(lock.name) + "` " + what +
                            ", expected " + (able.empty() ? "another kind of lock" : one_of(able)));
}

void parse_lock(const Value& table, Scenario& scenario) {
  TableReader reader(table, "[lock]");
  std::vector<std::string> kinds;
  for (const LockKind& kind : all_lock_kinds()) kinds.emplace_back(kind.name);
  WorkloadOptions& workload = scenario.workload;
  workload.lock = reader.require("kind", reader.choice("kind", kinds));
  scenario.lock = find_lock_kind(workload.lock);
  workload.lease = reader.duration("lease").value_or(workload.lease);
  if (workload.lease < std::chrono::milliseconds(1)) {
    throw BadScenario(reader.at("lease"), "`lease` is below a millisecond, expected such as \"5s\"");
  }
  workload.renew = reader.flag("renew").value_or(true);
  const bool abort = reader.choice("on_lost", {"ignore", "abort"}).value_or("ignore") == "abort";
  workload.on_lost = abort ? OnLost::abort : OnLost::ignore;
  workload.fencing = reader.flag("fencing").value_or(false);
  workload.fair = reader.flag("fair").value_or(false);
  workload.permits = static_cast<int>(reader.integer("permits", 1, 1'000'000).value_or(workload.permits));
  workload.replicas = static_cast<int>(reader.integer("replicas", 0, 15).value_or(workload.replicas));
  workload.replica_timeout = reader.duration("replica_timeout").value_or(workload.replica_timeout);
  if (const auto most = reader.integer("max_renewals", 0, 1'000'000)) {
    workload.max_renewals = static_cast<int>(*most);
  }
  scenario.overtakes = reader.integer("overtakes", 0, 1'000'000).value_or(0);
  reader.finish();
  const LockKind& lock = *scenario.lock;
  const auto needs = [&](std::string_view key, bool asked, bool (*can)(const LockKind&), const char* what) {
    if (asked && !can(lock)) lock_cannot(reader.at(key), key, lock, can, what);
  };
  needs(
      "fencing", workload.fencing, [](const LockKind& kind) { return kind.tokens; }, "gives no tokens");
  needs(
      "fair", workload.fair, [](const LockKind& kind) { return kind.shared; },
      "has no readers to be fair to");
  needs(
      "permits", table.find("permits") != nullptr, [](const LockKind& kind) { return kind.counts_permits; },
      "counts no permits");
  const auto& cluster = scenario.cluster;
  const std::size_t replicas = cluster.topology == Topology::primary_replica ? cluster.nodes.size() - 1 : 0;
  if (static_cast<std::size_t>(workload.replicas) > replicas) {
    throw BadScenario(reader.at("replicas"), "`replicas` is " + std::to_string(workload.replicas) +
                                                 ", but the cluster has " + std::to_string(replicas) +
                                                 ", expected at most that many");
  }
}

void parse_workload(const Value& table, Scenario& scenario) {
  TableReader reader(table, "[workload]");
  WorkloadOptions& workload = scenario.workload;
  const std::string kind =
      reader.require("kind", reader.choice("kind", {"critical-section", "seckill", "count-down"}));
  workload.clients = static_cast<int>(reader.integer("clients", 1, 1000).value_or(workload.clients));
  workload.threads = static_cast<int>(reader.integer("threads", 1, 10'000).value_or(workload.threads));
  workload.key = reader.text("key").value_or(workload.key);
  workload.think = reader.duration_range("think").value_or(workload.think);
  workload.start = reader.duration_range("start").value_or(workload.start);
  workload.wait = reader.duration("wait");
  workload.command_timeout = reader.duration("command_timeout").value_or(workload.command_timeout);
  if (kind == "seckill") {
    workload.kind = WorkloadKind::seckill;
    workload.stock = reader.integer("stock", 1, 1'000'000).value_or(workload.stock);
    const std::string write =
        reader.choice("write", {"blind", "compare-and-set", "token", "token-at-write"}).value_or("blind");
    workload.write = write == "blind"             ? StockWrite::blind
                     : write == "compare-and-set" ? StockWrite::compare_and_set
                     : write == "token"           ? StockWrite::token
                                                  : StockWrite::token_at_write;
    const auto gives_tokens = [](const LockKind& lock) { return lock.tokens; };
    if (write.starts_with("token") && !scenario.lock->tokens)
      lock_cannot(reader.at("write"), "write", *scenario.lock, gives_tokens, "gives no tokens");
  } else if (kind == "count-down") {
    workload.kind = WorkloadKind::count_down;
    workload.rounds = reader.integer("rounds", 1, 1'000'000).value_or(workload.rounds);
    workload.count = static_cast<int>(reader.integer("count", 1, 1000).value_or(workload.count));
    if (workload.count > workload.clients) {
      throw BadScenario(reader.at("count"), "`count` is " + std::to_string(workload.count) +
                                                ", expected at most `clients`, " +
                                                std::to_string(workload.clients));
    }
  } else {
    workload.kind = WorkloadKind::critical_section;
    workload.hold = reader.duration_range("hold").value_or(workload.hold);
    workload.rounds = reader.integer("rounds", 1, 1'000'000).value_or(workload.rounds);
    workload.depth = static_cast<int>(reader.integer("depth", 1, 100).value_or(workload.depth));
    if (workload.depth > 1 && !scenario.lock->reentrant) {
      lock_cannot(
          reader.at("depth"), "depth", *scenario.lock, [](const LockKind& lock) { return lock.reentrant; },
          "cannot be taken inside itself");
    }
    workload.own_keys = reader.flag("own_keys").value_or(false);
  }
  workload.readers = reader.percent("readers").value_or(0);
  if (workload.readers > 0 && !scenario.lock->shared) {
    lock_cannot(
        reader.at("readers"), "readers", *scenario.lock, [](const LockKind& lock) { return lock.shared; },
        "has no side for readers");
  }
  reader.finish();
  const bool counts = workload.kind == WorkloadKind::count_down;
  if (counts != scenario.lock->latch) {
    throw BadScenario(
        reader.at("kind"),
        "`kind` is \"" + kind + "\", but the lock `" + workload.lock + "` is " +
            (counts ? "no latch, expected another workload or a latch" : "a latch, expected \"count-down\""));
  }
  if (workload.key.empty())
    throw BadScenario(reader.at("key"), "`key` is empty, expected the name of a lock");
  if (std::int64_t{workload.clients} * workload.threads > 20'000) {
    throw BadScenario(reader.at("threads"),
                      "more than 20000 client tasks, expected `clients` times `threads` below that");
  }
}

void parse_network(const Value& table, Scenario& scenario) {
  TableReader reader(table, "[network]");
  scenario.latency = reader.duration_range("latency").value_or(DurationRange{});
  reader.finish();
}

std::vector<std::string> check_names() {
  std::vector<std::string> names;
  for (const checker::Check* check : checker::all_checks()) names.emplace_back(check->name());
  return names;
}

Expectation parse_expectation(const Value& table, const Scenario& scenario) {
  TableReader reader(table, "[[expect]]");
  Expectation expectation;
  expectation.at = table.at;
  expectation.check = reader.require("check", reader.choice("check", check_names()));
  expectation.violated = reader.choice("is", {"holds", "violated"}).value_or("holds") == "violated";
  if (auto kind = reader.text("kind")) {
    if (!expectation.violated)
      throw BadScenario(reader.at("kind"), "`kind` goes with is = \"violated\" only, expected none");
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
  reader.finish();
  if (expectation.check == "reached" && expectation.marks.empty()) reader.missing("marks");
  if (expectation.check == "oversell" && scenario.workload.kind != WorkloadKind::seckill) {
    throw BadScenario(reader.at("check"),
                      "`oversell` needs [workload] kind = \"seckill\", expected another check");
  }
  return expectation;
}

const std::vector<Value>& list(TableReader& root, std::string_view name) {
  static const std::vector<Value> kNone;
  const Value* found = root.value(name);
  if (found == nullptr) return kNone;
  if (found->kind != Value::Kind::list) {
    throw BadScenario(found->at, "`" + std::string(name) + "` is " + std::string(found->kind_name()) +
                                     ", expected a list of tables: [[" + std::string(name) + "]]");
  }
  return found->items;
}

}  // namespace

Scenario parse_base(const Value& document, const std::string& file) {
  TableReader root(document, "the file");
  Scenario scenario;
  scenario.file = file;
  scenario.at = document.at;
  const auto schema = root.require("schema", root.integer("schema", 1, 1));
  static_cast<void>(schema);
  scenario.name = root.require("name", root.text("name"));
  scenario.about = root.text("about").value_or("");
  parse_run(section(root, "run"), scenario);
  parse_cluster(section(root, "cluster"), scenario);
  if (root.value("lock") == nullptr) root.missing("lock");
  parse_lock(section(root, "lock"), scenario);
  if (root.value("workload") == nullptr) root.missing("workload");
  parse_workload(section(root, "workload"), scenario);
  parse_network(section(root, "network"), scenario);

  FaultNames names;
  names.nodes = scenario.cluster.nodes;
  for (std::int64_t i = 1; i <= scenario.workload.clients; ++i)
    names.clients.push_back("c" + std::to_string(i));
  for (const Value& fault : list(root, "fault")) {
    if (const Value* id = fault.find("id"); id != nullptr && id->kind == Value::Kind::text) {
      if (std::find(names.faults.begin(), names.faults.end(), id->text) != names.faults.end()) {
        throw BadScenario(id->at, "fault `" + id->text + "` twice, expected an id of its own");
      }
      names.faults.push_back(id->text);
    }
  }
  for (const Value& fault : list(root, "fault")) scenario.faults.push_back(parse_fault(fault, names));
  for (const Value& expectation : list(root, "expect")) {
    scenario.expectations.push_back(parse_expectation(expectation, scenario));
  }
  root.value("variant");
  root.finish();
  if (scenario.expectations.empty()) {
    throw BadScenario(scenario.at, "nothing is expected, expected at least one [[expect]] table");
  }
  return scenario;
}

void require_world(const Scenario& scenario, bool embedded) {
  for (const FaultPlan& fault : scenario.faults) {
    if (!fault.enabled || (embedded ? fault.kind->embedded : fault.kind->real)) continue;
    throw BadScenario(fault.at, "the " + std::string(embedded ? "embedded" : "real") + " world cannot do `" +
                                    std::string(fault.kind->name) + "`, expected another fault or --world " +
                                    (embedded ? "real" : "embedded"));
  }
}

const std::vector<MarkInfo>& all_events() {
  static const std::vector<MarkInfo> kEvents = {
      {"lock.requested", "a client asks for a lock"},
      {"lock.waiting", "an acquire was refused and its task starts to wait"},
      {"lock.queued", "the server confirmed a place in the queue of a fair lock"},
      {"lock.granted", "an acquire returned ok to a client"},
      {"lock.refused", "an acquire failed, or its outcome is unknown"},
      {"lock.renewed", "the server confirmed a renewal"},
      {"lock.renew-failed", "a renewal was not confirmed; it is tried again"},
      {"lock.lost", "a client was told that its hold is lost"},
      {"lock.releasing", "a client begins to release"},
      {"lock.released", "a release was confirmed"},
      {"read", "a client read the protected resource"},
      {"write", "a client wrote the protected resource"},
      {"sell", "a client sold one"},
      {"latch.set", "a count was set"},
      {"latch.counted", "one less is to be counted down"},
      {"latch.waiting", "a client begins to wait for a latch"},
      {"latch.opened", "a client got through a latch"},
      {"client.crashed", "a client died"},
      {"client.started", "a client started, or started again"},
  };
  return kEvents;
}

const std::vector<MarkInfo>& all_marks() {
  static const std::vector<MarkInfo> kMarks = [] {
    std::vector<MarkInfo> marks = all_events();
    marks.push_back({"granted-after-promotion", "a node granted a lock after it had been promoted"});
    marks.push_back({"granted-after-restart", "a node granted a lock after it had been restarted"});
    marks.push_back(
        {std::string(kGrantedDuringFault), "an acquire returned ok while a fault with `for` acted"});
    marks.push_back({"sold-out", "the stock came down to zero"});
    return marks;
  }();
  return kMarks;
}

}  // namespace holdfast::sim
