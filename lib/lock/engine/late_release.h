// LateRelease: gives back, in the background, what an acquire or release of unknown outcome may have left on
// the server. Each release names its owner, so it can remove nothing else; after a lease nothing is left to
// give back. The task (role "janitor") exists only while there is something to do.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "lib/lock/engine/wire.h"
#include "lib/lock/store/store.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

class LateRelease {
 public:
  explicit LateRelease(Store& store);
  // [parks] Ends the task; what it had still to do is left to the leases.
  ~LateRelease();
  LateRelease(const LateRelease&) = delete;
  LateRelease& operator=(const LateRelease&) = delete;

  // Tries from now on until it was answered or `until` has come. Drops the oldest when too many wait.
  void add(std::shared_ptr<const Wire> wire, std::string owner, MonotonicTime until);

 private:
  struct Item {
    std::shared_ptr<const Wire> wire;
    std::string owner;
    MonotonicTime until;
  };
  static constexpr std::size_t kMaxItems = 4096;

  void run();
  bool settle(const Item& item);  // [parks] false: try again later

  Store& store_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Item> items_;
  bool running_ = false, closing_ = false;
  Task task_;
};

}  // namespace holdfast
