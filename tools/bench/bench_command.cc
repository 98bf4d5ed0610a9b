// `holdfast bench`: checks the flags, runs the suites, writes the result after each of them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>

#include "sim/comparators/engine.h"
#include "sim/scenario/problem.h"
#include "tools/bench/bench.h"
#include "tools/bench/compare.h"
#include "tools/bench/sale.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/memory.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

void require_sane(const BenchArguments& arguments) {
  std::vector<std::string> locks, foreign, suites;
  for (const sim::LockKind& kind : sim::all_lock_kinds()) {
    if (kind.make != nullptr) locks.emplace_back(kind.name);  // a latch has no holder
  }
  for (const sim::LockKind* kind : sim::comparator_locks()) foreign.emplace_back(kind->name);
  for (const Suite& suite : all_suites()) suites.emplace_back(suite.name);
  const bool of_engines = arguments.suites == std::vector<std::string>{"engines"};
  if (of_engines) locks.insert(locks.end(), foreign.begin(), foreign.end());
  for (const std::string& name : arguments.locks) {
    if (!of_engines && std::find(foreign.begin(), foreign.end(), name) != foreign.end())
      throw BadUsage("--locks: `" + name + "` is measured by `--suite engines` and no other");
    if (std::find(locks.begin(), locks.end(), name) == locks.end()) {
      throw BadUsage("--locks: unknown lock `" + name + "`" + sim::did_you_mean(name, locks) +
                     " (`holdfast list locks`)");
    }
  }
  for (const std::string& name : arguments.suites) {
    if (std::find(suites.begin(), suites.end(), name) == suites.end()) {
      throw BadUsage("--suite: unknown suite `" + name + "`, expected " + sim::one_of(suites) +
                     sim::did_you_mean(name, suites));
    }
  }
  for (const int clients : arguments.clients) {
    if (clients < 1 || clients > 10'000) {
      throw BadUsage(fmt::format("--clients: {}, expected 1 to 10000", clients));
    }
  }
  for (const int hold : arguments.hold_ms) {
    if (hold < 0 || hold > 10'000) throw BadUsage(fmt::format("--hold: {}, expected 0 to 10000", hold));
  }
  if (arguments.threads < 0 || arguments.threads > 10'000) {
    throw BadUsage(fmt::format("--threads: {}, expected 1 to 10000", arguments.threads));
  }
  if (arguments.rounds < 0 || arguments.rounds > 1000) throw BadUsage("--rounds: expected 1 to 1000");
  if (arguments.seeds < 0) throw BadUsage("--seeds: expected 1 or more");
  if (arguments.seconds < 0 || arguments.seconds > 600) throw BadUsage("--seconds: expected 0.01 to 600");
  if (!arguments.json.empty()) require_writable_file("--json", arguments.json);
  if (!arguments.out.empty()) require_writable_folder("--out", arguments.out);
}

// Whether there is a file with it. What cannot be written costs no measurement: it is tried after each suite.
bool keep(const BenchArguments& arguments, const BenchResult& result) {
  return !arguments.json.empty() && try_to_write([&] { write_file(arguments.json, to_json(result)); });
}

}  // namespace

Bench::Bench(const BenchArguments& arguments, BenchResult& result) : arguments_(arguments), result_(result) {}

bool Bench::interrupted() { return tools::interrupted != 0; }

std::vector<const sim::LockKind*> Bench::locks(const std::vector<std::string>& few) const {
  std::vector<const sim::LockKind*> kinds;
  for (const sim::LockKind& kind : sim::all_lock_kinds()) {
    if (kind.make == nullptr) continue;
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), kind.name) != names.end();
    };
    // On a server that has just started it grants nothing for a lease.
    if (kind.survives_failover && arguments_.locks.empty() && !has(few)) continue;
    const bool asked = !arguments_.locks.empty() ? has(arguments_.locks) : few.empty() || has(few);
    if (asked) kinds.push_back(&kind);
  }
  return kinds;
}

std::vector<int> Bench::clients(std::vector<int> full, std::vector<int> quick) const {
  if (!arguments_.clients.empty()) return arguments_.clients;
  return arguments_.quick ? quick : full;
}

int Bench::rounds(int full, int quick) const {
  return arguments_.rounds > 0 ? arguments_.rounds : arguments_.quick ? quick : full;
}

Duration Bench::length(double full, double quick) const {
  const double seconds = arguments_.seconds > 0 ? arguments_.seconds : arguments_.quick ? quick : full;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

BenchServers& Bench::servers(const sim::LockKind* kind) {
  if (kind != nullptr && kind->quorum) return independent();
  if (!one_) {
    one_ = std::make_unique<BenchServers>(1);
    result_.versions["redis-server"] = one_->info("redis_version");
  }
  return *one_;
}

BenchServers& Bench::independent() {
  if (!several_) several_ = std::make_unique<BenchServers>(5);
  return *several_;
}

BenchServers& Bench::replicated() {
  if (!replicated_) replicated_ = std::make_unique<BenchServers>(3, BenchServers::Are::one_set);
  return *replicated_;
}

void Bench::note(const std::string& text) {
  if (std::find(result_.notes.begin(), result_.notes.end(), text) != result_.notes.end()) return;
  result_.notes.push_back(text);
  print_err(fmt::format("note: {}\n", text));
}

void Bench::write(const std::function<void()>& write) {
  if (!try_to_write(write)) wrote_all_ = false;
}

void Bench::interleave(int rounds, const std::vector<Trial>& trials) {
  Progress progress(static_cast<std::uint64_t>(rounds) * trials.size(), "measurements", false);
  progress.show_next();  // the first may take minutes
  std::vector<bool> out(trials.size());
  std::uint64_t done = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (interrupted()) throw BenchInterrupted();
      progress.update(done++, 0, trials[i].name);
      if (out[i]) continue;
      try {
        trials[i].measure(round);
      } catch (const MissingServer&) {
        throw;
      } catch (const std::exception& error) {
        if (interrupted()) throw BenchInterrupted();
        out[i] = true;
        progress.clear();
        note(trials[i].name + ": " + error.what());
      }
    }
  }
  if (interrupted()) throw BenchInterrupted();
}

const std::vector<std::string>& main_locks() {
  static const std::vector<std::string> names = {"reentrant",
                                                 "redisson",
                                                 "non-reentrant",
                                                 "fair",
                                                 "spin",
                                                 "redlock",
                                                 "read-write",
                                                 "semaphore",
                                                 "spring-registry",
                                                 "annotation",
                                                 "lock-interface",
                                                 "redisson-3.13-reentrant",
                                                 "redisson-3.13-fair"};
  return names;
}

const std::vector<double>& curve_quantiles() {
  static const std::vector<double> all = {0,   0.01, 0.05, 0.1,  0.2,  0.3,   0.4,   0.5,    0.6,
                                          0.7, 0.8,  0.9,  0.95, 0.99, 0.995, 0.999, 0.9999, 1};
  return all;
}

std::vector<std::pair<double, double>> curve_of(const Histogram& histogram) {
  std::vector<std::pair<double, double>> points;
  for (const double q : curve_quantiles())
    points.emplace_back(q, static_cast<double>(histogram.quantile(q)) / 1e3);
  return points;
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

const std::vector<Suite>& all_suites() {
  static const std::vector<Suite> suites = {
      {"uncontended", bench_uncontended}, {"contended", bench_contended},
      {"seckill", bench_seckill},         {"scale", bench_scale},
      {"watchdog", bench_watchdog},       {"failover", bench_failover},
      {"oversell", bench_oversell},       {"engines", bench_engines},
  };
  return suites;
}

ExitCode bench_command(const BenchArguments& arguments) {
  require_sane(arguments);
  if (arguments.compare.size() == 2) return compare_command(arguments);
  std::optional<ReadResult> older;  // a bad one is told before any measurement
  if (!arguments.compare.empty()) older = narrowed(read_results(arguments.compare.front()), arguments);
  const auto asked = [&](std::string_view suite) {
    const auto& wanted = arguments.suites;
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), suite) != wanted.end();
  };
  if (asked("seckill") || asked("failover"))
    sale_stories();  // a bad scenario file is told before any measurement
  if (asked("oversell")) great_sale_stories();
  interrupted = 0;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  if (arguments.world != "embedded" && find_program("redis-server").empty()) throw MissingServer();

  BenchResult result;
  result.command = arguments.command;
  result.quick = arguments.quick;
  describe_machine(result);
  const auto start = std::chrono::steady_clock::now();
  const MemoryReserve reserve;
  Bench bench(arguments, result);
  bool cut = false;
  for (const Suite& suite : all_suites()) {
    if (!asked(suite.name)) continue;
    const double began = seconds_since(start);
    try {
      suite.run(bench);
    } catch (const BenchInterrupted&) {
      cut = true;
    }
    print_out(table_of(result, std::string(suite.name)) + "\n");
    result.seconds = seconds_since(start);
    result.suite_seconds[std::string(suite.name)] = result.seconds - began;
    result.machine["load_after"] = load_average();
    keep(arguments, result);
    if (cut) break;
  }
  result.complete = !cut;
  const bool kept = keep(arguments, result);
  if (kept) print_out(fmt::format("result {}\n", arguments.json));
  ExitCode compared = kMet;
  if (older) {
    const Comparison comparison =
        compare(*older, measured(result, "this run"), arguments.compare.front(), "this run");
    print_out(comparison_report(comparison, arguments.terminal));
    compared = comparison.code();
  }
  if (cut) print_err(fmt::format("interrupted: what was done is shown above{}\n", kept ? " and kept" : ""));
  return worse(cut ? kInterrupted : compared,
               bench.wrote_all() && (kept || arguments.json.empty()) ? kMet : kOutput);
}

}  // namespace holdfast::tools
