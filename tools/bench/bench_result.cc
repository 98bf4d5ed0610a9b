#include "tools/bench/bench_result.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <thread>

#include "tools/bench/metric_table.h"

namespace holdfast::tools {
namespace {

using Json = nlohmann::ordered_json;

// The value after "NAME :" in a file of /proc.
std::string proc_line(const char* file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name, 0) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Six significant digits keep the file small.
double rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

Json metric_json(const Metric& metric, const std::string& unit) {
  Json rounds = Json::array();
  for (const double value : metric.rounds) rounds.push_back(rounded(value));
  return {{"unit", unit},
          {"count", metric.rounds.size()},
          {"mean", rounded(metric.mean())},
          {"median", rounded(metric.median())},
          {"low", rounded(metric.low())},
          {"high", rounded(metric.high())},
          {"rounds", std::move(rounds)}};
}

Json measurement_json(const Measurement& m) {
  Json json = {{"suite", m.suite}, {"subject", m.subject}, {"world", m.world}};
  json["parameters"] = Json::object();
  for (const auto& [name, value] : m.parameters) json["parameters"][name] = value;
  json["metrics"] = Json::object();
  for (const auto& [name, metric] : m.metrics) {
    json["metrics"][name] = metric_json(metric, metric_info(m.suite, name).unit);
  }
  for (const auto& [name, points] : m.curves) {
    Json list = Json::array();
    for (const auto& [x, y] : points) list.push_back({rounded(x), rounded(y)});
    json["curves"][name] = std::move(list);
  }
  for (const Measurement::Band& band : m.bands) {
    json["bands"].push_back({{"row", band.row}, {"label", band.label}, {"from", band.from}, {"to", band.to}});
  }
  return json;
}

}  // namespace

std::string shown(double value) {
  if (value != 0 && std::abs(value) < 10) return fmt::format("{:.3g}", value);
  if (std::abs(value) < 100) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

double Metric::mean() const {
  if (summary) return summary->mean;
  const double sum = std::accumulate(rounds.begin(), rounds.end(), 0.0);
  return rounds.empty() ? 0 : sum / static_cast<double>(rounds.size());
}
double Metric::median() const {
  if (summary) return summary->median;
  if (rounds.empty()) return 0;
  std::vector<double> sorted = rounds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
double Metric::low() const {
  if (summary) return summary->low;
  return rounds.empty() ? 0 : *std::min_element(rounds.begin(), rounds.end());
}
double Metric::high() const {
  if (summary) return summary->high;
  return rounds.empty() ? 0 : *std::max_element(rounds.begin(), rounds.end());
}

void Measurement::add(const std::string& metric, double value) {
  static_cast<void>(metric_info(suite, metric));
  metrics[metric].rounds.push_back(value);
}

Measurement& BenchResult::at(const std::string& suite, const std::string& subject, const std::string& world,
                             const Parameters& parameters) {
  for (Measurement& m : measurements) {
    if (m.suite == suite && m.subject == subject && m.world == world && m.parameters == parameters) return m;
  }
  measurements.push_back({.suite = suite,
                          .subject = subject,
                          .world = world,
                          .parameters = parameters,
                          .metrics = {},
                          .curves = {},
                          .bands = {}});
  return measurements.back();
}

std::string load_average() {
  std::ifstream in("/proc/loadavg");
  std::string one, five, fifteen;
  in >> one >> five >> fifteen;
  return one + " " + five + " " + fifteen;
}

void describe_machine(BenchResult& result) {
  utsname name{};
  ::uname(&name);
  result.machine = {{"cpu", proc_line("/proc/cpuinfo", "model name")},
                    {"cores", std::to_string(std::thread::hardware_concurrency())},
                    {"memory", proc_line("/proc/meminfo", "MemTotal")},
                    {"kernel", std::string(name.sysname) + " " + name.release},
                    {"load_before", load_average()}};
  result.versions["compiler"] = __VERSION__;
  result.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string to_json(const BenchResult& result) {
  Json json = {
      {"document", "holdfast-bench"}, {"version", kBenchVersion},  {"command", result.command},
      {"started", result.started},    {"seconds", result.seconds}, {"suite_seconds", result.suite_seconds},
      {"complete", result.complete},  {"quick", result.quick},     {"machine", result.machine},
      {"versions", result.versions},  {"seeds", result.seeds},     {"notes", result.notes}};
  std::string text = json.dump(1);
  text.resize(text.rfind('\n'));  // the closing brace comes after the measurements, one a line
  text += ",\n \"measurements\": [";
  const char* separator = "\n  ";
  for (const Measurement& m : result.measurements) {
    text += separator + measurement_json(m).dump();
    separator = ",\n  ";
  }
  return text + "\n ]\n}\n";
}

std::string table_of(const BenchResult& result, const std::string& suite) {
  const SuiteInfo& info = suite_info(suite);
  std::vector<std::vector<std::string>> rows;
  std::set<std::string> parameters, used;
  for (const Measurement& m : result.measurements) {
    if (m.suite != suite) continue;
    for (const auto& [name, value] : m.parameters) parameters.insert(name);
    for (const auto& [name, metric] : m.metrics) used.insert(name);
  }
  std::vector<std::string> head = {suite, "world"};
  head.insert(head.end(), parameters.begin(), parameters.end());
  std::vector<std::string> metrics;
  for (const MetricInfo& metric : info.metrics) {
    if (!used.contains(metric.name)) continue;
    metrics.push_back(metric.name);
    const bool bare = metric.unit == "ratio" || metric.unit == metric.name;
    head.push_back(bare ? metric.name : metric.name + " " + metric.unit);
  }
  rows.push_back(head);
  for (const Measurement& m : result.measurements) {
    if (m.suite != suite || m.metrics.empty()) continue;
    std::vector<std::string> row = {m.subject, m.world};
    for (const std::string& name : parameters) {
      const auto found = m.parameters.find(name);
      row.push_back(found == m.parameters.end() ? "" : found->second);
    }
    for (const std::string& name : metrics) {
      const auto found = m.metrics.find(name);
      if (found == m.metrics.end()) {
        row.emplace_back();
      } else {
        row.push_back(shown(info.shows_means ? found->second.mean() : found->second.median()));
      }
    }
    rows.push_back(std::move(row));
  }
  if (rows.size() == 1) return "";
  std::vector<std::size_t> width(head.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i < 2 ? fmt::format("{:<{}}  ", row[i], width[i]) : fmt::format("{:>{}}  ", row[i], width[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace holdfast::tools
