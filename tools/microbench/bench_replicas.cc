// What it costs that a grant waits for replicas, and that many ask at once: pairs of acquire and release on
// keys of their own, on real servers, by one caller, by many one at a time, and by many at once, in turns.
// One at a time is what a connection gives on which each grant has a WAIT of its own; those that are asked
// for at once share one (lib/lock/store/group_commit.h). Prints pairs a second as medians, and ratios to one
// at a time.
//
//   build/bench_replicas [ROUNDS]     5 unless given
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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

constexpr int kCallers = 50, kPairs = 4'000;
constexpr double kGoal = 2;  // at once, to one at a time

// A primary and two replicas.
class Set {
 public:
  Set(Runtime& runtime, Network& network, const std::string& folder) {
    for (int i = 0; i < 3; ++i) {
      nodes_.push_back(std::make_unique<RedisProcess>(
          runtime, network, RedisProcessOptions{.folder = folder + "/node-" + std::to_string(i)}));
      if (i == 0) {
        nodes_[0]->start();
      } else {
        const Endpoint primary = nodes_[0]->endpoint();
        nodes_[i]->start({"--replicaof", primary.host + " " + std::to_string(primary.port)});
      }
    }
    while (nodes_[0]->call({"WAIT", "2", "1000"}).integer < 2) runtime.sleep_for(10ms);
  }
  redis::ClientOptions options() const { return {.nodes = {{"", nodes_[0]->endpoint()}}}; }
  SurvivorOptions survivor() const {
    SurvivorOptions options{.longest_lease = 1s};
    for (const auto& node : nodes_) options.members.push_back(node->endpoint().to_string());
    return options;
  }

 private:
  std::vector<std::unique_ptr<RedisProcess>> nodes_;
};

enum class Callers { one, in_turn, at_once };

// Pairs a second.
double rate_of(Runtime& runtime, Network& network, const Set& set, const LockOptions& options,
               Callers callers) {
  redis::Client client(runtime, network, set.options());
  ReentrantLocks locks(client, options);
  const int count = callers == Callers::one ? 1 : kCallers;
  const int pairs = callers == Callers::at_once ? kPairs : kPairs / 4;
  std::vector<std::shared_ptr<Lock>> mine;
  for (int caller = 0; caller < count; ++caller)
    mine.push_back(locks.obtain("own:" + std::to_string(caller)));
  if (!mine.front()->try_lock_for(30s)) throw std::runtime_error("the quarantine of a new set does not end");
  mine.front()->unlock();
  Mutex turn(runtime);
  const MonotonicTime begin = runtime.now();
  std::vector<Task> tasks;
  for (const auto& lock : mine) {
    tasks.push_back(runtime.spawn("caller", [&] {
      for (int i = 0; i < pairs / count; ++i) {
        {
          std::unique_lock<Mutex> held(turn, std::defer_lock);
          if (callers == Callers::in_turn) held.lock();
          lock->lock();
        }
        lock->unlock();
      }
    }));
  }
  tasks.clear();
  return pairs / std::chrono::duration<double>(runtime.now() - begin).count();
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

bool compare(const char* name, int rounds, Runtime& runtime, Network& network, const Set& set,
             const LockOptions& options) {
  std::vector<double> one, in_turn, at_once, ratios;
  for (int round = 0; round < rounds; ++round) {
    one.push_back(rate_of(runtime, network, set, options, Callers::one));
    in_turn.push_back(rate_of(runtime, network, set, options, Callers::in_turn));
    at_once.push_back(rate_of(runtime, network, set, options, Callers::at_once));
    ratios.push_back(at_once.back() / in_turn.back());
  }
  fmt::print("{:<16}{:>12.0f}{:>24.0f}{:>12.0f}{:>8.2f} ({:.2f} to {:.2f})\n", name, median(one),
             median(in_turn), median(at_once), median(ratios),
             *std::min_element(ratios.begin(), ratios.end()),
             *std::max_element(ratios.begin(), ratios.end()));
  return median(ratios) >= kGoal;
}

bool measure(int rounds) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  const TemporaryFolder folder;
  const Set set(runtime, network, folder.path());
  fmt::print("{:<16}{:>12}{:>24}{:>12}{:>8}\n", "pairs a second", "one caller",
             fmt::format("{} one at a time", kCallers), "at once", "ratio");
  const bool one = compare("replicas = 1", rounds, runtime, network, set, {.lease = 10s, .replicas = 1});
  const bool two = compare("replicas = 2", rounds, runtime, network, set, {.lease = 10s, .replicas = 2});
  const bool survivor =
      compare("survivor", rounds, runtime, network, set, {.lease = 1s, .survivor = set.survivor()});
  const bool met = one && two && survivor;
  fmt::print("goal: at once {} times as many as one at a time: {}\n", kGoal, met ? "met" : "missed");
  return met;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 5;
  if (rounds < 1 || find_program("redis-server").empty()) {
    fmt::print(stderr, "bench_replicas: expected a number of rounds from 1 on, and redis-server in PATH\n");
    return 64;
  }
  return measure(rounds) ? 0 : 1;
}
