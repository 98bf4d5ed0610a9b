// What the proxy costs on real sockets in front of a real redis-server, beside a bare byte relay
// (bare_relay.h) and no relay at all. Every round measures all rows one after the other, each round in
// another order, on connections that stay open, so that noise meets them alike. Differences and ratios are
// taken within a round; the figures are medians.
//
//   build/bench_proxy                                           # 15 rounds of 120 ms each
//   build/bench_proxy --benchmark_filter='connections:50' --rounds=41 --length_ms=50
//
// Rows: NAME/connections:C/pipeline:P; each connection has P commands in flight (the SET of an acquire).
// direct; relay; proxy: no rule, so nothing is parsed; proxy_byte_rule: a rule on bytes that does
// nothing; proxy_message_rule: each message is parsed and goes through a rule; proxy_ledger: the ledger
// of the reentrant lock is kept. Counters: items_per_second: commands; bytes_per_second: both ways; p50_us,
// p99_us: of a batch of P; added_us: p50 less the p50 of `direct`; of_relay, of_direct: throughput by theirs,
// of_relay_low the lowest round; cpu_us: CPU time of the relay's or proxy's thread for a command.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/client/lock_kind.h"
#include "sim/proxy/ledger.h"
#include "tools/bench/bench_server.h"
#include "tools/microbench/bare_relay.h"
#include "tools/microbench/proxy_load.h"

namespace {

using namespace holdfast;
using bench::LoadOutcome;

int rounds = 15;
std::chrono::milliseconds length{120};

// Passes everything on.
class PassRule final : public sim::Rule {
 public:
  explicit PassRule(bool messages) : messages_(messages) {}
  bool applies(const sim::Link&) const override { return true; }
  bool needs_messages() const override { return messages_; }

 private:
  const bool messages_;
};

void add_byte_rule(sim::Proxy& proxy) { proxy.add_rule(std::make_shared<PassRule>(false)); }
void add_message_rule(sim::Proxy& proxy) { proxy.add_rule(std::make_shared<PassRule>(true)); }
void add_ledger(sim::Proxy& proxy) {
  proxy.watch(sim::make_ledger(*sim::find_lock_kind("reentrant"),
                               [](const sim::LedgerEntry& entry) { benchmark::DoNotOptimize(entry.slot); }),
              [](const sim::Message&) { return false; });
}

// One way from the client to the server.
struct Way {
  const char* name;
  Endpoint endpoint;
  std::thread* thread = nullptr;  // of whoever stands in between
};

// The server and everything in front of it.
class Fixture {
 public:
  Fixture() {
    const Endpoint server = servers_.first().front().endpoint;
    relay_ = std::make_unique<bench::BareRelay>(server);
    ways_.push_back({"direct", server});
    ways_.push_back({"relay", relay_->endpoint(), &relay_->thread()});
    const auto add = [&](const char* name, const std::function<void(sim::Proxy&)>& prepare) {
      proxies_.push_back(std::make_unique<bench::ProxyThread>(server, prepare));
      ways_.push_back({name, proxies_.back()->endpoint(), &proxies_.back()->thread()});
    };
    add("proxy", {});
    add("proxy_byte_rule", add_byte_rule);
    add("proxy_message_rule", add_message_rule);
    add("proxy_ledger", add_ledger);
  }
  const std::vector<Way>& ways() const { return ways_; }

 private:
  tools::BenchServers servers_{1};
  std::unique_ptr<bench::BareRelay> relay_;
  std::vector<std::unique_ptr<bench::ProxyThread>> proxies_;
  std::vector<Way> ways_;
};

using Round = std::vector<LoadOutcome>;  // by way

std::vector<Round> measure(const std::vector<Way>& ways, int connections, int pipeline) {
  std::vector<std::unique_ptr<bench::SocketLoad>> loads;
  for (const Way& way : ways) {
    loads.push_back(std::make_unique<bench::SocketLoad>(way.endpoint, connections, pipeline));
    loads.back()->run(length / 10);  // warm
  }
  std::vector<Round> all;
  for (int r = 0; r < rounds; ++r) {
    Round& round = all.emplace_back(ways.size());
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const std::size_t which = (i + static_cast<std::size_t>(r)) % ways.size();
      std::thread* const between = ways[which].thread;
      const double before = between == nullptr ? 0 : bench::cpu_seconds_of(*between);
      round[which] = loads[which]->run(length);
      if (between != nullptr) round[which].cpu_seconds = bench::cpu_seconds_of(*between) - before;
    }
  }
  return all;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

double rate(const LoadOutcome& outcome) { return static_cast<double>(outcome.operations) / outcome.seconds; }
double quantile_us(const LoadOutcome& outcome, double q) {
  return static_cast<double>(outcome.latency.quantile(q)) / 1e3;
}

constexpr std::size_t kDirect = 0, kRelay = 1;

// Measured by the first row of a load, for all of its rows.
const std::vector<Round>& rounds_of(int connections, int pipeline) {
  static Fixture fixture;
  static std::map<std::pair<int, int>, std::vector<Round>> known;
  std::vector<Round>& all = known[{connections, pipeline}];
  if (all.empty()) all = measure(fixture.ways(), connections, pipeline);
  return all;
}

void row(benchmark::State& state, std::size_t way) {
  const std::vector<Round>* all = nullptr;
  try {
    all = &rounds_of(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
    return;
  }
  std::vector<double> p50, p99, added, of_relay, of_direct, cpu;
  std::int64_t operations = 0, bytes = 0;
  std::size_t next = 0;
  for (auto _ : state) {
    const Round& round = (*all)[next++ % all->size()];
    const LoadOutcome& own = round[way];
    state.SetIterationTime(own.seconds);
    operations += static_cast<std::int64_t>(own.operations);
    bytes += static_cast<std::int64_t>(own.bytes);
    p50.push_back(quantile_us(own, 0.5));
    p99.push_back(quantile_us(own, 0.99));
    added.push_back(quantile_us(own, 0.5) - quantile_us(round[kDirect], 0.5));
    of_relay.push_back(rate(own) / rate(round[kRelay]));
    of_direct.push_back(rate(own) / rate(round[kDirect]));
    cpu.push_back(own.cpu_seconds / static_cast<double>(own.operations) * 1e6);
  }
  state.SetItemsProcessed(operations);
  state.SetBytesProcessed(bytes);
  state.counters["p50_us"] = median(p50);
  state.counters["p99_us"] = median(p99);
  state.counters["added_us"] = median(added);
  state.counters["of_relay"] = median(of_relay);
  state.counters["of_relay_low"] = *std::min_element(of_relay.begin(), of_relay.end());
  state.counters["of_direct"] = median(of_direct);
  state.counters["cpu_us"] = median(cpu);
}

// Removes `--name=NUMBER` from the arguments and returns the number.
std::optional<int> take_number(int& argc, char** argv, std::string_view name) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(name)) continue;
    const int value = std::atoi(argv[i] + name.size());
    std::rotate(argv + i, argv + i + 1, argv + argc);
    --argc;
    return value;
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  rounds = take_number(argc, argv, "--rounds=").value_or(rounds);
  length = std::chrono::milliseconds(
      take_number(argc, argv, "--length_ms=").value_or(static_cast<int>(length.count())));
  if (rounds < 1 || length.count() < 1) {
    std::fprintf(stderr, "bench_proxy: --rounds and --length_ms are at least 1\n");
    return 64;
  }
  const char* const names[] = {"direct",      "relay", "proxy", "proxy_byte_rule", "proxy_message_rule",
                               "proxy_ledger"};
  for (const auto& [connections, pipeline] : {std::pair{1, 1}, std::pair{50, 1}, std::pair{50, 16}}) {
    for (std::size_t way = 0; way < std::size(names); ++way) {
      benchmark::RegisterBenchmark(names[way], [way](benchmark::State& state) { row(state, way); })
          ->ArgNames({"connections", "pipeline"})
          ->Args({connections, pipeline})
          ->Iterations(rounds)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
