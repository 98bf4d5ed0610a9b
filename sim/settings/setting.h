// Setting: a key that some part of a scenario has of its own (a kind of fault, a workload), as a row of a
// table. The parser, `holdfast list` and the error messages are fed from these tables.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/runtime/time.h"
#include "sim/world/duration_range.h"

namespace holdfast::sim {

struct Setting {
  enum class Type {
    node,
    any_node,
    client,
    parties,
    duration,
    range,
    percent,
    probability,
    count,
    text,
    texts,
    flag
  };
  // any_node: a server, or a Sentinel. node, client: the name of one (checked against the scenario; client
  // "c1" of `clients = 3` is c1..c3). texts: a list of strings, such as a command and its arguments.
  // parties: a name or a list of names of clients and nodes ("*": all). probability: a number
  // above 0, at most 1; kept as millionths. range: "1ms..5ms" or one duration.
  std::string_view name;
  Type type;
  bool required = false;
  std::string_view about;                      // one line for `holdfast list`, the default included
  std::vector<std::string_view> choices = {};  // text: what is allowed; empty: anything
  std::int64_t least = 1, most = std::numeric_limits<std::int64_t>::max();  // count
};

using SettingValue =
    std::variant<std::string, std::vector<std::string>, Duration, DurationRange, std::int64_t, bool>;
using SettingValues = std::map<std::string, SettingValue, std::less<>>;  // by name

// Null: it is not given, or of another type.
template <class T>
const T* get(const SettingValues& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : std::get_if<T>(&found->second);
}
template <class T>
T get_or(const SettingValues& values, std::string_view name, T otherwise) {
  const T* const value = get<T>(values, name);
  return value == nullptr ? otherwise : *value;
}
// The value is of the C++ type that this type of setting has.
bool fits(Setting::Type type, const SettingValue& value);
// "NODE", "DURATION", ... as `holdfast list` shows a type.
std::string_view type_name(Setting::Type type);

}  // namespace holdfast::sim
