#include "tools/planted/track_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace holdfast::tools {
namespace {

constexpr std::uint64_t kSchema = 1;

Json json_of(const OneHunt& hunt) {
  Json found = Json::object();
  for (const auto& [promise, runs] : hunt.found) found[promise] = runs;
  return {{"tried", hunt.tried}, {"found", found}};
}

OneHunt hunt_from(const Json& value) {
  OneHunt hunt{.tried = number_of(value.at("tried")), .found = {}};
  for (const auto& [promise, runs] : value.at("found").items()) {
    hunt.found[promise] = number_of(runs);
    if (hunt.found[promise] == 0 || hunt.found[promise] > hunt.tried)
      throw std::runtime_error(fmt::format("found in run {} of {}", hunt.found[promise], hunt.tried));
  }
  return hunt;
}

Json json_of(const sim::Size& size) {
  return {{"faults", size.faults},
          {"clients", size.clients},
          {"tasks", size.tasks},
          {"nodes", size.nodes},
          {"operations", size.operations}};
}

sim::Size size_from(const Json& value) {
  sim::Size size;
  size.faults = number_of(value.at("faults"));
  size.clients = number_of(value.at("clients"));
  size.tasks = number_of(value.at("tasks"));
  size.nodes = number_of(value.at("nodes"));
  size.operations = number_of(value.at("operations"));
  return size;
}

Json json_of(const Tally& tally) {
  return {{"holds", tally.holds}, {"violated", tally.violated}, {"unknown", tally.unknown}};
}

Tally tally_from(const Json& value) {
  return {.holds = number_of(value.at("holds")),
          .violated = number_of(value.at("violated")),
          .unknown = number_of(value.at("unknown"))};
}

Json json_of(const std::string& subject, const SmallFailure& small) {
  Json one;
  one["subject"] = subject;
  one["promise"] = small.promise;
  one["about"] = small.about;
  one["before"] = json_of(small.before);
  one["after"] = json_of(small.after);
  one["runs"] = small.runs;
  one["seeds"] = small.seeds;
  one["decisions"] = small.decisions;
  one["controlled"] = small.controlled;
  one["ours"] = small.ours;
  one["of_ours"] = json_of(small.of_ours);
  one["real"] = small.real ? json_of(*small.real) : Json(nullptr);
  one["why_not_real"] = small.why_not_real;
  one["scenario"] = small.scenario;
  return one;
}

SmallFailure small_from(const Json& value) {
  SmallFailure small;
  small.promise = value.at("promise").get<std::string>();
  small.about = value.at("about").get<std::string>();
  small.before = size_from(value.at("before"));
  small.after = size_from(value.at("after"));
  small.runs = number_of(value.at("runs"));
  small.seeds = number_of(value.at("seeds"));
  small.decisions = number_of(value.at("decisions"));
  small.controlled = value.at("controlled").get<bool>();
  small.ours = value.at("ours").get<std::string>();
  small.of_ours = tally_from(value.at("of_ours"));
  if (!value.at("real").is_null()) small.real = tally_from(value.at("real"));
  small.why_not_real = value.at("why_not_real").get<std::string>();
  small.scenario = value.at("scenario").get<std::string>();
  return small;
}

// One item a line.
std::string lines_of(const std::vector<Json>& items) {
  std::string text;
  for (const Json& item : items)
    text += (text.empty() ? "\n" : ",\n") + item.dump(-1, ' ', true, Json::error_handler_t::replace);
  return "[" + text + "]";
}

}  // namespace

TrackRecord TrackRecord::read(const std::string& path) {
  TrackRecord record;
  if (!std::filesystem::exists(path) || std::filesystem::file_size(path) == 0) return record;
  const Json document = read_json(path);
  reading(path, "what `hunt_planted --record` wrote", [&] {
    if (!document.is_object() || !document.contains("kind") || document.at("kind") != "track-record")
      throw std::runtime_error("it is no track record");
    if (document.at("schema") != kSchema)
      throw std::runtime_error(
          fmt::format("schema {}, this is for {}", document.at("schema").dump(), kSchema));
    for (const Json& one : document.at("subjects"))
      record.subjects_[one.at("subject").get<std::string>()] = {
          .lock = one.at("lock").get<std::string>(),
          .about = one.at("about").get<std::string>(),
          .escapes = one.at("escapes").get<std::string>()};
    for (const Json& row : document.at("hunts")) {
      Hunts& hunts =
          record.hunts_[{row.at("subject").get<std::string>(), row.at("strategy").get<std::string>()}];
      for (const auto& [seed, hunt] : row.at("by_seed").items()) hunts[std::stoull(seed)] = hunt_from(hunt);
    }
    for (const Json& one : document.at("small"))
      record.small_[one.at("subject").get<std::string>()] = small_from(one);
  });
  return record;
}

std::string TrackRecord::text() const {
  std::vector<Json> subjects, rows, smalls;
  for (const auto& [name, one] : subjects_)
    subjects.push_back(
        {{"subject", name}, {"lock", one.lock}, {"about", one.about}, {"escapes", one.escapes}});
  for (const auto& [name, hunts] : hunts_) {
    Json row{{"subject", name.first}, {"strategy", name.second}, {"by_seed", Json::object()}};
    for (const auto& [seed, hunt] : hunts) row["by_seed"][std::to_string(seed)] = json_of(hunt);
    rows.push_back(std::move(row));
  }
  for (const auto& [subject, small] : small_) smalls.push_back(json_of(subject, small));
  return fmt::format(
      "{{\"kind\": \"track-record\", \"schema\": {},\n\"subjects\": {},\n\"hunts\": {},\n\"small\": {}}}\n",
      kSchema, lines_of(subjects), lines_of(rows), lines_of(smalls));
}

bool TrackRecord::has(const std::string& subject, sim::Strategy strategy, std::uint64_t seed,
                      std::uint64_t most, const std::set<std::string>& wanted) const {
  const auto row = hunts_.find({subject, std::string(to_string(strategy))});
  if (row == hunts_.end()) return false;
  const auto hunt = row->second.find(seed);
  if (hunt == row->second.end()) return false;
  if (hunt->second.tried >= most) return true;
  if (wanted.empty()) return !hunt->second.found.empty();
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& promise) {
    return sim::has_promise(hunt->second.found, promise);
  });
}

void TrackRecord::keep(const std::set<std::string>& subjects) {
  std::erase_if(subjects_, [&](const auto& one) { return !subjects.contains(one.first); });
  std::erase_if(hunts_, [&](const auto& one) { return !subjects.contains(one.first.first); });
  std::erase_if(small_, [&](const auto& one) { return !subjects.contains(one.first); });
}

void TrackRecord::add(const std::string& subject, sim::Strategy strategy, std::uint64_t seed, OneHunt hunt) {
  hunts_[{subject, std::string(to_string(strategy))}][seed] = std::move(hunt);
}

}  // namespace holdfast::tools
