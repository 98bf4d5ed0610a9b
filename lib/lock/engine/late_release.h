// LateRelease: gives back, in the background, what an acquire or release of unknown outcome may have left on
// the server. Each release names its owner, so it can remove nothing else; after a lease nothing is left to
// give back. The tasks (role "janitor") exist only while there is something to do. There are several: when
// many waiters of a fair lock give up at once, their places have to go faster than new ones come.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>

#include "lib/lock/engine/wire.h"
#include "lib/lock/store/store.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

class LateRelease {
 public:
  explicit LateRelease(Store& store);
  // [parks] Ends the tasks; what they had still to do is left to the leases.
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
  static constexpr std::size_t kMaxItems = 4096, kMaxTasks = 8;

  void run();
  bool settle(const Item& item);  // [parks] false: try again later

  Store& store_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Item> items_;
  bool closing_ = false;
  std::size_t running_ = 0;  // of the tasks
  std::list<Task> tasks_;
};

}  // namespace holdfast
