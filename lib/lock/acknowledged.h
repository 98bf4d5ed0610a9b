// A script call whose effect counts only when enough replicas have it.
//
// WAIT (https://redis.io/docs/latest/commands/wait/) goes out right behind the script on the same connection
// and answers how many replicas have acknowledged everything that this connection has written. It does not
// make Redis consistent: an acknowledgement is no promise to be elected. With a majority of the *configured*
// replicas, and a failover that promotes only one that has the newest data, a grant survives the failover.
#pragma once

#include "../redis/client.h"
#include "lock.h"

namespace holdfast {

struct Acknowledged {
  redis::Answer answer;  // of the script
  int replicas = 0;      // that have it
  bool enough = true;    // as many as LockOptions::replicas asks for
};

// [parks] As Client::eval(), and waits for options.replicas (none: does not wait). Throws redis::Error.
Acknowledged eval_acknowledged(redis::Client& client, const LockOptions& options, const redis::Script& script,
                               redis::Arguments keys, redis::Arguments args,
                               const redis::CallOptions& call_options);

// "only 0 of 1 replicas acknowledged it within 500 ms"
std::string too_few_replicas(const LockOptions& options, int replicas);

}  // namespace holdfast
