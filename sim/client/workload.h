// Workload: what the clients of a run do with their lock.
//
// A client is a Process with one redis::Client, the locks of one LockKind and `threads` tasks. All draws come
// from the stream "client/<name>/<thread>" of the world. Everything here is called on tasks of the harness
// unless said otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/client.h"
#include "sim/client/lock_kind.h"
#include "sim/client/recorder.h"
#include "sim/world/duration_range.h"
#include "sim/world/world.h"

namespace holdfast::sim {

enum class WorkloadKind : std::uint8_t {
  critical_section,  // acquire, stay for `hold`, release, stay away for `think`; `rounds` times (see `depth`)
  seckill,           // acquire, read the stock, think, write one less, sell, release; until sold out
  count_down,        // each round has a latch: c1 sets it, `count` clients work and count it down, all wait
};
enum class OnLost : std::uint8_t { ignore, abort };  // abort: no write and no sale after the loss was told
// token: the stock refuses a token older than the newest that it was shown, by reads as well;
// token_at_write: it is shown tokens by writes only.
enum class StockWrite : std::uint8_t { blind, compare_and_set, token, token_at_write };

struct WorkloadOptions {
  WorkloadKind kind = WorkloadKind::seckill;

  // the lock
  std::string lock = "reentrant";      // find_lock_kind() must know it
  const LockKind* own_lock = nullptr;  // instead: one that is not in that list (tests)
  Duration lease = std::chrono::seconds(30);
  bool renew = true;
  OnLost on_lost = OnLost::ignore;
  std::optional<int> max_renewals = std::nullopt;
  bool fencing = false;  // ask for tokens; a `write` that shows tokens asks for them in any case
  int replicas = 0;      // LockOptions::replicas
  Duration replica_timeout = std::chrono::milliseconds(500);
  int permits = 1;    // LockSpaceOptions::permits
  bool fair = false;  // LockSpaceOptions::fair

  // the clients: "c1".."cN"
  std::vector<redis::Node> nodes = {};
  bool independent = false;  // the nodes know nothing of each other: one redis::Client each
  int clients = 3;
  int threads = 1;
  Duration connect_timeout = std::chrono::milliseconds(1000);
  Duration command_timeout = std::chrono::milliseconds(3000);

  // what they do
  std::string key = "stock:42";
  bool own_keys = false;                        // each thread locks a key of its own: "<key>:c1/0"
  std::optional<Duration> wait = std::nullopt;  // patience of one acquire; nullopt: Lock::lock()
  DurationRange think{};     // seckill: between read and write. critical-section: between rounds
  DurationRange hold{};      // critical-section: inside
  DurationRange start{};     // each thread begins after this long
  std::int64_t rounds = 10;  // critical-section: per thread; 0: without end
  int depth = 1;  // critical-section: so often is the lock taken inside itself, `hold` before and after
  std::optional<Duration> stop_at = std::nullopt;  // nobody starts a round at this time of the run, or later
  Duration retry_pause = std::chrono::milliseconds(20);  // after an acquire that failed with an error
  std::int64_t readers = 0;  // percent of the rounds that take the shared side and change nothing

  // seckill
  std::int64_t stock = 10;
  int count = 2;  // count-down
  StockWrite write = StockWrite::blind;
};

struct WorkloadStats {
  std::uint64_t acquired = 0, refused = 0, failed = 0;  // outcomes of acquires
  std::uint64_t released = 0, lost = 0;                 // of releases; lost: LockLost or NotOwner
  std::uint64_t sold = 0, conflicts = 0, aborted = 0;   // seckill
  std::uint64_t stale = 0;                              // seckill: reads and writes refused for their token
};

class Workload {
 public:
  virtual ~Workload() = default;

  virtual void start() = 0;  // the stock and every client
  // Every thread of every live client is done (a crashed client counts as done until it is restarted).
  virtual bool finished() const = 0;
  // [parks] The same as finished() at return.
  virtual bool wait_finished(MonotonicTime deadline) = 0;

  virtual std::vector<std::string> clients() const = 0;
  virtual Process* client(std::string_view name) = 0;  // its present incarnation; nullptr: no such client
  virtual void crash(std::string_view name) = 0;       // records it; nothing happens when it is dead already
  virtual void restart(std::string_view name) = 0;     // a new incarnation, which begins its work anew

  virtual std::optional<std::int64_t> initial_stock() const = 0;  // nullopt: a workload without stock
  virtual std::optional<std::int64_t> final_stock() const = 0;    // of this moment
  virtual const WorkloadStats& stats() const = 0;
};

// `world` and `recorder` outlive the workload. Throws std::invalid_argument for options that make no sense.
std::unique_ptr<Workload> make_workload(World& world, Recorder& recorder, const WorkloadOptions& options);

}  // namespace holdfast::sim
