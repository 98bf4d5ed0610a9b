// Redlock: an exclusive, reentrant lock on several independent Redis servers; held when a majority has the
// record. No single server, and no failover of one, can grant it twice or take it away (quorum_store.h; the
// servers must not be replicas of each other). The lock, its watchdog and its promises are those of the other
// kinds (locks.h); the records are the reentrant lock's.
//
// Waiting: there is no channel that all servers share, so a refused task asks again after a drawn pause that
// grows from 1 ms to 128 ms. Between two that each got a minority, only the draw decides.
//
// A server that does not answer counts as a no. A majority that does not answer counts as a fault that may
// pass: it is asked again until the deadline. But if so many servers were never there, or refuse the password
// or the type of the key, that no majority is left, the error comes at once, as from the locks of one server
// (ClientOptions::wait_for_servers).
//
// What it cannot do: see quorum_store.h; and as every lock with a lease it cannot stop a holder that was
// paused.
#pragma once

#include <vector>

#include "lib/lock/api/guard.h"
#include "lib/lock/api/locks.h"
#include "lib/redis/threaded_client.h"

namespace holdfast {

// What all Redlocks of one process have in common.
struct RedlockOptions {
  LockOptions lock = {};                                   // `replicas` must be 0
  Duration node_timeout = std::chrono::milliseconds(200);  // after which a server counts as a no
};

class Redlocks final : public Locks {
 public:
  // See Locks::Locks and QuorumStore::QuorumStore.
  Redlocks(std::vector<redis::Client*> servers, RedlockOptions options);

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

}  // namespace holdfast
