// Lock cycles per CPU-second in the embedded world, everything as in a scenario: RESP bytes on the wire, Lua
// scripts, the proxy, one primary and one asynchronous replica, a key of its own for each client, full
// history.
//
//   build/bench_world                                  # 10, 1,000 and 10,000 clients
//   build/bench_world --benchmark_filter=rule          # the same with every message through a rule
//   build/bench_world --benchmark_filter=scenario      # with what a scenario adds: ledger and latency
//
// Clients are threads of processes with one connection each (100 threads a process, as an application would
// have). Counters: cycles/cpu_s (acquire and release), us/cycle, switches aside; KiB/client: resident memory
// that the world added, history not counted, per client.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef HOLDFAST_TCMALLOC
#include <gperftools/malloc_extension.h>
#endif

#include <algorithm>
#include <cstdio>
#include <memory>

#include "sim/client/lock_kind.h"
#include "sim/client/recorder.h"
#include "sim/client/workload.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/ledger.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/world/world.h"

namespace {

using namespace holdfast;
using namespace holdfast::sim;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_kib() {
  long total = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024.0;
}

// What the next world adds is memory that the process did not have before.
void give_memory_back() {
#ifdef HOLDFAST_TCMALLOC
  MallocExtension::instance()->ReleaseFreeMemory();
#endif
}

// Parses every message and passes it on.
class PassRule final : public Rule {
 public:
  bool applies(const Link&) const override { return true; }
  bool needs_messages() const override { return true; }
};

enum class With { nothing, rule, ledger_and_latency };

struct Outcome {
  double cpu_s = 0, kib_per_client = 0;
  std::uint64_t cycles = 0, events = 0;
};

Outcome run(int clients, With with, std::uint64_t seed) {
  Outcome outcome;
  std::unique_ptr<World> world = make_embedded_world({.seed = seed});
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Workload> workload;
  const double before_kib = resident_kib();
  world->run([&] {
    proxy = std::make_unique<Proxy>(*world);
    cluster =
        make_embedded_cluster(*world, *proxy, {.topology = Topology::primary_replica, .nodes = {"r1", "r2"}});
    cluster->start();
    if (with == With::rule) proxy->add_rule(std::make_shared<PassRule>());
    recorder = std::make_unique<Recorder>(*world);
    WorkloadOptions options;
    options.kind = "critical-section";
    options.threads = std::min(clients, 100);
    options.clients = std::max(1, clients / options.threads);
    const std::int64_t rounds = std::max(10, 100'000 / clients);
    options.own = {{"own_keys", true}, {"rounds", rounds}};
    options.start = {Duration{}, std::chrono::milliseconds(2)};
    options.command_timeout = std::chrono::seconds(30);
    for (const auto& node : cluster->nodes()) options.nodes.push_back({node->name(), node->endpoint()});
    workload = make_workload(*world, *recorder, options);
    if (with == With::ledger_and_latency) {
      const DurationRange latency{std::chrono::microseconds(200), std::chrono::milliseconds(2)};
      proxy->add_rule(make_latency_rule(latency, world->rng("network")));
      keep_ledger(*proxy, *find_lock_kind(options.lock), *recorder);
    }
    const std::size_t events = with == With::ledger_and_latency ? 11 : 4;  // of a cycle, at most
    recorder->history().reserve(static_cast<std::size_t>(rounds) * static_cast<std::size_t>(clients) *
                                events);
    const double start = cpu_seconds();
    workload->start();
    workload->wait_finished(kNever);
    outcome.cpu_s = cpu_seconds() - start;
    const double history_kib =
        static_cast<double>(recorder->history().events().size() * sizeof(checker::Event)) / 1024.0;
    outcome.kib_per_client = (resident_kib() - before_kib - history_kib) / clients;
    outcome.cycles = workload->stats().released;
    outcome.events = recorder->history().events().size();
  });
  return outcome;
}

void bench(benchmark::State& state, With with) {
  const int clients = static_cast<int>(state.range(0));
  double cpu = 0, kib = 0;
  std::uint64_t cycles = 0, events = 0, seed = 1;
  for (auto _ : state) {
    const Outcome outcome = run(clients, with, seed++);
    state.SetIterationTime(outcome.cpu_s);
    cpu += outcome.cpu_s;
    cycles += outcome.cycles;
    events += outcome.events;
    kib = std::max(kib, outcome.kib_per_client);
    give_memory_back();
  }
  state.counters["cycles/cpu_s"] = static_cast<double>(cycles) / cpu;
  state.counters["us/cycle"] = cpu / static_cast<double>(cycles) * 1e6;
  state.counters["events/cycle"] = static_cast<double>(events) / static_cast<double>(cycles);
  state.counters["KiB/client"] = kib;
}

void world_bare(benchmark::State& state) { bench(state, With::nothing); }
void world_rule(benchmark::State& state) { bench(state, With::rule); }
void world_scenario(benchmark::State& state) { bench(state, With::ledger_and_latency); }

BENCHMARK(world_bare)
    ->Arg(10)
    ->Arg(1000)
    ->Arg(10'000)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(world_rule)
    ->Arg(10)
    ->Arg(1000)
    ->Arg(10'000)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(world_scenario)
    ->Arg(10)
    ->Arg(1000)
    ->Arg(10'000)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
