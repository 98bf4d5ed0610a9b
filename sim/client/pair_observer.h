// What two locks that are held as one tell of themselves, as one lock would tell it: for a multi lock over
// "<key>:a" and "<key>:b", under the name of the key that it stands for.
//
// - It is acquired when one task has both, and over when one of them is. Before and after that nothing is
//   told of renewals and losses: one member alone is no hold.
// - The hold has the name of the first member's acquisition and the server that has it, and is promised as
//   long as both are.
// - Renewals of the members that are under way together are one. It is confirmed as soon as the hold is
//   promised for longer, and otherwise over when the last of them is answered; with the first failure, if one
//   failed.
#pragma once

#include <string>

#include "lib/lock/api/observer.h"
#include "lib/runtime/runtime.h"

namespace holdfast::sim {

class PairObserver final : public LockObserver {
 public:
  // `outer` may be null. Every event comes on a task of `runtime`, and no two at once.
  PairObserver(LockObserver* outer, std::string key, const Runtime& runtime)
      : outer_(outer), key_(std::move(key)), runtime_(runtime) {}

  bool is_quick() const noexcept override { return true; }
  void on_event(const LockEvent& event) noexcept override;

 private:
  struct Member {
    std::string acquisition = {};  // "" while it is not held
    std::string node = {};
    TaskId task = {};
    MonotonicTime valid_until = {}, sent_at = {};
    bool renewing = false;
  };
  bool whole() const;
  MonotonicTime valid_until() const;
  void acquired(Member& member, const LockEvent& event);
  void over(Member& member, const LockEvent& event);
  void renewing(Member& member, const LockEvent& event);
  void answered(Member& member, const LockEvent& event);
  void tell(LockEvent event);

  LockObserver* const outer_;
  const std::string key_;
  const Runtime& runtime_;
  Member members_[2];
  MonotonicTime told_until_ = {};  // what the hold was last told to be promised until
  bool open_ = false;              // a renewal was told as begun, and is not over
  bool failed_ = false;            // in it
  std::string failed_node_, failed_reason_;
};

}  // namespace holdfast::sim
