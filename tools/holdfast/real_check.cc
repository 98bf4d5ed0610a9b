#include "tools/holdfast/real_check.h"

#include <exception>

#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/hunt/case_file.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/run.h"

namespace holdfast::tools {
namespace {

void count(const sim::RunResult& run, const sim::Scenario& scenario, const std::string& promise,
           RealCheck& result) {
  for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
    const std::string& check = scenario.expectations[i].check;
    if (promise != check && !promise.starts_with(check + "/")) continue;
    const checker::Verdict& verdict = run.verdicts[i];
    const bool it = promise == check ||
                    (!verdict.witnesses.empty() && promise == check + "/" + verdict.witnesses.front().kind);
    switch (verdict.outcome) {
      case checker::Outcome::holds: ++result.holds; return;
      case checker::Outcome::violated: ++(it ? result.violated : result.unknown); return;
      case checker::Outcome::unknown: ++result.unknown; return;
    }
  }
}

}  // namespace

RealCheck on_real_servers(const sim::Value& document, const std::string& promise, std::uint64_t runs,
                          const std::function<bool()>& stop) {
  RealCheck result;
  const std::string check = promise.substr(0, promise.find('/'));
  if (sim::of_embedded_servers(check)) {
    result.cannot = "`" + check + "` looks into servers of the embedded world";
    return result;
  }
  try {
    const sim::Scenario scenario = sim::parse_base(document, "real");
    sim::require_world(scenario, /*embedded=*/false);
    for (std::uint64_t seed = 1; seed <= runs && !(stop && stop()); ++seed) {
      const TemporaryFolder folder;
      count(sim::run_once(scenario,
                          {.embedded = false, .seed = seed, .folder = folder.path(), .interrupted = stop}),
            scenario, promise, result);
    }
  } catch (const MissingServer&) {
    throw;
  } catch (const std::exception& problem) {  // BadScenario: they cannot do it
    if (!stop || !stop()) result.cannot = problem.what();
  }
  return result;
}

}  // namespace holdfast::tools
