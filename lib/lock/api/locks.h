// Locks: the locks of one kind, of one process, on one Redis. Each kind has a class of its own that derives
// from this (ReentrantLocks, FairLocks, ...). What every kind promises:
//
// - Who owns it: each outermost acquisition draws an owner of its own, "<uuid of this
//   process>:<number>". A new acquisition can therefore never re-enter what an older one left behind.
//   How often the holder re-entered is counted here; on the server the count stays 1.
//   The uuid is drawn when this object is made, from randomness that no copy of the process shares. After
//   fork() the child makes a client and locks of its own; what it inherited refuses use (Forked), and can be
//   destroyed there without harm to the parent. From a snapshot that is restored more than once, make clients
//   and locks after the restore: two copies of an object that was made before would be one owner.
// - Every request can be repeated without harm: acquire asks for the state "mine", release and renew
//   compare the owner. So a request whose reply was lost is asked again. An acquire or a release that
//   gives up with its outcome unknown is undone in the background.
// - How long it is valid: valid_until() = sending of the request + lease - 1% - 2 ms on the monotonic
//   clock, moved on by the watchdog at a third of the lease unless
//   LockOptions::renew is false. A grant whose reply comes after that is not accepted. Loss is told
//   through lost() and the observer.
// - Re-entry neither asks the server nor changes the lease. Re-entering a hold that is lost throws
//   LockLost; so does its outermost release(); the inner ones only count down.
// - What a fencing token says (LockOptions::fencing): it is greater than the token of every hold of the key
//   that was granted before and excludes this one. Of two holds that do not exclude each other (two
//   readers, two holders of a semaphore) it says nothing: each draws its own, and the one with the smaller
//   token may be the later to learn of its grant. A resource that refuses tokens below the greatest it has
//   seen may therefore refuse a reader beside a reader that came after it: let it check writers only.
//   Proof: the script that grants draws the token, as one more than the counter at least, and leaves it
//   there. A server runs one script at a time, so tokens rise in the order of grants. It grants only where
//   no record stands of a hold that excludes, so each such hold was granted, and drew, before.
//   The counter is kept for LockOptions::token_lifetime after the last grant. When it is gone (or a failover
//   lost it) the server's time in microseconds takes its place, which is more than any token drawn before,
//   unless the clock was set back by more than the time since.
//
// Thread safety: all members of a lock may be called by any task. Ownership is by task, or by Owner
// (owner.h).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lib/lock/api/lock.h"
#include "lib/redis/client.h"

namespace holdfast {

struct LockContext;
class Store;

class Locks {
 public:
  virtual ~Locks();
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  // The lock of `key`: the same object as long as anybody has it. Throws std::invalid_argument for an empty
  // key, one of more than 64 KiB, and one that begins with "holdfast:" (so begin the names of what locks keep
  // beside their keys). Any task may call it; O(log locks).
  [[nodiscard]] std::shared_ptr<Lock> obtain(const std::string& key);
  Runtime& runtime() const noexcept;  // that of the client

 protected:
  // `client`, and the observer in `options`, outlive this object and every lock obtained from it. Throws
  // std::invalid_argument when the options make no sense.
  Locks(redis::Client& client, LockOptions options);
  // On another store than one Redis.
  Locks(std::unique_ptr<Store> store, LockOptions options);
  // A new object, for obtain().
  virtual std::shared_ptr<Lock> make(const std::string& key) = 0;

  const std::shared_ptr<LockContext> context_;  // what all of them share

 private:
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<Lock>> locks_;
  std::size_t sweep_at_ = 64;  // forget expired entries when the map has grown to this
};

}  // namespace holdfast
