#include "sim/hunt/draw_case.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "sim/hunt/draw_faults.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/units.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A section of the case, and what the file says of it.
class Section {
 public:
  Section(const Ground& ground, Value& document, const std::string& name)
      : given_(ground.given.find(name)), table_(section_of(document, name)) {}
  // Unless the file says it.
  void set(const std::string& key, Value value) {
    if (given_ == nullptr || given_->find(key) == nullptr) set_key(table_, key, std::move(value));
  }
  void set(const std::string& key, const std::string& text) { set(key, text_value(text)); }
  void set(const std::string& key, std::uint64_t number) {
    set(key, integer_value(static_cast<std::int64_t>(number)));
  }
  // It says nothing of this section.
  bool open() const { return given_ == nullptr; }

 private:
  const Value* const given_;
  Value& table_;
};

std::string text_at(const Value& document, const std::string& section, const std::string& key) {
  const Value* const table = document.find(section);
  const Value* const value = table == nullptr ? nullptr : table->find(key);
  return value == nullptr ? "" : value->text;
}

std::vector<std::string> numbered(const char* prefix, std::uint64_t count) {
  std::vector<std::string> names;
  for (std::uint64_t i = 1; i <= count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

Value named_case(const Ground& ground) {
  Value document = ground.given;
  set_key(document, "schema", integer_value(1));
  if (document.find("name") == nullptr)
    set_key(document, "name", text_value("hunted-" + std::string(ground.lock->name)));
  return document;
}

void draw_run(const Ground& ground, Value& document, Dice dice) {
  Section run(ground, document, "run");
  run.set("seeds", "1");
  run.set("time", "60s");
  const std::string order = dice.pick({"random", "random", "priorities", "partial-order", "chains"});
  run.set("order", dice.child("instant").one_in(12) ? "instant" : order);
}

// One setting of all servers, beside those that are drawn already.
void set_servers(const Ground& ground, Value& document, const std::string& name, Value value) {
  const Value* const given = ground.given.find("cluster");
  if (given != nullptr && given->find("settings") != nullptr) return;
  set_key(section_of(section_of(document, "cluster"), "settings"), name, std::move(value));
}

// A replica that waits for the answer of a primary whose power is gone asks again after repl-timeout, a
// minute where nobody says less: until then nobody has a grant that waits for a replica.
void give_up_soon(const Ground& ground, Value& document) {
  set_servers(ground, document, "repl-timeout", integer_value(2));
  set_servers(ground, document, "repl-ping-replica-period", integer_value(1));
}

// What people change of the servers' settings, as far as it changes what a lock is answered.
void draw_settings(const Ground& ground, Value& document, Dice dice) {
  const std::string topology = text_at(document, "cluster", "topology");
  if (dice.one_in(12)) {
    const auto threshold = static_cast<std::int64_t>(dice.between(1, 100));
    set_servers(ground, document, "busy-reply-threshold", integer_value(threshold));
  }
  if (topology == "single" || topology == "independent") return;
  if (dice.one_in(10)) {
    const auto lag = static_cast<std::int64_t>(dice.between(1, 10));
    set_servers(ground, document, "min-replicas-to-write", integer_value(1));
    set_servers(ground, document, "min-replicas-max-lag", integer_value(lag));
    give_up_soon(ground, document);
  }
  if (dice.one_in(10)) set_servers(ground, document, "repl-backlog-size", text_value("16kb"));
}

// Sentinels, or a Redis Cluster, that make nobody a primary while the case lasts: no lock on one primary
// bears that. Its client finds its server by other ways.
void draw_quiet_servers(Section& cluster, Dice dice) {
  const bool sentinels = dice.one_in(2);
  cluster.set("topology", sentinels ? "sentinel" : "cluster");
  cluster.set("nodes", texts_value(numbered("r", !sentinels ? 6 : dice.one_in(2) ? 2 : 3)));
  cluster.set(sentinels ? "down_after" : "node_timeout", "10m");
  cluster.set("persistence", "aof-always");
}

// r4 is none of the members. It follows one of them that is a replica, until somebody leads it elsewhere.
void draw_stranger(const Ground& ground, Value& document, Section& cluster) {
  Value follows;
  follows.kind = Value::Kind::table;
  set_key(follows, "r4", text_value("r2"));
  cluster.set("follows", std::move(follows));
  Section(ground, document, "lock").set("members", texts_value(numbered("r", 3)));
}

// Where servers may forget they do so in many ways; else they keep what they acknowledged.
void draw_servers(const Ground& ground, Value& document, Section& cluster, Dice dice) {
  const bool anything = ground.bounds == Ground::Bounds::anything;
  if (ground.lock->quorum) {
    cluster.set("topology", "independent");
    cluster.set("nodes", texts_value(numbered("r", dice.percent(80) ? 3 : 5)));
    cluster.set("persistence", anything ? dice.pick({"none", "aof-always", "aof-everysec"}) : "aof-always");
    return;
  }
  if (ground.lock->survives_failover) {
    // Alone, a server has to know by itself that it has forgotten something.
    const std::string topology =
        dice.pick({"single", "primary-replica", "primary-replica", "primary-replica", "sentinel"});
    cluster.set("topology", topology);
    const bool stranger = topology == "primary-replica" && dice.one_in(5);
    cluster.set("nodes", texts_value(numbered("r", topology == "single" ? 1 : stranger ? 4 : 3)));
    if (stranger) draw_stranger(ground, document, cluster);
    cluster.set("persistence", dice.pick({"none", "none", "aof-always", "aof-everysec", "aof-no", "rdb"}));
    give_up_soon(ground, document);
    return;
  }
  if (Dice quiet = dice.child("quiet"); !anything && quiet.one_in(12)) {
    draw_quiet_servers(cluster, quiet);
    return;
  }
  const std::uint64_t which = dice.between(1, 100);
  const std::string topology = which <= 45                ? "single"
                               : which <= 85 || !anything ? "primary-replica"
                               : which <= 95              ? "sentinel"
                                                          : "cluster";
  cluster.set("topology", topology);
  const std::uint64_t nodes = topology == "single" ? 1 : topology == "cluster" ? 6 : dice.percent(75) ? 2 : 3;
  cluster.set("nodes", texts_value(numbered("r", nodes)));
  cluster.set("persistence", anything
                                 ? dice.pick({"none", "none", "aof-always", "aof-everysec", "aof-no", "rdb"})
                                 : "aof-always");
}

void draw_cluster(const Ground& ground, Value& document, Dice dice) {
  Section cluster(ground, document, "cluster");
  if (!cluster.open() && ground.given.find("cluster")->find("topology") != nullptr) return;
  draw_servers(ground, document, cluster, dice);
  draw_settings(ground, document, dice.child("settings"));
}

void draw_lock(const Ground& ground, Value& document, Dice dice) {
  const LockKind& lock = *ground.lock;
  Section table(ground, document, "lock");
  table.set("kind", std::string(lock.name));
  // Published designs write whole seconds into the server.
  table.set("lease", format_duration(lock.historic ? Duration(seconds(dice.between(1, 3)))
                                                   : dice.log_uniform(milliseconds(150), seconds(3))));
  table.set("on_lost", dice.pick({"ignore", "abort"}));
  if (lock.counts_permits) table.set("permits", dice.between(1, 3));
  if (lock.shared && !lock.historic && dice.one_in(2)) table.set("fair", flag_value(true));
  if (lock.tokens && dice.one_in(3)) table.set("fencing", flag_value(true));
  if (!lock.historic && !lock.counts_permits && dice.one_in(6)) table.set("renew", flag_value(false));
  const std::string topology = text_at(document, "cluster", "topology");
  const bool replicated =
      topology == "primary-replica" || (!lock.historic && topology != "single" && !lock.quorum);
  if (replicated && lock.promises_validity && !lock.survives_failover && dice.one_in(4)) {
    table.set("replicas", 1);
    give_up_soon(ground, document);
    if (Dice timeout = dice.child("replica_timeout"); timeout.one_in(3))
      table.set("replica_timeout", format_duration(timeout.log_uniform(milliseconds(50), seconds(2))));
  }
  Dice renewals = dice.child("renewals");
  if (!lock.historic && lock.promises_validity && !lock.counts_permits && renewals.one_in(12))
    table.set("max_renewals", renewals.between(1, 4));
}

// A name that a lock makes longer names of, with all that these may have.
void draw_key(const Ground& ground, Section& workload, Dice dice) {
  if (ground.lock->historic || !dice.one_in(8)) return;
  workload.set("key", dice.pick({"{stock}:1", "stock:{1}", "a:queue", "lock:{a}:b", "two words", "{", "}{"}));
}

// What a sale loses is money: with tokens that the stock asks for, nothing.
bool draw_sale(const Ground& ground, Value& document, Section& table, Dice dice) {
  const Value* const given = ground.given.find("workload");
  const bool open = given == nullptr || given->find("kind") == nullptr;
  if (!ground.lock->survives_failover || !open || !dice.one_in(4)) return false;
  const Duration lease = *parse_duration(text_at(document, "lock", "lease"));
  table.set("kind", "seckill");
  table.set("stock", dice.between(4, 16));
  table.set("write", "token");
  table.set("think", dice.one_in(3) ? dice.range(milliseconds(1), 2 * lease)
                                    : dice.range(microseconds(200), lease / 2));
  return true;
}

std::string workload_of(const LockKind& lock) {
  return lock.latch ? "count-down" : lock.pair ? "transfer" : "critical-section";
}

// Many small cases find more than few large ones: some two dozen critical sections are a case's share.
std::uint64_t most_rounds(const Value& document) {
  constexpr std::uint64_t kSections = 24, kLeast = 2, kMost = 8;
  const Value& workload = *document.find("workload");
  const auto number = [&](const char* key) {
    const Value* const value = workload.find(key);
    return value == nullptr || value->integer < 1 ? 1 : static_cast<std::uint64_t>(value->integer);
  };
  return std::clamp(kSections / (number("clients") * number("threads")), kLeast, kMost);
}

// A lease that is over after a few round trips is kept by nobody.
Duration slowest_message(Duration lease) { return std::min<Duration>(milliseconds(50), lease / 12); }

// Shorter, and no call is ever answered. What waits for replicas takes a round trip to the server and one
// from there to a replica.
Duration least_timeout(Duration slowest, bool waits_for_replicas) {
  return std::max<Duration>(milliseconds(150), waits_for_replicas ? 5 * slowest : Duration::zero());
}

void draw_workload(const Ground& ground, Value& document, Dice dice) {
  const LockKind& lock = *ground.lock;
  Section table(ground, document, "workload");
  const Duration lease = *parse_duration(text_at(document, "lock", "lease"));
  // A crowd: what only many tasks of one client run into.
  const bool crowd = !lock.latch && !lock.pair && dice.one_in(25);
  table.set("clients", crowd              ? dice.between(1, 2)
                       : dice.percent(70) ? dice.between(2, 3)
                                          : dice.between(1, 6));
  table.set("kind", workload_of(lock));
  draw_key(ground, table, dice.child("key"));
  if (lock.latch) {
    table.set("rounds", dice.between(2, 6));
    const Value& clients = *document.find("workload")->find("clients");
    table.set("count", dice.between(1, static_cast<std::uint64_t>(clients.integer)));
    table.set("set_first", flag_value(dice.one_in(2)));
    table.set("think", dice.range(milliseconds(1), lease));
    return;
  }
  if (lock.pair) {
    table.set("rounds", dice.between(2, 6));
    table.set("think", dice.range(milliseconds(1), lease));
    return;
  }
  if (draw_sale(ground, document, table, dice.child("sale"))) return;
  if (text_at(document, "workload", "kind") != "critical-section") return;
  table.set("threads", crowd ? dice.between(10, 40) : dice.percent(65) ? 1 : dice.between(2, 3));
  table.set("rounds", crowd ? 1 : dice.between(2, most_rounds(document)));
  if (crowd ? dice.one_in(2) : dice.child("own_keys").one_in(16)) {
    table.set("own_keys", flag_value(true));
  } else if (!lock.historic && dice.child("twin_keys").one_in(16) &&
             document.find("workload")->find("key") == nullptr) {
    table.set("twin_keys", flag_value(true));
  }
  // Where servers change their roles, claims shall go on meanwhile.
  table.set("hold", lock.survives_failover && dice.one_in(2) ? dice.range(lease / 2, 4 * lease)
                    : dice.one_in(3)                         ? dice.range(milliseconds(1), 2 * lease)
                                                             : dice.range(microseconds(200), lease / 2));
  // And somebody shall ask again when they have changed: who is refused has had a round.
  table.set("think", lock.survives_failover && dice.one_in(2) ? dice.range(milliseconds(1), 2 * lease)
                     : dice.one_in(3)                         ? std::string("0s")
                                      : dice.range(microseconds(100), milliseconds(80)));
  if (dice.one_in(3)) table.set("wait", format_duration(dice.log_uniform(milliseconds(1), 2 * lease)));
  if (dice.one_in(3)) {
    const bool waits = lock.survives_failover || document.find("lock")->find("replicas") != nullptr;
    const Duration least = least_timeout(slowest_message(lease), waits);
    table.set("command_timeout", format_duration(dice.log_uniform(least, seconds(2))));
  }
  if (lock.shared) table.set("readers", std::to_string(dice.between(0, 9) * 10) + "%");
  if (lock.reentrant && dice.one_in(4)) table.set("depth", 2);
  if (dice.one_in(5)) table.set("interrupts", "30%");
  if (lock.registry && dice.one_in(4))
    table.set("evict", format_duration(dice.log_uniform(lease / 20, lease)));
  if (lock.shared && dice.one_in(3)) table.set("downgrade", flag_value(true));
}

void draw_network(const Ground& ground, Value& document, Dice dice) {
  Section network(ground, document, "network");
  const Duration slowest = slowest_message(*parse_duration(text_at(document, "lock", "lease")));
  network.set("latency", dice.one_in(4)   ? dice.range(microseconds(10), slowest)
                         : dice.one_in(3) ? std::string("20us..200us")
                                          : dice.range(microseconds(50), milliseconds(3)));
  // One who sits elsewhere.
  Dice far = dice.child("far");
  const Value* const clients = document.find("workload")->find("clients");
  if (!network.open() || clients == nullptr || clients->integer < 2 || !far.one_in(6)) return;
  Value one;
  set_key(one, "clients",
          texts_value({"c" + std::to_string(far.between(1, static_cast<std::uint64_t>(clients->integer)))}));
  set_key(one, "latency", text_value(far.range(slowest / 8, slowest)));
  tables_of(section_of(document, "network"), "client").push_back(std::move(one));
}

// Half of the cases have nothing of it, and the others mostly one thing.
void draw_rare(const Ground& ground, Value& document, Dice dice) {
  if (dice.one_in(2)) return;
  Section rare(ground, document, "rare");
  const Duration lease = *parse_duration(text_at(document, "lock", "lease"));
  const std::uint64_t first = dice.between(0, 3);
  const auto wanted = [&](std::uint64_t which) { return which == first || dice.one_in(4); };
  const auto percent = [&](std::uint64_t most) { return std::to_string(dice.between(1, most)) + "%"; };
  if (wanted(0)) rare.set("reads", percent(60));
  if (wanted(1)) rare.set("wakeups", percent(20));
  if (wanted(2)) {
    const Duration latest = std::clamp<Duration>(lease / 20, microseconds(20), milliseconds(50));
    rare.set("timers", "0s.." + format_duration(dice.log_uniform(microseconds(10), latest)));
  }
  if (wanted(3)) rare.set("window", dice.between(4, 64) * 16);
}

// When the faults are over: from then on somebody must get the lock, though a few nodes stay as they are.
void draw_phases(const Ground& ground, Value& document, Dice dice) {
  if (!dice.one_in(4)) return;
  Section run(ground, document, "run");
  run.set("calm", format_duration(dice.log_uniform(milliseconds(300), seconds(6))));
  const Value* const nodes = document.find("cluster")->find("nodes");
  const std::string topology = text_at(document, "cluster", "topology");
  // Of a set with one primary all is healed: that one may be what stays broken, and be there all the same.
  if (nodes == nullptr || topology != "independent" || !dice.one_in(2)) return;
  const std::uint64_t most = (nodes->items.size() - 1) / 2;
  std::vector<Value> broken = nodes->items;
  while (broken.size() > most)
    broken.erase(broken.begin() + static_cast<std::ptrdiff_t>(dice.between(0, broken.size() - 1)));
  if (!broken.empty()) run.set("stay_broken", list_value(std::move(broken)));
}

// Nobody is granted while nobody is a primary, and who was made a replica keeps what he had.
bool changes_roles(const Value& document) {
  static const std::set<std::string> kKinds = {"promote", "demote", "failover"};
  const Value* const faults = document.find("fault");
  return faults != nullptr && std::any_of(faults->items.begin(), faults->items.end(), [](const Value& fault) {
           return kKinds.contains(fault.find("kind")->text);
         });
}

void draw_part(const Ground& ground, Value& document, Part part, const Dice& dice) {
  switch (part) {
    case Part::cluster: return draw_cluster(ground, document, dice.child("cluster"));
    case Part::lock: return draw_lock(ground, document, dice.child("lock"));
    case Part::workload: return draw_workload(ground, document, dice.child("workload"));
    case Part::network: return draw_network(ground, document, dice.child("network"));
    case Part::rare: return draw_rare(ground, document, dice.child("rare"));
    case Part::faults: return draw_faults(ground, document, dice.child("faults"));
  }
}

// What the file says of a section, and nothing else.
void reopen(const Ground& ground, Value& document, const std::string& section) {
  if (const Value* const given = ground.given.find(section)) {
    set_key(document, section, *given);
  } else {
    erase_key(document, section);
  }
}

std::string section_name(Part part) {
  switch (part) {
    case Part::cluster: return "cluster";
    case Part::lock: return "lock";
    case Part::workload: return "workload";
    case Part::network: return "network";
    case Part::rare: return "rare";
    case Part::faults: return "fault";
  }
  return "";
}

// Takes off what makes the case one that cannot be run: the faults that were drawn, from the last. What was
// given stays. False: it cannot be run without them either.
bool make_fit(const Ground& ground, Value& document) {
  const Value* const given = ground.given.find("fault");
  const std::size_t stay = given == nullptr ? 0 : given->items.size();
  while (!fits(ground, document)) {
    Value* const faults = document.find("fault");
    if (faults == nullptr || faults->items.size() <= stay) return false;
    faults->items.pop_back();
    if (faults->items.empty()) erase_key(document, "fault");
  }
  return true;
}

}  // namespace

// Who asks for no tokens gets none to judge.
void expect_promises(const Ground& ground, Value& document) {
  if (ground.given.find("expect") != nullptr) return;
  const Value* const fencing = document.find("lock")->find("fencing");
  const bool tokens =
      (fencing != nullptr && fencing->flag) || text_at(document, "workload", "write") == "token";
  std::vector<Value> expected;
  const auto expect = [&](const std::string& check) {
    Value table;
    set_key(table, "check", text_value(check));
    expected.push_back(std::move(table));
  };
  for (const std::string& check : promises_of(*ground.lock, ground.bounds)) {
    if (check != "fencing-monotonic" || tokens) expect(check);
  }
  if (text_at(document, "workload", "kind") == "seckill") expect("oversell");
  if (ground.lock->survives_failover && !changes_roles(document)) {
    for (const char* const check : {"progress", "at-rest"}) expect(check);
  }
  set_key(document, "expect", list_value(std::move(expected)));
}

void put_in_order(Value& document) {
  static const std::vector<std::string> kOrder = {"schema",  "name",  "about",    "run",
                                                  "cluster", "lock",  "workload", "network",
                                                  "rare",    "fault", "expect",   "variant"};
  std::stable_sort(document.members.begin(), document.members.end(), [](const Member& a, const Member& b) {
    return std::find(kOrder.begin(), kOrder.end(), a.key) < std::find(kOrder.begin(), kOrder.end(), b.key);
  });
}

bool fits(const Ground& ground, const Value& document) {
  try {
    const Scenario scenario = parse_base(document, "drawn");
    require_world(scenario, /*embedded=*/true);
    const WorkloadOptions& workload = scenario.workload;
    const bool open = ground.given.find("network") == nullptr && ground.given.find("lock") == nullptr;
    Duration slowest = scenario.latency.high;
    for (const auto& [client, latency] : scenario.far_clients) slowest = std::max(slowest, latency.high);
    if (open && slowest > slowest_message(workload.lease)) return false;
    const bool waits = workload.replicas > 0 || scenario.lock->survives_failover;
    if (open && ground.given.find("workload") == nullptr &&
        workload.command_timeout < least_timeout(slowest, waits))
      return false;
    if (ground.bounds == Ground::Bounds::anything) return true;
    return bears_all(scenario);
  } catch (const BadScenario&) {
    return false;
  }
}

Value least_case(const Ground& ground) {
  Value document = named_case(ground);
  Section(ground, document, "run").set("seeds", "1");
  Section(ground, document, "lock").set("kind", std::string(ground.lock->name));
  Section(ground, document, "workload").set("kind", workload_of(*ground.lock));
  if (ground.lock->quorum && document.find("cluster") == nullptr) {
    Section cluster(ground, document, "cluster");
    cluster.set("topology", "independent");
    cluster.set("nodes", texts_value(numbered("r", 3)));
  }
  expect_promises(ground, document);
  put_in_order(document);
  return document;
}

Value draw_case(const Ground& ground, const Rng& rng) {
  const Dice dice(rng);
  Value document = named_case(ground);
  draw_run(ground, document, dice.child("run"));
  for (const Part part : kParts) draw_part(ground, document, part, dice);
  draw_phases(ground, document, dice.child("phases"));
  expect_promises(ground, document);
  put_in_order(document);
  if (!make_fit(ground, document))
    return least_case(ground);  // nothing that was drawn goes with what is given
  return document;
}

Value redraw(const Ground& ground, const Value& document, Part part, const Rng& rng) {
  Value changed = document;
  reopen(ground, changed, section_name(part));
  draw_part(ground, changed, part, Dice(rng));
  expect_promises(ground, changed);
  put_in_order(changed);
  return make_fit(ground, changed) ? changed : document;
}

}  // namespace holdfast::sim
