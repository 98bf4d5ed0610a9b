// Fixture: a Redis and the ports, for tests of locks: the same cases on threads against a real redis-server,
// and in virtual time against the embedded one.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/api/observer.h"
#include "lib/net/network.h"
#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"
#include "lib/testing/place.h"

namespace holdfast::testing {

// A process beside the test's own, which a test can pause and kill. As sim::Process (sim/world/world.h).
class OtherProcess {
 public:
  virtual ~OtherProcess() = default;
  virtual Runtime& runtime() = 0;
  virtual Network& network() = 0;
  virtual void start(std::string_view role, std::function<void()> body) = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
  virtual bool paused() const = 0;
  virtual void pause_role(std::string_view role) = 0;
  virtual void resume_role(std::string_view role) = 0;
  virtual void crash() = 0;
};

struct Fixture {
  Where where;
  Runtime& runtime;
  Network& network;
  Endpoint redis;
  int attempt = 0;  // how often `body` has begun before, see with_fixture()
  // In worlds only. The process lives as long as the stand.
  std::function<OtherProcess&(const std::string& name)> add_process = nullptr;
  // In worlds only: the wall clock of the test's own process.
  std::function<void(Duration by)> step_wall = nullptr;

  // On real time a machine that is busy elsewhere may miss any lease: three times as long in each attempt.
  Duration lease(Duration first) const {
    for (int i = 0; i < attempt; ++i) first *= 3;
    return first;
  }

  redis::ClientOptions options() const { return options(redis); }
  redis::ClientOptions options(const Endpoint& endpoint) const {
    return {.nodes = {{"r1", endpoint}}, .command_timeout = std::chrono::milliseconds(2000)};
  }
};

// A hold was lost while a test waited for its renewal. It would wait for ever.
struct LostWhileWaiting : std::runtime_error {
  LostWhileWaiting() : std::runtime_error("a hold was lost while its renewal was waited for") {}
};

// Runs `body`, on real time again, and up to five times, when it was stopped by LostWhileWaiting: once the
// machine may have been busy elsewhere for the length of a lease.
void with_attempts(Where where, const std::function<void(int attempt)>& body);

// Brings a Redis up and runs `body` on a task of a process, as with_attempts(). Exceptions are passed on.
void with_fixture(Where where, const std::function<void(Fixture&)>& body);

// An observer that remembers, and can be waited for.
class RecordingObserver final : public LockObserver {
 public:
  explicit RecordingObserver(Runtime& runtime);
  bool is_quick() const noexcept override { return true; }
  void on_event(const LockEvent& event) noexcept override;

  std::size_t count(LockEvent::Kind kind);
  // [parks] Until `kind` was told `times` times. Throws LostWhileWaiting where that is `renewed` and the
  // latest hold was lost.
  void wait_for(LockEvent::Kind kind, std::size_t times = 1);
  MonotonicTime last(LockEvent::Kind kind);                        // when it was told last
  std::optional<MonotonicTime> valid_until(LockEvent::Kind kind);  // as it was told last
  // `hook` runs inside each event of `kind`; null: none. Only in worlds.
  void on_kind(LockEvent::Kind kind, std::function<void()> hook);
  // [parks] wait_for() by a task of another process, whose runtime is `waiter`.
  void wait_from_outside(LockEvent::Kind kind, Runtime& waiter);

 private:
  struct Told {
    LockEvent::Kind kind;
    MonotonicTime at;
    std::optional<MonotonicTime> valid_until;
  };
  Runtime& runtime_;
  Mutex mutex_;
  Condition changed_;
  std::vector<Told> told_;
  LockEvent::Kind hooked_{};
  std::function<void()> hook_;
};

}  // namespace holdfast::testing
