#include "tools/holdfast/hunt_record.h"

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>
#include <utility>

#include "sim/client/lock_kind.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"
#include "tools/holdfast/commands.h"

namespace holdfast::tools {
namespace {

constexpr std::uint64_t kSchema = 1;

Json json_of(const sim::HuntCase& one) {
  return {{"scenario", to_toml(one.document)},
          {"decisions", sim::to_text({.seed = one.seed, .changes = one.changes})}};
}

sim::HuntCase case_from(const Json& value) {
  sim::DecisionsFile decisions =
      sim::parse_decisions(value.at("decisions").get_ref<const std::string&>(), "decisions");
  return {.document = sim::parse_toml(value.at("scenario").get_ref<const std::string&>(), "scenario"),
          .seed = decisions.seed,
          .changes = std::move(decisions.changes)};
}

void put_failure(Json& value, const sim::Failure& failure) {
  value["check"] = failure.check;
  value["kind"] = failure.kind;
  value["shape"] = failure.shape;
  value["why"] = failure.why;
}

sim::Failure failure_from(const Json& value) {
  return {.check = value.at("check").get<std::string>(),
          .kind = value.at("kind").get<std::string>(),
          .shape = value.at("shape").get<std::string>(),
          .why = value.at("why").get<std::string>()};
}

Json json_of(const ToldFind& told) {
  Json one;
  one["name"] = told.failure.name();
  put_failure(one, told.failure);
  one["runs"] = told.count;
  one["first_run"] = told.first->run;
  one["first_seed"] = told.first->seed;
  one["shrunk_in"] = told.shrunk.runs;
  one["shows_on_of_20_seeds"] = told.shrunk.seeds_of_20;
  one["shows_late_on_of_20_seeds"] = told.shrunk.late_of_20;
  if (told.real) {
    one["real_runs"] = told.real->runs();
    one["real_runs_that_show_it"] = told.real->violated;
  }
  one["controlled"] = told.file.controlled;
  one["file"] = told.file.name + ".toml";
  one["scenario"] = told.file.toml;
  one["decisions"] = told.file.decisions;
  return one;
}

Json json_of(const sim::Find& find, const SmallFind* small) {
  Json one;
  put_failure(one, find.failure);
  one["runs"] = find.count;
  one["first_run"] = find.run;
  one["first_seed"] = find.seed;
  one["first"] = json_of(find.first);
  if (small == nullptr) return one;
  Json& made = one["small"];
  put_failure(made, small->failure);
  made["case"] = json_of(small->shrunk.one);
  made["shrunk_in"] = small->shrunk.runs;
  made["shows_on_of_20_seeds"] = small->shrunk.seeds_of_20;
  made["shows_late_on_of_20_seeds"] = small->shrunk.late_of_20;
  return one;
}

// "0123456789abcdef 17 3": a feature, how many runs came through it, the first of them.
Json json_of(const sim::Coverage& coverage) {
  Json lines = Json::array();
  for (const auto& [hash, seen] : coverage.seen())
    lines.push_back(fmt::format("{:016x} {} {}", hash, seen.runs, seen.first));
  return lines;
}

sim::Coverage coverage_from(const Json& lines) {
  sim::Coverage coverage;
  for (const Json& line : lines) {
    const auto& text = line.get_ref<const std::string&>();
    std::istringstream words(text);
    std::string hash;
    sim::Coverage::Seen seen;
    words >> hash >> seen.runs >> seen.first;
    const std::uint64_t feature = word_of(hash);
    if (!words || seen.runs == 0 || coverage.seen().contains(feature))
      throw std::runtime_error("`" + text + "` is no feature of a coverage");
    coverage.put(feature, seen);
  }
  return coverage;
}

Json json_of(const std::vector<sim::CorpusEntry>& entries) {
  Json list = Json::array();
  for (const sim::CorpusEntry& entry : entries) {
    Json one;  // null: it had its budget
    if (!entry.spent) {
      one = json_of(entry.one);
      one["moment_ns"] = entry.moment_ns;
      one["tries"] = entry.tries;
      one["paid"] = entry.paid;
    }
    list.push_back(std::move(one));
  }
  return list;
}

std::vector<sim::CorpusEntry> entries_from(const Json& list) {
  std::vector<sim::CorpusEntry> entries;
  for (const Json& one : list) {
    sim::CorpusEntry& entry = entries.emplace_back();
    entry.spent = one.is_null();
    if (entry.spent) continue;
    entry.one = case_from(one);
    entry.moment_ns = one.at("moment_ns").get<std::int64_t>();
    entry.tries = number_of(one.at("tries"));
    entry.paid = number_of(one.at("paid"));
  }
  return entries;
}

Json json_of_ground(const sim::Ground& ground) {
  Json value;
  value["lock"] = ground.lock->name;
  value["bounds"] = ground.bounds == sim::Ground::Bounds::promised ? "promised" : "anything";
  value["file"] = ground.file;
  value["given"] = to_toml(ground.given);
  value["targets"] = ground.targets;
  value["swarm"] = ground.swarm;
  return value;
}

sim::Ground ground_from(const Json& value) {
  const auto& name = value.at("lock").get_ref<const std::string&>();
  const sim::LockKind* const lock = sim::find_lock_kind(name);
  if (lock == nullptr) throw std::runtime_error("`" + name + "` is no lock that can be hunted");
  sim::Ground ground = sim::ground_of(*lock);
  const auto& bounds = value.at("bounds").get_ref<const std::string&>();
  if (bounds != "promised" && bounds != "anything") throw std::runtime_error("bounds are `" + bounds + "`");
  ground.bounds = bounds == "promised" ? sim::Ground::Bounds::promised : sim::Ground::Bounds::anything;
  ground.file = value.at("file");
  ground.given = sim::parse_toml(value.at("given").get_ref<const std::string&>(), "given");
  ground.targets = value.at("targets");
  ground.swarm = value.at("swarm");
  return ground;
}

sim::HuntState state_from(const Json& document) {
  sim::HuntState state;
  state.runs = number_of(document.at("runs"));
  state.virtual_ns = static_cast<std::int64_t>(number_of(document.at("virtual_ns")));
  state.grants = number_of(document.at("grants"));
  if (document.contains("role_changes")) state.role_changes = number_of(document.at("role_changes"));
  state.unjudged = number_of(document.at("unjudged"));
  state.corpus = number_of(document.at("corpus"));
  state.trace = word_of(document.at("trace"));
  for (const auto& [mark, runs] : document.at("marks").items()) state.marks[mark] = number_of(runs);
  for (const Json& one : document.at("violations")) {
    sim::Find find{.failure = failure_from(one),
                   .first = case_from(one.at("first")),
                   .run = number_of(one.at("first_run")),
                   .seed = number_of(one.at("first_seed")),
                   .count = number_of(one.at("runs"))};
    const std::string name = find.failure.name();
    if (!state.finds.emplace(name, std::move(find)).second)
      throw std::runtime_error("`" + name + "` is there twice");
  }
  state.coverage = coverage_from(document.at("coverage"));
  state.features = state.coverage.size();
  state.singletons = state.coverage.singletons();
  state.entries = entries_from(document.at("cases"));
  state.traces = words_from(document.at("traces"));
  return state;
}

}  // namespace

std::vector<std::string> missed_marks(const HuntRecord& record) {
  std::vector<std::string> missed = sim::marks_of(*record.ground.lock);
  std::erase_if(missed, [&](const std::string& mark) { return record.state.marks.contains(mark); });
  return missed;
}

Json to_json(const HuntRecord& record, const std::vector<ToldFind>& told) {
  const sim::HuntState& state = record.state;
  Json document;
  document["kind"] = "hunt";
  document["schema"] = kSchema;
  document["version"] = record.version;
  document["probe"] = hex_of(record.probe);
  document["ground"] = json_of_ground(record.ground);
  document["seed"] = record.seed;
  document["feedback"] = record.feedback;
  document["shrink"] = record.shrink;
  document["shard"] = record.shard.index + 1;
  document["shards"] = record.shard.of;
  document["asked_runs"] = record.asked ? Json(*record.asked) : Json(nullptr);
  document["hunts"] = Json::array();
  for (const HuntRecord::Part& part : record.joined)
    document["hunts"].push_back({{"seed", part.seed}, {"runs", part.runs}});
  document["seconds"] = record.seconds;
  document["runs"] = state.runs;
  document["virtual_ns"] = state.virtual_ns;
  document["grants"] = state.grants;
  document["role_changes"] = state.role_changes;
  document["unjudged"] = state.unjudged;
  document["features"] = state.features;
  document["singletons"] = state.singletons;
  document["corpus"] = state.corpus;
  document["trace"] = hex_of(state.trace);
  document["never_reached"] = missed_marks(record);
  document["marks"] = Json::object();
  for (const auto& [mark, runs] : state.marks) document["marks"][mark] = runs;
  document["finds"] = Json::array();
  for (const ToldFind& one : told) document["finds"].push_back(json_of(one));
  document["violations"] = Json::array();
  for (const auto& [name, find] : state.finds) {
    const auto small = record.small.find(name);
    document["violations"].push_back(json_of(find, small == record.small.end() ? nullptr : &small->second));
  }
  document["coverage"] = json_of(state.coverage);
  document["cases"] = json_of(state.entries);
  document["traces"] = words_of(state.traces);
  return document;
}

bool is_hunt(const Json& document) {
  return document.is_object() && document.contains("kind") && document.at("kind") == "hunt";
}

HuntRecord hunt_record(const Json& document, const std::string& path) {
  HuntRecord record;
  reading(path, "what `holdfast hunt` wrote with --json or --out", [&] {
    if (!is_hunt(document)) throw std::runtime_error("it is no hunt");
    if (document.at("schema") != kSchema)
      throw std::runtime_error(
          fmt::format("schema {}, this is for {}", document.at("schema").dump(), kSchema));
    record.version = document.at("version");
    record.probe = word_of(document.at("probe"));
    record.ground = ground_from(document.at("ground"));
    record.seed = number_of(document.at("seed"));
    record.feedback = document.at("feedback");
    record.shrink = document.at("shrink");
    const std::uint64_t shard = number_of(document.at("shard"));
    record.shard = {.index = shard - 1, .of = number_of(document.at("shards"))};
    if (shard == 0 || shard > record.shard.of) throw std::runtime_error("shard " + record.shard.to_string());
    if (!document.at("asked_runs").is_null()) record.asked = number_of(document.at("asked_runs"));
    for (const Json& part : document.at("hunts"))
      record.joined.push_back({.seed = number_of(part.at("seed")), .runs = number_of(part.at("runs"))});
    record.seconds = document.at("seconds");
    record.state = state_from(document);
    if (record.shard.of > 1 && (record.state.traces.size() != record.state.runs || !record.asked))
      throw std::runtime_error("a shard without the traces of all its runs");
    for (const Json& one : document.at("violations")) {
      if (!one.contains("small")) continue;
      const Json& made = one.at("small");
      sim::Shrunk shrunk{
          .one = case_from(made.at("case")),
          .runs = number_of(made.at("shrunk_in")),
          .seeds_of_20 = static_cast<unsigned>(number_of(made.at("shows_on_of_20_seeds"))),
          .late_of_20 = static_cast<unsigned>(number_of(made.at("shows_late_on_of_20_seeds")))};
      record.small[failure_from(one).name()] = {.failure = failure_from(made), .shrunk = std::move(shrunk)};
    }
  });
  return record;
}

}  // namespace holdfast::tools
