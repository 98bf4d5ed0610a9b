// Values of keys that stand in a table of settings (sim/settings/setting.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/table_reader.h"
#include "sim/settings/setting.h"

namespace holdfast::sim {

// What a value may refer to.
struct SettingNames {
  std::vector<std::string> nodes, sentinels, clients, faults;
  bool elects = false;           // the nodes themselves agree who leads
  bool has_replicas = true;      // some nodes follow others
  bool append_only = true;       // servers keep an append-only file
  std::string engine = "redis";  // whose servers
};

// Throws BadScenario at `at` when `name`, the value of `key`, is none of `known`.
void check_name(const std::string& name, const std::vector<std::string>& known, const Position& at,
                std::string_view key);

// The values of those `settings` that the table has. Throws BadScenario, also when a required one is absent:
// `owner` is how the complaint calls who needs it, "fault `x` (crash)".
SettingValues parse_settings(TableReader& reader, const std::vector<Setting>& settings,
                             const SettingNames& names, const std::string& owner);

}  // namespace holdfast::sim
