#include "sim/scenario/parse_setting.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

SettingValue parse_value(TableReader& reader, const Setting& setting, const SettingNames& names) {
  const std::string_view name = setting.name;
  switch (setting.type) {
    case Setting::Type::node: {
      std::string text = *reader.text(name);
      check_name(text, names.nodes, reader.at(name), name);
      return text;
    }
    case Setting::Type::any_node: {
      std::string text = *reader.text(name);
      std::vector<std::string> known = names.nodes;
      known.insert(known.end(), names.sentinels.begin(), names.sentinels.end());
      check_name(text, known, reader.at(name), name);
      return text;
    }
    case Setting::Type::client: {
      std::string text = *reader.text(name);
      check_name(text, names.clients, reader.at(name), name);
      return text;
    }
    case Setting::Type::parties: {
      std::vector<std::string> parties = *reader.texts(name);
      std::vector<std::string> known = names.nodes;
      known.insert(known.end(), names.sentinels.begin(), names.sentinels.end());
      known.insert(known.end(), names.clients.begin(), names.clients.end());
      known.emplace_back("*");
      for (const std::string& party : parties) check_name(party, known, reader.at(name), name);
      if (parties.empty())
        throw BadScenario(reader.at(name),
                          "`" + std::string(name) + "` is empty, expected at least one name");
      return parties;
    }
    case Setting::Type::duration: return *reader.duration(name, true);
    case Setting::Type::range: return *reader.duration_range(name);
    case Setting::Type::percent: return *reader.percent(name);
    case Setting::Type::probability: return *reader.probability(name);
    case Setting::Type::count: return *reader.integer(name, setting.least, setting.most);
    case Setting::Type::flag: return *reader.flag(name);
    case Setting::Type::texts: return *reader.texts(name);
    case Setting::Type::text:
      if (!setting.choices.empty()) {
        return *reader.choice(name, std::vector<std::string>(setting.choices.begin(), setting.choices.end()));
      }
      return *reader.text(name);
  }
  return std::string();
}

}  // namespace

void check_name(const std::string& name, const std::vector<std::string>& known, const Position& at,
                std::string_view key) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw BadScenario(at, "`" + std::string(key) + "` names `" + name + "`, expected " + one_of(known) +
                            did_you_mean(name, known));
}

SettingValues parse_settings(TableReader& reader, const std::vector<Setting>& settings,
                             const SettingNames& names, const std::string& owner) {
  SettingValues values;
  for (const Setting& setting : settings) {
    if (reader.value(setting.name) != nullptr) {
      values.emplace(setting.name, parse_value(reader, setting, names));
    } else if (setting.required) {
      throw BadScenario(reader.at(""), owner + " has no `" + std::string(setting.name) + "`, expected " +
                                           std::string(setting.about));
    }
  }
  return values;
}

}  // namespace holdfast::sim
