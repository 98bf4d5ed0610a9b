// LateRelease: gives back, in the background, what an acquire or release of unknown outcome may have left on
// the server. Each release names its owner, so it can remove nothing else; after a lease nothing is left to
// give back. Until then nothing is forgotten, whatever the server answers that passes. The task (role
// "janitor") exists only while there is something to do.
//
// All that waits goes out at once, in one group of requests, so that many waiters of a fair lock that give up
// together cost the next one a round trip, not one each. A group takes half of the client's max_pending at
// most: a larger one might never find room on the connection.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "lib/lock/engine/retry.h"
#include "lib/lock/engine/wire.h"
#include "lib/lock/store/store.h"
#include "lib/runtime/background_task.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

class LateRelease {
 public:
  explicit LateRelease(Store& store);
  // [parks] Ends the task; what it had still to do is left to the leases.
  ~LateRelease();
  LateRelease(const LateRelease&) = delete;
  LateRelease& operator=(const LateRelease&) = delete;

  // Tries from now on until it was answered or `until` has come.
  void add(std::shared_ptr<const Wire> wire, std::string owner, MonotonicTime until);
  // Starts the task, if it could not be started when there was something to do.
  void start_if_stuck();

 private:
  struct Item {
    std::shared_ptr<const Wire> wire;
    std::string owner;
    MonotonicTime until;
  };
  static constexpr std::size_t kBatch = 2048;

  void start();  // under the mutex
  void run();
  // [parks] Leaves in `batch` what is to be tried again, and returns after how long.
  Duration settle(std::vector<Item>& batch, Retry& retry);

  Store& store_;
  const std::size_t most_;  // that go out at once
  Mutex mutex_;
  Condition changed_;
  std::vector<Item> items_;
  bool closing_ = false;
  std::atomic<bool> stuck_ = false;  // there are items, and no task
  BackgroundTask task_;
};

}  // namespace holdfast
