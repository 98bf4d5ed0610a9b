// Suite contended: all clients want one key. How fast it changes hands, who waits how long, what waiting
// costs Redis.
#include <fmt/format.h>

#include <algorithm>

#include "tools/bench/bench_peers.h"

namespace holdfast::tools {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr const char* kSuite = "contended";
constexpr const char* kCeiling = "one after the other (no lock)";  // the rate when the key never waits
constexpr Duration kLatency = microseconds(250);                   // each way, in the embedded world
// One lock for each way of waiting: called one by one, in order, all woken, polling.
const std::vector<std::string> kCrowd = {"reentrant", "redisson", "fair", "spin", "lock-interface"};

struct Point {
  int clients;
  int hold_ms;
  bool own;  // each client is a process with its own connection; else all share one local queue
  bool fibers = true;
  Parameters parameters() const {
    return {{"clients", std::to_string(clients)},
            {"hold_ms", std::to_string(hold_ms)},
            {"processes", own ? "one each" : "one"}};
  }
};

void keep(Measurement& to, const LoadResult& result, const Point& point, double ceiling) {
  if (result.pairs == 0) throw std::runtime_error("nobody was granted: " + result.first_error);
  const auto pairs = static_cast<double>(result.pairs);
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
  const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e6; };
  to.add("pairs", result.rate());
  if (ceiling > 0 && point.hold_ms > 0) to.add("of_ceiling", result.rate() / ceiling);
  if (result.hand_off.count() > 0) {
    to.add("hand_off_p50", us(result.hand_off.quantile(0.5)));
    to.add("hand_off_p99", us(result.hand_off.quantile(0.99)));
  }
  to.add("wait_p50", ms(result.wait.quantile(0.5)));
  to.add("wait_p99", ms(result.wait.quantile(0.99)));
  to.add("wait_p999", ms(result.wait.quantile(0.999)));
  // By the wait of each client if all took turns. Waits that had no end count, too.
  to.add("p99_by_fair_share",
         static_cast<double>(result.any_wait.quantile(0.99)) / 1e9 * result.rate() / point.clients);
  to.add("longest_wait", ms(static_cast<std::uint64_t>(result.longest_wait_ns)));
  to.add("starved", result.starved());
  to.add("min_max", result.min_max_share());
  to.add("jain", result.jain());
  to.add("commands", result.commands / pairs);
  to.curves["wait_us"] = curve_of(result.wait);
  if (result.hand_off.count() > 0) to.curves["hand_off_us"] = curve_of(result.hand_off);
}

Load load_of(const Bench& bench, const Point& point, const sim::LockKind* kind, Duration length) {
  return {.kind = kind,
          .callers = point.clients,
          .per_client = point.own ? 1 : bench.arguments().threads,
          .keys = 1,
          .length = length,
          .hold = milliseconds(point.hold_ms),
          .interrupted = Bench::interrupted};
}

void add_point(Bench& bench, const Point& point, const std::vector<const sim::LockKind*>& kinds,
               const std::vector<PeerLibrary>& peers, std::vector<Bench::Trial>& to) {
  const std::string world = point.fibers ? "real/fibers" : "real/threads";
  const auto ceiling = std::make_shared<double>(0);  // of this round
  const auto run = [point](const Load& load, const std::vector<redis::Node>& nodes) {
    return point.fibers ? run_load_on_fibers(nodes, load) : run_load_on_threads(nodes, load);
  };
  // Longer where one turn of all clients takes half a second, or where all locks are compared.
  const bool long_look = point.hold_ms >= 10 || (point.hold_ms == 1 && point.own && point.clients == 50);
  const Duration length = bench.length(long_look ? 2 : 1, 0.4);
  const Duration shorter = std::min<Duration>(length, milliseconds(500));
  if (point.hold_ms > 0) {
    to.push_back({kCeiling, [=, &bench](int) {
                    Load load = load_of(bench, point, nullptr, shorter);
                    load.what = Load::What::nothing;
                    load.callers = 1;
                    *ceiling = run(load, bench.servers().first()).rate();
                    bench.result().at(kSuite, kCeiling, world, point.parameters()).add("pairs", *ceiling);
                  }});
  }
  for (const sim::LockKind* kind : kinds) {
    const std::string name = fmt::format("{} {} x {} ms{}", kind->name, point.clients, point.hold_ms,
                                         point.own ? "" : " one process");
    to.push_back({name, [=, &bench](int) {
                    BenchServers& servers = bench.servers(kind);
                    const LoadResult result = run(load_of(bench, point, kind, length),
                                                  kind->quorum ? servers.nodes() : servers.first());
                    servers.flush();
                    Measurement& m =
                        bench.result().at(kSuite, std::string(kind->name), world, point.parameters());
                    keep(m, result, point, *ceiling);
                    if (point.own && point.hold_ms > 0) {
                      const LoadResult alone = run(load_of(bench, {1, point.hold_ms, true}, kind, shorter),
                                                   kind->quorum ? servers.nodes() : servers.first());
                      servers.flush();
                      if (alone.pairs > 0) m.add("of_alone", result.rate() / alone.rate());
                    }
                    const auto pairs = static_cast<double>(result.pairs);
                    m.add("server_cpu", result.server_cpu_seconds / pairs * 1e6);
                    m.add("client_cpu", result.client_cpu_seconds / pairs * 1e6);
                  }});
  }
  for (const PeerLibrary& peer : peers) {
    if (!point.own || point.clients > 100) continue;
    to.push_back({fmt::format("{} {} x {} ms", peer.name, point.clients, point.hold_ms), [=, &bench](int) {
                    const LoadResult result = run_peer(bench, peer, load_of(bench, point, nullptr, length));
                    Measurement& m = bench.result().at(kSuite, peer.name, "real/peer", point.parameters());
                    keep(m, result, point, *ceiling);
                    if (point.hold_ms == 0) return;
                    const LoadResult alone =
                        run_peer(bench, peer, load_of(bench, {1, point.hold_ms, true}, nullptr, shorter));
                    if (alone.pairs > 0) m.add("of_alone", result.rate() / alone.rate());
                  }});
  }
}

// The user says how many clients, or how long each stays: just that is measured.
bool chosen(const Bench& bench) {
  return !bench.arguments().clients.empty() || !bench.arguments().hold_ms.empty();
}

void on_real(Bench& bench) {
  const std::vector<PeerLibrary> peers = find_peers(bench);
  const auto all = bench.locks();
  const auto usual = bench.locks(main_locks(), {"reentrant", "fair"});
  const auto crowd = bench.locks(kCrowd, {"reentrant", "fair"});
  std::vector<Bench::Trial> trials;
  std::vector<Point> points;
  if (chosen(bench)) {
    const std::vector<int>& holds = bench.arguments().hold_ms;
    for (const int clients : bench.clients({50}, {50})) {
      for (const int hold : holds.empty() ? std::vector<int>{0, 1, 10} : holds) {
        points.push_back({clients, hold, true});
      }
      points.push_back({clients, holds.empty() ? 1 : holds.front(), false});
    }
  } else if (bench.quick()) {
    points = {{50, 1, true}, {50, 1, false}, {50, 0, true}, {50, 10, true}};
  } else {
    points = {{50, 1, true}, {50, 1, false}, {50, 0, true}, {50, 0, false}, {50, 10, true}, {10, 1, true}};
  }
  for (const Point& point : points) {
    // All locks at one point; elsewhere one of each way of working.
    const bool everybody =
        point.own && (chosen(bench) ? point.hold_ms == 1 || !bench.arguments().hold_ms.empty()
                                    : point.hold_ms == 1 && point.clients == 50);
    add_point(bench, point, everybody ? all : usual,
              everybody || !bench.quick() ? peers : std::vector<PeerLibrary>{}, trials);
  }
  if (!chosen(bench)) {
    add_point(bench, {50, 1, true, false}, bench.locks({"reentrant", "fair"}), {}, trials);
    add_point(bench, {1000, 1, false}, crowd, {}, trials);
    if (!bench.quick()) add_point(bench, {1000, 1, true}, crowd, {}, trials);
  }
  bench.interleave(bench.rounds(3, 1), trials);
}

// The same in virtual time, without noise: links of 250 us each way.
void in_embedded_world(Bench& bench) {
  std::vector<Bench::Trial> trials;
  const auto add = [&](const Point& point, const std::vector<const sim::LockKind*>& kinds, Duration length) {
    for (const sim::LockKind* kind : kinds) {
      trials.push_back(
          {fmt::format("{} {} embedded", kind->name, point.clients), [=, &bench](int) {
             const LoadResult result =
                 run_load_embedded(kind->quorum ? 5 : 1, kLatency, 1, load_of(bench, point, kind, length));
             keep(bench.result().at(kSuite, std::string(kind->name), "embedded", point.parameters()), result,
                  point, 1e3 / std::max(1, point.hold_ms));
           }});
    }
  };
  const std::vector<int>& holds = bench.arguments().hold_ms;
  for (const int clients : bench.clients({50}, {50})) {
    for (const int hold : holds.empty() ? std::vector<int>{1} : holds) {
      const milliseconds length(bench.quick() ? 3000 : clients > 100 ? 5000 : 20'000);
      add({clients, hold, true}, bench.locks(), std::max(length, milliseconds(hold) * 60));
    }
  }
  // Waking a thousand waiters at each release is a thousand messages a grant, so only a few locks.
  if (!chosen(bench)) add({1000, 1, true}, bench.locks(kCrowd, {"reentrant", "fair"}), milliseconds(5000));
  bench.result().seeds["contended, embedded"] = "1";
  bench.interleave(1, trials);
}

}  // namespace

void bench_contended(Bench& bench) {
  if (bench.embedded()) in_embedded_world(bench);
  if (bench.real()) on_real(bench);
}

}  // namespace holdfast::tools
