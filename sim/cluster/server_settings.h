// Settings of redis-server that a scenario may give ([cluster.settings]), and which of them the embedded
// Redis obeys. To add one: a line in the table of server_settings.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim {

struct ServerSetting {
  std::string_view name;
  std::string_view not_embedded = {};  // why the embedded Redis does not obey it; "": it does
};

const std::vector<ServerSetting>& all_server_settings();

// What is wrong with that value of a setting of the table, "" if nothing is known to be.
std::string problem_of(std::string_view name, std::string_view value);
// Why the embedded Redis does not do what that setting says; "": it does.
std::string why_not_embedded(std::string_view name, std::string_view value);
// Who decides a setting that a scenario may not give here: "`persistence` in [cluster]"; "": nobody.
std::string_view decided_by(std::string_view name);

}  // namespace holdfast::sim
