#include "sim/hunt/draw_faults.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "sim/client/lock_kind_rows.h"
#include "sim/hunt/draw_case.h"
#include "sim/hunt/draw_roles.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/units.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kTries = 12;

// Who is there to be struck.
struct Parties {
  std::vector<std::string> nodes, clients, faults;
  std::vector<std::string> lasting;  // faults with `for`
  Duration lease{};
  bool elect = false;  // the servers choose a primary by themselves
};

Parties parties_of(const Value& document) {
  Parties parties;
  const Value* const cluster = document.find("cluster");
  if (const Value* const nodes = cluster == nullptr ? nullptr : cluster->find("nodes")) {
    for (const Value& node : nodes->items) parties.nodes.push_back(node.text);
  }
  if (parties.nodes.empty()) parties.nodes = {"r1"};
  const Value* const topology = cluster == nullptr ? nullptr : cluster->find("topology");
  parties.elect = topology != nullptr && (topology->text == "sentinel" || topology->text == "cluster") &&
                  cluster->find("down_after") == nullptr && cluster->find("node_timeout") == nullptr;
  const Value* const clients = document.find("workload")->find("clients");
  const std::int64_t count = clients == nullptr ? 3 : clients->integer;
  for (std::int64_t i = 1; i <= count; ++i) parties.clients.push_back("c" + std::to_string(i));
  if (const Value* const faults = document.find("fault")) {
    for (const Value& fault : faults->items) {
      parties.faults.push_back(fault.find("id")->text);
      if (fault.find("for") != nullptr) parties.lasting.push_back(parties.faults.back());
    }
  }
  const Value* const lease = document.find("lock")->find("lease");
  parties.lease = lease == nullptr ? seconds(3) : parse_duration(lease->text).value_or(seconds(3));
  return parties;
}

class FaultDrawer {
 public:
  FaultDrawer(const Ground& ground, const Parties& parties, Dice dice)
      : ground_(ground), parties_(parties), dice_(dice) {}

  Value draw(const FaultKind& kind) {
    Value fault;
    set_key(fault, "id", text_value(next_id()));
    set_key(fault, "kind", text_value(std::string(kind.name)));
    const bool lasts = kind.must_end || (!kind.at_once && dice_.percent(85));
    draw_trigger(fault, lasts);
    for (const FaultKey& key : kind.keys) {
      if (key.required || wanted(kind, key)) set_key(fault, std::string(key.name), value_of(key));
    }
    one_party(fault, kind);
    if (fault.find("error") != nullptr) set_key(fault, "error", text_value(error_of(fault)));
    if (lasts) set_key(fault, "for", text_value(length(kind)));
    if (lasts && !parties_.lasting.empty() && dice_.one_in(6))
      set_key(fault, "during", text_value(dice_.pick(parties_.lasting)));
    return fault;
  }

 private:
  std::string next_id() const {
    for (std::size_t i = parties_.faults.size() + 1;; ++i) {
      std::string id = "f" + std::to_string(i);
      if (std::find(parties_.faults.begin(), parties_.faults.end(), id) == parties_.faults.end()) return id;
    }
  }

  bool wanted(const FaultKind& kind, const FaultKey& key) {
    if (key.name == "p") return false;  // `probability` is the same
    if (key.type == FaultKey::Type::parties) return dice_.percent(80);
    if (kind.tells_hits && (key.name == "command" || key.name == "client")) return dice_.one_in(2);
    return dice_.one_in(3);
  }

  // Of kinds that strike a node or a client, exactly one is named.
  void one_party(Value& fault, const FaultKind& kind) {
    const auto has = [&](std::string_view name) {
      return std::any_of(kind.keys.begin(), kind.keys.end(),
                         [&](const FaultKey& key) { return key.name == name && !key.required; });
    };
    if (kind.tells_hits || !has("node") || !has("client")) return;
    const bool node = dice_.one_in(2);
    erase_key(fault, node ? "client" : "node");
    set_key(fault, node ? "node" : "client", text_value(node ? this->node() : client()));
  }

  // The first ones are struck more often: two faults on one party say more than one on each of two.
  std::string client() {
    if (has_event_ && dice_.percent(60)) return std::string(kEventClient);
    return dice_.percent(60) ? parties_.clients.front() : dice_.pick(parties_.clients);
  }
  std::string node() { return dice_.percent(60) ? parties_.nodes.front() : dice_.pick(parties_.nodes); }
  std::string party() { return dice_.one_in(5) ? "*" : dice_.one_in(2) ? client() : node(); }
  // One, or several on one side.
  Value side() {
    if (!dice_.one_in(3)) return text_value(party());
    std::vector<std::string> from = parties_.nodes;
    from.insert(from.end(), parties_.clients.begin(), parties_.clients.end());
    std::vector<Value> several;
    for (const std::string& name : from) {
      if (dice_.one_in(2)) several.push_back(text_value(name));
    }
    return several.empty() ? text_value(party()) : list_value(std::move(several));
  }
  std::string length(const FaultKind& kind) {
    const Duration a = kind.name == "busy-script" ? dice_.log_uniform(milliseconds(1), milliseconds(100))
                                                  : dice_.about_lease(parties_.lease);
    return format_duration(std::max<Duration>(a, milliseconds(1)));
  }

  Value value_of(const FaultKey& key) {
    switch (key.type) {
      case FaultKey::Type::node:
      case FaultKey::Type::any_node: return text_value(node());
      case FaultKey::Type::client: return text_value(client());
      case FaultKey::Type::parties: return side();
      case FaultKey::Type::duration: {
        if (key.name == "period")
          return text_value(format_duration(dice_.log_uniform(milliseconds(1), seconds(1))));
        if (key.name == "threshold")  // the script's instructions are counted one by one
          return text_value(format_duration(dice_.log_uniform(milliseconds(1), milliseconds(100))));
        const std::string time = format_duration(dice_.about_lease(parties_.lease));
        return text_value((key.name == "by" && dice_.one_in(2) ? "-" : "") + time);
      }
      case FaultKey::Type::range:
        return text_value(dice_.range(std::chrono::microseconds(100), 2 * parties_.lease));
      case FaultKey::Type::percent: return text_value(std::to_string(dice_.between(1, 40)) + "%");
      case FaultKey::Type::count: return integer_value(number(key));
      case FaultKey::Type::flag: return flag_value(dice_.one_in(2));
      case FaultKey::Type::texts: return list_value({});
      case FaultKey::Type::probability:  // never wanted
      case FaultKey::Type::text: break;
    }
    if (!key.choices.empty())
      return text_value(
          std::string(key.choices[static_cast<std::size_t>(dice_.between(0, key.choices.size() - 1))]));
    return text_value(command());
  }

  // What a server answers for now. That it has lost its scripts is an answer to a call of one.
  std::string error_of(const Value& fault) {
    const Value* const command = fault.find("command");
    if (command != nullptr && command->text == "EVALSHA" && dice_.one_in(2))
      return "NOSCRIPT No matching script. Please use EVAL.";
    return dice_.pick({"BUSY Redis is busy running a script",
                       "OOM command not allowed when used memory > 'maxmemory'",
                       "MISCONF Redis is configured to save RDB snapshots, but cannot",
                       "NOREPLICAS Not enough good replicas to write",
                       "READONLY You can't write against a read only replica.",
                       "TRYAGAIN Multiple keys request during rehashing of slot"});
  }

  std::int64_t number(const FaultKey& key) {
    if (key.name == "ppm") return static_cast<std::int64_t>(dice_.between(0, 400'000)) - 200'000;
    if (key.name == "bytes_per_second") return static_cast<std::int64_t>(dice_.between(20, 400)) * 50;
    const std::int64_t number =
        static_cast<std::int64_t>(dice_.one_in(3) ? dice_.between(1, 12) : dice_.between(1, 3));
    return std::clamp(number, key.least, key.most);
  }

  std::string command() {
    Dice other = dice_.child("command");
    if (ground_.lock->historic && other.one_in(3))  // what several commands do that ought to be one
      return other.pick({"SETNX", "EXPIRE", "PEXPIRE", "PEXPIRE", "UNLINK", "INCR", "HGET", "ZADD"});
    return dice_.pick({"EVALSHA", "EVALSHA", "EVALSHA", "EVAL", "SET", "GET", "DEL", "PUBLISH", "SUBSCRIBE",
                       "WAIT", "HELLO", "MULTI", "EXEC"});
  }

  // When: at a time, again and again, or (targets) where it matters: at an event of the lock, or when a
  // message is on its way, or some time after another fault.
  void draw_trigger(Value& fault, bool repeats) {
    const std::uint64_t how = dice_.between(1, 100);
    if (!ground_.targets || how <= 15) {
      if (repeats && dice_.one_in(2)) {
        set_key(fault, "every", text_value(dice_.range(milliseconds(20), seconds(3))));
      } else {
        set_key(fault, "at", text_value(dice_.range(milliseconds(1), seconds(8))));
      }
      return;
    }
    Value after;
    if (how <= 35 && !parties_.faults.empty()) {
      set_key(after, "fault", text_value(dice_.pick(parties_.faults)));
      set_key(after, "delay",
              text_value(dice_.one_in(4) ? "0s" : format_duration(dice_.about_lease(parties_.lease))));
      set_key(fault, "after", after);
      return;
    }
    const bool message = how > 75, of_node = !message && parties_.elect && dice_.child("elect").one_in(4);
    if (of_node) {
      set_key(after, "event", text_value("node.promoted"));
    } else if (message) {
      set_key(after, "message", text_value(command()));
      set_key(after, "phase", text_value(dice_.pick({"request", "reply"})));
    } else {
      set_key(after, "event", text_value(event()));
    }
    set_key(after, "nth",
            integer_value(
                static_cast<std::int64_t>(dice_.one_in(3) ? dice_.between(1, 12) : dice_.between(1, 4))));
    if (dice_.one_in(4) && !of_node) set_key(after, "client", text_value(dice_.pick(parties_.clients)));
    if (dice_.percent(message ? 30 : 65))
      set_key(after, "delay", text_value(format_duration(dice_.about_lease(parties_.lease))));
    set_key(fault, "after", after);
    has_event_ = !of_node;
  }

  // Of a client, that the workload comes to.
  std::string event() {
    Dice other = dice_.child("event");
    if (ground_.lock->latch)
      return other.pick({"latch.set", "latch.counted", "latch.counted", "latch.waiting", "latch.waiting",
                         "latch.opened", "client.started", "client.crashed"});
    if (other.one_in(6))
      return other.pick({"read", "write", "lock.renew-failed", "lock.interrupted", "client.crashed"});
    return dice_.pick({"lock.requested", "lock.granted", "lock.granted", "lock.granted", "lock.renewed",
                       "lock.releasing", "lock.released", "lock.waiting", "lock.refused", "lock.lost",
                       "lock.queued", "client.started"});
  }

  const Ground& ground_;
  const Parties& parties_;
  Dice dice_;
  bool has_event_ = false;
};

// The kinds that this case has: about half of all.
std::vector<const FaultKind*> swarm_of(const Ground& ground, Dice dice) {
  std::vector<const FaultKind*> on;
  for (const FaultKind& kind : all_fault_kinds()) {
    if (!kind.embedded || kind.by_hand) continue;
    // A script without an end takes its time of the machine, too: a hunt would do little else.
    if (kind.name == "busy-script" ? dice.one_in(16) : !ground.swarm || dice.one_in(2)) on.push_back(&kind);
  }
  return on;
}

// One that fits, of one of these kinds.
std::optional<Value> fitting(const Ground& ground, const Value& document,
                             const std::vector<const FaultKind*>& kinds, Dice dice) {
  const Parties parties = parties_of(document);
  for (int i = 0; i < kTries && !kinds.empty(); ++i) {
    const FaultKind& kind = *dice.pick(kinds);
    FaultDrawer drawer(ground, parties, dice.child(std::to_string(i)));
    Value fault = drawer.draw(kind);
    Value with = document;
    tables_of(with, "fault").push_back(fault);
    if (fits(ground, with)) return fault;
  }
  return std::nullopt;
}

// How many grants a workload asks for, at least.
std::uint64_t grants_of(const Value& document) {
  const Value& workload = *document.find("workload");
  const auto number = [&](const char* key) {
    const Value* const value = workload.find(key);
    return value == nullptr || value->integer < 1 ? 1 : static_cast<std::uint64_t>(value->integer);
  };
  return workload.find("stock") != nullptr ? number("stock")
                                           : number("clients") * number("threads") * number("rounds");
}

// Where servers change their roles as often as the lock is granted.
std::vector<Value> stories_of_roles(const Ground& ground, const Value& document, Dice dice) {
  const Value* const topology = document.find("cluster")->find("topology");
  if (!ground.lock->survives_failover || topology == nullptr || topology->text == "sentinel") return {};
  const Parties parties = parties_of(document);
  const auto story = [](const std::string& id) { return id != "step"; };
  if (std::any_of(parties.faults.begin(), parties.faults.end(), story) || parties.nodes.size() == 2 ||
      dice.one_in(3))
    return {};
  constexpr std::uint64_t kMostStories = 16;
  std::vector<Value> faults =
      draw_roles({.nodes = parties.nodes,
                  .clients = parties.clients,
                  .lease = parties.lease,
                  .most = std::clamp<std::uint64_t>(grants_of(document), 1, kMostStories)},
                 dice.child("roles"));
  Value with = document;
  std::vector<Value>& all = tables_of(with, "fault");
  all.insert(all.end(), faults.begin(), faults.end());
  return fits(ground, with) ? faults : std::vector<Value>();
}

// One step of one server's clock, as far as a survivor allows for it.
std::optional<Value> step_within_the_skew(const Ground& ground, const Value& document, Dice dice) {
  const Value* const run = document.find("run");
  const bool bounded = run != nullptr && run->find("clock_bound") != nullptr;
  if (!ground.lock->survives_failover || ground.bounds == Ground::Bounds::anything || bounded ||
      !dice.one_in(4))
    return std::nullopt;
  const Parties parties = parties_of(document);
  const Duration most = survivor_skew(parties.lease);
  if (most < milliseconds(1) || !parties.faults.empty()) return std::nullopt;
  Value fault, after;
  set_key(fault, "id", text_value("step"));
  set_key(fault, "kind", text_value("clock-step"));
  set_key(fault, "node", text_value(dice.pick(parties.nodes)));
  const Duration by = dice.one_in(2) ? most : dice.log_uniform(milliseconds(1), most);
  set_key(fault, "by", text_value((dice.one_in(3) ? "-" : "") + format_duration(by)));
  set_key(after, "event", text_value(dice.percent(60) ? "lock.granted" : "lock.renewed"));
  set_key(after, "nth", integer_value(static_cast<std::int64_t>(dice.between(1, 6))));
  set_key(after, "delay", text_value(format_duration(dice.about_lease(parties.lease))));
  set_key(fault, "after", std::move(after));
  Value with = document;
  tables_of(with, "fault").push_back(fault);
  return fits(ground, with) ? std::optional(fault) : std::nullopt;
}

// A case needs something to expect before it can be parsed.
void expect_something(Value& document) {
  if (document.find("expect") != nullptr) return;
  Value table;
  set_key(table, "check", text_value("lease-exclusion"));
  set_key(document, "expect", list_value({table}));
}

}  // namespace

void draw_faults(const Ground& ground, Value& document, Dice dice) {
  Value whole = document;
  expect_something(whole);
  const std::vector<const FaultKind*> kinds = swarm_of(ground, dice.child("kinds"));
  std::uint64_t count = dice.one_in(4) ? dice.between(4, 8) : dice.between(1, 3);
  if (const auto step = step_within_the_skew(ground, whole, dice.child("step"))) {
    for (Value* const of : {&whole, &document}) {
      set_key(section_of(*of, "run"), "clock_bound",
              text_value(format_duration(survivor_skew(parties_of(whole).lease))));
      tables_of(*of, "fault").push_back(*step);
    }
  }
  const std::vector<Value> roles = stories_of_roles(ground, whole, dice.child("stories"));
  if (!roles.empty()) {
    for (Value* const of : {&whole, &document}) {
      std::vector<Value>& faults = tables_of(*of, "fault");
      faults.insert(faults.end(), roles.begin(), roles.end());
    }
    count = count > 3 ? count / 2 : 0;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto fault = fitting(ground, whole, kinds, dice.child(std::to_string(i)));
    if (!fault) continue;
    tables_of(whole, "fault").push_back(*fault);
    tables_of(document, "fault").push_back(*fault);
  }
}

std::optional<Value> draw_fault(const Ground& ground, const Value& document, const Rng& rng) {
  const Dice dice(rng);
  return fitting(ground, document, swarm_of(ground, dice.child("kinds")), dice.child("fault"));
}

}  // namespace holdfast::sim
