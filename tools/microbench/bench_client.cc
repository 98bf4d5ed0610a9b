// Calls a second through one client on one connection to a real redis-server, by several tasks at a time. To
// compare: redis-benchmark -p PORT -c 1 -P TASKS -n 1000000 get k (one connection, as many commands in
// flight).
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/world/world.h"

namespace {

using namespace holdfast;

void call_from_many(benchmark::State& state, Runtime& runtime, Network& network) {
  TemporaryFolder folder;
  RedisProcess server(runtime, network, {.folder = folder.path()});
  server.start();
  redis::ClientOptions options;
  options.nodes.push_back({"", server.endpoint()});
  redis::Client client(runtime, network, options);
  client.call({"SET", "k", "v"});
  constexpr int kCalls = 4000;
  const auto tasks = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::vector<Task> running;
    for (std::size_t t = 0; t < tasks; ++t) {
      running.push_back(runtime.spawn("caller", [&] {
        for (int i = 0; i < kCalls; ++i) benchmark::DoNotOptimize(client.call({"GET", "k"}));
      }));
    }
    running.clear();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(tasks) *
                          kCalls);
}

void BM_ClientOnFibers(benchmark::State& state) {
  const auto world = sim::make_real_world({});
  world->run([&] { call_from_many(state, world->harness().runtime(), world->harness().network()); });
}
BENCHMARK(BM_ClientOnFibers)->Arg(1)->Arg(50)->Arg(500)->UseRealTime();

void BM_ClientOnThreads(benchmark::State& state) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  call_from_many(state, runtime, network);
}
BENCHMARK(BM_ClientOnThreads)->Arg(1)->Arg(50)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
