// Workload: what the clients of a run do with their lock.
//
// A client is a Process with one redis::Client, the locks of one LockKind and `threads` tasks. All draws come
// from the stream "client/<name>/<thread>" of the world. Everything here is called on tasks of the harness
// unless said otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/checks/check.h"
#include "lib/redis/client.h"
#include "sim/client/lock_kind.h"
#include "sim/client/recorder.h"
#include "sim/settings/setting.h"
#include "sim/world/duration_range.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class Proxy;

// abort: no write and no sale after the loss was told; ask: nor when the lock, asked before it
// (LockSpace::still_held()), says that it is not held.
enum class OnLost : std::uint8_t { ignore, abort, ask };
// Which rounds give their lock back. on_error: those whose work failed, as code does that unlocks in `catch`
// only; if_held: those whose lock answers that it is still held (LockSpace::still_held()).
enum class Release : std::uint8_t { always, on_error, if_held };

struct Recogniser;  // sim/watched/pattern.h

struct WorkloadOptions {
  std::string kind = "seckill";  // find_workload_kind() must know it
  SettingValues own = {};        // of that kind's own keys (WorkloadKind::keys)

  // the lock
  std::string lock = "reentrant";  // find_lock_kind() must know it
  // Of `external`: its clients are judged by what they send and are answered.
  std::shared_ptr<const Recogniser> recogniser = nullptr;
  const LockKind* own_lock = nullptr;  // instead: one that is not in that list (tests)
  Duration lease = std::chrono::seconds(30);
  bool renew = true;
  OnLost on_lost = OnLost::ignore;
  std::optional<int> max_renewals = std::nullopt;
  bool fencing = false;  // ask for tokens; a workload that shows them asks for them in any case
  int replicas = 0;      // LockOptions::replicas
  Duration replica_timeout = std::chrono::milliseconds(500);
  int permits = 1;                                      // LockSpaceOptions::permits
  bool fair = false;                                    // LockSpaceOptions::fair
  bool by_lag = false;                                  // LockSpaceOptions::by_lag
  std::vector<std::string> members = {};                // of `nodes`: LockSpaceOptions::members; empty: all
  std::optional<Duration> wait_timeout = std::nullopt;  // LockSpaceOptions::wait_timeout

  // the clients: "c1".."cN"
  std::vector<redis::Node> nodes = {};
  // Of an engine other than Redis: each client's own doors to `nodes`.
  std::map<std::string, std::vector<redis::Node>> doors = {};
  std::vector<redis::Node> sentinels = {};       // clients ask these, and know `nodes` by name only
  bool cluster = false;                          // `nodes` are those of a Redis Cluster
  std::optional<TlsOptions> tls = std::nullopt;  // what clients speak to `nodes`; nullopt: plain
  bool independent = false;  // the nodes know nothing of each other: one redis::Client each
  int clients = 3;
  int threads = 1;
  Duration connect_timeout = std::chrono::milliseconds(1000);
  Duration command_timeout = std::chrono::milliseconds(3000);

  // what they do
  std::string key = "stock:42";
  std::optional<Duration> wait = std::nullopt;  // patience of one acquire; nullopt: Lock::lock()
  DurationRange think{};  // where a round takes its time: between read and write, or between rounds
  DurationRange start{};  // each thread begins after this long
  std::optional<Duration> stop_at = std::nullopt;  // nobody starts a round at this time of the run, or later
  Duration retry_pause = std::chrono::milliseconds(20);  // after an acquire that failed with an error
  std::int64_t readers = 0;  // percent of the rounds that take the shared side and change nothing
  // The first so many clients take the exclusive side in all rounds, the others the shared one; none:
  // `readers`.
  std::optional<std::int64_t> writers = std::nullopt;
  // Percent of the rounds in which the acquire can be interrupted, and its thread is interrupted at the end
  // of its work, before the release: the stop_token of the acquire.
  std::int64_t interrupts = 0;
  // So often each client drops lock objects that are unused and older than that; threads obtain theirs anew
  // for each round. LockKind::registry.
  std::optional<Duration> evict = std::nullopt;
  Release release = Release::always;

  // of workloads whose clients are programs (WorkloadKind::programs)
  Proxy* proxy = nullptr;       // it has a door to each of `nodes`
  bool replicated = false;      // one of `nodes` is the primary, at first the first
  int primaries = 1;            // cluster: so many of them
  bool steps_clocks = false;    // some fault steps the wall clock of one
  std::string folder = ".";     // where they run
  std::string run_folder = "";  // where what they print is kept; it exists
};

// The mark that a client dropped unused lock objects (WorkloadOptions::evict).
inline constexpr std::string_view kObjectsDropped = "objects-dropped";

struct WorkloadStats {
  std::uint64_t acquired = 0, refused = 0, failed = 0;  // outcomes of acquires
  std::uint64_t released = 0, lost = 0;                 // of releases; lost: LockLost or NotOwner
  std::uint64_t sold = 0, conflicts = 0, aborted = 0;   // seckill
  std::uint64_t stale = 0;                              // seckill: reads and writes refused for their token
};

struct Figure {
  std::string name;  // "sold"
  std::int64_t value = 0;
};
// 0 when there is none of that name.
std::int64_t figure(const std::vector<Figure>& figures, std::string_view name);

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
  // Becomes two, as by fork(2): a child "NAME-child-1", ... tries to take the lock that it inherited, then
  // makes a client and locks of its own and works like any other. `refused`: what it inherited refused use
  // (Forked). Nothing happens when the client is dead.
  virtual void fork(std::string_view name, std::function<void()> refused) = 0;

  virtual const WorkloadStats& stats() const = 0;

  // [parks] When all is over: a client of its own, "rest", asks for each key, for all permits at once, and
  // waits so long for each. Whoever drives no lock of ours asks for nothing.
  virtual void rest(Duration patience) { static_cast<void>(patience); }

  virtual void promoted(std::string_view node) { static_cast<void>(node); }  // it is the primary now
  // At the end of the run, while all processes are still there: the last marks and events.
  virtual void conclude() {}
  // After that. What checks need and no history tells.
  virtual void tell(checker::CheckContext& context) const { static_cast<void>(context); }
  // What the run came to, in numbers with names; one of them is WorkloadKind::cost.
  virtual std::vector<Figure> figures(const checker::History& history) const {
    static_cast<void>(history);
    return {};
  }
  // The same as the last line of a story, "" if there is nothing to say.
  virtual std::string sum_up(const std::vector<Figure>& figures) const {
    static_cast<void>(figures);
    return "";
  }
};

// The kind of lock that they drive. Throws std::invalid_argument: there is no such kind.
const LockKind& lock_kind_of(const WorkloadOptions& options);

// `world` and `recorder` outlive the workload. Throws std::invalid_argument for options that make no sense.
std::unique_ptr<Workload> make_workload(World& world, Recorder& recorder, const WorkloadOptions& options);

}  // namespace holdfast::sim
