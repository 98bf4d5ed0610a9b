#include "sim/scenario/parse_fault.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace holdfast::sim {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::vector<std::string> event_names() {
  std::vector<std::string> names;
  for (const RunEventInfo& event : all_run_events()) names.emplace_back(event.name);
  return names;
}

// A key of `after` that means nothing beside the sort of trigger that it has.
void goes_with(const TableReader& reader, const Value& table, std::string_view key, bool fits,
               const std::string& what) {
  if (fits || table.find(key) == nullptr) return;
  throw BadScenario(reader.at(key), "`" + std::string(key) + "` goes with " + what + " only, expected none");
}

// 3, "1..12", or "1..12 or never", of which one is drawn.
void parse_places(TableReader& reader, Trigger& trigger) {
  constexpr std::string_view kOrNever = " or never";
  const Value* const nth = reader.value("nth");
  if (nth == nullptr) return;
  if (nth->kind == Value::Kind::text && nth->text.ends_with(kOrNever)) {
    const auto places = parse_seeds(nth->text.substr(0, nth->text.size() - kOrNever.size()));
    if (places && places->random == 0 && places->ranges.size() == 1 && places->ranges[0].first >= 1 &&
        places->ranges[0].second < static_cast<std::uint64_t>(kMost)) {
      trigger.nth = static_cast<std::int64_t>(places->ranges[0].first);
      trigger.last_nth = static_cast<std::int64_t>(places->ranges[0].second) + 1;
      trigger.or_never = true;
      return;
    }
  }
  std::tie(trigger.nth, trigger.last_nth) = *reader.integers("nth", 1, kMost);
}

// `after`, or `until`, which waits for no message.
Trigger parse_after(const Value& table, const SettingNames& names, const std::string& called) {
  TableReader reader(table, called);
  const bool begins = called == "`after`";
  Trigger trigger;
  int kinds = 0;
  if (auto event = reader.choice("event", event_names())) {
    trigger.kind = Trigger::Kind::event;
    trigger.event = find_run_event(*event)->kind;
    ++kinds;
  }
  if (auto fault = reader.text("fault")) {
    check_name(*fault, names.faults, reader.at("fault"), "fault");
    trigger.kind = Trigger::Kind::fault;
    trigger.fault = *fault;
    ++kinds;
  }
  if (auto command = begins ? reader.text("message") : std::nullopt) {
    trigger.kind = Trigger::Kind::message;
    for (const char c : *command)
      trigger.message += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    ++kinds;
  }
  if (auto phase = begins ? reader.choice("phase", {"request", "reply"}) : std::nullopt) {
    trigger.direction = *phase == "reply" ? Direction::reply : Direction::request;
  }
  if (auto client = reader.text("client")) {
    check_name(*client, names.clients, reader.at("client"), "client");
    trigger.client = *client;
  }
  if (auto node = reader.text("node")) {
    check_name(*node, names.nodes, reader.at("node"), "node");
    trigger.node = *node;
  }
  if (!begins) {
    trigger.nth = trigger.last_nth = reader.integer("nth", 1, kMost).value_or(1);
  } else {
    parse_places(reader, trigger);
  }
  trigger.delay = reader.duration_range("delay").value_or(DurationRange{});
  reader.finish();
  if (kinds != 1)
    throw BadScenario(table.at, called + " names " + std::to_string(kinds) +
                                    " of them, expected exactly one of " +
                                    (begins ? "`event`, `fault` and `message`" : "`event` and `fault`"));
  const bool message = trigger.kind == Trigger::Kind::message;
  const bool narrow = message || trigger.kind == Trigger::Kind::event;
  goes_with(reader, table, "phase", message, "`message`");
  for (const char* const key : {"client", "node", "nth"}) {
    goes_with(reader, table, key, narrow, begins ? "`event` and `message`" : "`event`");
  }
  if (!message && narrow && !trigger.node.empty() && !info_of(trigger.event).names_node) {
    throw BadScenario(reader.at("node"), "`node`: the event `" + std::string(to_string(trigger.event)) +
                                             "` happens at no node, expected none");
  }
  return trigger;
}

Trigger parse_trigger(TableReader& reader, const SettingNames& names, const std::string& where) {
  Trigger trigger;
  int triggers = 0;
  if (auto at = reader.duration_range("at")) {
    trigger.time = *at;
    ++triggers;
  }
  if (auto every = reader.duration_range("every")) {
    if (every->low.count() == 0) {
      throw BadScenario(reader.at("every"), "`every` is zero, expected a duration above \"0s\"");
    }
    trigger.kind = Trigger::Kind::every;
    trigger.time = *every;
    ++triggers;
  }
  if (const Value* after = reader.value("after")) {
    trigger = parse_after(*after, names, "`after`");
    ++triggers;
  }
  if (triggers != 1) {
    throw BadScenario(reader.at(""),
                      where + " has " + (triggers == 0 ? "no trigger" : "more than one trigger") +
                          ", expected exactly one of `at`, `every` and `after`, such as at = \"0s\"");
  }
  return trigger;
}

}  // namespace

FaultPlan parse_fault(const Value& table, const SettingNames& names) {
  TableReader reader(table, "[[fault]]");
  for (const char* const key : {"id", "kind", "enabled", "at", "every", "after", "for", "until", "during"})
    reader.value(key);
  FaultPlan plan;
  plan.at = table.at;
  std::vector<std::string> kinds;
  for (const FaultKind& kind : all_fault_kinds()) kinds.emplace_back(kind.name);
  const auto kind = reader.choice("kind", kinds);
  if (kind) plan.kind = find_fault_kind(*kind);
  for (const FaultKind& each : all_fault_kinds()) {
    if (plan.kind != nullptr && plan.kind != &each) continue;
    for (const FaultKey& key : each.keys) reader.value(key.name);
  }
  reader.finish();  // first, so that a misspelt key is told as such and not as one that is missing
  plan.config.id = reader.require("id", reader.text("id"));
  reader.require("kind", kind);
  const std::string where = "fault `" + plan.config.id + "` (" + std::string(plan.kind->name) + ")";

  plan.enabled = reader.flag("enabled").value_or(true);
  plan.trigger = parse_trigger(reader, names, where);
  SettingNames with_event = names;
  if (plan.trigger.kind == Trigger::Kind::event || plan.trigger.kind == Trigger::Kind::message) {
    with_event.clients.emplace_back(kEventClient);
  }
  plan.lasts = reader.duration_range("for");
  if (plan.lasts && plan.lasts->high.count() == 0)
    throw BadScenario(reader.at("for"), "`for` is zero, expected a duration above \"0s\"");
  if (const Value* until = reader.value("until")) {
    if (plan.lasts)
      throw BadScenario(reader.at("until"),
                        "`until` beside `for`, which both say when it heals, expected one of them");
    if (plan.kind->knows_length) {
      throw BadScenario(reader.at("until"),
                        "`until`: " + where + " knows from its start how long it lasts, expected `for`");
    }
    plan.until = parse_after(*until, names, "`until`");
  }
  if (auto during = reader.text("during")) {
    check_name(*during, names.faults, reader.at("during"), "during");
    plan.during = *during;
  }
  if (plan.kind->must_end && !plan.heals()) {
    throw BadScenario(table.at, where + " has no `for`, expected how long it lasts, such as for = \"2s\"");
  }
  if (plan.trigger.kind == Trigger::Kind::every && !plan.heals()) {
    throw BadScenario(reader.at("every"),
                      "`every` without `for`: " + where +
                          " would act once and never again, because it acts again only when it "
                          "has healed, expected how long it lasts as well, such as for = \"50ms\"");
  }
  if (names.engine != kRedis && !plan.kind->any_engine) {
    throw BadScenario(reader.at("kind"), where + " is one of Redis, and the servers are those of `" +
                                             names.engine +
                                             "`, expected such as partition, delay, crash or pause-client");
  }
  if (names.engine != kRedis && plan.trigger.kind == Trigger::Kind::message) {
    throw BadScenario(reader.at("after"),
                      where + " waits for a message of Redis, and the servers are those of `" + names.engine +
                          "`, expected an event, a fault or a time");
  }
  if (plan.kind->needs_replicas && !names.has_replicas) {
    throw BadScenario(reader.at("kind"), where +
                                             " needs a primary and its replicas, expected topology = "
                                             "\"primary-replica\" or \"sentinel\" in [cluster]");
  }
  if (plan.kind->needs_append_only && !names.append_only) {
    throw BadScenario(reader.at("kind"), where +
                                             " meets servers that write while they work (snapshots come "
                                             "after a minute at the soonest), expected "
                                             "persistence = \"aof-always\", \"aof-everysec\" or \"aof-no\" "
                                             "in [cluster]");
  }
  if (plan.kind->needs_sentinels && names.sentinels.empty()) {
    throw BadScenario(reader.at("kind"),
                      where + " needs Sentinels, expected topology = \"sentinel\" in [cluster]");
  }
  if (plan.kind->needs_cluster && !names.elects) {
    throw BadScenario(reader.at("kind"),
                      where + " needs a Redis Cluster, expected topology = \"cluster\" in [cluster]");
  }
  if (plan.kind->changes_role && names.elects) {
    throw BadScenario(reader.at("kind"), where +
                                             " gives a node another role, and these elect, expected "
                                             "such as cluster-failover, crash or partition");
  }
  plan.config.values = parse_settings(reader, plan.kind->keys, with_event, where);
  if (plan.kind->problem != nullptr) {
    if (const std::string problem = plan.kind->problem(plan.config); !problem.empty())
      throw BadScenario(table.at, where + ": expected " + problem);
  }
  return plan;
}

}  // namespace holdfast::sim
