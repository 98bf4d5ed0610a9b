// Stand: a Redis and the ports, for tests of locks: the same cases on threads against a real redis-server,
// and in virtual time against the embedded one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/lock/observer.h"
#include "lib/net/network.h"
#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"

namespace holdfast::sim {
class World;
}

namespace holdfast::testing {

enum class Where { threads, event_loop, embedded };
std::string to_string(Where where);
std::vector<Where> everywhere();

struct Stand {
  Where where;
  Runtime& runtime;
  Network& network;
  Endpoint redis;
  sim::World* world = nullptr;  // not on threads

  redis::ClientOptions options() const { return options(redis); }
  redis::ClientOptions options(const Endpoint& endpoint) const {
    return {.nodes = {{"r1", endpoint}}, .command_timeout = std::chrono::milliseconds(2000)};
  }
};

// Brings a Redis up and runs `body` on a task of a process. Exceptions are passed on.
void on_stand(Where where, const std::function<void(Stand&)>& body);

// An observer that remembers, and can be waited for.
class Witness final : public LockObserver {
 public:
  explicit Witness(Runtime& runtime);
  void on_event(const LockEvent& event) noexcept override;

  std::size_t count(LockEvent::Kind kind);
  // [parks] Until `kind` was told `times` times.
  void wait_for(LockEvent::Kind kind, std::size_t times = 1);
  MonotonicTime last(LockEvent::Kind kind);  // when it was told last
  // `hook` runs inside each event of `kind`; null: none. Only in worlds.
  void on_kind(LockEvent::Kind kind, std::function<void()> hook);
  // [parks] wait_for() by a task of another process, whose runtime is `waiter`.
  void wait_from_outside(LockEvent::Kind kind, Runtime& waiter);

 private:
  struct Told {
    LockEvent::Kind kind;
    MonotonicTime at;
  };
  Runtime& runtime_;
  Mutex mutex_;
  Condition changed_;
  std::vector<Told> told_;
  LockEvent::Kind hooked_{};
  std::function<void()> hook_;
};

}  // namespace holdfast::testing
