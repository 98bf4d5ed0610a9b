// Exit codes of the command (README, "Exit codes").
#pragma once

#include <algorithm>
#include <array>

namespace holdfast::tools {

enum ExitCode : int {
  kMet = 0,
  kFailed = 1,  // an expectation failed, or `check` found a violation
  kUnknown = 2,
  kNotDeterministic = 3,
  kUsage = 64,    // bad file or flag: nothing was run
  kMissing = 69,  // a server or package is not on this machine
  kInternal = 70,
  kOutput = 74,  // a file or standard output could not be written
  kInterrupted = 130,
};

// Which of two applies when both do: 130 > 70 > 69 > 74 > 3 > 1 > 2 > 0 (64 comes before any run).
constexpr ExitCode worse(ExitCode a, ExitCode b) {
  constexpr std::array<ExitCode, 9> kOrder = {kInterrupted,      kInternal, kMissing, kUsage, kOutput,
                                              kNotDeterministic, kFailed,   kUnknown, kMet};
  return *std::find_if(kOrder.begin(), kOrder.end(), [&](ExitCode code) { return code == a || code == b; });
}

}  // namespace holdfast::tools
