// run_check: a check by its name on a history, and what every violation that it tells must say.
#pragma once

#include <cstdint>
#include <string_view>

#include "checker/checks/check.h"

namespace holdfast::checker::testing {

inline constexpr std::int64_t kMs = 1'000'000;  // in nanoseconds

Verdict run(std::string_view check, const History& history, const CheckContext& context = {});

// The first witness is of that kind, the reason is its reason, and each witness is in order.
void expect_violated(const Verdict& verdict, std::string_view kind);

}  // namespace holdfast::checker::testing
