#include "tools/bench/bench_load.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "lib/lock/api/errors.h"
#include "lib/net/socket_network.h"
#include "lib/redis/error.h"
#include "lib/runtime/thread_runtime.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/world/world.h"
#include "tools/bench/counting_network.h"
#include "tools/bench/shortest_lock.h"

namespace holdfast::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

double own_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

constexpr Duration kPatience = std::chrono::seconds(20);  // thousands connect at once

// The number after `name` in the text of INFO; 0 when it is not there.
double number_after(std::string_view info, std::string_view name) {
  const std::size_t at = info.find(name);
  if (at == std::string_view::npos) return 0;
  double value = 0;
  std::from_chars(info.data() + at + name.size(), info.data() + info.size(), value);
  return value;
}

struct Usage {
  double commands = 0, sent = 0, received = 0, server_cpu = 0, own_cpu = 0, scripts = 0, connections = 0;
};

// What the callers of one load share.
class LoadRun {
 public:
  LoadRun(Runtime& runtime, Network& network, const std::vector<redis::Node>& nodes, const Load& load)
      : runtime_(runtime), network_(network), counted_(network, counts_), nodes_(nodes), load_(load) {}

  LoadResult run() {
    connect();
    const auto callers = static_cast<std::size_t>(load_.callers);
    lanes_.resize(callers);
    redis::Client control(runtime_, network_, client_options(nodes_.front()));
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < callers; ++i) {
      tasks.push_back(runtime_.spawn("client", [this, i] { call(i); }));
    }
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, kNever, [&] { return ready_ == load_.callers; });
    }
    LoadResult result;
    const Usage before = usage(control);
    start_ = runtime_.now();
    end_ = deadline_after(start_, load_.length);
    {
      std::unique_lock lock(mutex_);
      go_ = true;
    }
    changed_.notify_all();
    bool cut = false;
    while (runtime_.now() < end_) {
      cut = load_.interrupted && load_.interrupted();
      if (cut) break;
      runtime_.sleep_until(std::min(end_, runtime_.now() + milliseconds(50)));
    }
    if (cut) {
      stop_.store(true, std::memory_order_relaxed);  // whoever is granted from now on releases at once
      tasks.clear();
      throw std::runtime_error("interrupted");
    }
    const MonotonicTime over = runtime_.now();
    over_.store(over.time_since_epoch().count());
    stop_.store(true, std::memory_order_relaxed);
    const Usage after = usage(control);
    result.seconds = std::chrono::duration<double>(over - start_).count();
    tasks.clear();
    for (Lane& lane : lanes_) {
      result.pairs += lane.grants;
      result.errors += lane.errors;
      if (result.first_error.empty()) result.first_error = lane.error;
      result.longest_wait_ns = std::max(result.longest_wait_ns, lane.longest);
      result.grants.push_back(lane.grants);
    }
    for (Times& times : times_) {
      result.pair.merge(times.pair);
      result.wait.merge(times.wait);
      result.any_wait.merge(times.any_wait);
      result.hand_off.merge(times.hand_off);
      result.held.merge(times.held);
      result.trips.merge(times.trips);
    }
    result.commands = after.commands - before.commands;
    result.sent_bytes = after.sent - before.sent;
    result.received_bytes = after.received - before.received;
    result.server_cpu_seconds = after.server_cpu - before.server_cpu;
    result.client_cpu_seconds = after.own_cpu - before.own_cpu;
    result.server_script_calls = after.scripts - before.scripts;
    result.connections = after.connections;
    return result;
  }

 private:
  // What one caller measured.
  struct Lane {
    std::uint64_t grants = 0, errors = 0;
    std::int64_t longest = 0;
    std::string error;
  };
  // Shared by several callers, for a histogram each would take hundreds of megabytes. The mutex is never held
  // across a park.
  struct Times {
    std::mutex mutex;
    Histogram pair, wait, any_wait, hand_off, held, trips;
  };
  // One process of an application.
  struct Party {
    std::vector<std::unique_ptr<redis::Client>> clients;
    std::unique_ptr<sim::LockSpace> locks;
  };

  bool foreign() const { return load_.kind != nullptr && load_.kind->engine != sim::kRedis; }

  redis::ClientOptions client_options(const redis::Node& node) const {
    redis::ClientOptions options;
    options.nodes = load_.one_set ? nodes_ : std::vector<redis::Node>{node};
    options.connect_timeout = options.command_timeout = kPatience;
    return options;
  }

  void connect() {
    const int size = load_.per_client == 0 ? load_.callers : std::min(load_.per_client, load_.callers);
    for (int first = 0; first < load_.callers; first += size) {
      Party party;
      std::vector<redis::Client*> all;
      for (const redis::Node& node : nodes_) {
        party.clients.push_back(std::make_unique<redis::Client>(runtime_, counted_, client_options(node)));
        all.push_back(party.clients.back().get());
        if (load_.one_set) break;
      }
      if (load_.what == Load::What::lock) {
        sim::LockSpaceOptions options{.client = *all.front(), .lock = {.lease = load_.lease}};
        if (load_.kind->quorum) options.nodes = all;
        if (foreign()) {
          if (load_.kind->lease == Duration::zero()) options.lock.lease = Duration::zero();
          options.doors = nodes_;
          options.client_name = "bench-" + std::to_string(first);
          options.connect_timeout = options.command_timeout = kPatience;
        }
        party.locks = load_.kind->make(options);
      }
      parties_.push_back(std::move(party));
    }
    for (int i = 0; i < load_.callers; ++i) {  // a LockSpace is not thread-safe: obtain before threads start
      Party& party = parties_[static_cast<std::size_t>(i / size)];
      party_of_.push_back(&party);
      const int key = load_.keys == 0 ? i : i % load_.keys;
      const std::string name = "bench:" + std::to_string(key);
      lock_of_.push_back(party.locks ? party.locks->obtain(name).get() : nullptr);
      if (load_.what != Load::What::shortest) continue;
      shortest_of_.emplace_back(*find_shortest(load_.kind->name), *party.clients.front(), name,
                                std::string(36, '0') + ":" + std::to_string(i), load_.lease);
    }
  }

  Usage usage(redis::Client& control) {
    Usage now;
    now.own_cpu = own_cpu_seconds();
    now.commands = static_cast<double>(counts_.commands.load());
    now.sent = static_cast<double>(counts_.sent_bytes.load());
    now.received = static_cast<double>(counts_.received_bytes.load());
    now.connections = static_cast<double>(counts_.connections.load());
    if (load_.server_cpu) now.server_cpu = load_.server_cpu();
    if (foreign()) return now;
    const redis::Answer answer = control.call({"INFO", "all"});
    const std::string_view info = answer.reply.text;
    if (!load_.server_cpu)
      now.server_cpu = number_after(info, "used_cpu_user:") + number_after(info, "used_cpu_sys:");
    now.scripts = number_after(info, "cmdstat_evalsha:calls=") + number_after(info, "cmdstat_eval:calls=");
    return now;
  }

  void call(std::size_t i) {
    Lane& lane = lanes_[i];
    try {
      if (!foreign()) {
        for (auto& client : party_of_[i]->clients) client->call({"PING"});
      }
      // From here on the server knows the scripts, or the session, and every key has been acquired once.
      if (load_.what == Load::What::lock && (load_.keys == 0 || load_.warm)) {
        lock_of_[i]->lock();
        lock_of_[i]->release();
      }
    } catch (const std::exception& error) {
      failed(lane, error);
    }
    {
      std::unique_lock lock(mutex_);
      if (++ready_ == load_.callers) changed_.notify_all();
      changed_.wait_until(lock, kNever, [&] { return go_; });
    }
    const bool one_key = load_.keys == 1;
    Times& times = times_[i % times_.size()];
    while (!stop_.load(std::memory_order_relaxed)) {
      const MonotonicTime begin = runtime_.now();
      if (begin >= end_) break;
      try {
        if (!enter(i)) {
          const std::int64_t waited = nanoseconds(runtime_.now() - begin).count();
          lane.longest = std::max(lane.longest, waited);
          const std::lock_guard guard(times.mutex);
          times.any_wait.record(waited);
          break;
        }
        const MonotonicTime granted = runtime_.now();
        const std::int64_t released = one_key ? last_release_.load(std::memory_order_relaxed) : 0;
        if (load_.hold.count() > 0 && !stop_.load(std::memory_order_relaxed)) runtime_.sleep_for(load_.hold);
        const MonotonicTime leaving = load_.hold.count() > 0 ? runtime_.now() : granted;
        if (one_key) last_release_.store(leaving.time_since_epoch().count(), std::memory_order_relaxed);
        leave(i);
        const MonotonicTime left = runtime_.now();
        if (granted.time_since_epoch().count() <= over_.load(std::memory_order_relaxed)) {
          ++lane.grants;
          const std::lock_guard guard(times.mutex);
          times.wait.record((granted - begin).count());
          times.any_wait.record((granted - begin).count());
          times.held.record((leaving - granted).count());
          times.pair.record((granted - begin + (left - leaving)).count());
          if (released != 0) times.hand_off.record(granted.time_since_epoch().count() - released);
        }
        lane.longest = std::max(lane.longest, nanoseconds(granted - begin).count());
        if (load_.trips_between) {
          const MonotonicTime setting_out = runtime_.now();
          trips(i);
          const std::lock_guard guard(times.mutex);
          times.trips.record(nanoseconds(runtime_.now() - setting_out).count());
        }
      } catch (const std::exception& error) {
        if (runtime_.now() >= end_) break;  // the end of the time may be the deadline of a call
        failed(lane, error);
        runtime_.sleep_for(milliseconds(1));
      }
    }
  }

  // False: the time was up first.
  bool enter(std::size_t i) {
    switch (load_.what) {
      case Load::What::nothing: return true;
      case Load::What::round_trips: party_of_[i]->clients.front()->call({"GET", "bench"}); return true;
      case Load::What::shortest: shortest_of_[i].acquire(); return true;
      case Load::What::lock: break;
    }
    if (load_.keys == 0) {  // nobody else wants it
      lock_of_[i]->lock();
      return true;
    }
    return lock_of_[i]->try_lock_until(end_);
  }
  void leave(std::size_t i) {
    if (load_.what == Load::What::lock) lock_of_[i]->release();
    if (load_.what == Load::What::shortest) shortest_of_[i].release();
    if (load_.what == Load::What::round_trips) party_of_[i]->clients.front()->call({"GET", "bench"});
  }
  void trips(std::size_t i) {
    for (int trip = 0; trip < 2; ++trip) party_of_[i]->clients.front()->call({"GET", "bench"});
  }
  static void failed(Lane& lane, const std::exception& error) {
    ++lane.errors;
    if (lane.error.empty()) lane.error = error.what();
  }

  Runtime& runtime_;
  Network& network_;
  WireCounts counts_;
  CountingNetwork counted_;
  const std::vector<redis::Node>& nodes_;
  const Load& load_;
  std::vector<Party> parties_;
  std::vector<Party*> party_of_;
  std::vector<Lock*> lock_of_;
  std::vector<ShortestLock> shortest_of_;
  std::vector<Lane> lanes_;
  std::array<Times, 16> times_;
  Mutex mutex_{runtime_};
  Condition changed_{runtime_};
  int ready_ = 0;
  bool go_ = false;
  MonotonicTime start_{}, end_{};
  std::atomic<std::int64_t> over_{INT64_MAX};  // the end of the measured time, once it has come
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> last_release_{0};
};

}  // namespace

int LoadResult::starved() const {
  return static_cast<int>(std::count(grants.begin(), grants.end(), std::uint64_t{0}));
}

double LoadResult::min_max_share() const {
  if (grants.empty()) return 0;
  const auto [low, high] = std::minmax_element(grants.begin(), grants.end());
  return *high == 0 ? 0 : static_cast<double>(*low) / static_cast<double>(*high);
}

double LoadResult::jain() const {
  double sum = 0, squares = 0;
  for (const std::uint64_t n : grants) {
    sum += static_cast<double>(n);
    squares += static_cast<double>(n) * static_cast<double>(n);
  }
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(grants.size()) * squares);
}

LoadResult run_load(Runtime& runtime, Network& network, const std::vector<redis::Node>& nodes,
                    const Load& load) {
  LoadRun run(runtime, network, nodes, load);
  return run.run();
}

void run_interruptible(sim::World& world, const std::function<bool()>& interrupted,
                       const std::function<void()>& body) {
  // They outlive the tasks; who waits does not: an interrupted load may still end with an error of its own.
  bool done = false;
  std::exception_ptr failure;
  Parker* waiter = nullptr;
  world.run([&] {
    Runtime& runtime = world.harness().runtime();
    waiter = &runtime.parker();
    const std::shared_ptr<void> leaves(nullptr, [&](void*) { waiter = nullptr; });
    world.harness().start("load", [&] {
      try {
        body();
      } catch (const std::exception&) {
        failure = std::current_exception();
      }
      done = true;
      if (waiter != nullptr) waiter->unpark();
    });
    // In short steps: a millisecond of virtual time may take long when there are many clients.
    const Duration step = milliseconds(world.embedded() ? 1 : 50);
    while (!done) {
      if (interrupted && interrupted()) throw std::runtime_error("interrupted");
      waiter->park_until(interrupted ? deadline_after(runtime.now(), step) : kNever);
    }
  });
  if (failure) std::rethrow_exception(failure);
}

LoadResult run_load_on_fibers(const std::vector<redis::Node>& nodes, const Load& load) {
  LoadResult result;
  const auto world = sim::make_real_world({});
  run_interruptible(*world, load.interrupted, [&] {
    result = run_load(world->harness().runtime(), world->harness().network(), nodes, load);
  });
  return result;
}

LoadResult run_load_on_threads(const std::vector<redis::Node>& nodes, const Load& load) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  return run_load(runtime, network, nodes, load);
}

LoadResult run_load_embedded(int servers, Duration latency, std::uint64_t seed, const Load& load) {
  LoadResult result;
  const auto world = sim::make_embedded_world({.seed = seed});
  std::unique_ptr<sim::Proxy> proxy;
  std::unique_ptr<sim::Cluster> cluster;
  run_interruptible(*world, load.interrupted, [&] {
    proxy = std::make_unique<sim::Proxy>(*world);
    sim::ClusterOptions options;
    options.topology = servers > 1 ? sim::Topology::independent : sim::Topology::single;
    options.nodes.clear();
    for (int i = 1; i <= servers; ++i) options.nodes.push_back("r" + std::to_string(i));
    cluster = sim::make_embedded_cluster(*world, *proxy, options);
    cluster->start();
    if (latency.count() > 0)
      proxy->add_rule(sim::make_latency_rule({latency, latency}, world->rng("network")));
    std::vector<redis::Node> nodes;
    for (const auto& node : cluster->nodes()) nodes.push_back({node->name(), node->endpoint()});
    result = run_load(world->harness().runtime(), world->harness().network(), nodes, load);
  });
  return result;
}

}  // namespace holdfast::tools
