// What it costs a client to be behind Sentinels, or of a Redis Cluster of three shards: pairs of acquire and
// release by fifty callers on keys of their own, on real servers; the same on one node, in turns. Prints the
// client's CPU a pair, and commands a pair, as medians and ratios to one node: for callers that are threads,
// which is what the goal is about, and for tasks of a loop (lib/async). There a pair costs little more than
// its share of the calls of the system that carry many pairs at once, and three connections make three times
// as many of them.
//
//   build/bench_topologies [ROUNDS]     5 unless given
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/async/loop.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/child_process.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace {

using namespace holdfast;
using namespace std::chrono_literals;

constexpr int kCallers = 50, kPairs = 30'000;
constexpr double kMostOfCluster = 1.1;  // of one node's CPU

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Cost {
  double cpu_us = 0, commands = 0, rate = 0;  // a pair, a pair, pairs a second
};

Cost pairs(Runtime& runtime, Network& network, const redis::ClientOptions& options) {
  redis::Client client(runtime, network, options);
  ReentrantLocks locks(client, {.lease = 30s});
  std::vector<std::shared_ptr<Lock>> mine;
  for (int caller = 0; caller < kCallers; ++caller) {
    mine.push_back(locks.obtain("own:" + std::to_string(caller)));
    const Guard warm(*mine.back());  // connections and scripts are there
  }
  const std::uint64_t commands = client.statistics().commands;
  const double cpu = cpu_seconds();
  const MonotonicTime begin = runtime.now();
  std::vector<Task> callers;
  for (const auto& lock : mine) {
    callers.push_back(runtime.spawn("caller", [&] {
      for (int i = 0; i < kPairs / kCallers; ++i) {
        lock->lock();
        lock->unlock();
      }
    }));
  }
  callers.clear();
  return {.cpu_us = (cpu_seconds() - cpu) * 1e6 / kPairs,
          .commands = static_cast<double>(client.statistics().commands - commands) / kPairs,
          .rate = kPairs / std::chrono::duration<double>(runtime.now() - begin).count()};
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

// Three primaries that know each other.
class Shards {
 public:
  Shards(Runtime& runtime, Network& network, const std::string& folder) {
    std::vector<std::uint16_t> bus;
    for (int i = 0; i < 3; ++i) {
      auto& node = nodes_.emplace_back(std::make_unique<RedisProcess>(
          runtime, network, RedisProcessOptions{.folder = folder + "/shard-" + std::to_string(i)}));
      bus.push_back(choose_port(network, node->endpoint().host));
      node->start({"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus.back())});
      const int first = i * 5462, last = std::min(first + 5461, 16383);
      node->call({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
    }
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      const Endpoint at = nodes_[i]->endpoint();
      nodes_[0]->call({"CLUSTER", "MEET", at.host, std::to_string(at.port), std::to_string(bus[i])});
    }
    for (const auto& node : nodes_) {
      while (node->call({"CLUSTER", "INFO"}).text.find("cluster_size:3") == std::string::npos ||
             node->call({"CLUSTER", "INFO"}).text.find("cluster_state:ok") == std::string::npos)
        runtime.sleep_for(10ms);
    }
  }
  redis::ClientOptions options() const {
    redis::ClientOptions options{.cluster = true};
    for (const auto& node : nodes_) options.nodes.push_back({"", node->endpoint()});
    return options;
  }

 private:
  std::vector<std::unique_ptr<RedisProcess>> nodes_;
};

struct Row {
  const char* name;
  redis::ClientOptions options;
  std::vector<double> cpu = {}, ratio = {}, rate = {};
  double commands = 0;
};

using Ports = std::function<Cost(const redis::ClientOptions&)>;

// Of one node, of one by a Sentinel, of a Cluster.
void compare(const char* callers, int rounds, std::vector<Row>& rows, const Ports& cost_of) {
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) {
      const Cost cost = cost_of(row.options);
      row.cpu.push_back(cost.cpu_us);
      row.rate.push_back(cost.rate);
      row.ratio.push_back(cost.cpu_us / rows.front().cpu.back());
      row.commands = std::max(row.commands, cost.commands);
    }
  }
  for (const Row& row : rows) {
    fmt::print("{:<10}{:<28}{:>12.0f}{:>14.1f} us{:>10.2f}{:>18.2f}\n", callers, row.name, median(row.rate),
               median(row.cpu), median(row.ratio), row.commands);
  }
}

bool measure(int rounds) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  const TemporaryFolder folder;
  RedisProcess redis(runtime, network, {.folder = folder.path() + "/redis"});
  redis.start();
  const std::string file = folder.path() + "/sentinel.conf";
  std::ofstream(file) << "sentinel monitor mymaster " << redis.endpoint().host << ' ' << redis.endpoint().port
                      << " 1\n";
  RedisProcess sentinel(
      runtime, network,
      {.folder = folder.path() + "/sentinel", .configuration = file, .settings = {"--sentinel"}});
  sentinel.start();
  const Shards shards(runtime, network, folder.path());
  const std::vector<Row> rows = {
      {"one node", {.nodes = {{"", redis.endpoint()}}}},
      {"one node, by a Sentinel", {.sentinels = {{"", sentinel.endpoint()}}}},
      {"a Cluster of three shards", shards.options()},
  };

  fmt::print("{:<10}{:<28}{:>12}{:>17}{:>10}{:>18}\n", "callers", "", "pairs/s", "client's CPU", "ratio",
             "commands a pair");
  std::vector<Row> threads = rows, tasks = rows;
  compare("threads", rounds, threads,
          [&](const redis::ClientOptions& options) { return pairs(runtime, network, options); });
  async::Loop loop;
  compare("tasks", rounds, tasks, [&](const redis::ClientOptions& options) {
    return loop.call([&] { return pairs(loop.runtime(), loop.network(), options); });
  });
  const bool met = median(threads[2].ratio) <= kMostOfCluster && threads[1].commands <= threads[0].commands &&
                   tasks[1].commands <= tasks[0].commands;
  fmt::print(
      "goals: no command more by a Sentinel; at most {:.1f} of the CPU for a Cluster, on threads: {}\n",
      kMostOfCluster, met ? "met" : "missed");
  return met;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 5;
  if (rounds < 1 || find_program("redis-server").empty()) {
    fmt::print(stderr, "bench_topologies: expected a number of rounds from 1 on, and redis-server in PATH\n");
    return 64;
  }
  return measure(rounds) ? 0 : 1;
}
