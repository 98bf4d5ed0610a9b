// What waiting without a thread costs (lib/async), on a real redis-server:
//
// - bytes a wait: memory of this process that ten thousand pending acquires take, each on a key of its own
//   that somebody else holds, and all on one key; and how long a stop request to all of them takes.
// - pairs of acquire and release a second through one connection: fifty threads, fifty blocking tasks of one
//   loop, and coroutines on that loop, without and with ten thousand waits beside them, in turns. Prints
// medians and ratios.
//
//   build/bench_async [ROUNDS]     5 unless given
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lib/async/loop_client.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/net/socket_network.h"
#include "lib/redis/threaded_client.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/child_process.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace {

using namespace holdfast;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kMany = 10'000, kCallers = 50;
constexpr auto kLength = 1500ms;  // of one measurement of pairs
constexpr double kMostBytes = 12 * 1024, kLeastRatio = 0.9;

class Coroutine {
 public:
  class promise_type {
   public:
    Coroutine get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

// Of this process: what is resident and no file's.
double anonymous_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string word; rollup >> word;) {
    if (word != "Anonymous:") continue;
    double kib = 0;
    rollup >> kib;
    return kib * 1024;
  }
  return 0;
}

Coroutine wait_once(async::AsyncLock lock, std::stop_token stop, std::latch& done) {
  try {
    const async::Hold hold = co_await lock.async_lock(std::move(stop));
  } catch (const Interrupted&) {
  }
  done.count_down();
}

// Until all of them have been refused and sleep: nothing is sent any more.
void wait_until_quiet(async::LoopClient& client) {
  const auto sent = [&] { return client.loop().call([&] { return client.client().statistics().commands; }); };
  std::uint64_t before = 0;
  for (std::uint64_t now = sent(); now != before || now < 2; now = sent()) {
    before = now;
    std::this_thread::sleep_for(500ms);
  }
}

// Ten thousand waits, on so many keys that somebody else holds, until `stop`.
class Waits {
 public:
  Waits(redis::ThreadedClient& other, async::LoopClient& client, const async::AsyncLocks& locks, int keys)
      : done_(kMany) {
    for (int key = 0; key < keys; ++key) other->call({"SET", name(key), "somebody", "PX", "600000"});
    for (int i = 0; i < kMany; ++i) wait_once(locks.obtain(name(i % keys)), stop_.get_token(), done_);
    wait_until_quiet(client);
  }
  std::chrono::duration<double> end() {
    const auto begin = Clock::now();
    stop_.request_stop();
    done_.wait();
    return Clock::now() - begin;
  }

 private:
  static std::string name(int key) { return "held:" + std::to_string(key); }
  std::stop_source stop_;
  std::latch done_;
};

double bytes_a_wait(const std::string& url, int keys) {
  redis::ThreadedClient other(url);
  async::LoopClient client(url);
  const async::AsyncLocks locks = client.locks<ReentrantLocks>(LockOptions{.lease = 30s});
  std::latch warm(1);
  wait_once(locks.obtain("warm"), {}, warm);
  warm.wait();
  const double before = anonymous_bytes();
  Waits waits(other, client, locks, keys);
  const double bytes = (anonymous_bytes() - before) / kMany;
  const std::chrono::duration<double> ended = waits.end();
  fmt::print("{:<42}{:>8.0f} bytes a wait; a stop request ends all in {:.0f} ms\n",
             keys == 1 ? "10,000 waits for one key" : "10,000 waits for a key each", bytes,
             ended.count() * 1000);
  return bytes;
}

double rate(long pairs, Clock::time_point begin) {
  return static_cast<double>(pairs) / std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string own_key(int caller) { return "own:" + std::to_string(caller); }

double threads(const std::string& url) {
  redis::ThreadedClient client(url);
  ReentrantLocks locks(client, {.lease = 30s});
  client->call({"PING"});
  std::atomic<long> pairs = 0;
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, lock = locks.obtain(own_key(i))] {
        while (Clock::now() - begin < kLength) {
          lock->lock();
          lock->unlock();
          ++pairs;
        }
      });
    }
  }
  return rate(pairs, begin);
}

double tasks(const std::string& url) {
  async::LoopClient client(url);
  std::atomic<long> pairs = 0;
  std::latch done(kCallers);
  const auto locks = client.loop().make<ReentrantLocks>(client.client(), LockOptions{.lease = 30s});
  const auto begin = Clock::now();
  for (int i = 0; i < kCallers; ++i) {
    client.loop().post([&, i] {
      {
        const auto lock = locks->obtain(own_key(i));
        while (Clock::now() - begin < kLength) {
          lock->lock();
          lock->unlock();
          ++pairs;
        }
      }
      done.count_down();
    });
  }
  done.wait();
  return rate(pairs, begin);
}

Coroutine work(async::AsyncLock lock, Clock::time_point begin, std::atomic<long>& pairs, std::latch& done) {
  while (Clock::now() - begin < kLength) {
    async::Hold hold = co_await lock.async_lock();
    co_await std::move(hold).async_release();
    ++pairs;
  }
  done.count_down();
}

double coroutines(const std::string& url, int many, bool beside_waits) {
  redis::ThreadedClient other(url);
  async::LoopClient client(url);
  const async::AsyncLocks locks = client.locks<ReentrantLocks>(LockOptions{.lease = 30s});
  std::unique_ptr<Waits> waits;
  if (beside_waits) waits = std::make_unique<Waits>(other, client, locks, kMany);
  std::atomic<long> pairs = 0;
  std::latch done(many);
  const auto begin = Clock::now();
  for (int i = 0; i < many; ++i) work(locks.obtain(own_key(i)), begin, pairs, done);
  done.wait();
  const double result = rate(pairs, begin);
  if (waits) waits->end();
  return result;
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

bool measure(int rounds) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  const TemporaryFolder folder;
  RedisProcess redis(runtime, network, {.folder = folder.path()});
  redis.start();
  const std::string url = "redis://" + redis.endpoint().to_string();

  const double most = std::max(bytes_a_wait(url, kMany), bytes_a_wait(url, 1));
  fmt::print("goal: under {:.0f} bytes: {}\n\n", kMostBytes, most < kMostBytes ? "met" : "missed");

  struct Row {
    const char* name;
    std::function<double()> measured;
    std::vector<double> rates = {}, ratios = {};
  };
  std::vector<Row> rows = {
      {"50 threads", [&] { return threads(url); }},
      {"50 blocking tasks of a loop", [&] { return tasks(url); }},
      {"50 coroutines", [&] { return coroutines(url, kCallers, false); }},
      {"50 coroutines beside 10,000 waits", [&] { return coroutines(url, kCallers, true); }},
      {"10,000 coroutines", [&] { return coroutines(url, kMany, false); }},
  };
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) {
      row.rates.push_back(row.measured());
      row.ratios.push_back(row.rates.back() / rows.front().rates.back());
    }
  }
  fmt::print("{:<42}{:>12}{:>20}\n", "", "pairs/s", "of 50 threads'");
  for (const Row& row : rows)
    fmt::print("{:<42}{:>12.0f}{:>20.2f}\n", row.name, median(row.rates), median(row.ratios));
  const double least = std::min(median(rows[3].ratios), median(rows[4].ratios));
  fmt::print("goal: at least {:.2f}: {}\n", kLeastRatio, least >= kLeastRatio ? "met" : "missed");
  return most < kMostBytes && least >= kLeastRatio;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 5;
  if (rounds < 1 || find_program("redis-server").empty()) {
    fmt::print(stderr, "bench_async: expected a number of rounds from 1 on, and redis-server in PATH\n");
    return 64;
  }
  return measure(rounds) ? 0 : 1;
}
