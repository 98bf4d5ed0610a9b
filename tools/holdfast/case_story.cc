#include "tools/holdfast/case_story.h"

#include "checker/story/story.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/run.h"

namespace holdfast::tools {

std::string story_of(const sim::HuntCase& one, const sim::Failure& failure, const Terminal& terminal) {
  sim::Decisions decisions(one.changes);
  const sim::Scenario scenario = sim::parse_base(one.document, "hunted");
  const sim::RunResult run =
      sim::run_once(scenario, {.seed = one.seed, .keep_history = true, .decisions = &decisions});
  for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
    if (scenario.expectations[i].check != failure.check || run.verdicts[i].witnesses.empty()) continue;
    return checker::tell_story(run.history, run.verdicts[i].witnesses.front(),
                               {.style = terminal, .reentrant = scenario.lock->reentrant});
  }
  return "";
}

}  // namespace holdfast::tools
