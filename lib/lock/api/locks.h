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
