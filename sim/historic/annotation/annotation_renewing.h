// The annotation lock with renewals (published design 2, second part). As published; do not use it in an
// application. Lock and unlock are those of annotation.h; beside them:
//
//   lock       after the grant, a task (key, expiry in s, last renewal, count, maximum, business thread) is
//              added to the list of the process, guarded by a mutex
//   scheduler  every 2 s, first after 1 s, for each task of a copy of the list, each in a try and catch of
//              its own, which logs:
//                EXISTS lock:<key> is 0              the task is dropped
//                count >= maximum                    the business thread is interrupted, the task is dropped
//                elapsed >= (expiry / 3) * 2         EXPIRE lock:<key> <expiry>; count + 1; last renewal =
//                                                    now
//              in whole seconds, expiry / 3 an integer division, on the wall clock (a local date and time)
//   unlock     does not touch the list
//
// The flaws for which it is kept, beside those of annotation.h:
//   - EXPIRE by key, without a look at the owner, and a task that outlives its lock: it renews the lock of
//     whoever holds it next; when that one has died, for as many times as the maximum, and nobody gets the
//     lock meanwhile;
//   - at the maximum it interrupts a thread that may long be at something else, holding another lock;
//   - the interrupt releases nothing: the work goes on or not, the lock stays until its expiry;
//   - 2 s is coarse: with an expiry of 3 s the second renewal comes after it, with 1 s most often the
//     first;
//   - a wall clock that steps back stops renewals until it has caught up;
//   - one thread looks after all locks: one slow answer delays all renewals.
//
// Deviations:
//   - the list is copied there without its mutex, so that a round may miss a task; here with it, since in
//     C++ the race is undefined.
//   - the annotation as printed does not declare the maximum that its code reads: 3, unless the scenario says
//     (`max_renewals`).
//   - an interrupt is the stop_token of lost(), and is_held_by_me() is false from then on: that is how
//     the work can notice. It belongs to the thread, as in Java: it ends the sleep of lock() (Interrupted).
//     It is cleared when the thread's unlock() returns, as a thread pool clears it between two requests.
//   - the commands of an interrupted thread are sent as any others; in Java that is up to the Redis client.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/historic/annotation/annotation.h"

namespace holdfast::historic {

// One for each process; outlives its locks. Its task (role "watchdog") runs as long as it lives.
class RenewalScheduler {
 public:
  struct RenewTask {
    std::string key, store_key;
    std::string acquisition;  // for the observer only
    std::int64_t expiry_s = 0;
    WallTime latest_renewal{};
    int count = 0, maximum = 0;
    TaskId business_thread = 0;
  };

  // `client` and the observer outlive it.
  RenewalScheduler(redis::Client& client, LockObserver* observer);
  ~RenewalScheduler();  // [parks]
  RenewalScheduler(const RenewalScheduler&) = delete;
  RenewalScheduler& operator=(const RenewalScheduler&) = delete;

  void add(RenewTask task);
  std::size_t tasks() const;
  // The interrupt flag of the calling task.
  std::stop_token interrupt_flag();
  void clear_interrupt();

 private:
  struct Entry {
    std::uint64_t number;
    RenewTask task;
  };
  void run();
  void round();
  void look_at(const Entry& entry);
  void drop(std::uint64_t number);
  void renewed(std::uint64_t number);
  void tell(LockEvent event, const RenewTask& task);

  redis::Client& client_;
  LockObserver* const observer_;
  mutable Mutex mutex_;
  std::vector<Entry> list_;
  std::map<TaskId, std::stop_source> flags_;
  std::uint64_t next_number_ = 1;
  std::stop_source closing_;
  Task task_;
};

class AnnotationRenewingLock final : public AnnotationLock {
 public:
  AnnotationRenewingLock(redis::Client& client, RenewalScheduler& scheduler, const AnnotationOptions& options,
                         std::string key, std::optional<int> max_renewals = std::nullopt);

  void release() override;
  bool is_held_by_me() const override;
  std::stop_token lost() const override;

 private:
  void granted(const Granted& grant) override;
  void sleep_between_attempts() override;

  RenewalScheduler& scheduler_;
  const int max_renewals_;
};

}  // namespace holdfast::historic
