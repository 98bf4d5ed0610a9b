#include "tools/holdfast/reports.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/holdfast/escape.h"
#include "tools/holdfast/explain.h"
#include "tools/holdfast/json_file.h"
#include "tools/holdfast/run_shard.h"

namespace holdfast::tools {
namespace {

using sim::Tally;

std::string_view name_of(Tally::Result result) {
  switch (result) {
    case Tally::Result::met: return "met";
    case Tally::Result::failed: return "failed";
    case Tally::Result::unknown: return "unknown";
    case Tally::Result::too_few: return "not-judged";
  }
  return "unknown";
}

Json json_of(const sim::Expectation& expectation, const Tally& tally) {
  Json one;
  one["check"] = expectation.check;
  one["is"] = expectation.violated ? "violated" : "holds";
  if (!expectation.kind.empty()) one["kind"] = expectation.kind;
  one["line"] = expectation.at.line;
  one["result"] = name_of(tally.result(expectation));
  one["matching"] = tally.matching;
  one["unknown"] = tally.unknown;
  one["missed_seeds"] = tally.misses;
  if (tally.runs > 0 && is_unmet(expectation, tally)) one["explained"] = explain(expectation, tally);
  if (!tally.found.empty()) one["found"] = tally.found;
  if (!tally.first_miss.empty()) one["first_miss"] = tally.first_miss;
  if (!tally.first_unknown.empty()) one["first_unknown"] = tally.first_unknown;
  return one;
}

Json json_of(const CaseResult& result, const RunArguments& arguments) {
  const sim::Scenario& scenario = result.scenario;
  Json item;
  item["file"] = scenario.file;
  item["scenario"] = scenario.name;
  item["variant"] = scenario.variant;
  item["lock"] = result.lock;
  item["faults"] = result.faults;
  const bool whole_shard = result.done == result.planned();
  item["exit"] = static_cast<int>(!result.cut() ? result.code() : whole_shard ? kMet : kInterrupted);
  item["unexpected"] = result.unexpected();
  item["runs"] = result.done;
  item["planned_runs"] = result.seeds.size();
  item["violated_runs"] = result.violated_runs;
  item["grants"] = result.grants;
  item["waits"] = result.waits;
  if (!result.cost.empty()) item[std::string(result.cost)] = result.total_cost;
  item["seconds"] = result.seconds;
  item["nondeterministic_seeds"] = result.nondeterministic;
  if (!result.error.empty()) item["error"] = result.error;
  if (!result.missing.empty()) item["not_run"] = result.missing;
  item["expectations"] = Json::array();
  for (std::size_t i = 0; i < scenario.expectations.size(); ++i)
    item["expectations"].push_back(json_of(scenario.expectations[i], result.judge.tallies()[i]));
  item["kept"] = Json::array();
  for (const KeptFolder& folder : result.kept)
    item["kept"].push_back({{"seed", folder.seed}, {"folder", folder.path}});
  if (const auto telling = result.telling()) {
    Json& story = item["story"];
    story = {{"seed", telling->seed},
             {"check", scenario.expectations[telling->expectation].check},
             {"expected", telling->expected}};
    for (const KeptFolder& folder : result.kept) {
      if (folder.seed == telling->seed) story["folder"] = folder.path;
    }
    story["reproduce"] = result.reproduce(telling->seed, arguments);
  }
  return item;
}

}  // namespace

std::string json_document(const Plan& plan, const RunArguments& arguments, std::uint64_t trace,
                          double seconds) {
  Json document;
  document["schema"] = 1;
  document["world"] = arguments.embedded ? "embedded" : "real";
  document["trace"] = fmt::format("{:016x}", trace);
  std::uint64_t runs = 0, unexpected = 0;
  Json cases = Json::array(), not_run = Json::array();
  for (const auto& result : plan.cases) {
    runs += result->done;
    unexpected += result->unexpected() ? 1 : 0;
    cases.push_back(json_of(*result, arguments));
  }
  for (const NotRun& one : plan.not_run)
    not_run.push_back({{"file", one.file}, {"variant", one.variant}, {"reason", one.reason}});
  document["total"] = {{"cases", plan.cases.size()}, {"runs", runs}, {"unexpected", unexpected}};
  document["cases"] = std::move(cases);
  document["not_run"] = std::move(not_run);
  if (arguments.shard.of > 1) document["shard"] = shard_json(plan, arguments, seconds);
  return text_of(document);
}

std::string github_annotations(const Plan& plan, const RunArguments& arguments) {
  std::string out;
  for (const auto& result : plan.cases) {
    if (!result->unexpected()) continue;
    const sim::Scenario& scenario = result->scenario;
    const auto line = [&](const sim::Position& at, const std::string& text) {
      out +=
          fmt::format("::error file={},line={},title={}::{}\n", for_annotation_property(at.file),
                      std::max(1, at.line), for_annotation_property(scenario.title()), for_annotation(text));
    };
    if (!result->error.empty()) {
      line(scenario.at, result->error);
      continue;
    }
    if (!result->nondeterministic.empty()) {
      const std::uint64_t seed = result->nondeterministic.front();
      line(scenario.at, fmt::format("seed {} gave two different histories; reproduce: {}", seed,
                                    result->reproduce(seed, arguments)));
    }
    for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
      const sim::Expectation& expectation = scenario.expectations[i];
      const Tally& tally = result->judge.tallies()[i];
      const auto seed = culprit(expectation, tally);
      if (!seed) continue;
      const std::string why = reason_of(expectation, tally);
      line(expectation.at, explain(expectation, tally) + (why.empty() ? "" : "; " + why) +
                               "; reproduce: " + result->reproduce(*seed, arguments));
    }
  }
  return out;
}

}  // namespace holdfast::tools
