#include "sim/external/variables.h"

#include <algorithm>
#include <iterator>

namespace holdfast::sim {
namespace {

constexpr std::string_view kNames[] = {
    "HOLDFAST_REDIS_URL", "HOLDFAST_REDIS_HOST", "HOLDFAST_REDIS_PORT",   "HOLDFAST_REDIS_NODES",
    "HOLDFAST_CLIENT",    "HOLDFAST_KEYS",       "HOLDFAST_EFFECTS",      "HOLDFAST_LEASE_MS",
    "HOLDFAST_SEED",      "HOLDFAST_SENTINELS",  "HOLDFAST_PRIMARY_NAME",
};

bool is_part_of_a_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// The name after the next "$HOLDFAST_" of `text` from `from` on, which is set to where the $ is; "": none.
std::string_view next_name(std::string_view text, std::size_t& from) {
  from = text.find("$HOLDFAST_", from);
  if (from == text.npos) return "";
  std::size_t end = from + 1;
  while (end < text.size() && is_part_of_a_name(text[end])) ++end;
  return text.substr(from + 1, end - from - 1);
}

}  // namespace

std::pair<std::string, std::optional<std::string>> variable_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string filled_in(std::string_view text, const Variables& variables) {
  std::string filled;
  std::size_t at = 0;
  for (std::size_t dollar = 0;;) {
    const std::string_view name = next_name(text, dollar);
    if (name.empty()) return filled + std::string(text.substr(at));
    const auto found = std::ranges::find(variables, name, &Variables::value_type::first);
    filled += text.substr(at, dollar - at);
    if (found != variables.end()) filled += found->second;
    at = dollar = dollar + 1 + name.size();
  }
}

std::string unknown_variable(std::string_view text) {
  for (std::size_t dollar = 0;;) {
    const std::string_view name = next_name(text, dollar);
    if (name.empty()) return "";
    if (std::ranges::find(kNames, name) == std::end(kNames)) return std::string(name);
    dollar += 1 + name.size();
  }
}

}  // namespace holdfast::sim
