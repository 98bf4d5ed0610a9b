// `holdfast bench`: what it was asked to do, and what its suites share.
//
// A suite is a list of variants; each variant measures one point once. They are run round by round, all
// variants of a round before the next round begins, so that what disturbs the machine meets all of them
// alike; what is reported are medians over rounds, and ratios within a round.
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

namespace holdfast::tools {

struct BenchArguments {
  std::vector<std::string> suites;  // empty: all
  std::vector<std::string> locks;   // empty: all of `holdfast list locks`
  std::string world = "both";       // embedded | real | both
  std::vector<int> clients;         // empty: by suite
  int threads = 0;                  // that share one client; 0: by suite
  int rounds = 0;                   // 0: by suite
  double seconds = 0;               // of one measurement; 0: by suite
  int seeds = 0;                    // seckill; 0: by suite
  bool quick = false;
  bool peers = true;
  std::string json;     // "" none
  std::string command;  // the command line
};

// Ctrl-C: every measurement stops within about a second and is not recorded; this unwinds to the command,
// which keeps what was whole before it.
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

  struct Variant {
    std::string name;                        // for the progress line
    std::function<void(int round)> measure;  // adds to the result
  };
  // Throws BenchInterrupted. A variant that fails is noted and left out from then on.
  void interleave(int rounds, const std::vector<Variant>& variants);

  void note(const std::string& text);  // once each
  static bool interrupted();

 private:
  const BenchArguments& arguments_;
  BenchResult& result_;
  std::unique_ptr<BenchServers> one_, several_;
};

// One of each design and each history, for the points at which all would tell a reader nothing more.
const std::vector<std::string>& main_locks();

// The quantiles of a curve, 0..1, and of a histogram at them in microseconds.
const std::vector<double>& curve_quantiles();
std::vector<std::pair<double, double>> curve_of(const Histogram& histogram);

struct Suite {
  std::string_view name, about;
  void (*run)(Bench& bench);
};
const std::vector<Suite>& all_suites();

// One file each.
void bench_uncontended(Bench& bench);
void bench_contended(Bench& bench);
void bench_seckill(Bench& bench);
void bench_scale(Bench& bench);
void bench_watchdog(Bench& bench);
void bench_failover(Bench& bench);

ExitCode bench_command(const BenchArguments& arguments);

}  // namespace holdfast::tools
