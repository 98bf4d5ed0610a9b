// World: the processes of one run, their clocks, and the scheduler under them.
//
// All processes of a world run as fibers on the thread that called run(): clients, the proxy, the embedded
// servers, the harness. Two drivers: virtual time (embedded; nothing but the seed decides what happens) and
// an event loop (real; OS clocks and sockets). A World is used by one thread; several worlds may run on
// several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/world/decisions.h"
#include "sim/world/order.h"
#include "sim/world/rng.h"
#include "sim/world/trace.h"

namespace holdfast::sim {

// One process: its own clocks and identity, paused, crashed and replaced as a unit.
class Process {
 public:
  virtual ~Process() = default;

  virtual const std::string& name() const = 0;
  // The host under which it listens and its connections appear (Stream::peer().host at the other end): a
  // simulated address, or one of its own out of 127.0.0.0/8.
  virtual const std::string& address() const = 0;
  virtual Runtime& runtime() = 0;
  virtual Network& network() = 0;

  // Starts a task that nobody joins. REQUIRES: alive().
  virtual void start(std::string_view role, std::function<void()> body) = 0;

  // No task runs until resume(); both clocks go on. Counted: as many resumes as pauses.
  virtual void pause() = 0;
  virtual void resume() = 0;
  // The same for the tasks of one role ("watchdog") only, those yet to be started included.
  virtual void pause_role(std::string_view role) = 0;
  virtual void resume_role(std::string_view role) = 0;
  virtual bool paused() const = 0;  // as a whole

  // From now on its runtime starts no task for whose role `which` is true (Runtime::spawn() throws), as when
  // the process may have no more threads. It ends by allow_tasks() of the number returned.
  virtual std::uint64_t refuse_tasks(std::function<bool(std::string_view role)> which) = 0;
  virtual void allow_tasks(std::uint64_t refusal) = 0;

  // From this instant every port call of its tasks fails and nothing more leaves it; its connections break
  // (peers see a reset or an end of stream as a killed process leaves them); then its tasks unwind. A task
  // may crash its own process: it goes on until its next parking call, and all unwind then. When another
  // process' task calls, all have unwound when crash() returns; no time has passed and nobody else has run.
  virtual void crash() = 0;
  virtual bool alive() const = 0;

  // Wall clock forward or back. The monotonic clock never steps.
  virtual void step_wall(Duration by) = 0;
  // Rate of both clocks from now on: `ppm` parts per million fast (or slow, negative). As the clocks, it
  // stays when the process is killed and added again. REQUIRES: -1'000'000 < ppm.
  virtual void set_drift(std::int64_t ppm) = 0;
  virtual std::int64_t drift() const = 0;
  // The moment on the world's clock at which this process' monotonic clock shows `time` (at today's rate).
  virtual std::int64_t world_ns(MonotonicTime time) const = 0;
};

class World {
 public:
  virtual ~World() = default;

  virtual bool embedded() const = 0;
  virtual std::uint64_t seed() const = 0;
  // The harness' one clock: nanoseconds since run() began.
  virtual std::int64_t now_ns() const = 0;

  // A new process. The name of a crashed process may be used again (its next incarnation, at the same
  // address). The reference is valid as long as the world.
  virtual Process& add_process(std::string name) = 0;
  // A new process with that name and an address of its own, as by fork(2): its tasks are told that they are
  // in a fork (forks_so_far()), and its runtime draws the very random numbers that that of `parent` will
  // draw, until either renews them (Runtime::renew_randomness()). No task of the parent runs in it.
  virtual Process& fork_process(Process& parent, std::string name) = 0;
  // The process of the harness itself: the body of run(), faults, set-up. Never paused or crashed.
  virtual Process& harness() = 0;
  // The name of the process at `address`, "" if none: who is at the other end of a stream.
  virtual std::string name_at(std::string_view address) const = 0;
  virtual std::vector<std::string> addresses() const = 0;  // of all processes so far
  // `told` is called whenever a process has an address that is new; one caller, nullptr: nobody any more.
  virtual void on_new_address(std::function<void()> told) = 0;

  // Runs `body` as a task of the harness; then crashes every other process, unwinds all tasks and returns. An
  // exception of `body` is passed on. Throws std::logic_error when another task ends by an exception (whose),
  // and in virtual time when nothing is left to run while `body` waits without a deadline (who waits).
  virtual void run(std::function<void()> body) = 0;

  virtual Rng rng(std::string_view stream) const = 0;
  virtual Trace& trace() = 0;
};

struct EmbeddedWorldOptions {
  std::uint64_t seed = 1;
  // A simulated link's own latency; the proxy adds the scenario's.
  Duration hop = std::chrono::microseconds(20);
  std::size_t stack_bytes = 0;  // 0: 64 KiB, 256 KiB under sanitizers
  OrderOptions order = {};      // of tasks that can run at one moment
  // run() ends by an error when tasks went on so often while virtual time stood still: they spin.
  std::uint64_t most_turns_at_a_moment = 50'000'000;
  // Outlives the world; null: the seed alone decides, and nothing is written down.
  Decisions* decisions = nullptr;
};
std::unique_ptr<World> make_embedded_world(const EmbeddedWorldOptions& options);

struct RealWorldOptions {
  std::uint64_t seed = 1;  // of what is drawn; timing is the machine's
  std::size_t stack_bytes = 0;
  Decisions* decisions = nullptr;  // as above
};
std::unique_ptr<World> make_real_world(const RealWorldOptions& options);

}  // namespace holdfast::sim
