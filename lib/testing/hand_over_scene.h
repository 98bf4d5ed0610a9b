// Two processes and a lock of the reentrant family that is about to go from one to the other.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/peer.h"
#include "lib/testing/scene.h"

namespace holdfast::testing {

inline constexpr const char* kHandOverQueue = "holdfast:fair:queue:{k}";
inline constexpr const char* kHandOverPatience = "holdfast:fair:patience:{k}";

// `a` holds "k"; `b`, whose requests are counted, waits for it.
template <class Kind>
struct HandOverScene {
  HandOverScene(Fixture& stand_in, const LockOptions& of_a, const LockOptions& of_b)
      : fixture(stand_in), a(fixture, of_a), b(fixture, of_b) {
    for (const redis::Script* script : {&kReentrantAcquire, &kReentrantRelease}) {
      a.ask({"SCRIPT", "LOAD", script->text});
    }
    b.peer.ask({"PING"});
    held = a.locks.obtain("k");
    held->lock();
    wanted = b.peer.locks.obtain("k");
    waiter = fixture.runtime.spawn("client", [this] {
      wanted->lock();
      granted = fixture.runtime.now();
      inside();
      wanted->unlock();
    });
    while (a.ask({"ZCARD", kHandOverQueue}).integer != 1)
      fixture.runtime.sleep_for(std::chrono::milliseconds(1));
    while (a.ask({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.empty())
      fixture.runtime.sleep_for(std::chrono::milliseconds(1));
    b.peer.observer.wait_for(LockEvent::Kind::queued, 2);  // a waiter that listens looks once more
  }
  // How many requests with the script `b` sends from the release on until it has released itself.
  int asks_after_release(const redis::Script& script) {
    b.link.count(std::string(script.sha1));
    released = fixture.runtime.now();
    held->unlock();
    waiter.join();
    return b.link.counted();
  }

  Fixture& fixture;
  Peer<Kind> a;
  RelayedPeer<Kind> b;
  std::shared_ptr<Lock> held, wanted;
  std::function<void()> inside = [] {};
  MonotonicTime granted{}, released{};
  Task waiter;
};

}  // namespace holdfast::testing
