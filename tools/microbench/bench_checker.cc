// How fast histories are judged and read.
//
//   build/bench_checker                                  all of it (some minutes)
//   build/bench_checker --benchmark_filter=linear
//
// Histories are drawn as checker/testing/draw_history.h says; 0.5% unknown outcomes unless the name says
// otherwise. Names end in operations/keys/clients. `ops` is operations a second; `peak_MB` is the peak memory
// of the program so far.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <map>
#include <sstream>
#include <tuple>

#include "checker/history/formats.h"
#include "checker/holds/exclusion.h"
#include "checker/linearizability/linearizability.h"
#include "checker/linearizability/lock_pass.h"
#include "checker/testing/draw_history.h"

namespace {

using namespace holdfast::checker;

const DrawnHistory& drawn(std::int64_t operations, std::int64_t keys, std::int64_t clients, bool invalid,
                          double unknown = 0.005) {
  static std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, double> present;
  static DrawnHistory history;
  const std::tuple wanted{operations, keys, clients, invalid, unknown};
  if (present != wanted) {  // one at a time: the big ones take gigabytes
    history = DrawnHistory();
    history = draw_lock_history({.operations = static_cast<std::uint64_t>(operations),
                                 .keys = static_cast<std::uint32_t>(keys),
                                 .clients = static_cast<std::uint32_t>(clients),
                                 .unknown = unknown,
                                 .seed = 7,
                                 .invalid = invalid});
    present = wanted;
  }
  return history;
}

void finish(benchmark::State& state, std::int64_t operations) {
  state.counters["ops"] = benchmark::Counter(
      static_cast<double>(operations) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

// Judges packed events, as `holdfast check` does. `bytes`: memory of events and engine, for each operation.
void judge_packed(benchmark::State& state, const char* model, bool invalid, double unknown) {
  PackedHistory packed;
  bool violated = false;
  {
    const DrawnHistory& history = drawn(state.range(0), state.range(1), state.range(2), invalid, unknown);
    violated = history.violation.has_value();
    packed = PackedHistory::pack(history.history);
  }
  LinearizabilityOptions options;
  options.model = model;
  options.jepsen = true;
  for (auto _ : state) {
    const LinearizabilityResult result = check_linearizable(packed, options);
    if ((result.outcome == Outcome::violated) != violated || result.by_search > 0)
      state.SkipWithError("wrong verdict");
  }
  finish(state, state.range(0));
  const auto engine_bytes = static_cast<double>(packed.symbols() * 40);
  state.counters["bytes"] =
      (static_cast<double>(packed.bytes()) + engine_bytes) / static_cast<double>(state.range(0));
}

void judge(benchmark::State& state, Engine engine, bool invalid, double unknown = 0.005) {
  const DrawnHistory& history = drawn(state.range(0), state.range(1), state.range(2), invalid, unknown);
  LinearizabilityOptions options;
  options.jepsen = true;
  options.engine = engine;
  options.shrink = false;
  for (auto _ : state) {
    const LinearizabilityResult result = check_linearizable(history.history, options);
    const Outcome expected = history.violation ? Outcome::violated : Outcome::holds;
    if (result.outcome != expected || (history.violation && result.first()->at != *history.violation)) {
      state.SkipWithError("wrong verdict");
    }
  }
  finish(state, state.range(0));
}

void linear_valid(benchmark::State& state) { judge(state, Engine::linear, false); }
void linear_invalid(benchmark::State& state) { judge(state, Engine::linear, true); }
void linear_no_unknown(benchmark::State& state) { judge(state, Engine::linear, false, 0); }
void linear_5_percent_unknown(benchmark::State& state) { judge(state, Engine::linear, false, 0.05); }
void search_valid(benchmark::State& state) { judge(state, Engine::search, false); }
void search_invalid(benchmark::State& state) { judge(state, Engine::search, true); }

void packed_0(benchmark::State& state) { judge_packed(state, "mutex", false, 0); }
void packed(benchmark::State& state) { judge_packed(state, "mutex", false, 0.005); }
void packed_5_percent(benchmark::State& state) { judge_packed(state, "mutex", false, 0.05); }
void packed_invalid(benchmark::State& state) { judge_packed(state, "mutex", true, 0.005); }
void packed_reentrant(benchmark::State& state) { judge_packed(state, "reentrant-mutex", false, 0.005); }
void packed_fenced(benchmark::State& state) { judge_packed(state, "fenced-mutex", false, 0.005); }
void growth(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMillisecond);
  for (const std::int64_t operations : {1000, 10000, 100000, 1000000, 10000000}) {
    for (const std::int64_t clients : {10, 100, 1000}) bench->Args({operations, 1, clients});
  }
}
BENCHMARK(packed_0)->Apply(growth);
BENCHMARK(packed)->Apply(growth);
BENCHMARK(packed_5_percent)->Apply(growth);
BENCHMARK(packed_invalid)->Apply(growth);
BENCHMARK(packed_reentrant)->Args({1000000, 100, 100})->Unit(benchmark::kMillisecond);
BENCHMARK(packed_fenced)->Args({1000000, 100, 100})->Unit(benchmark::kMillisecond);

void sizes(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMillisecond);
  bench->Args({1000, 1, 10})->Args({1000, 1, 100})->Args({10000, 1, 10})->Args({10000, 1, 100});
  bench->Args({100000, 1, 10})->Args({100000, 1, 100})->Args({100000, 100, 100})->Args({1000000, 100, 100});
}
void more_sizes(benchmark::internal::Benchmark* bench) {
  sizes(bench);
  bench->Args({1000000, 1, 10})->Args({1000000, 1, 1000})->Args({10000000, 1000, 1000});
}
BENCHMARK(linear_valid)->Apply(more_sizes);
BENCHMARK(linear_invalid)->Apply(sizes);
BENCHMARK(linear_no_unknown)->Args({1000000, 100, 100})->Unit(benchmark::kMillisecond);
BENCHMARK(linear_5_percent_unknown)->Args({1000000, 100, 100})->Unit(benchmark::kMillisecond);
BENCHMARK(search_valid)->Apply(sizes);
BENCHMARK(search_invalid)->Apply(sizes);

// Reads and judges a file in memory.
void read_and_judge(benchmark::State& state, bool edn) {
  std::string text;
  {
    ReadHistory all;
    all.history = drawn(state.range(0), state.range(1), state.range(2), false).history;
    std::ostringstream out;
    if (edn) {
      write_edn(all, out, true);
    } else {
      write_jsonl(all.history, out);
    }
    text = std::move(out).str();
  }
  for (auto _ : state) {
    std::istringstream in(text);
    const ReadHistory read = read_history(in, {.keyed = edn});
    LinearizabilityOptions options;
    options.jepsen = true;
    if (check_linearizable(read.history, options).outcome != Outcome::holds)
      state.SkipWithError("wrong verdict");
  }
  finish(state, state.range(0));
}
void read_jsonl_and_judge(benchmark::State& state) { read_and_judge(state, false); }
void read_edn_and_judge(benchmark::State& state) { read_and_judge(state, true); }
BENCHMARK(read_jsonl_and_judge)->Args({1000000, 100, 100})->Unit(benchmark::kMillisecond);
BENCHMARK(read_edn_and_judge)->Args({1000000, 100, 100})->Unit(benchmark::kMillisecond);

// The exclusion sweep: holds one after another on each of 1,000 keys, shuffled.
void exclusion_sweep(benchmark::State& state) {
  std::vector<Span> spans;
  std::uint64_t random = 1;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    spans.push_back({.from_ns = i * 10,
                     .to_ns = i * 10 + 9,
                     .key = static_cast<Symbol>(1 + i % 1000),
                     .owner = static_cast<Symbol>(1 + i % 97),
                     .number = static_cast<std::size_t>(i)});
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(spans.back(), spans[(random >> 33) % spans.size()]);
  }
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Span> again = spans;
    state.ResumeTiming();
    benchmark::DoNotOptimize(sweep_exclusion(again, {}, 16).count);
  }
  finish(state, state.range(0));
}
BENCHMARK(exclusion_sweep)->Arg(100000)->Arg(1000000)->Arg(10000000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
