// The hand-written Lock made reentrant, as its article suggests: a thread-local count, and a JSON value of
// thread id and count in Redis. The article gives no code: the steps are a reading. Do not use it in an
// application.
//
//   tryLock()  the thread's count is above 0: count + 1, without a word to Redis
//              SET <key> {"threadId":<id>,"count":1} NX PX <lease>: the thread's count is 1
//              else GET <key>; if its threadId is this thread's: SET <key> with count + 1 PX <lease>; count
//              is 1
//   lock()     tryLock() every 100 ms until it succeeds
//   unlock()   the thread's count - 1; at 0: GET <key>; if its threadId is this thread's: count above 1: SET
//              with count - 1 PX <lease>; else DEL <key>
//
// The flaws for which it is kept, beside those of lock_interface.h:
//   - thread ids are numbers within a process: thread 1 of one process takes the record of thread 1 of
//     another for its own and walks in;
//   - the thread's count outlives the record: after the lease it "re-enters" a lock that somebody else holds;
//   - read, change, write in two commands: counts get lost, and what is written or deleted may by then be the
//     record of somebody else.
//
// Deviations:
//   - threads are numbered from 1 in each process, in the order in which they first lock (ThreadNumbers), as
//     a JVM numbers them as they start;
//   - those of lock_interface.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sim/historic/polling_lock.h"

namespace holdfast::historic {

// One for each process; outlives its locks.
class ThreadNumbers {
 public:
  explicit ThreadNumbers(Runtime& runtime) : runtime_(runtime), mutex_(runtime) {}
  std::uint64_t mine();  // of the calling task

 private:
  Runtime& runtime_;
  Mutex mutex_;
  std::map<TaskId, std::uint64_t> numbers_;
};

class LockInterfaceReentrant final : public PollingLock {
 public:
  LockInterfaceReentrant(redis::Client& client, LockOptions options, std::string key, ThreadNumbers& threads);

 private:
  struct Value {
    std::uint64_t thread = 0;
    std::int64_t count = 0;
    std::string text() const;
    static std::optional<Value> parse(std::string_view text);
  };
  std::optional<Granted> attempt() override;
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
  redis::Answer write(const Value& value);
  std::string name_of(std::uint64_t thread) const;  // of an acquisition: what it writes tells no more

  ThreadNumbers& threads_;
};

}  // namespace holdfast::historic
