// What `holdfast bench` measured: one document, which the plot scripts read (tools/bench/plot/README.md
// describes it).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::tools {

inline constexpr int kBenchVersion = 2;  // of the document; rises when older readers would misread it

struct Metric {
  std::vector<double> rounds;  // one value a round (or a seed), in their order
  // Of a result whose rounds were not kept.
  struct Summary {
    std::size_t count = 0;
    double mean = 0, median = 0, low = 0, high = 0;
  };
  std::optional<Summary> summary = {};

  std::size_t count() const { return summary ? summary->count : rounds.size(); }
  double mean() const;
  double median() const;
  double low() const;
  double high() const;
};

using Parameters = std::map<std::string, std::string>;  // {"clients", "50"}

// One point that was measured: what, where, with which parameters.
struct Measurement {
  std::string suite;  // uncontended | contended | seckill | scale | watchdog | failover | oversell | engines
  std::string subject;  // a lock of `holdfast list locks`, of another library, or a reference
  std::string world;    // real/fibers | real/threads | real/peer | embedded
  Parameters parameters;
  std::map<std::string, Metric> metrics;
  // Of a single run over time: points, and named stretches of time in seconds.
  std::map<std::string, std::vector<std::pair<double, double>>> curves;
  struct Band {
    std::string row, label;
    double from = 0, to = 0;
  };
  std::vector<Band> bands;

  // The value of one more round. REQUIRES: the metric is in the table of this suite (metric_table.h).
  void add(const std::string& metric, double value);
};

struct BenchResult {
  std::string command;                               // as it was called
  std::string started;                               // UTC
  double seconds = 0;                                // duration of the whole run
  std::map<std::string, double> suite_seconds = {};  // and of each suite that was run
  bool complete = false;                             // false: interrupted
  bool quick = false;
  std::map<std::string, std::string> machine;   // cpu, cores, kernel, memory, load_before, load_after
  std::map<std::string, std::string> versions;  // holdfast, compiler, redis-server, peers
  std::map<std::string, std::string> seeds;     // by suite and world: "seckill, embedded"
  std::vector<std::string> notes;               // what was left out or failed, and why
  std::vector<Measurement> measurements;

  // The measurement with these names; added when there is none.
  Measurement& at(const std::string& suite, const std::string& subject, const std::string& world,
                  const Parameters& parameters);
};

void describe_machine(BenchResult& result);  // machine, versions, started
std::string load_average();

std::string to_json(const BenchResult& result);
// What to_json() wrote, of one file or of all *.json of a folder (of a row that is in several, the last
// file's). Throws BadUsage: file, what was expected, what to do. Names and units are those of metrics.json.
struct ReadResult {
  std::vector<std::string> files;
  std::vector<BenchResult> documents;  // without their measurements
  std::vector<Measurement> measurements;
  std::vector<std::size_t> of;  // the document of each measurement
};
ReadResult read_results(const std::string& path);
// Whether a document says of itself that it is a result, of whatever version.
bool is_result(const nlohmann::ordered_json& document);
// For people: three digits that count, no exponent.
std::string shown(double value);
// A table for people of one suite: a line for each measurement, medians (or means) in the order of the
// metric table.
std::string table_of(const BenchResult& result, const std::string& suite);

}  // namespace holdfast::tools
