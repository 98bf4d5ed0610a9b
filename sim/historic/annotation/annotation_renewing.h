// The annotation lock with renewals (published design 2, second part). As published; do not use it in an
// application. Lock and unlock are those of annotation.h; beside them:
//
//   lock       after the grant, a task (key, expiry in s, last renewal, count, maximum, business thread) is
//              added to the list of the process
//   scheduler  every 2 s, first 1 s after the process started, for each task of a copy of the list:
//                EXISTS lock:<key> is 0              the task is dropped
//                count >= maximum                    the business thread is interrupted, the task is dropped
//                elapsed >= (expiry / 3) * 2         EXPIRE lock:<key> <expiry>; count + 1; last renewal =
//                now
//              in whole seconds, expiry / 3 an integer division, on the wall clock
//   unlock     does not touch the list
//
// The flaws for which it is kept, beside those of annotation.h:
//   - the task outlives its lock: it renews, by key, the lock of whoever holds it next; when that one has
//     died, for as many times as the maximum, and nobody gets the lock meanwhile;
//   - at the maximum it interrupts a thread that may long be at something else, holding another lock;
//   - 2 s is coarse: with an expiry of 3 s the second renewal comes after it, with 1 s most often the
//     first;
//   - a wall clock that steps back stops renewals until it has caught up;
//   - one error ends the round for all locks; one slow answer delays all;
//   - the interrupt releases nothing: the work goes on or not, the lock stays until its expiry.
// The list was copied without its mutex, so that a round could be missed; here the copy is made with it,
// since in C++ the race would be undefined. The annotation does not declare the maximum that its code
// reads: 3.
//
// An interrupt is the stop_token of lost(), and belongs to the thread, as in Java: it ends lock()'s sleep
// (Interrupted) and is_held_by_me(); it is cleared when the thread's unlock() returns, as a thread pool
// clears it between two requests.
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

  void unlock() override;
  bool is_held_by_me() const override;
  std::stop_token lost() const override;

 private:
  void granted(const Granted& grant) override;
  void sleep_between_attempts() override;

  RenewalScheduler& scheduler_;
  const int max_renewals_;
};

}  // namespace holdfast::historic
