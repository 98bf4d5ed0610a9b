// The fair lock: exclusive and reentrant, first come, first served over all tasks of all processes.
//
// - The order is that in which the server saw the first request of each waiter; a reply that was lost
//   does not cost the place. Each waiting task stands in the server's queue itself (there is no local
//   queue before it).
// - A waiter sends at most one request a lease while nothing happens; by that it keeps its place. One that
//   has not asked for a lease and a third is taken for dead and skipped: that is the longest time for which a
//   dead waiter at the head keeps a free lock from the next one (or the next one's own lease, where that is
//   longer and the head's connection still stands). A process that was paused for longer than that has lost
//   its place, and comes in again at the end.
// - A release makes the head of the queue the holder and tells it: one round trip from the release to the
//   next grant, and two commands a grant however many wait. Such a hold counts from the last request of its
//   waiter, at most a lease ago, and is renewed soon. One that is not renewed lasts a whole lease. A waiter
//   that asked longer than a third of a lease ago for one that is not renewed, or wants the acknowledgement
//   of replicas, asks once more. A waiter that gives up just then hands the lock on; if
//   its process no longer listens, the next one is told when to ask. A process that is paused when its turn
//   comes keeps the others waiting, as any paused holder does.
// - All times are the server's. The record and the queue are the reentrant lock's, so that the two kinds
//   exclude each other on one key, and take turns; but a reentrant lock takes a free one out of turn.
// - A failover or a restart may lose the queue: the waiters come in again in the order in which they
//   next ask.
//
// What all kinds promise: locks.h.
#pragma once

#include "lib/lock/api/guard.h"
#include "lib/lock/api/locks.h"
#include "lib/redis/threaded_client.h"

namespace holdfast {

// The fair locks of one process on one Redis.
class FairLocks final : public Locks {
 public:
  // See Locks::Locks.
  FairLocks(redis::Client& client, LockOptions options) : Locks(client, std::move(options)) {}

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

}  // namespace holdfast
