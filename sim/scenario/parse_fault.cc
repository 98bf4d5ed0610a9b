#include "sim/scenario/parse_fault.h"

#include <algorithm>
#include <limits>

namespace holdfast::sim {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

void check_name(const std::string& name, const std::vector<std::string>& known, const Position& at,
                std::string_view key) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw BadScenario(at, "`" + std::string(key) + "` names `" + name + "`, expected " + one_of(known) +
                            did_you_mean(name, known));
}

std::vector<std::string> names_of(const std::vector<MarkInfo>& infos) {
  std::vector<std::string> names;
  for (const MarkInfo& info : infos) names.push_back(info.name);
  return names;
}

Trigger parse_after(const Value& table, const FaultNames& names) {
  TableReader reader(table, "`after`");
  Trigger trigger;
  int kinds = 0;
  if (auto event = reader.choice("event", names_of(all_events()))) {
    trigger.kind = Trigger::Kind::event;
    trigger.event = *event;
    ++kinds;
  }
  if (auto fault = reader.text("fault")) {
    check_name(*fault, names.faults, reader.at("fault"), "fault");
    trigger.kind = Trigger::Kind::fault;
    trigger.fault = *fault;
    ++kinds;
  }
  if (auto message = reader.text("message")) {
    trigger.kind = Trigger::Kind::message;
    for (const char c : *message)
      trigger.message += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    ++kinds;
  }
  if (auto phase = reader.choice("phase", {"request", "reply"})) {
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
  trigger.nth = reader.integer("nth", 1, kMost).value_or(1);
  trigger.delay = reader.duration_range("delay").value_or(DurationRange{});
  reader.finish();
  if (kinds != 1)
    throw BadScenario(table.at, "`after` names " + std::to_string(kinds) +
                                    " of them, expected exactly one of `event`, `fault` and `message`");
  if (trigger.kind != Trigger::Kind::message && table.find("phase") != nullptr) {
    throw BadScenario(reader.at("phase"), "`phase` goes with `message` only, expected none");
  }
  return trigger;
}

Trigger parse_trigger(TableReader& reader, const FaultNames& names) {
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
    trigger = parse_after(*after, names);
    ++triggers;
  }
  if (triggers != 1) {
    throw BadScenario(reader.at(""), reader.where() + " has " + std::to_string(triggers) +
                                         " triggers, expected exactly one of `at`, `every` and `after`");
  }
  return trigger;
}

FaultValue parse_value(TableReader& reader, const FaultKey& key, const FaultNames& names) {
  const std::string_view name = key.name;
  switch (key.type) {
    case FaultKey::Type::node: {
      std::string text = *reader.text(name);
      check_name(text, names.nodes, reader.at(name), name);
      return text;
    }
    case FaultKey::Type::client: {
      std::string text = *reader.text(name);
      check_name(text, names.clients, reader.at(name), name);
      return text;
    }
    case FaultKey::Type::parties: {
      std::vector<std::string> parties = *reader.texts(name);
      std::vector<std::string> known = names.nodes;
      known.insert(known.end(), names.clients.begin(), names.clients.end());
      known.emplace_back("*");
      for (const std::string& party : parties) check_name(party, known, reader.at(name), name);
      if (parties.empty())
        throw BadScenario(reader.at(name),
                          "`" + std::string(name) + "` is empty, expected at least one name");
      return parties;
    }
    case FaultKey::Type::duration: return *reader.duration(name, true);
    case FaultKey::Type::range: return *reader.duration_range(name);
    case FaultKey::Type::percent: return *reader.percent(name);
    case FaultKey::Type::count: return *reader.integer(name, name == "count" ? 0 : 1, kMost);
    case FaultKey::Type::flag: return *reader.flag(name);
    case FaultKey::Type::text:
      if (!key.choices.empty()) {
        return *reader.choice(name, std::vector<std::string>(key.choices.begin(), key.choices.end()));
      }
      return *reader.text(name);
  }
  return std::string();
}

}  // namespace

FaultPlan parse_fault(const Value& table, const FaultNames& names) {
  TableReader reader(table, "[[fault]]");
  FaultPlan plan;
  plan.at = table.at;
  plan.config.id = reader.require("id", reader.text("id"));
  const std::string where = "fault `" + plan.config.id + "`";

  std::vector<std::string> kinds;
  for (const FaultKind& kind : all_fault_kinds()) kinds.emplace_back(kind.name);
  plan.kind = find_fault_kind(reader.require("kind", reader.choice("kind", kinds)));

  plan.enabled = reader.flag("enabled").value_or(true);
  plan.trigger = parse_trigger(reader, names);
  FaultNames with_event = names;
  if (plan.trigger.kind == Trigger::Kind::event || plan.trigger.kind == Trigger::Kind::message) {
    with_event.clients.emplace_back(kEventClient);
  }
  plan.lasts = reader.duration_range("for");
  if (auto during = reader.text("during")) {
    check_name(*during, names.faults, reader.at("during"), "during");
    plan.during = *during;
  }
  if (plan.kind->must_end && !plan.lasts) {
    throw BadScenario(table.at, where + " (" + std::string(plan.kind->name) +
                                    ") has no `for`, expected how long it lasts, such as for = \"2s\"");
  }
  for (const FaultKey& key : plan.kind->keys) {
    if (reader.value(key.name) == nullptr) {
      if (key.required) {
        throw BadScenario(table.at, where + " (" + std::string(plan.kind->name) + ") has no `" +
                                        std::string(key.name) + "`, expected " + std::string(key.about));
      }
      continue;
    }
    plan.config.values.emplace(key.name, parse_value(reader, key, with_event));
  }
  reader.finish();
  if (plan.kind->problem != nullptr) {
    if (const std::string problem = plan.kind->problem(plan.config); !problem.empty()) {
      throw BadScenario(table.at, where + " (" + std::string(plan.kind->name) + "): " + problem);
    }
  }
  return plan;
}

}  // namespace holdfast::sim
