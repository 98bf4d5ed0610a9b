// Replication, third part: FAILOVER, as a primary of Redis 7 does it (replication.c, updateFailoverStatus).
//
// It holds back whoever writes, waits until the replica has acknowledged everything, follows that replica,
// and asks it with `PSYNC id offset FAILOVER` to take over. When the replica has answered, the writers go on,
// and are told READONLY. A replica acknowledges once a second: nobody asks it to hurry.
#include <algorithm>

#include "sim/redis/engine.h"
#include "sim/redis/replication.h"

namespace holdfast::sim::embedded {

Endpoint Replication::announced_by(const Session& replica) {
  return {replica.announced_host.empty() ? replica.peer.substr(0, replica.peer.rfind(':'))
                                         : replica.announced_host,
          replica.listening_port};
}

bool Replication::has_replica(const Endpoint& announced) const {
  return std::any_of(replicas_.begin(), replicas_.end(),
                     [&](const Session* replica) { return announced_by(*replica) == announced; });
}

bool Replication::replicas_have_all() const {
  return std::all_of(replicas_.begin(), replicas_.end(),
                     [&](const Session* replica) { return replica->acked_offset == offset_; });
}

void Replication::begin_failover(const FailoverOrder& order) {
  failover_ = Failover::waits_for_sync;
  order_ = order;
  engine_.pause_clients(Engine::Pause::during_failover, Engine::kUntilTold, false);
  advance_failover();
}

void Replication::advance_failover() {
  if (failover_ != Failover::waits_for_sync) return;
  if (order_.until_ms != 0 && engine_.wall_ms() >= order_.until_ms) {
    if (!order_.force) return abort_failover();
  } else {
    const auto ready = std::find_if(replicas_.begin(), replicas_.end(), [&](const Session* replica) {
      return replica->acked_offset == offset_ &&
             (order_.target.host.empty() || announced_by(*replica) == order_.target);
    });
    if (ready == replicas_.end()) return;
    order_.target = announced_by(**ready);
  }
  failover_ = Failover::in_progress;
  follow(order_.target);
}

void Replication::abort_failover() {
  const Failover was = std::exchange(failover_, Failover::none);
  if (was == Failover::in_progress) promote();
  if (was != Failover::none) engine_.unpause_clients(Engine::Pause::during_failover);
}

void Replication::target_answered(bool took_over) {
  if (failover_ != Failover::in_progress) return;
  if (!took_over) return abort_failover();
  failover_ = Failover::none;
  engine_.unpause_clients(Engine::Pause::during_failover);
}

}  // namespace holdfast::sim::embedded
