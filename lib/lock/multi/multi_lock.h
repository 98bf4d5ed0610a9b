// The multi lock: several locks as one, all or nothing. The members may be of any kind and on any servers.
//
// - It waits for one member at a time and only tries the others; when one of these is refused it gives
//   back what it has and waits for that one next, after a drawn pause. So two multi locks over the same
//   members, in whatever order, cannot wait for each other (the algorithm of std::lock, with a wait
//   that costs nothing). The pause is up to 5 ms, and up to twice as long after each round, to 640 ms: so
//   they do not take each other's members by turns for ever either, whatever a round takes.
// - The caller's deadline bounds the whole, whichever server hangs: what it has then is given back in the
//   background.
// - Members that exclude each other are refused: two objects of one key on one server (known by its address)
//   would wait for each other for ever.
// - It is held while every member is: valid_until() is the earliest of theirs, and the loss of one is
//   the loss of all.
// - release() gives back every member, also when one of them fails; it then throws the first failure.
// - Reentrant, counted here.
//
// Thread safety: any task. Ownership is by task, or by Owner (owner.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/lock/api/guard.h"
#include "lib/lock/api/lock.h"
#include "lib/lock/api/owner.h"

namespace holdfast {

class MultiLock final : public Lock {
 public:
  // Throws std::invalid_argument: no members, a null one, one twice, or two that exclude each other.
  explicit MultiLock(std::vector<std::shared_ptr<Lock>> members);
  ~MultiLock() override;

  void lock() override { acquire(true, kNever, {}); }
  [[nodiscard]] bool try_lock() override { return acquire(false, kNever, {}); }
  using Lock::try_lock_until;
  [[nodiscard]] bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override {
    return deadline <= runtime().now() ? try_lock() : acquire(true, deadline, stop);
  }
  void release() override { release_by(kNever); }
  [[nodiscard]] bool try_lock_by(MonotonicTime deadline) override { return acquire(false, deadline, {}); }
  void release_by(MonotonicTime deadline) override;

  void extend(Duration lease) override;  // every member

  [[nodiscard]] bool is_held_by_me() const override;
  [[nodiscard]] int hold_count() const override;
  [[nodiscard]] std::optional<MonotonicTime> valid_until() const override;  // the earliest
  [[nodiscard]] std::string acquisition() const override;                   // of the first member
  [[nodiscard]] std::stop_token lost() const override;
  [[nodiscard]] bool in_use() const override;
  bool force_unlock() override;  // every member, also when one of them fails; then throws the first failure

  // "a+b+c"
  const std::string& key() const noexcept override { return key_; }
  // Of the first member.
  Runtime& runtime() const noexcept override { return members_.front()->runtime(); }
  // In the order of their keys.
  const std::vector<std::shared_ptr<Lock>>& members() const noexcept { return members_; }

 private:
  struct Mine;
  bool acquire(bool wait, MonotonicTime deadline, const std::stop_token& stop);
  bool acquire_all(bool wait, MonotonicTime deadline, const std::stop_token& stop);
  const Mine* mine() const;  // under the mutex

  const std::vector<std::shared_ptr<Lock>> members_;  // by key
  const std::string key_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Mine>> mine_;
};

}  // namespace holdfast
