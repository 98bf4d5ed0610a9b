// A result of `holdfast bench --json`, read again.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/bench/bench_result.h"
#include "tools/bench/metric_table.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/json_file.h"

namespace holdfast::tools {
namespace {

constexpr const char* kExpected = "what `holdfast bench --json` wrote; run it again";
constexpr std::size_t kMostRounds = 1'000'000;

std::map<std::string, std::string> texts(const Json& table) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : table.items()) out[name] = value.get<std::string>();
  return out;
}

double finite(const Json& value) {
  const auto number = value.is_number() ? value.get<double>() : std::nan("");
  if (!(std::abs(number) < 1e15))
    throw std::runtime_error("`" + value.dump().substr(0, 40) + "` is no number");
  return number;
}

Metric metric_from(const Json& json) {
  Metric metric;
  if (json.contains("rounds")) {
    const Json& rounds = json.at("rounds");
    if (!rounds.is_array() || rounds.size() > kMostRounds)
      throw std::runtime_error("`rounds` is no list of numbers");
    for (const Json& value : rounds) metric.rounds.push_back(finite(value));
  }
  if (!metric.rounds.empty()) return metric;
  Metric::Summary summary;
  summary.count = json.at("count").get<std::size_t>();
  // One of these may be missing: what the suite shows is there.
  const double some = finite(json.contains("median") ? json.at("median") : json.at("mean"));
  const auto of = [&](const char* name) { return json.contains(name) ? finite(json.at(name)) : some; };
  metric.summary = {summary.count, of("mean"), of("median"), of("low"), of("high")};
  return metric;
}

Measurement measurement_from(const Json& json) {
  Measurement m;
  m.suite = json.at("suite");
  m.subject = json.at("subject");
  m.world = json.at("world");
  m.parameters = texts(json.at("parameters"));
  for (const auto& [name, metric] : json.at("metrics").items()) {
    try {
      if (const std::string unit = metric_info(m.suite, name).unit; metric.at("unit") != unit)
        throw std::runtime_error(
            fmt::format("metric `{}` of {} has another unit than `{}`", name, m.suite, unit));
    } catch (const std::logic_error& error) {  // another version's
      throw std::runtime_error(error.what());
    }
    m.metrics[name] = metric_from(metric);
  }
  if (json.contains("curves")) {
    for (const auto& [name, points] : json.at("curves").items()) {
      for (const Json& point : points) m.curves[name].emplace_back(finite(point.at(0)), finite(point.at(1)));
    }
  }
  if (json.contains("bands")) {
    for (const Json& band : json.at("bands"))
      m.bands.push_back({band.at("row"), band.at("label"), finite(band.at("from")), finite(band.at("to"))});
  }
  return m;
}

}  // namespace

bool is_result(const Json& document) {
  return document.is_object() && document.contains("document") && document["document"] == "holdfast-bench";
}

ReadResult read_results(const std::string& path) {
  ReadResult read;
  read.files = json_files(path);
  std::map<std::tuple<std::string, std::string, std::string, Parameters>, std::size_t> rows;
  for (const std::string& file : read.files) {
    const Json json = read_json(file);
    if (!is_result(json)) throw BadUsage(file + ": is no result of a benchmark, expected " + kExpected);
    reading(file, kExpected, [&] {
      if (const int version = json.at("version"); version != kBenchVersion)
        throw std::runtime_error(fmt::format("document version {}, not {}", version, kBenchVersion));
      BenchResult& document = read.documents.emplace_back();
      document.command = json.at("command");
      document.started = json.at("started");
      document.seconds = json.value("seconds", 0.0);
      document.complete = json.at("complete");
      document.quick = json.value("quick", false);
      document.machine = texts(json.at("machine"));
      document.versions = texts(json.at("versions"));
      document.seeds = texts(json.at("seeds"));
      document.notes = json.at("notes").get<std::vector<std::string>>();
      for (const Json& one : json.at("measurements")) {
        Measurement m = measurement_from(one);
        const auto [at, fresh] =
            rows.try_emplace({m.suite, m.subject, m.world, m.parameters}, read.measurements.size());
        if (fresh) {
          read.measurements.push_back(std::move(m));
          read.of.push_back(read.documents.size() - 1);
        } else {
          read.measurements[at->second] = std::move(m);
          read.of[at->second] = read.documents.size() - 1;
        }
      }
    });
  }
  return read;
}

}  // namespace holdfast::tools
