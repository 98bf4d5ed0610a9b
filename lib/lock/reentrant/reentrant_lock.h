// The reentrant lock and its three variations: non-reentrant, spin and fenced, which differ from it by one
// option each and share its record, so that all four exclude each other on one key.
//
// The reentrant lock: exclusive, on one Redis (or one replicated set), with its record in one string.
// What all kinds promise: locks.h.
//
// - Waiting: the tasks of one process queue here; the first of them asks Redis, and stands in the server's
//   queue. A release makes the process that has waited longest the holder and tells it: one round trip from
//   the release to the next grant, two commands a grant, however many wait and however far they are. So
//   processes that want a lock again and again take turns. Who does not listen just then (it is connecting
//   anew) is passed over and keeps its place. A waiter also asks when its channel comes back, and when the
//   holder's lease runs out; it never polls. A lock that nobody holds is whose who asks first, also while
//   others wait (the fair lock keeps the order then, too). A process that is paused, or has died while its
//   connection stands, may become the holder, and keeps the others waiting for a lease, as any such holder.
// - A failover to a replica that had not received the grant loses it: another process may then be
//   granted while this one still believes that it holds. LockOptions::replicas narrows that; no lock on
//   one replicated Redis can exclude it.
#pragma once

#include "lib/lock/api/guard.h"
#include "lib/lock/api/locks.h"
#include "lib/redis/threaded_client.h"

namespace holdfast {

// The reentrant locks of one process on one Redis.
class ReentrantLocks final : public Locks {
 public:
  // See Locks::Locks.
  ReentrantLocks(redis::Client& client, LockOptions options) : Locks(client, std::move(options)) {}

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

// The non-reentrant lock: as the reentrant one, in the same layout, but a second acquire
// by its holder is a mistake that is told: lock(), and try_lock_until() without a deadline, throw
// WouldDeadlock; try_lock() and a try with a deadline return false at once.
class NonReentrantLocks final : public Locks {
 public:
  // See Locks::Locks.
  NonReentrantLocks(redis::Client& client, LockOptions options) : Locks(client, std::move(options)) {}

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

// The spin lock: as the reentrant one, in the same layout, but a refused task asks again after 1, 2, 4 .. 128
// ms (half of it drawn) instead of subscribing to a channel. For very many locks that are seldom waited for:
// no subscription, no message.
class SpinLocks final : public Locks {
 public:
  // See Locks::Locks.
  SpinLocks(redis::Client& client, LockOptions options) : Locks(client, std::move(options)) {}

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

// The fenced lock: as the reentrant one, in the same layout, and each grant comes with a
// fencing token, Lock::token(): a number greater than that of every earlier grant of the key. A resource that
// remembers the greatest token it has seen, and refuses smaller ones, is safe from holders that outlived
// their lease, and from double grants after a failover.
//
// The token is drawn by the script that grants (never read later), once for each hold (not for a re-entry),
// and is the same when the request had to be repeated. It is the last one plus one, or the server's time in
// microseconds if that is more, so that tokens go on rising when the counter was lost. After: Martin
// Kleppmann, How to do distributed locking (2016).
class FencedLocks final : public Locks {
 public:
  // See Locks::Locks; `fencing` is always on.
  FencedLocks(redis::Client& client, LockOptions options);

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

}  // namespace holdfast
