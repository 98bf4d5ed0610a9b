#include "sim/settings/setting.h"

namespace holdfast::sim {

bool fits(Setting::Type type, const SettingValue& value) {
  using Type = Setting::Type;
  switch (type) {
    case Type::node:
    case Type::any_node:
    case Type::client:
    case Type::text: return std::holds_alternative<std::string>(value);
    case Type::parties:
      return std::holds_alternative<std::string>(value) ||
             std::holds_alternative<std::vector<std::string>>(value);
    case Type::texts: return std::holds_alternative<std::vector<std::string>>(value);
    case Type::duration: return std::holds_alternative<Duration>(value);
    case Type::range: return std::holds_alternative<DurationRange>(value);
    case Type::percent:
    case Type::probability:
    case Type::count: return std::holds_alternative<std::int64_t>(value);
    case Type::flag: return std::holds_alternative<bool>(value);
  }
  return false;
}

std::string_view type_name(Setting::Type type) {
  using Type = Setting::Type;
  switch (type) {
    case Type::node: return "NODE";
    case Type::any_node: return "NODE or SENTINEL";
    case Type::client: return "CLIENT";
    case Type::parties: return "NAMES";
    case Type::duration: return "DURATION";
    case Type::range: return "RANGE";
    case Type::percent: return "PERCENT";
    case Type::probability: return "NUMBER";
    case Type::count: return "COUNT";
    case Type::text: return "TEXT";
    case Type::texts: return "TEXTS";
    case Type::flag: return "BOOL";
  }
  return "?";
}

}  // namespace holdfast::sim
