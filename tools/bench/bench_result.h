// What `holdfast bench` measured: one document, which the plot scripts read (tools/bench/plot/README.md
// describes it).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::tools {

inline constexpr int kBenchVersion = 1;  // of the document; rises when old readers would misread it

struct Metric {
  std::string unit;            // "1/s", "us", "ms", "ratio", "commands", "B", "units", ...
  std::vector<double> rounds;  // one value a round (or a seed), in their order

  double median() const;
  double low() const;
  double high() const;
};

using Parameters = std::map<std::string, std::string>;  // numbers as text: {"clients", "50"}

// One point that was measured: what, where, with which parameters.
struct Measurement {
  std::string suite;    // uncontended | contended | seckill | scale | watchdog | failover
  std::string subject;  // a lock of `holdfast list locks`, a peer, or what it is compared with
  std::string world;    // real/fibers | real/threads | real/peer | embedded
  Parameters parameters;
  std::map<std::string, Metric> metrics;
  // Pictures of one run: points, and stretches of time with a name.
  std::map<std::string, std::vector<std::pair<double, double>>> curves;
  struct Band {
    std::string row, label;
    double from = 0, to = 0;
  };
  std::vector<Band> bands;

  void add(const std::string& metric, const std::string& unit, double value) {
    Metric& to = metrics[metric];
    to.unit = unit;
    to.rounds.push_back(value);
  }
};

struct BenchResult {
  std::string command;    // as it was called
  std::string started;    // UTC
  double seconds = 0;     // that it took
  bool complete = false;  // false: interrupted
  bool quick = false;
  std::map<std::string, std::string> machine;   // cpu, cores, kernel, memory, load_before, load_after
  std::map<std::string, std::string> versions;  // holdfast, compiler, redis-server, peers
  std::map<std::string, std::string> seeds;     // by suite
  std::vector<std::string> notes;               // what was left out or failed, and why
  std::vector<Measurement> measurements;

  // The one with these names; made when it is new.
  Measurement& at(const std::string& suite, const std::string& subject, const std::string& world,
                  const Parameters& parameters);
};

void describe_machine(BenchResult& result);  // machine, versions, started
std::string load_average();

std::string to_json(const BenchResult& result);
// Checks that `text` is a document of this version, whole. Returns "" or what is wrong: "was written by
// version 2 ...".
std::string problem_of_document(const std::string& text);

// A table for people of one suite: a line for each measurement, medians, with their spread where there is
// one.
std::string table_of(const BenchResult& result, const std::string& suite);

}  // namespace holdfast::tools
