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
#include <set>
#include <thread>

namespace holdfast::tools {
namespace {

using Json = nlohmann::ordered_json;

// The value behind "NAME :" in a file of /proc.
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

// Four significant digits, no exponent.
std::string number(double value) {
  if (value != 0 && std::abs(value) < 10) return fmt::format("{:.3g}", value);
  if (std::abs(value) < 100) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

// Six significant digits are plenty, and keep the file small.
double rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

Json metric_json(const Metric& metric) {
  Json rounds = Json::array();
  for (const double value : metric.rounds) rounds.push_back(rounded(value));
  return {{"unit", metric.unit},
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
  for (const auto& [name, metric] : m.metrics) json["metrics"][name] = metric_json(metric);
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

double Metric::median() const {
  if (rounds.empty()) return 0;
  std::vector<double> sorted = rounds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
double Metric::low() const { return rounds.empty() ? 0 : *std::min_element(rounds.begin(), rounds.end()); }
double Metric::high() const { return rounds.empty() ? 0 : *std::max_element(rounds.begin(), rounds.end()); }

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
  Json json = {{"document", "holdfast-bench"}, {"version", kBenchVersion},  {"command", result.command},
               {"started", result.started},    {"seconds", result.seconds}, {"complete", result.complete},
               {"quick", result.quick},        {"machine", result.machine}, {"versions", result.versions},
               {"seeds", result.seeds},        {"notes", result.notes}};
  std::string text = json.dump(1);
  text.resize(text.rfind('\n'));  // reopened: a measurement a line
  text += ",\n \"measurements\": [";
  const char* separator = "\n  ";
  for (const Measurement& m : result.measurements) {
    text += separator + measurement_json(m).dump();
    separator = ",\n  ";
  }
  return text + "\n ]\n}\n";
}

std::string problem_of_document(const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return "is empty";
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return text.find("\"holdfast-bench\"") == std::string::npos
               ? "is not JSON; expected a result of `holdfast bench --json`"
               : "was cut short or damaged (it is not whole JSON); run `holdfast bench` again";
  }
  if (!json.is_object() || json.value("document", "") != "holdfast-bench") {
    return "is not a result of `holdfast bench`";
  }
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer()) return "does not say its version";
  if (*version != kBenchVersion) {
    return fmt::format(
        "was written by another version of `holdfast bench` (document version {}, this one reads {}); "
        "run it again",
        version->get<std::int64_t>(), kBenchVersion);
  }
  if (!json.contains("measurements") || !json["measurements"].is_array()) return "has no measurements";
  return "";
}

namespace {

// Which of two metrics comes first in a table: the important ones, then the others by name.
bool comes_first(const std::string& a, const std::string& b) {
  static const std::vector<std::string> order = {"pairs",
                                                 "of_limit",
                                                 "of_trips",
                                                 "of_trips_by_turns",
                                                 "of_ceiling",
                                                 "round_trips",
                                                 "p50",
                                                 "p99",
                                                 "p999",
                                                 "hand_off_p50",
                                                 "hand_off_p99",
                                                 "wait_p50",
                                                 "wait_p99",
                                                 "wait_p999",
                                                 "p99_by_fair_share",
                                                 "longest_wait",
                                                 "min_max",
                                                 "jain",
                                                 "commands",
                                                 "sent",
                                                 "received",
                                                 "server_cpu",
                                                 "client_cpu"};
  const auto place = [](const std::string& name) { return std::find(order.begin(), order.end(), name); };
  return std::pair(place(a), a) < std::pair(place(b), b);
}

}  // namespace

std::string table_of(const BenchResult& result, const std::string& suite) {
  std::vector<std::vector<std::string>> rows;
  std::set<std::string> parameters;
  std::set<std::string, decltype(&comes_first)> metrics(comes_first);
  std::map<std::string, std::string> units;
  for (const Measurement& m : result.measurements) {
    if (m.suite != suite) continue;
    for (const auto& [name, value] : m.parameters) parameters.insert(name);
    for (const auto& [name, metric] : m.metrics) {
      metrics.insert(name);
      units[name] = metric.unit;
    }
  }
  std::vector<std::string> head = {suite, "world"};
  head.insert(head.end(), parameters.begin(), parameters.end());
  for (const std::string& name : metrics) {
    const bool bare = units[name] == "ratio" || units[name] == name;
    head.push_back(bare ? name : name + " " + units[name]);
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
      row.push_back(found == m.metrics.end() ? "" : number(found->second.median()));
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
