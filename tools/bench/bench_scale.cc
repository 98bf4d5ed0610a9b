// Suite scale: what more clients and more keys cost. Suite watchdog: what holding many locks costs.
#include <fmt/format.h>
#include <sys/resource.h>

#include "tools/bench/bench_peers.h"

#include "lib/redis/client.h"
#include "sim/world/world.h"

namespace holdfast::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Parameters scale_parameters(int clients, int keys) {
  return {{"clients", std::to_string(clients)},
          {"keys", std::to_string(keys)},
          {"what", keys == 1         ? "one key"
                   : keys == clients ? "a key each"
                                     : "shared keys"}};
}

void keep(Measurement& to, const LoadResult& result) {
  to.add("pairs", result.rate());
  to.add("p50", static_cast<double>(result.wait.quantile(0.5)) / 1e3);
  to.add("p99", static_cast<double>(result.wait.quantile(0.99)) / 1e3);
}

void scale_point(Bench& bench, std::vector<Bench::Trial>& to, const sim::LockKind* kind, int clients,
                 int keys, bool real) {
  to.push_back({fmt::format("{} {} clients {} keys{}", kind->name, clients, keys, real ? "" : " embedded"),
                [=, &bench](int) {
                  Load load{.kind = kind,
                            .callers = clients,
                            .per_client = 100,  // a process has a hundred threads
                            .keys = keys == clients ? 0 : keys,
                            .length = real ? bench.length(1, 0.5)
                                           : Duration(milliseconds(bench.quick() ? 200 : 1000)),
                            .interrupted = Bench::interrupted};
                  LoadResult result;
                  if (real) {
                    BenchServers& servers = bench.servers(kind);
                    result = run_load_on_fibers(kind->quorum ? servers.nodes() : servers.first(), load);
                    servers.flush();
                  } else {
                    result = run_load_embedded(kind->quorum ? 5 : 1, std::chrono::microseconds(250), 1, load);
                  }
                  if (result.pairs == 0)
                    throw std::runtime_error("nobody was granted: " + result.first_error);
                  const auto pairs = static_cast<double>(result.pairs);
                  Measurement& m =
                      bench.result().at("scale", std::string(kind->name), real ? "real/fibers" : "embedded",
                                        scale_parameters(clients, keys));
                  keep(m, result);
                  m.add("commands", result.commands / pairs);
                  m.add("client_cpu", result.client_cpu_seconds / pairs * 1e6);
                  if (real) m.add("server_cpu", result.server_cpu_seconds / pairs * 1e6);
                  m.add("connections", result.connections);
                }});
}

// A library whose callers need a connection each is asked for no more than a hundred of them.
void peer_point(Bench& bench, std::vector<Bench::Trial>& to, const PeerLibrary& peer, int clients, int keys) {
  if (clients > (peer.shares_connection ? 1000 : 100)) return;
  to.push_back({fmt::format("{} {} clients {} keys", peer.name, clients, keys), [=, &bench](int) {
                  const LoadResult result = run_peer(bench, peer,
                                                     {.callers = clients,
                                                      .per_client = peer.shares_connection ? 0 : 1,
                                                      .keys = keys == clients ? 0 : keys,
                                                      .length = bench.length(1, 0.5),
                                                      .interrupted = Bench::interrupted});
                  if (result.pairs == 0) throw std::runtime_error("nobody was granted: " + peer.name);
                  Measurement& m =
                      bench.result().at("scale", peer.name, "real/peer", scale_parameters(clients, keys));
                  keep(m, result);
                  m.add("commands", result.commands / static_cast<double>(result.pairs));
                  m.add("server_cpu", result.server_cpu_seconds / static_cast<double>(result.pairs) * 1e6);
                }});
}

double own_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

// Holds `count` locks of one process for `length` and says what their renewal costs.
void hold_many(Bench& bench, const sim::LockKind* kind, int count, Duration lease, Duration length) {
  BenchServers& servers = bench.servers();
  const auto world = sim::make_real_world({});
  bool lost = false;
  double cpu = 0;
  ServerUsage before, after;
  run_interruptible(*world, Bench::interrupted, [&] {
    Runtime& runtime = world->harness().runtime();
    redis::Client client(runtime, world->harness().network(), {.nodes = servers.first()});
    const auto locks = kind->make({.client = client, .lock = {.lease = lease}});
    std::vector<Lock*> held;
    for (int i = 0; i < count; ++i) {
      held.push_back(locks->obtain("held:" + std::to_string(i)).get());  // the space keeps it
      held.back()->lock();
    }
    runtime.sleep_for(lease / 3);  // until the watchdog renews all of them in its rounds
    before = servers.usage();
    cpu = own_cpu_seconds();
    runtime.sleep_for(length);
    cpu = own_cpu_seconds() - cpu;
    after = servers.usage();
    for (Lock* lock : held) {
      lost = lost || !lock->is_held_by_me();
      try {
        lock->release();
      } catch (const LockError&) {
        lost = true;
      }
    }
  });
  servers.flush();
  if (lost) throw std::runtime_error("locks were lost while they were renewed");
  const double all = std::chrono::duration<double>(length).count();
  const double rounds = all / (std::chrono::duration<double>(lease).count() / 3);
  Measurement& m =
      bench.result().at("watchdog", std::string(kind->name), "real/fibers",
                        {{"locks", std::to_string(count)},
                         {"lease_s", fmt::format("{}", std::chrono::duration<double>(lease).count())}});
  m.add("client_cpu", 100 * cpu / all);
  m.add("server_cpu", 100 * (after.cpu_seconds - before.cpu_seconds) / all);
  m.add("scripts", (after.scripts - before.scripts) / rounds);
  m.add("renewed", 1e6 * (cpu + after.cpu_seconds - before.cpu_seconds) / (rounds * count));
  m.add("sent", (after.received_bytes - before.received_bytes) / (rounds * count));
  // A lease of 30 s is the default: a tenth of the renewals of one of 3 s.
  const double to_default = std::chrono::duration<double>(lease).count() / 30;
  m.add("client_cpu_at_30s", 100 * cpu / all * to_default);
}

}  // namespace

void bench_scale(Bench& bench) {
  bench.result().seeds["scale, embedded"] = "1";
  for (const bool real : {true, false}) {
    if (real ? !bench.real() : !bench.embedded()) continue;
    std::vector<Bench::Trial> trials;
    for (const sim::LockKind* kind :
         bench.locks({"reentrant", "fair", "spin", "lock-interface"}, {"reentrant", "fair"})) {
      for (const int clients : bench.clients({10, 100, 1000, 10'000}, {10, 100, 1000})) {
        scale_point(bench, trials, kind, clients, 1, real);
        scale_point(bench, trials, kind, clients, clients, real);
      }
      if (!bench.arguments().clients.empty()) continue;
      for (const int keys : {10, 100}) scale_point(bench, trials, kind, 1000, keys, real);
      if (bench.quick() && kind->name == "reentrant") scale_point(bench, trials, kind, 10'000, 10'000, real);
    }
    for (const PeerLibrary& peer : real ? find_peers(bench) : std::vector<PeerLibrary>{}) {
      for (const int clients : bench.clients({10, 100, 1000}, {10})) {
        peer_point(bench, trials, peer, clients, 1);
        peer_point(bench, trials, peer, clients, clients);
      }
    }
    // One round is enough in virtual time: all would be equal.
    bench.interleave(real ? bench.rounds(3, 1) : 1, trials);
  }
}

void bench_watchdog(Bench& bench) {
  if (!bench.real()) return;
  std::vector<Bench::Trial> trials;
  const std::vector<std::string> few = {"reentrant", "fair", "read-write", "semaphore",
                                        "redisson-3.13-reentrant"};
  for (const sim::LockKind* kind : bench.locks(few, {"reentrant"})) {
    const bool renews = kind->promises_validity && !kind->quorum;
    if (!renews && bench.arguments().locks.empty()) continue;
    // Fewer locks are measured for one kind only.
    const bool curve = kind->name == "reentrant";
    for (const int count : bench.clients(
             curve ? std::vector<int>{100, 1000, 10'000} : std::vector<int>{10'000}, {100, 1000, 10'000})) {
      trials.push_back({fmt::format("{} holds {}", kind->name, count),
                        [=, &bench](int) { hold_many(bench, kind, count, seconds(3), bench.length(3, 2)); }});
    }
    if (!curve || bench.quick() || !bench.arguments().clients.empty()) continue;
    // With the default lease: whether a lock costs more where there are ten times as many.
    for (const int count : {10'000, 100'000}) {
      trials.push_back({fmt::format("{} holds {} for 30 s each", kind->name, count),
                        [=, &bench](int) { hold_many(bench, kind, count, seconds(30), seconds(10)); }});
    }
  }
  bench.interleave(bench.rounds(3, 1), trials);
}

}  // namespace holdfast::tools
