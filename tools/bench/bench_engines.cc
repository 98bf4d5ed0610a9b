// Suite engines: locks of Redis, PostgreSQL, etcd and ZooKeeper under the same load on the same machine: a
// key that nobody else wants, a key for each of many, and one that all want. results/comparators.md tells it.
//
// Each lock has servers of its own, started for it in each round and ended after it. Clients connect to them
// directly; what servers of an ensemble, or a primary and its replica, say to each other goes through the
// proxy of the harness where they are not of Redis.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <regex>

#include "sim/comparators/engine.h"
#include "sim/proxy/proxy.h"
#include "tools/bench/bench.h"

namespace holdfast::tools {
namespace {

using std::chrono::milliseconds;

constexpr const char* kSuite = "engines";

// A lock, and the servers on which it lives.
struct Subject {
  std::string name;  // in tables
  std::string lock;
  sim::Topology topology = sim::Topology::single;
  int servers = 1;
  std::vector<std::string> redis_settings = {};
  std::vector<std::pair<std::string, std::string>> settings = {};  // of another engine
  bool quick = false;                                              // in a quick run, too
};

const std::vector<Subject>& subjects() {
  using sim::Topology;
  static const std::vector<Subject> all = {
      {.name = "reentrant", .lock = "reentrant", .quick = true},
      {.name = "reentrant, synced to disk",
       .lock = "reentrant",
       .redis_settings = {"--appendonly", "yes", "--appendfsync", "always"}},
      {.name = "fair", .lock = "fair"},
      {.name = "survivor, two replicas",
       .lock = "survivor",
       .topology = Topology::primary_replica,
       .servers = 3},
      {.name = "redlock, five servers", .lock = "redlock", .topology = Topology::independent, .servers = 5},
      {.name = "pg-advisory", .lock = "pg-advisory", .quick = true},
      {.name = "pg-advisory-xact", .lock = "pg-advisory-xact"},
      {.name = "pg-row", .lock = "pg-row"},
      {.name = "pg-table", .lock = "pg-table"},
      {.name = "pg-table, a synchronous replica",
       .lock = "pg-table",
       .topology = Topology::primary_replica,
       .servers = 2,
       .settings = {{"synchronous_standby_names", "r2"}}},
      {.name = "etcd-lock", .lock = "etcd-lock", .quick = true},
      {.name = "etcd-lock, three servers", .lock = "etcd-lock", .topology = Topology::ensemble, .servers = 3},
      {.name = "zk-recipe", .lock = "zk-recipe", .quick = true},
      {.name = "zk-recipe, three servers", .lock = "zk-recipe", .topology = Topology::ensemble, .servers = 3},
  };
  return all;
}

const sim::LockKind& kind_of(const Subject& subject) {
  const sim::LockKind* kind = sim::find_lock_kind(subject.lock);
  return kind != nullptr ? *kind : *sim::find_comparator(subject.lock);
}

struct Point {
  int clients;
  bool one_key;
  Duration hold;
  Parameters parameters() const {
    return {{"clients", std::to_string(clients)},
            {"hold_ms", std::to_string(hold / milliseconds(1))},
            {"keys", one_key ? "one" : "one each"}};
  }
};

// Each client is a process with a connection of its own.
Load load_of(const Bench& bench, const Subject& subject, const Point& point) {
  const sim::LockKind& kind = kind_of(subject);
  const bool survivor = kind.survives_failover;
  return {.kind = &kind,
          .callers = point.clients,
          .per_client = 1,
          .keys = point.one_key ? 1 : 0,
          .length = point.one_key && point.clients > 1 ? bench.length(3, 0.5) : bench.length(1, 0.3),
          .hold = point.hold,
          .one_set = survivor,
          .warm = true,
          // A survivor grants nothing for a lease after its server has become new.
          .lease = survivor ? std::chrono::seconds(1) : Load{}.lease,
          .interrupted = Bench::interrupted};
}

std::vector<LoadResult> on_redis(Bench& bench, const Subject& subject, std::vector<Load> loads) {
  BenchServers servers(subject.servers,
                       subject.topology == sim::Topology::primary_replica ? BenchServers::Are::one_set
                                                                          : BenchServers::Are::independent,
                       subject.redis_settings);
  bench.result().versions["redis-server"] = servers.info("redis_version");
  std::vector<LoadResult> results;
  for (Load& load : loads) {
    load.server_cpu = [&servers] { return servers.cpu_seconds(); };
    results.push_back(run_load_on_fibers(servers.nodes(), load));
  }
  return results;
}

std::vector<LoadResult> on_engine(const Subject& subject, std::vector<Load> loads) {
  const sim::Engine& engine = *sim::find_engine(kind_of(subject).engine);
  const TemporaryFolder folder;
  sim::ClusterOptions options{.engine = std::string(engine.name), .topology = subject.topology};
  options.nodes.clear();
  for (int i = 1; i <= subject.servers; ++i) options.nodes.push_back("r" + std::to_string(i));
  options.settings = subject.settings;
  options.folder = folder.path();
  std::vector<LoadResult> results;
  const auto world = sim::make_real_world({});
  std::unique_ptr<sim::Proxy> proxy;
  std::unique_ptr<sim::Cluster> cluster;
  run_interruptible(*world, Bench::interrupted, [&] {
    proxy = std::make_unique<sim::Proxy>(*world);
    proxy->make_opaque();
    cluster = engine.make(*world, *proxy, options);
    cluster->start();
    std::vector<redis::Node> nodes;
    for (const auto& node : cluster->nodes()) nodes.push_back({node->name(), node->upstream()});
    for (Load& load : loads) {
      load.server_cpu = [&cluster] {
        double seconds = 0;
        for (const auto& node : cluster->nodes()) seconds += node->cpu_seconds();
        return seconds;
      };
      results.push_back(run_load(world->harness().runtime(), world->harness().network(), nodes, load));
    }
  });
  return results;
}

void keep(Measurement& to, const LoadResult& result, const Point& point) {
  if (result.pairs == 0) throw std::runtime_error("nobody was granted: " + result.first_error);
  const auto pairs = static_cast<double>(result.pairs);
  const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e6; };
  to.add("pairs", result.rate());
  to.add("p50", ms(result.pair.quantile(0.5)));
  to.add("p99", ms(result.pair.quantile(0.99)));
  if (point.one_key && point.clients > 1) {
    to.add("p99_by_fair_share",
           static_cast<double>(result.any_wait.quantile(0.99)) / 1e9 * result.rate() / point.clients);
  }
  to.add("server_cpu", result.server_cpu_seconds / pairs * 1e6);
  to.add("client_cpu", result.client_cpu_seconds / pairs * 1e6);
  to.add("errors", static_cast<double>(result.errors));
}

// The number in what a server prints of its version: "15.20" of "postgres (PostgreSQL) 15.20 (Debian ...)".
void keep_version(Bench& bench, const sim::Engine& engine) {
  const std::vector<std::string> command = engine.version_command();
  const std::string said = run_program(command.front(), {command.begin() + 1, command.end()},
                                       std::chrono::seconds(60), Bench::interrupted);
  std::smatch number;
  if (std::regex_search(said, number, std::regex(R"([0-9]+(\.[0-9]+)+)")))
    bench.result().versions[std::string(engine.name)] = number.str();
}

// Rates of this round, by subject.
using Rates = std::map<std::string, std::vector<double>>;

void measure(Bench& bench, const Subject& subject, const std::vector<Point>& points, Rates& rates) {
  std::vector<Load> loads;
  for (const Point& point : points) loads.push_back(load_of(bench, subject, point));
  const bool redis = kind_of(subject).engine == sim::kRedis;
  const std::vector<LoadResult> results = redis ? on_redis(bench, subject, loads) : on_engine(subject, loads);
  std::vector<double>& mine = rates[subject.name];
  mine.clear();
  double alone = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    Measurement& m = bench.result().at(kSuite, subject.name, "real/fibers", point.parameters());
    keep(m, results[i], point);
    if (results[i].errors > 0) bench.note(subject.name + ": a call failed: " + results[i].first_error);
    const double rate = results[i].rate();
    mine.push_back(rate);
    if (const auto first = rates.find("reentrant"); first != rates.end() && first->second.size() > i)
      m.add("of_reentrant", rate / first->second[i]);
    if (point.clients == 1) alone = rate;
    if (point.clients > 1 && point.hold > Duration::zero()) m.add("of_alone", rate / alone);
  }
}

}  // namespace

void bench_engines(Bench& bench) {
  if (!bench.real()) return;
  const std::vector<std::string>& asked = bench.arguments().locks;
  std::vector<Point> points;
  for (const int clients : bench.clients({50}, {10})) {
    points.push_back({1, true, Duration::zero()});
    points.push_back({clients, false, Duration::zero()});
    // What a lock that nobody else wants reaches is measured next to what it reaches when all want it.
    points.push_back({1, true, milliseconds(1)});
    points.push_back({clients, true, milliseconds(1)});
  }
  for (const std::string& name : asked) {
    const auto has = [&name](const Subject& subject) { return subject.lock == name; };
    if (std::none_of(subjects().begin(), subjects().end(), has)) bench.note("engines: no row is of " + name);
  }
  const auto rates = std::make_shared<Rates>();
  std::vector<Bench::Trial> trials;
  for (const Subject& subject : subjects()) {
    const bool named = std::find(asked.begin(), asked.end(), subject.lock) != asked.end();
    if (asked.empty() ? bench.quick() && !subject.quick : !named) continue;
    const sim::Engine* const engine = sim::find_engine(kind_of(subject).engine);
    if (const std::string missing = engine != nullptr ? engine->missing() : ""; !missing.empty()) {
      if (named) throw Missing(missing);
      bench.note(subject.lock + " is left out: " + missing);
      continue;
    }
    if (engine != nullptr) keep_version(bench, *engine);
    trials.push_back(
        {subject.name, [&bench, &subject, points, rates](int) { measure(bench, subject, points, *rates); }});
  }
  bench.interleave(bench.rounds(5, 1), trials);
}

}  // namespace holdfast::tools
