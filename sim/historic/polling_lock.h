// PollingLock: what the published designs that poll have in common, written once.
//
//   - per task: which acquisition it holds, how deep (the originals' thread-local or local variable)
//   - lock() asks every 100 ms until it succeeds; whatever Redis' client throws ends it
//   - nobody is told of a loss, and no design knows until when it holds: lost() and valid_until() are empty
//   - the observer is told of grants, waits and releases
// The originals mostly throw on timed and interruptible waiting; here it polls as lock() does, so that a
// workload can be patient within bounds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "lib/lock/api/lock.h"
#include "lib/redis/client.h"

namespace holdfast::historic {

class PollingLock : public Lock {
 public:
  void lock() override;
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  // A task that holds nothing sends what the publication sends, with an empty value; no error. Where it
  // forgets its hold only afterwards, one that failed may be called again.
  void release() override;

  // From the grant to release(), whatever became of the lease.
  bool is_held_by_me() const override { return hold_count() > 0; }
  int hold_count() const override;
  std::optional<MonotonicTime> valid_until() const override { return std::nullopt; }
  std::string acquisition() const override;
  std::stop_token lost() const override { return {}; }
  std::optional<std::uint64_t> token() const override;

  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return client_.runtime(); }

 protected:
  static constexpr Duration kPollEvery = std::chrono::milliseconds(100);

  struct Granted {
    std::string acquisition;
    redis::Answer answer = {};  // whose sending the lease counts from
    std::optional<std::uint64_t> token = std::nullopt;
    bool reentry = false;  // one deeper; the rest is ignored
  };

  // When a task forgets that it holds the lock: before remove() (a local variable, a count), or when that has
  // succeeded (a thread-local that is cleared behind it, not in a `finally`).
  enum class Forgets : std::uint8_t { first, afterwards };

  // `client` and the observer outlive the lock. `store_key` is what Redis knows `key` by. Throws
  // std::invalid_argument for a lease below 1 ms.
  PollingLock(redis::Client& client, LockOptions options, std::string key, std::string store_key,
              Forgets forgets = Forgets::first);

  // [parks] The publication's tryLock(); nullopt: somebody else has it. May throw redis::Error.
  virtual std::optional<Granted> attempt() = 0;
  // [parks] What the publication sends to give `acquisition` back ("": this task holds nothing). Returns
  // the answer to tell the observer of; nullopt: it was no release. May throw redis::Error.
  virtual std::optional<redis::Answer> remove(const std::string& acquisition) = 0;
  // Called after an outermost grant was noted, before the caller learns of it.
  virtual void granted(const Granted&) {}

  bool ask();  // [parks] One attempt, noted and told. Throws LockError.
  // [parks] Asks every 100 ms. False at the deadline; Interrupted on a stop request.
  bool poll(MonotonicTime deadline, const std::stop_token& stop);
  // [parks] The pause between two attempts; throws Interrupted.
  void pause(MonotonicTime until, const std::stop_token& stop);
  // One less deep: the acquisition that ends with it; nullopt: still held. "" when nothing was held.
  std::optional<std::string> count_down();

  void tell(LockEvent::Kind kind, const std::string& acquisition, const redis::Answer& answer = {},
            std::string_view reason = {});
  [[noreturn]] void fail(const redis::Error& error, bool may_have_executed) const;

  // SET <store_key> <value> NX PX <lease>, the grant of most of them.
  std::optional<Granted> set_if_absent(const std::string& value);
  std::string lease_ms() const;
  std::string lease_s() const;  // whole seconds, rounded up, for the designs that count in seconds

  redis::Client& client_;
  const LockOptions options_;
  const std::string key_, store_key_;

 private:
  struct Mine {
    std::string acquisition;
    int depth = 1;
    std::optional<std::uint64_t> token;
  };

  const Forgets forgets_;
  mutable Mutex mutex_;
  std::map<TaskId, Mine> mine_;
};

}  // namespace holdfast::historic
