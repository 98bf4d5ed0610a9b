// Load: callers that acquire and release one kind of lock for a while, and what that costs. The same code
// runs on threads, on fibers against real servers, and in the embedded world (in virtual time).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"
#include "sim/client/lock_kind.h"
#include "sim/world/world.h"
#include "tools/bench/histogram.h"

namespace holdfast::tools {

struct Load {
  enum class What {
    lock,         // acquire, hold, release
    round_trips,  // two bare GETs, one after the other, instead of acquire and release
    shortest,     // the shortest scripts of `kind` (shortest_lock.h)
    nothing,      // hold only
  };
  What what = What::lock;
  const sim::LockKind* kind = nullptr;  // lock and shortest
  int callers = 1;                      // tasks
  int per_client = 0;  // tasks that share one client (and its connection), as threads of a process do; 0: all
  int keys = 0;        // number of keys that the callers share; 0: a key for each caller
  Duration length{};   // of the measured time
  Duration hold{};     // inside the lock
  bool one_set = false;        // the nodes are a primary and its replicas: a client knows all of them
  bool warm = false;           // before the measured time each caller takes its lock once, also of one key
  bool trips_between = false;  // after each pair two bare GETs, for LoadResult::trips
  Duration lease = std::chrono::seconds(30);  // of a kind that has leases
  // Seconds of CPU that the servers have used so far; empty: the first one is asked, which is a Redis.
  std::function<double()> server_cpu = {};
  // Asked every 50 ms; true ends the load by std::runtime_error("interrupted").
  std::function<bool()> interrupted = {};
};

struct LoadResult {
  double seconds = 0;        // measured time
  std::uint64_t pairs = 0;   // grants within it
  std::uint64_t errors = 0;  // acquires and releases that threw before its end
  std::string first_error;
  Histogram pair;                     // ns from the start of acquire to the end of release, without the hold
  Histogram any_wait;                 // ns of acquire, those that were not granted by the end included
  Histogram wait;                     // ns of acquire
  Histogram hand_off;                 // keys = 1: ns from the start of a release to the next grant
  Histogram held;                     // ns of the hold
  Histogram trips;                    // ns of two bare round trips between the pairs
  std::int64_t longest_wait_ns = 0;   // those that were not granted by the end included
  std::vector<std::uint64_t> grants;  // by caller

  // Of the measured time.
  double commands = 0;                                    // sent by all clients
  double sent_bytes = 0, received_bytes = 0;              // counted at the clients
  double server_cpu_seconds = 0, client_cpu_seconds = 0;  // real servers (Load::server_cpu); this process
  double server_script_calls = 0;                         // EVALSHA and EVAL at the first node
  double connections = 0;                                 // opened by the end of the measured time

  double rate() const { return seconds > 0 ? static_cast<double>(pairs) / seconds : 0; }
  int starved() const;           // callers without a grant
  double min_max_share() const;  // fewest grants of a caller by the most; 0 when nobody was granted
  double jain() const;           // (sum x)^2 / (n * sum x^2): 1 when all have the same, 1/n when one has all
};

// [parks] `nodes`: one server, the independent ones of a quorum, or all of another engine than Redis
// (LockKind::engine; then commands and bytes are not counted, and server_cpu says all of the servers). Throws
// redis::Error when they cannot be reached.
LoadResult run_load(Runtime& runtime, Network& network, const std::vector<redis::Node>& nodes,
                    const Load& load);

// world.run(body). When `interrupted` returns true, all tasks of the world are unwound and
// std::runtime_error("interrupted") is thrown. Passes on what `body` throws.
void run_interruptible(sim::World& world, const std::function<bool()>& interrupted,
                       const std::function<void()>& body);

// The same against real servers, on a fresh world of fibers or on threads.
LoadResult run_load_on_fibers(const std::vector<redis::Node>& nodes, const Load& load);
LoadResult run_load_on_threads(const std::vector<redis::Node>& nodes, const Load& load);
// The same in the embedded world with `servers` embedded servers; a message takes `latency` each way, and
// `load.length` is virtual time.
LoadResult run_load_embedded(int servers, Duration latency, std::uint64_t seed, const Load& load);

}  // namespace holdfast::tools
