#include "tools/holdfast/run_plan.h"

namespace holdfast::tools {

ExitCode CaseResult::code() const {
  if (!error.empty()) return kInternal;
  ExitCode code = kMet;
  if (!nondeterministic.empty()) code = kNotDeterministic;
  switch (judge.result()) {
    case sim::Tally::Result::met: return code;
    case sim::Tally::Result::failed: return worse(code, kFailed);
    case sim::Tally::Result::unknown: return worse(code, kUnknown);
  }
  return code;
}

std::string CaseResult::reproduce(std::uint64_t seed, bool embedded) const {
  std::string line = "build/holdfast run " + scenario.file;
  if (!embedded) line += " --world real";
  line += " --variant " + (scenario.variant.empty() ? "base" : scenario.variant);
  return line + " --seed " + std::to_string(seed);
}

}  // namespace holdfast::tools
