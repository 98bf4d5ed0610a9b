// Uncontended pairs (acquire + release, a key for each caller) a second on a real redis-server, beside what
// the same machine can do in the same moment: redis-benchmark's SET NX PX + EVALSHA with as many commands in
// flight, and two bare round trips through the same client. Every iteration measures all three in turn, so
// that noise meets them alike; the ratios are medians over iterations.
//
//   build/bench_locks --benchmark_filter='fibers/50'
//   HOLDFAST_LOCK=fair build/bench_locks            another kind of `holdfast list locks`
//
// Counters: pairs_s; benchmark = redis-benchmark's pairs a second; of_benchmark = pairs / benchmark;
// of_trips = time of a pair by the time of two bare round trips; commands, sent_B, received_B: of a pair, on
// the wire; p50_us, p99_us: time of a pair; server_us, client_us: CPU time of a pair.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tools/bench/bench_load.h"
#include "tools/bench/bench_server.h"

namespace {

using namespace holdfast;
using namespace holdfast::tools;

BenchServers& server() {
  static BenchServers servers(1);
  return servers;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

void pairs(benchmark::State& state, bool fibers) {
  const char* wanted = std::getenv("HOLDFAST_LOCK");
  const sim::LockKind* kind = sim::find_lock_kind(wanted != nullptr ? wanted : "reentrant");
  if (kind == nullptr || kind->quorum || kind->make == nullptr) {
    state.SkipWithError("HOLDFAST_LOCK: not a lock of one server");
    return;
  }
  const int callers = static_cast<int>(state.range(0));
  const auto measure = [&](const Load& load) {
    return fibers ? run_load_on_fibers(server().first(), load) : run_load_on_threads(server().first(), load);
  };
  std::vector<double> rates, references, of_benchmark, of_trips;
  LoadResult last;
  std::uint64_t all = 0;
  for (auto _ : state) {
    const double reference = server().benchmark_pairs(callers, 1, callers == 1 ? 5000 : 40'000);
    Load load{.kind = kind, .callers = callers, .length = std::chrono::milliseconds(300)};
    last = measure(load);
    server().flush();
    load.what = Load::What::round_trips;
    const LoadResult trips = measure(load);
    if (last.errors > 0) {
      state.SkipWithError(last.first_error.c_str());
      return;
    }
    state.SetIterationTime(last.seconds);
    all += last.pairs;
    rates.push_back(last.rate());
    references.push_back(reference);
    of_benchmark.push_back(reference > 0 ? last.rate() / reference : 0);
    of_trips.push_back(trips.rate() / last.rate());
  }
  const auto each = static_cast<double>(std::max<std::uint64_t>(1, last.pairs));
  state.SetItemsProcessed(static_cast<std::int64_t>(all));
  state.counters["pairs_s"] = median(rates);
  state.counters["benchmark"] = median(references);
  state.counters["of_benchmark"] = median(of_benchmark);
  state.counters["of_trips"] = median(of_trips);
  state.counters["commands"] = last.commands / each;
  state.counters["sent_B"] = last.sent_bytes / each;
  state.counters["received_B"] = last.received_bytes / each;
  state.counters["p50_us"] = static_cast<double>(last.pair.quantile(0.5)) / 1e3;
  state.counters["p99_us"] = static_cast<double>(last.pair.quantile(0.99)) / 1e3;
  state.counters["server_us"] = last.server_cpu_seconds / each * 1e6;
  state.counters["client_us"] = last.client_cpu_seconds / each * 1e6;
}

void fibers(benchmark::State& state) { pairs(state, true); }
void threads(benchmark::State& state) { pairs(state, false); }

BENCHMARK(fibers)->Arg(1)->Arg(50)->Iterations(7)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(threads)->Arg(1)->Arg(50)->Iterations(7)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
