#include "tools/holdfast/run_shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/scenario/write_document.h"
#include "sim/world/trace.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/merge_shards.h"
#include "tools/holdfast/version.h"

namespace holdfast::tools {
namespace {

constexpr std::uint64_t kSchema = 1;

using sim::Expectation;
using sim::Tally;

Json json_of(const sim::Position& at) {
  return {{"file", at.file}, {"line", at.line}, {"column", at.column}};
}

sim::Position position_from(const Json& value) {
  return {
      .file = value.at("file").get<std::string>(), .line = value.at("line"), .column = value.at("column")};
}

Json json_of(const Expectation& expectation) {
  Json one;
  one["check"] = expectation.check;
  one["violated"] = expectation.violated;
  one["kind"] = expectation.kind;
  one["seeds"] = expectation.seeds.to_string();
  one["marks"] = expectation.marks;
  one["at"] = json_of(expectation.at);
  return one;
}

Expectation expectation_from(const Json& value) {
  const auto quota = sim::parse_seed_quota(value.at("seeds").get_ref<const std::string&>());
  if (!quota) throw std::runtime_error("seeds of an expectation are " + value.at("seeds").dump());
  return {.check = value.at("check").get<std::string>(),
          .violated = value.at("violated"),
          .kind = value.at("kind").get<std::string>(),
          .seeds = *quota,
          .marks = value.at("marks").get<std::vector<std::string>>(),
          .at = position_from(value.at("at"))};
}

Json json_of_first(const std::optional<std::uint64_t>& seed, const std::string& why) {
  if (!seed) return nullptr;
  return {{"seed", *seed}, {"why", why}};
}

void first_from(const Json& value, std::optional<std::uint64_t>& seed, std::string& why) {
  if (value.is_null()) return;
  seed = number_of(value.at("seed"));
  why = value.at("why");
}

Json json_of(const Tally& tally) {
  Json one;
  one["runs"] = tally.runs;
  one["matching"] = tally.matching;
  one["unknown"] = tally.unknown;
  one["asked"] = tally.asked;
  one["misses"] = tally.misses;
  one["matches"] = tally.matches;
  one["found"] = Json::object();
  for (const auto& [what, count] : tally.found) one["found"][what] = count;
  one["first_miss"] = json_of_first(tally.first_miss_seed, tally.first_miss);
  one["first_unknown"] = json_of_first(tally.first_unknown_seed, tally.first_unknown);
  one["first_match"] = json_of_first(tally.first_match_seed, tally.first_match);
  return one;
}

std::vector<std::uint64_t> numbers_from(const Json& list) {
  std::vector<std::uint64_t> numbers;
  for (const Json& one : list) numbers.push_back(number_of(one));
  return numbers;
}

Tally tally_from(const Json& value) {
  Tally tally;
  tally.runs = number_of(value.at("runs"));
  tally.matching = number_of(value.at("matching"));
  tally.unknown = number_of(value.at("unknown"));
  tally.asked = number_of(value.at("asked"));
  tally.misses = numbers_from(value.at("misses"));
  tally.matches = numbers_from(value.at("matches"));
  for (const auto& [what, count] : value.at("found").items()) tally.found[what] = number_of(count);
  first_from(value.at("first_miss"), tally.first_miss_seed, tally.first_miss);
  first_from(value.at("first_unknown"), tally.first_unknown_seed, tally.first_unknown);
  first_from(value.at("first_match"), tally.first_match_seed, tally.first_match);
  return tally;
}

// "1..20,42"
std::string text_of(const std::vector<std::uint64_t>& seeds) {
  std::string text;
  for (std::size_t i = 0; i < seeds.size();) {
    std::size_t end = i + 1;
    while (end < seeds.size() && seeds[end] == seeds[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(seeds[i]);
    if (end - i > 1) text += ".." + std::to_string(seeds[end - 1]);
    i = end;
  }
  return text;
}

std::vector<std::uint64_t> seeds_from(const Json& value) {
  const auto set = sim::parse_seeds(value.get_ref<const std::string&>());
  if (!set || set->random > 0) throw std::runtime_error("the seeds are " + value.dump());
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i < set->count(); ++i) seeds.push_back(set->at(i));
  return seeds;
}

// What was asked of a case: the same in all shards.
Json json_of_case(const CaseResult& result) {
  const sim::Scenario& scenario = result.scenario;
  Json one;
  one["file"] = scenario.file;
  one["name"] = scenario.name;
  one["variant"] = scenario.variant;
  one["at"] = json_of(scenario.at);
  one["alone"] = result.alone;
  one["workload"] = scenario.workload.kind;
  one["lock"] = result.lock;
  one["faults"] = result.faults;
  one["seeds"] = text_of(result.seeds);
  sim::Trace text;
  text.add(to_toml(*scenario.document));
  one["text"] = hex_of(text.digest());
  one["expectations"] = Json::array();
  for (const Expectation& expectation : scenario.expectations)
    one["expectations"].push_back(json_of(expectation));
  return one;
}

// What the shard's runs of it came to.
Json json_of_result(const CaseResult& result) {
  Json one;
  one["runs"] = result.done;
  one["violated_runs"] = result.violated_runs;
  one["grants"] = result.grants;
  one["waits"] = result.waits;
  one["total_cost"] = result.total_cost;
  one["worst_cost"] = result.worst_cost;
  one["seconds"] = result.seconds;
  one["nondeterministic"] = result.nondeterministic;
  one["bad_program"] = result.bad_program;
  one["error"] = result.error;
  one["missing"] = result.missing;
  one["kept"] = Json::array();
  for (const KeptFolder& folder : result.kept)
    one["kept"].push_back({{"seed", folder.seed}, {"folder", folder.path}});
  one["tallies"] = Json::array();
  for (const Tally& tally : result.judge.tallies()) one["tallies"].push_back(json_of(tally));
  std::vector<std::uint64_t> traces;
  for (std::size_t i = 0; i < result.seeds.size(); ++i) {
    if (result.mine(i)) traces.push_back(result.traces[i]);
  }
  one["traces"] = words_of(traces);
  return one;
}

std::unique_ptr<CaseResult> case_from(const Json& value) {
  sim::Scenario scenario;
  scenario.file = value.at("file");
  scenario.name = value.at("name");
  scenario.variant = value.at("variant");
  scenario.at = position_from(value.at("at"));
  scenario.workload.kind = value.at("workload");
  for (const Json& one : value.at("expectations")) scenario.expectations.push_back(expectation_from(one));
  if (sim::find_workload_kind(scenario.workload.kind) == nullptr)
    throw std::runtime_error("`" + scenario.workload.kind + "` is no workload");
  auto result = std::make_unique<CaseResult>(std::move(scenario), seeds_from(value.at("seeds")));
  result->lock = value.at("lock");
  result->faults = value.at("faults").get<std::vector<std::string>>();
  result->alone = value.at("alone");
  return result;
}

void add_result(CaseResult& all, const Json& value, const Shard& shard) {
  all.done += number_of(value.at("runs"));
  all.violated_runs += number_of(value.at("violated_runs"));
  all.grants += number_of(value.at("grants"));
  all.waits += number_of(value.at("waits"));
  all.total_cost += value.at("total_cost").get<std::int64_t>();
  all.worst_cost = std::max(all.worst_cost, value.at("worst_cost").get<std::int64_t>());
  all.seconds += value.at("seconds").get<double>();
  for (const std::uint64_t seed : numbers_from(value.at("nondeterministic"))) {
    auto& seeds = all.nondeterministic;
    seeds.insert(std::upper_bound(seeds.begin(), seeds.end(), seed), seed);
  }
  if (all.error.empty()) {
    all.error = value.at("error");
    all.bad_program = value.at("bad_program");
  }
  if (all.missing.empty()) all.missing = value.at("missing");
  for (const Json& one : value.at("kept")) {
    const std::uint64_t seed = number_of(one.at("seed"));
    const auto place = std::find_if(all.kept.begin(), all.kept.end(),
                                    [&](const KeptFolder& other) { return other.seed >= seed; });
    all.kept.insert(place, {seed, one.at("folder").get<std::string>()});
  }
  std::vector<Tally> tallies;
  for (const Json& one : value.at("tallies")) tallies.push_back(tally_from(one));
  if (tallies.size() != all.judge.tallies().size()) throw std::runtime_error("a tally is missing");
  all.judge.join(tallies);
  const std::vector<std::uint64_t> traces = words_from(value.at("traces"));
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.seeds.size(); ++i) {
    if (!shard.has(all.first_run + i)) continue;
    if (next == traces.size()) throw std::runtime_error("the trace of a run is missing");
    all.traces[i] = traces[next++];
  }
}

Shard shard_from(const Json& value) {
  const std::uint64_t number = number_of(value.at("shard"));
  const Shard shard{.index = number - 1, .of = number_of(value.at("shards"))};
  if (number == 0 || number > shard.of) throw std::runtime_error("shard " + shard.to_string());
  return shard;
}

// What must be the same in all of them, as people call it.
std::vector<Setting> settings_of(const Json& value) {
  std::vector<Setting> settings = {
      {"version", value.at("version")},
      {"world", value.at("world")},
      {"number of files", value.at("files").dump()},
      {"file of decisions", value.at("decisions").dump()},
      {"--check-determinism", value.at("check_determinism").dump()},
      {"number of cases", std::to_string(value.at("cases").size())},
  };
  return settings;
}

std::vector<Setting> cases_of(const Json& value) {
  std::vector<Setting> settings;
  for (const Json& one : value.at("cases")) {
    const auto text = [&](const char* key) { return one.at(key).get<std::string>(); };
    const std::string variant = text("variant");
    const std::string name = text("file") + (variant.empty() ? "" : " (" + variant + ")");
    settings.push_back({"a case", name});
    settings.push_back({"the list of seeds of " + name, text("seeds")});
    settings.push_back({"the text of " + name, one.dump(), /*long_text=*/true});
  }
  settings.push_back({"what cannot be run there", value.at("not_run").dump(), /*long_text=*/true});
  return settings;
}

// What is said of all shards, of one of them.
MergedRun plan_from(const Json& value) {
  MergedRun all;
  all.arguments.command = value.at("command");
  all.arguments.embedded = value.at("world") == "embedded";
  all.arguments.decisions_file = value.at("decisions");
  all.plan.many = number_of(value.at("files")) > 1;
  std::uint64_t runs = 0;
  for (const Json& one : value.at("cases")) {
    all.plan.cases.push_back(case_from(one));
    all.plan.cases.back()->first_run = runs;
    runs += all.plan.cases.back()->seeds.size();
  }
  for (const Json& one : value.at("not_run"))
    all.plan.not_run.push_back({one.at("file"), one.at("variant"), one.at("reason")});
  return all;
}

}  // namespace

Json shard_json(const Plan& plan, const RunArguments& arguments, double seconds) {
  Json value;
  value["schema"] = kSchema;
  value["version"] = version();
  value["shard"] = arguments.shard.index + 1;
  value["shards"] = arguments.shard.of;
  value["command"] = arguments.command;
  value["world"] = arguments.embedded ? "embedded" : "real";
  value["decisions"] = arguments.decisions_file;
  value["check_determinism"] = arguments.check_determinism;
  value["seconds"] = seconds;
  std::uint64_t left = 0;
  value["files"] = plan.many ? 2 : 1;
  value["cases"] = Json::array();
  value["results"] = Json::array();
  value["not_run"] = Json::array();
  for (const auto& result : plan.cases) {
    value["cases"].push_back(json_of_case(*result));
    value["results"].push_back(json_of_result(*result));
    if (result->error.empty() && result->missing.empty()) left += result->planned() - result->done;
  }
  for (const NotRun& one : plan.not_run)
    value["not_run"].push_back({{"file", one.file}, {"variant", one.variant}, {"reason", one.reason}});
  value["left"] = left;  // of its runs, by an interrupt
  return value;
}

bool is_run(const Json& document) { return document.is_object() && document.contains("world"); }

bool is_run_shard(const Json& document) { return is_run(document) && document.contains("shard"); }

MergedRun merge_runs(const std::vector<ReadRun>& runs) {
  const std::string expected = "what `holdfast run --shard K/N --json` wrote";
  std::vector<ShardFile> shards;
  std::vector<SettingsFile> settings, cases;
  for (const auto& [path, document] : runs) {
    reading(path, expected, [&, &path = path, &document = document] {
      if (!is_run_shard(document)) throw std::runtime_error("it is no shard of a run");
      const Json& value = document.at("shard");
      if (value.at("schema") != kSchema)
        throw std::runtime_error(
            fmt::format("schema {}, this is for {}", value.at("schema").dump(), kSchema));
      shards.push_back({path, shard_from(value)});
      settings.push_back({path, settings_of(value)});
      cases.push_back({path, cases_of(value)});
    });
  }
  require_same(settings, "shards of one run");
  require_same(cases, "shards of one run");
  const std::vector<std::size_t> order = in_order_of_shards(shards);
  MergedRun all;
  for (const std::size_t at : order) {
    const auto& [path, document] = runs[at];
    const Shard& shard = shards[at].shard;
    reading(path, expected, [&, &path = path, &document = document] {
      const Json& value = document.at("shard");
      if (at == order.front()) all = plan_from(value);
      if (const std::uint64_t left = number_of(value.at("left")); left > 0)
        throw BadUsage(fmt::format("{}: shard {} was interrupted with {} runs left; expected a whole one",
                                   path, shard.to_string(), left));
      all.seconds = std::max(all.seconds, value.at("seconds").get<double>());
      if (value.at("results").size() != all.plan.cases.size())
        throw std::runtime_error("the result of a case is missing");
      for (std::size_t i = 0; i < all.plan.cases.size(); ++i)
        add_result(*all.plan.cases[i], value.at("results")[i], shard);
    });
  }
  sim::Trace trace;
  for (const auto& result : all.plan.cases) {
    for (const std::uint64_t one : result->traces) trace.add(one);
  }
  all.trace = trace.digest();
  return all;
}

}  // namespace holdfast::tools
