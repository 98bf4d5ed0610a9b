// FairQueue: waiters of a fair lock in a known order, and ghosts: waiters that stand in the queue and never
// ask again, as those of a process that has died.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "lib/lock/api/lock.h"
#include "lib/testing/fixture.h"

namespace holdfast::testing {

class FairQueue {
 public:
  FairQueue(Fixture& fixture, std::string key);

  // [parks] A task that acquires, notes its number and releases; returns when it stands in the queue.
  // `length`: how many stand there then; 0: as many as joined.
  void join(std::shared_ptr<Lock> lock, int length = 0);
  void wait_length(int length);  // [parks] until so many stand in the queue
  void wait_all_granted();       // [parks]
  int granted();
  std::vector<int> order();  // numbers of those that were granted

  // [parks] What a waiter with that lease sends once; and what one sends that gives up.
  static void add_ghost(Fixture& fixture, const std::string& key, std::string_view owner, Duration lease);
  static void take_leave(Fixture& fixture, const std::string& key, std::string_view owner);

 private:
  Fixture& fixture_;
  const std::string key_;
  redis::Client client_;
  Mutex mutex_;
  std::vector<int> order_;
  int joined_ = 0;
  std::list<Task> tasks_;  // last: they end before the rest goes away
};

}  // namespace holdfast::testing
