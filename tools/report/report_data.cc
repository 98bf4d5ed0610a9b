#include "tools/report/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "checker/history/history_jsonl.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/json_file.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMakeSome =
    "expected what `holdfast run scenarios --json DIR/run.json --out DIR/kept --keep violated` or `holdfast "
    "bench "
    "--json DIR/bench.json` writes";
constexpr const char* kOfRun = "what `holdfast run --json` wrote; run it again";

// Every *.json below, by path. Throws BadUsage for a folder that cannot be read.
std::vector<std::string> json_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->path().extension() == ".json" && at->is_regular_file(ignored))
      found.push_back(at->path().string());
  }
  if (error)
    throw BadUsage(
        fmt::format("{}: cannot be read ({}), expected a folder of results", folder, error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

ReportCase case_from(const Json& json, const std::string& world) {
  ReportCase one;
  one.world = world;
  one.file = json.at("file");
  one.scenario = json.at("scenario");
  one.variant = json.at("variant");
  one.lock = json.value("lock", "");
  if (json.contains("faults")) one.faults = json.at("faults").get<std::vector<std::string>>();
  one.runs = number_of(json.at("runs"));
  one.planned = number_of(json.at("planned_runs"));
  one.violated_runs = number_of(json.at("violated_runs"));
  one.grants = number_of(json.at("grants"));
  one.waits = number_of(json.at("waits"));
  one.unexpected = json.at("unexpected").get<bool>();
  one.cut = !one.unexpected && json.at("exit") == static_cast<int>(kInterrupted);
  one.error = json.value("error", "");
  for (const Json& item : json.at("expectations")) {
    one.expected.push_back({.check = item.at("check"),
                            .kind = item.value("kind", ""),
                            .result = item.at("result"),
                            .explained = item.value("explained", ""),
                            .violated = item.at("is") == "violated",
                            .matching = number_of(item.at("matching")),
                            .unknown = number_of(item.at("unknown"))});
  }
  if (json.contains("story")) one.reproduce = json.at("story").at("reproduce");
  return one;
}

void read_run_file(const std::string& path, const std::string& shown, const Json& json, ReportData& data) {
  reading(path, kOfRun, [&] {
    ReportRunFile& file = data.run_files.emplace_back();
    file.path = shown;
    file.world = json.at("world");
    file.trace = json.at("trace");
    for (const Json& one : json.at("cases")) {
      if (one.contains("not_run")) {
        file.not_run.push_back(one.at("file").get<std::string>() + ": " +
                               one.at("not_run").get<std::string>());
      } else {
        file.cases.push_back(case_from(one, file.world));
      }
    }
    for (const Json& one : json.at("not_run"))
      file.not_run.push_back(one.at("file").get<std::string>() + ": " + one.at("reason").get<std::string>());
  });
}

void read_story(const std::string& folder, const std::string& shown, ReportData& data) {
  ReportStory& story = data.stories.emplace_back();
  story.folder = shown;
  story.run = *read_kept_run(folder);
  const std::string path = folder + "/history.jsonl";
  std::ifstream file(path, std::ios::binary);
  if (!file) return;
  try {
    const checker::History history = checker::read_jsonl(file, {.file = path}).history;
    story.story = story_of(story.run, history, {});
    story.timeline = timeline_of(story.run, history);
  } catch (const checker::FormatError& error) {
    throw BadUsage(std::string(error.what()) + "; remove the folder, or run it again");
  }
}

// The story of each case: of the same scenario, variant and world.
void join_stories(ReportData& data) {
  for (ReportRunFile& file : data.run_files) {
    for (ReportCase& one : file.cases) {
      for (std::size_t i = 0; i < data.stories.size() && !one.story; ++i) {
        const KeptRun& run = data.stories[i].run;
        if (run.scenario == one.scenario && run.variant == one.variant && run.world == one.world &&
            (run.lock.empty() || one.lock.empty() || run.lock == one.lock))
          one.story = i;
      }
    }
  }
}

std::tuple<std::string, std::string, std::string, Parameters> key_of(const Measurement& m) {
  return {m.suite, m.subject, m.world, m.parameters};
}

// Documents in the order in which they were measured; of each row the two newest.
void join_bench(const std::vector<std::string>& paths, const std::vector<std::string>& names,
                ReportData& data) {
  struct One {
    std::string name;
    ReadResult read;
  };
  std::vector<One> all;
  for (std::size_t i = 0; i < paths.size(); ++i) all.push_back({names[i], read_results(paths[i])});
  std::stable_sort(all.begin(), all.end(), [](const One& a, const One& b) {
    return a.read.documents.front().started < b.read.documents.front().started;
  });
  std::map<std::tuple<std::string, std::string, std::string, Parameters>, std::size_t> rows;
  ReadResult before, now;
  std::set<std::size_t> of_before, of_now;
  for (std::size_t i = 0; i < all.size(); ++i) {
    data.bench.files.push_back(all[i].name);
    data.bench.documents.push_back(all[i].read.documents.front());
    for (Measurement& m : all[i].read.measurements) {
      const auto [at, fresh] = rows.try_emplace(key_of(m), data.bench.measurements.size());
      if (fresh) {
        data.bench.measurements.push_back(std::move(m));
        data.bench.of.push_back(i);
        continue;
      }
      Measurement& older = data.bench.measurements[at->second];
      before.measurements.push_back(older);
      now.measurements.push_back(m);
      of_before.insert(data.bench.of[at->second]);
      of_now.insert(i);
      older = std::move(m);
      data.bench.of[at->second] = i;
    }
  }
  if (now.measurements.empty()) return;
  const auto finish = [&](ReadResult& read, const std::set<std::size_t>& of) {
    std::string names_of;
    for (const std::size_t i : of) {
      names_of += (names_of.empty() ? "" : ", ") + all[i].name;
      read.documents.push_back(data.bench.documents[i]);
    }
    data.compared.push_back(names_of);
  };
  finish(before, of_before);
  finish(now, of_now);
  data.before = std::move(before);
  data.now = std::move(now);
}

}  // namespace

ReportData read_report_data(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) throw BadUsage(folder + ": no such folder, " + kMakeSome);
  if (!fs::is_directory(folder, error)) throw BadUsage(folder + ": is no folder, expected one of results");
  ReportData data;
  data.folder = folder;
  std::vector<std::string> bench, names;
  for (const std::string& path : json_below(folder)) {
    const std::string shown = fs::path(path).lexically_relative(folder).string();
    if (fs::path(path).filename() == "run.json" &&
        fs::exists(fs::path(path).parent_path() / "history.jsonl", error)) {
      read_story(fs::path(path).parent_path().string(), fs::path(shown).parent_path().string(), data);
      continue;
    }
    const Json json = read_json(path);
    if (is_result(json)) {
      bench.push_back(path);
      names.push_back(shown);
    } else if (json.is_object() && json.contains("cases") && json.contains("trace")) {
      read_run_file(path, shown, json, data);
    } else {
      data.left_out.push_back(shown + ": no result of `holdfast run` or `holdfast bench`");
    }
  }
  join_bench(bench, names, data);
  join_stories(data);
  if (data.run_files.empty() && data.stories.empty() && data.bench.files.empty())
    throw BadUsage(folder + ": no results in this folder or below, " + kMakeSome);
  return data;
}

}  // namespace holdfast::tools
