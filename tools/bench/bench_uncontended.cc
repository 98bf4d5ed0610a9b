// Suite uncontended: a key for each client. What a lock costs when nobody else wants it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tools/bench/bench_peers.h"
#include "tools/bench/shortest_lock.h"

namespace holdfast::tools {
namespace {

constexpr const char* kSuite = "uncontended";
// Of a lock that grants nothing for a lease after its server has become new, as after a flush.
constexpr Duration kShortLease = std::chrono::seconds(1);
constexpr Duration kLatency = std::chrono::microseconds(500);  // each way, in the embedded world

void keep(Measurement& to, const LoadResult& result) {
  if (result.pairs == 0) throw std::runtime_error("no pair was completed: " + result.first_error);
  const auto pairs = static_cast<double>(result.pairs);
  to.add("pairs", result.rate());
  for (const auto& [name, q] : {std::pair{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}}) {
    to.add(name, static_cast<double>(result.pair.quantile(q)) / 1e3);
  }
  to.add("commands", result.commands / pairs);
  to.add("sent", result.sent_bytes / pairs);
  to.add("received", result.received_bytes / pairs);
  to.curves["pair_us"] = curve_of(result.pair);
}

struct Point {
  int clients;
  bool own;  // a connection for each client
  bool fibers;
  std::string connections() const { return own ? "own" : "shared"; }
  Parameters parameters() const {
    return {{"clients", std::to_string(clients)}, {"connections", connections()}};
  }
};

// One point: redis-benchmark, bare round trips, every lock, the other libraries.
class PointRun {
 public:
  PointRun(Bench& bench, Point point) : bench_(bench), point_(point) {
    world_ = point.fibers ? "real/fibers" : "real/threads";
  }

  void add_reference(std::vector<Bench::Trial>& to, const std::shared_ptr<double>& reference) {
    to.push_back({"redis-benchmark", [this, reference](int) {
                    const int commands = std::clamp(point_.clients * 2000, 5000, 40'000);
                    *reference = point_.own ? bench_.servers().benchmark_pairs(1, point_.clients, commands)
                                            : bench_.servers().benchmark_pairs(point_.clients, 1, commands);
                    if (*reference > 0) at("redis-benchmark").add("pairs", *reference);
                  }});
  }
  void add_round_trips(std::vector<Bench::Trial>& to, const std::shared_ptr<double>& reference) {
    to.push_back({"two bare round trips", [this, reference](int) {
                    Load load = base(nullptr);
                    load.what = Load::What::round_trips;
                    const LoadResult result = run(load, bench_.servers());
                    trips_ = result.rate();
                    record(at("two bare round trips"), result, *reference);
                  }});
  }
  // Before the lock itself.
  void add_shortest(std::vector<Bench::Trial>& to, const sim::LockKind& kind,
                    const std::shared_ptr<double>& reference) {
    if (find_shortest(kind.name) == nullptr) return;
    const std::string name = "shortest " + std::string(kind.name);
    to.push_back({fmt::format("{} {} {} x {}", name, world_, point_.clients, point_.connections()),
                  [this, &kind, name, reference](int) {
                    Load load = base(&kind);
                    load.what = Load::What::shortest;
                    BenchServers& servers = bench_.servers(&kind);
                    const LoadResult result = run(load, servers);
                    servers.flush();
                    shortest_[std::string(kind.name)] = result.rate();
                    record(at(name), result, *reference);
                  }});
  }
  void add_lock(std::vector<Bench::Trial>& to, const sim::LockKind& kind,
                const std::shared_ptr<double>& reference) {
    to.push_back({fmt::format("{} {} {} x {}", kind.name, world_, point_.clients, point_.connections()),
                  [this, &kind, reference](int) {
                    BenchServers& servers = bench_.servers(&kind);
                    const LoadResult result = run(base(&kind), servers);
                    servers.flush();
                    Measurement& m = at(std::string(kind.name));
                    record(m, result, *reference);
                    if (const auto shortest = shortest_.find(kind.name); shortest != shortest_.end()) {
                      m.add("of_shortest", result.rate() / shortest->second);
                    }
                    if (point_.clients == 1) by_turns(kind, servers);
                  }});
  }
  // The lock on one server asks nobody for an acknowledgement; here it waits for one of two replicas.
  void add_replicated(std::vector<Bench::Trial>& to, const sim::LockKind& kind,
                      const std::shared_ptr<double>& reference) {
    if (!kind.survives_failover) return;
    const std::string name = std::string(kind.name) + ", two replicas";
    to.push_back({fmt::format("{} {} {} x {}", name, world_, point_.clients, point_.connections()),
                  [this, &kind, name, reference](int) {
                    Load load = base(&kind);
                    load.one_set = true;
                    record(at(name), run(load, bench_.replicated()), *reference);
                  }});
  }
  void add_peer(std::vector<Bench::Trial>& to, const PeerLibrary& peer,
                const std::shared_ptr<double>& reference) {
    if (!point_.own && point_.clients > 1 && !peer.shares_connection) return;
    if (point_.clients > 50) return;  // threads of an interpreter would take minutes
    to.push_back({fmt::format("{} {} x {}", peer.name, point_.clients, point_.connections()),
                  [this, peer, reference](int) {
                    const LoadResult result = run_peer(bench_, peer, base(nullptr));
                    Measurement& m = bench_.result().at(kSuite, peer.name, "real/peer", point_.parameters());
                    keep(m, result);
                    if (*reference > 0) m.add("of_benchmark", result.rate() / *reference);
                  }});
  }

 private:
  Measurement& at(const std::string& subject) const {
    return bench_.result().at(kSuite, subject, world_, point_.parameters());
  }
  Load base(const sim::LockKind* kind) const {
    return {.kind = kind,
            .callers = point_.clients,
            .per_client = point_.own ? 1 : bench_.arguments().threads,
            .length = bench_.length(0.5, 0.15),
            .lease = kind != nullptr && kind->survives_failover ? kShortLease : Load{}.lease,
            .interrupted = Bench::interrupted};
  }
  LoadResult run(const Load& load, BenchServers& servers) const {
    const bool all = load.one_set || (load.kind != nullptr && load.kind->quorum);
    const auto nodes = all ? servers.nodes() : servers.first();
    return point_.fibers ? run_load_on_fibers(nodes, load) : run_load_on_threads(nodes, load);
  }
  void record(Measurement& to, const LoadResult& result, double reference) const {
    keep(to, result);
    const auto pairs = static_cast<double>(result.pairs);
    to.add("client_cpu", result.client_cpu_seconds / pairs * 1e6);
    to.add("server_cpu", result.server_cpu_seconds / pairs * 1e6);
    if (reference > 0) to.add("of_benchmark", result.rate() / reference);
    if (trips_ > 0) to.add("of_trips", trips_ / result.rate());
  }
  // One caller's round trip takes three times as long when the kernel puts client and server on two cores
  // that fall asleep in between, which changes from second to second. So pairs and bare trips take turns.
  void by_turns(const sim::LockKind& kind, BenchServers& servers) const {
    Load load = base(&kind);
    load.trips_between = true;
    const LoadResult result = run(load, servers);
    servers.flush();
    if (result.pairs == 0 || result.trips.count() == 0) return;
    at(std::string(kind.name)).add("of_trips_by_turns", result.pair.mean() / result.trips.mean());
  }

  Bench& bench_;
  const Point point_;
  std::string world_;
  double trips_ = 0;
  std::map<std::string, double, std::less<>> shortest_;  // pairs a second of this round, by kind
};

void on_real(Bench& bench) {
  std::vector<Point> points;
  for (const int clients : bench.clients({1, 50, 1000}, {1, 50, 1000})) {
    for (const bool fibers : {true, false}) {
      for (const bool own : {false, true}) {
        if (clients == 1 && own) continue;  // the same as shared
        if (bench.quick() && own && clients != 50) continue;
        if (bench.quick() && !fibers && clients > 50) continue;
        points.push_back({clients, own, fibers});
      }
    }
  }
  const std::vector<PeerLibrary> peers = find_peers(bench);
  const auto usual = bench.locks(main_locks(), {"reentrant"});
  const auto on_threads =
      bench.locks({"reentrant", "fair", "redlock", "spring-registry", "lock-interface"}, {"reentrant"});
  std::vector<std::unique_ptr<PointRun>> runs;
  std::vector<Bench::Trial> trials;
  for (const Point& point : points) {
    runs.push_back(std::make_unique<PointRun>(bench, point));
    PointRun& run = *runs.back();
    const auto reference = std::make_shared<double>(0);  // of this round
    run.add_reference(trials, reference);
    run.add_round_trips(trials, reference);
    // All locks at one point (two in a full run); elsewhere one of each way of working.
    const bool all =
        point.fibers && !point.own && (point.clients == 50 || (point.clients == 1 && !bench.quick()));
    for (const sim::LockKind* kind : all ? bench.locks() : point.fibers ? usual : on_threads) {
      if (all) run.add_shortest(trials, *kind, reference);
      run.add_lock(trials, *kind, reference);
      run.add_replicated(trials, *kind, reference);
    }
    if (point.fibers) {
      for (const PeerLibrary& peer : peers) run.add_peer(trials, peer, reference);
    }
  }
  bench.interleave(bench.rounds(5, 3), trials);
}

// In virtual time: round trips, commands and bytes of a pair.
void in_embedded_world(Bench& bench) {
  std::vector<Bench::Trial> trials;
  for (const sim::LockKind* kind : bench.locks()) {
    trials.push_back({std::string(kind->name) + " embedded", [&bench, kind](int) {
                        const Load load{.kind = kind, .callers = 1, .length = std::chrono::seconds(2)};
                        const LoadResult result = run_load_embedded(kind->quorum ? 5 : 1, kLatency, 1, load);
                        Measurement& m = bench.result().at(kSuite, std::string(kind->name), "embedded",
                                                           {{"clients", "1"}, {"connections", "shared"}});
                        keep(m, result);
                        const double trip_us =
                            std::chrono::duration<double, std::micro>(2 * kLatency).count();
                        m.add("round_trips", static_cast<double>(result.pair.quantile(0.5)) / 1e3 / trip_us);
                      }});
  }
  bench.result().seeds["uncontended, embedded"] = "1";
  bench.interleave(1, trials);
}

}  // namespace

void bench_uncontended(Bench& bench) {
  if (bench.embedded()) in_embedded_world(bench);
  if (bench.real()) on_real(bench);
}

}  // namespace holdfast::tools
