// `holdfast bench`: what it was asked to do, and what its suites share.
//
// A suite is a list of trials; each measures one point once. They run round by round, every trial of a round
// before the next round begins, so that whatever disturbs the machine disturbs all of them alike. Reported
// are medians over the rounds; ratios are taken within a round.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/bench/bench_load.h"
#include "tools/bench/bench_result.h"
#include "tools/bench/bench_server.h"
#include "tools/holdfast/exit_code.h"
#include "tools/holdfast/progress.h"
#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

struct BenchArguments {
  std::vector<std::string> suites;  // empty: all
  std::vector<std::string> locks;   // empty: all of `holdfast list locks`
  std::string world = "both";       // embedded | real | both
  std::vector<int> clients;         // empty: by suite
  std::vector<int> hold_ms;         // contended: the time inside; empty: by suite
  int threads = 0;                  // clients that share one connection; 0: by suite
  int rounds = 0;                   // 0: by suite
  double seconds = 0;               // of one measurement; 0: by suite
  int seeds = 0;                    // seckill; 0: by suite
  bool quick = false;
  bool peers = true;
  std::string json;  // "" none
  std::string out;   // seckill, oversell: of each cell the first sale that oversold is kept below it; "" none
  // An older result, and perhaps a newer one: then nothing is measured.
  std::vector<std::string> compare = {};
  Terminal terminal = {};
  std::string command;  // the command line
};

// Thrown on Ctrl-C: the measurement that runs stops within about a second and is not recorded; the command
// keeps what was complete before it.
class BenchInterrupted {};

class Bench {
 public:
  Bench(const BenchArguments& arguments, BenchResult& result);

  const BenchArguments& arguments() const { return arguments_; }
  BenchResult& result() { return result_; }
  bool quick() const { return arguments_.quick; }
  bool real() const { return arguments_.world != "embedded"; }
  bool embedded() const { return arguments_.world != "real"; }
  // The locks that were asked for, or else those of `few` (empty: all).
  std::vector<const sim::LockKind*> locks(const std::vector<std::string>& few = {}) const;
  // The same, `few` in a quick run only.
  std::vector<const sim::LockKind*> locks(const std::vector<std::string>& full,
                                          const std::vector<std::string>& quick) const {
    return locks(arguments_.quick ? quick : full);
  }
  std::vector<int> clients(std::vector<int> full, std::vector<int> quick) const;
  int rounds(int full, int quick) const;
  Duration length(double full, double quick) const;  // seconds

  // Real servers, started when first asked for: as many as this kind of lock needs.
  BenchServers& servers(const sim::LockKind* kind = nullptr);
  BenchServers& independent();  // five that know nothing of each other
  BenchServers& replicated();   // a primary with two replicas

  struct Trial {
    std::string name;                        // for the progress line
    std::function<void(int round)> measure;  // adds to the result
  };
  // Throws BenchInterrupted. A trial that fails is noted and left out from then on.
  void interleave(int rounds, const std::vector<Trial>& trials);

  void note(const std::string& text);  // once each
  void write(
      const std::function<void()>& write);  // which may throw OutputError: that is told, and remembered
  bool wrote_all() const { return wrote_all_; }
  static bool interrupted();

 private:
  const BenchArguments& arguments_;
  BenchResult& result_;
  bool wrote_all_ = true;
  std::unique_ptr<BenchServers> one_, several_, replicated_;
};

// One lock of each way of working, for points at which all locks would add nothing.
const std::vector<std::string>& main_locks();

// The quantiles of a curve, 0..1, and of a histogram at them in microseconds.
const std::vector<double>& curve_quantiles();
std::vector<std::pair<double, double>> curve_of(const Histogram& histogram);

// Its words are in the table of metrics (metric_table.h).
struct Suite {
  std::string_view name;
  void (*run)(Bench& bench);
};
const std::vector<Suite>& all_suites();

// One file each.
void bench_uncontended(Bench& bench);
void bench_contended(Bench& bench);
void bench_seckill(Bench& bench);
void bench_oversell(Bench& bench);
void bench_scale(Bench& bench);
void bench_watchdog(Bench& bench);
void bench_failover(Bench& bench);
void bench_engines(Bench& bench);

ExitCode bench_command(const BenchArguments& arguments);

// Draws a result, or all results of a folder, into `out` ("": beside it). On success this process becomes
// the script.
ExitCode plot_command(const std::string& results, std::string out);

}  // namespace holdfast::tools
