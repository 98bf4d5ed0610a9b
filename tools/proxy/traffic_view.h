// The traffic of `holdfast proxy` between two looks at it (`GET /traffic`): as one JSON document, and as
// lines for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

// What happened from `before` to `now`, two answers of the endpoint. A proxy or a client that was not there
// before counts from zero. Throws nlohmann::json::exception: they are no such answers.
//
//   {"seconds", "proxies": [{"name", "listen", "upstream", "enabled", "redis",
//     "clients": [{"name", "connections", "commands_per_second", "upstream_bytes_per_second",
//                  "downstream_bytes_per_second", "in_flight", "destroyed", "p50_us", "p99_us"}],
//     "toxics": [{"name", "type", "stream", "hits", "hits_per_second"}]}],
//    "keys": [{"key", "commands_per_second"}], "locks": [{"key", "client", "held_ms", "lease_left_ms"}]}
//
// `destroyed`: answers that did not arrive, within that time. `hits`: since the toxic was added. Clients that
// have no connection and did nothing are left out; p50 and p99 are null where no answer arrived.
nlohmann::json traffic_between(const nlohmann::json& before, const nlohmann::json& now);

// That as lines, each with its newline.
std::string traffic_text(const nlohmann::json& between, const Terminal& terminal);

}  // namespace holdfast::tools
