#include "tools/bench/keep_sale.h"

#include <fmt/format.h>

#include "sim/scenario/judge.h"
#include "sim/scenario/write_document.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/fault_kinds.h"
#include "tools/holdfast/kept_run.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {

void keep_sale(const std::string& out, const sim::Scenario& scenario, const std::string& name,
               const sim::RunResult& run, bool embedded) {
  const std::string world = embedded ? "embedded" : "real";
  const std::string folder = fmt::format("{}/{}-{}/seed-{}", out, world, for_file_name(name), run.seed);
  const std::string file = folder + "/scenario.toml";
  KeptRun kept;
  kept.file = file;
  kept.scenario = scenario.name;
  kept.variant = scenario.variant;
  kept.about = scenario.about;
  kept.lock = scenario.lock->name;
  kept.faults = fault_kinds(scenario);
  kept.world = world;
  kept.reproduce =
      fmt::format("holdfast run {}{} --seed {}", for_shell(file), embedded ? "" : " --world real", run.seed);
  kept.seed = run.seed;
  kept.trace = fmt::format("{:016x}", run.trace);
  kept.reentrant = scenario.lock->reentrant;
  kept.shop = run.summed_up;
  kept.questions = run.questions;
  const checker::Verdict& verdict = run.verdicts.at(0);
  const sim::Expectation& expectation = scenario.expectations.at(0);
  kept.verdicts.push_back({expectation.check, sim::describe(expectation), expectation.kind,
                           std::string(checker::to_string(verdict.outcome)), verdict.reason,
                           verdict.witnesses, verdict.violations});
  kept.told = 0;
  kept.expected = true;
  write_file(file, sim::to_toml(*scenario.document));
  write_kept_run(folder, kept, run.history);
}

}  // namespace holdfast::tools
