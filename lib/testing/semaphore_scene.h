// What every test of the semaphore has on its stage.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "lib/lock/semaphore/semaphore.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/testing/scene.h"

namespace holdfast::testing::semaphore_scene {

using testing::ask;
using testing::Fixture;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::PeerOf<Semaphores, SemaphoreOptions>;

inline constexpr std::string_view kTaken = "holdfast:semaphore:taken:{k}";
inline constexpr std::string_view kLimit = "holdfast:semaphore:permits:{k}";

class SemaphoreScene : public ::testing::TestWithParam<Where> {
 protected:
  // `straight` goes past the relays.
  static void run(const std::function<void(Fixture&, redis::Client&)>& body) {
    with_scripts(
        GetParam(),
        {&kSemaphoreAcquire, &kSemaphoreRelease, &kSemaphoreRenew, &kSemaphoreFree, &kSemaphoreResize}, body);
  }
};

inline std::string sha1(const redis::Script& script) { return std::string(script.sha1); }

inline SemaphoreOptions of(int permits, Duration lease = std::chrono::seconds(60)) {
  return {.lock = {.lease = lease}, .permits = permits};
}

}  // namespace holdfast::testing::semaphore_scene
