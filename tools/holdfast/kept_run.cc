#include "tools/holdfast/kept_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checker/history/history_jsonl.h"
#include "checker/story/story.h"
#include "checker/story/timeline.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

using Json = nlohmann::ordered_json;
using checker::Witness;

Json json_of(const Witness& witness) {
  Json item = {{"kind", witness.kind},     {"why", witness.why},         {"key", witness.key},
               {"events", witness.events}, {"from_ns", witness.from_ns}, {"to_ns", witness.to_ns}};
  if (witness.acquires) item["acquires"] = {witness.acquires->first, witness.acquires->second};
  return item;
}

Witness witness_from(const Json& item) {
  Witness witness;
  witness.kind = item.at("kind");
  witness.why = item.at("why");
  witness.key = item.at("key");
  witness.events = item.at("events").get<std::vector<std::size_t>>();
  witness.from_ns = item.at("from_ns");
  witness.to_ns = item.at("to_ns");
  if (item.contains("acquires"))
    witness.acquires = {item["acquires"].at(0).get<std::size_t>(), item["acquires"].at(1).get<std::size_t>()};
  return witness;
}

Json json_of(const KeptVerdict& verdict) {
  Json item = {{"check", verdict.check},     {"expected", verdict.wanted}, {"kind", verdict.kind},
               {"verdict", verdict.outcome}, {"reason", verdict.reason},   {"violations", verdict.violations},
               {"witnesses", Json::array()}};
  for (const Witness& witness : verdict.witnesses) item["witnesses"].push_back(json_of(witness));
  return item;
}

KeptVerdict verdict_from(const Json& item) {
  KeptVerdict verdict;
  verdict.check = item.at("check");
  verdict.wanted = item.at("expected");
  verdict.kind = item.at("kind");
  verdict.outcome = item.at("verdict");
  verdict.reason = item.at("reason");
  for (const Json& witness : item.at("witnesses")) verdict.witnesses.push_back(witness_from(witness));
  verdict.violations = item.value("violations", std::uint64_t{verdict.witnesses.size()});
  return verdict;
}

Json json_of(const KeptRun& run) {
  Json document = {{"schema", 1},
                   {"file", run.file},
                   {"scenario", run.scenario},
                   {"variant", run.variant},
                   {"about", run.about},
                   {"lock", run.lock},
                   {"faults", run.faults},
                   {"seed", run.seed},
                   {"world", run.world},
                   {"trace", run.trace},
                   {"reproduce", run.reproduce},
                   {"reentrant", run.reentrant},
                   {"shop", run.shop},
                   {"violation_expected", run.expected}};
  if (!run.decisions.empty()) document["decisions"] = run.decisions;
  if (run.told) document["told"] = *run.told;
  document["verdicts"] = Json::array();
  for (const KeptVerdict& verdict : run.verdicts) document["verdicts"].push_back(json_of(verdict));
  return document;
}

// The one that tells best what this run was kept for. nullptr: nothing that could be told was violated.
const Witness* told_witness(const KeptRun& run) {
  if (!run.told || *run.told >= run.verdicts.size()) return nullptr;
  const KeptVerdict& verdict = run.verdicts[*run.told];
  if (verdict.check == "reached" || verdict.witnesses.empty())
    return nullptr;  // a mark that was missed is no event
  const auto meant = std::find_if(verdict.witnesses.begin(), verdict.witnesses.end(),
                                  [&](const Witness& witness) { return witness.kind == verdict.kind; });
  return meant == verdict.witnesses.end() ? &verdict.witnesses.front() : &*meant;
}

}  // namespace

std::string KeptRun::title() const {
  return fmt::format("{}{}{}, seed {}", scenario, variant.empty() ? "" : "/", variant, seed);
}

std::string story_of(const KeptRun& run, const checker::History& history, const Terminal& terminal) {
  const Witness* const witness = told_witness(run);
  if (witness == nullptr) return "";
  return checker::tell_story(history, *witness, {.style = terminal, .reentrant = run.reentrant}) +
         (run.shop.empty() ? "" : "\n" + run.shop + "\n");
}

std::string timeline_of(const KeptRun& run, const checker::History& history) {
  std::vector<checker::NamedVerdict> verdicts;
  for (const KeptVerdict& kept : run.verdicts) {
    checker::NamedVerdict named;
    named.check = kept.check;
    for (const checker::Outcome outcome :
         {checker::Outcome::holds, checker::Outcome::violated, checker::Outcome::unknown}) {
      if (checker::to_string(outcome) == kept.outcome) named.verdict.outcome = outcome;
    }
    named.verdict.reason = kept.reason;
    named.verdict.witnesses = kept.witnesses;
    named.verdict.violations = kept.violations;
    verdicts.push_back(std::move(named));
  }
  std::ostringstream page;
  checker::write_timeline(history, verdicts,
                          {.title = run.title(), .reentrant = run.reentrant, .opens_at = told_witness(run)},
                          page);
  return page.str();
}

void write_kept_run(const std::string& folder, const KeptRun& run, const checker::History& history) {
  const std::string description = folder + "/run.json";
  std::error_code ignored;
  std::filesystem::remove(description, ignored);  // of an earlier run, whose files are replaced
  write_file(folder + "/history.jsonl", to_header(run.questions) + "\n" + checker::to_jsonl(history));
  // Foreign bytes in a name must not cost the report.
  write_file(description, json_of(run).dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
  if (const std::string story = story_of(run, history, {}); !story.empty())
    write_file(folder + "/story.txt", story);
  write_file(folder + "/timeline.html", timeline_of(run, history));
}

std::optional<KeptRun> read_kept_run(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "run.json").string();
  std::ifstream file(path);
  if (!file) return std::nullopt;
  try {
    const Json document = Json::parse(file);
    if (const int schema = document.at("schema"); schema != 1)
      throw BadUsage(
          fmt::format("{}: has schema {}, expected 1; another version of holdfast wrote it", path, schema));
    KeptRun run;
    run.file = document.at("file");
    run.scenario = document.at("scenario");
    run.variant = document.at("variant");
    run.about = document.at("about");
    run.lock = document.value("lock", "");
    if (document.contains("faults")) run.faults = document["faults"].get<std::vector<std::string>>();
    run.seed = document.at("seed");
    run.world = document.at("world");
    run.decisions = document.value("decisions", "");
    run.trace = document.at("trace");
    run.reproduce = document.at("reproduce");
    run.reentrant = document.at("reentrant");
    run.shop = document.at("shop");
    run.expected = document.at("violation_expected");
    if (document.contains("told")) run.told = document["told"].get<std::size_t>();
    for (const Json& verdict : document.at("verdicts")) run.verdicts.push_back(verdict_from(verdict));
    return run;
  } catch (const Json::exception& error) {
    throw BadUsage(
        fmt::format("{}: is no description of a run ({}), expected one that `holdfast run --out` wrote", path,
                    error.what()));
  }
}

std::vector<std::string> kept_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::recursive_directory_iterator(folder, error)) {
    if (entry.path().filename() == "run.json") found.push_back(entry.path().parent_path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace holdfast::tools
