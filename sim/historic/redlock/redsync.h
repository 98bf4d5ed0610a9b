// redsync (Go), its Mutex at commit 5560bd2, on N independent servers. As published; do not use
// it in an application.
//
//   TryLock    SET <key> <new value> NX PX <expiry> on all servers at once, each with a twentieth of the
//              expiry for its answer; until = now + expiry - time used - expiry / 100. A majority said OK and
//              until is not over: granted. Else released on all, with as much time
//   Lock       32 of those, 50 to 250 ms between two; then an error
//   Unlock     deletes the key where it has the value, on all servers at once. A majority did: true; else the
//              error of a server, or that the lock had expired
//   Valid      GET on all servers at once: a majority has the value
//   Until      what the grant said
//
// Its flaws are kept, this is what it is here for:
//   - Valid() waits for all servers, without a bound of its own: by the time that the slowest has answered,
//     what the others said may be over, and it says so all the same;
//   - it waits for all of them at Lock and Unlock, too: one that is slow costs its time at each;
//   - no renewal, lost() never fires: Extend() is the caller's business;
//   - each server's clock is trusted, and a server that forgets votes again; no fencing, not reentrant, no
//     order, waiters poll and give up after a few seconds.
//
// Deviations: `Lock`'s error is Unavailable. Timed and interruptible waiting, which is a context there, asks
// again as lock() does, but without the bound of 32. Options (fail-fast, shuffled servers, SET NX on extend)
// are as they come: off. Extend is left out. The value is a UUID. `renew` is ignored.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/lock/api/lock.h"
#include "lib/redis/client.h"
#include "lib/redis/script.h"

namespace holdfast::historic {

extern const redis::Script kRedsyncDelete;  // KEYS[key]  ARGV[value]

class Redsync final : public Lock {
 public:
  static constexpr int kTries = 32;
  static constexpr Duration kLeastDelay = std::chrono::milliseconds(50),
                            kMostDelay = std::chrono::milliseconds(250);

  // `nodes`: one client for each server, none null, at least one. They and the observer outlive the lock.
  // Throws std::invalid_argument for no nodes or a lease below 1 ms.
  Redsync(std::vector<redis::Client*> nodes, LockOptions options, std::string key);

  void lock() override;      // [parks] Throws Unavailable after 32 attempts.
  bool try_lock() override;  // [parks] one attempt
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  // [parks] Throws NotOwner when the calling task was granted nothing, LockLost when it had expired on a
  // server and no majority had it, Unavailable when no majority answered.
  void release() override;

  // [parks] Valid(), of the calling task. Throws Unavailable when servers failed and no majority has its
  // value.
  bool valid();

  bool is_held_by_me() const override;  // Until() is not over
  int hold_count() const override { return hold() ? 1 : 0; }
  std::optional<MonotonicTime> valid_until() const override;
  std::string acquisition() const override;
  std::stop_token lost() const override { return {}; }

  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return nodes_.front()->runtime(); }

 private:
  struct Hold {
    std::string value;
    MonotonicTime until{};
  };
  struct Answers {
    std::size_t yes = 0;
    bool expired = false;
    std::string error = {};    // of a server, the last
    std::string decider = {};  // whose yes made it a majority
  };
  enum class Said : std::uint8_t { yes, no, expired };
  // One server's part. Throws redis::Error.
  using Ask = std::function<Said(redis::Client& node, std::string& name)>;

  std::optional<Hold> hold() const;
  std::size_t quorum() const { return nodes_.size() / 2 + 1; }
  Answers ask_all(const Ask& ask) const;  // [parks] until all have answered
  Answers remove(const std::string& value, MonotonicTime deadline) const;
  bool attempt();
  bool poll(MonotonicTime deadline, const std::stop_token& stop, int tries);
  void tell(const LockEvent& event) const;

  const std::vector<redis::Client*> nodes_;
  const LockOptions options_;
  const std::string key_;
  mutable Mutex mutex_;
  std::map<TaskId, Hold> holds_;
};

}  // namespace holdfast::historic
