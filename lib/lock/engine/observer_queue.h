// ObserverQueue: tells an observer what the watchdog's task sees: one event after the other, on a task of the
// application's code (Client::run_callback()), so that an observer that takes its time delays no renewal. One
// that is quick (LockObserver::is_quick()) is told at once.
//
// Thread safety: any task.
#pragma once

#include <memory>

#include "lib/lock/api/observer.h"
#include "lib/lock/store/store.h"

namespace holdfast {

class ObserverQueue {
 public:
  // `store` and `observer` outlive it. Null: nobody is told.
  ObserverQueue(Store& store, LockObserver* observer);
  ~ObserverQueue();  // [parks] until all has been told; in a child that forked off nothing is
  ObserverQueue(const ObserverQueue&) = delete;
  ObserverQueue& operator=(const ObserverQueue&) = delete;

  // Where no task can be started, the event is told with the next one. The oldest go when too many wait.
  void tell(const LockEvent& event);

 private:
  struct State;
  Store& store_;
  LockObserver* const observer_;
  const std::shared_ptr<State> state_;  // shared with the job that tells
};

}  // namespace holdfast
