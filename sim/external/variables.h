// Variables of foreign programs: those that they find, and those that a scenario adds, in which the former
// may stand: "REDIS_URL=$HOLDFAST_REDIS_URL". There is no shell: nothing else is filled in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sim {

using Variables = std::vector<std::pair<std::string, std::string>>;  // name, value

// What it has of our environment without being asked.
inline constexpr const char* kUsualEnvironment[] = {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"};

// "NAME": ours (no value), or "NAME=VALUE".
std::pair<std::string, std::optional<std::string>> variable_of(const std::string& text);

// `text` with the values of `variables` in place of "$HOLDFAST_...". One that is not among them is empty.
std::string filled_in(std::string_view text, const Variables& variables);

// The first "HOLDFAST_..." after a $ of `text` that no program ever has; "" none.
std::string unknown_variable(std::string_view text);

}  // namespace holdfast::sim
