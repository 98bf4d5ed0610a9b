// Replication as commands: REPLICAOF, REPLCONF, PSYNC, WAIT, ROLE.
#include "sim/redis/command.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

void replicaof(Call& c) {
  if (c.engine.cluster() != nullptr) return c.out.error("ERR REPLICAOF not allowed in cluster mode.");
  Replication& replication = c.engine.replication();
  if (replication.failover() != Replication::Failover::none)
    return c.out.error("ERR REPLICAOF not allowed while failing over.");
  if (c.option(1, "NO") && c.option(2, "ONE")) {
    replication.promote();
    return c.out.ok();
  }
  if (c.session.replica != ReplicaState::none) {
    return c.out.error("ERR Command is not valid when client is a replica.");
  }
  std::int64_t port = 0;
  if (!parse_integer(c.arg(2), port) || port < 0 || port > 65535)
    return c.out.error("ERR Invalid master port");
  const Endpoint primary{std::string(c.arg(1)), static_cast<std::uint16_t>(port)};
  if (replication.is_replica() && replication.primary() == primary) {
    return c.out.status("OK Already connected to specified master");
  }
  replication.follow(primary);
  c.out.ok();
}

void replconf(Call& c) {
  if (c.argc() % 2 == 0) return c.out.error(kSyntax);
  for (std::size_t i = 1; i < c.argc(); i += 2) {
    std::int64_t number = 0;
    if (c.option(i, "listening-port")) {
      if (!integer_arg(c, i + 1, number)) return;
      c.session.listening_port = static_cast<std::uint16_t>(number);
    } else if (c.option(i, "ip-address")) {
      c.session.announced_host = c.arg(i + 1);
    } else if (c.option(i, "ack")) {  // never answered
      if (c.session.replica == ReplicaState::none || !parse_integer(c.arg(i + 1), number)) return;
      return c.engine.replication().acknowledge(c.session, number);
    } else if (c.option(i, "getack")) {
      if (c.session.from_primary) c.engine.replication().send_ack();
      return;
    } else if (!c.option(i, "capa") && !c.option(i, "rdb-only") && !c.option(i, "rdb-filter-only")) {
      return c.out.error("ERR Unrecognized REPLCONF option: " + std::string(c.arg(i)));
    }
  }
  c.out.ok();
}

// False: it is answered why not.
bool may_sync(Call& c) {
  const Replication& replication = c.engine.replication();
  const char* why_not = nullptr;
  if (replication.failover() != Replication::Failover::none) {
    why_not = "NOMASTERLINK Can't SYNC while failing over";
  } else if (replication.is_replica() && replication.link_state() != LinkState::connected) {
    why_not = "NOMASTERLINK Can't SYNC while not connected with my master";
  }
  if (why_not != nullptr) c.out.error(why_not);
  return why_not == nullptr;
}

void psync(Call& c) {
  if (c.session.replica == ReplicaState::online) return;
  Replication& replication = c.engine.replication();
  if (c.argc() > 3 && c.option(3, "FAILOVER")) {  // its primary hands over
    if (!replication.is_replica()) return c.out.error("ERR PSYNC FAILOVER can't be sent to a master.");
    if (!equals_ignoring_case(c.arg(1), replication.id()))
      return c.out.error("ERR PSYNC FAILOVER replid must match my replid.");
    replication.promote();
  }
  if (!may_sync(c)) return;
  std::int64_t offset = -1;
  if (!integer_arg(c, 2, offset)) return;
  replication.serve_sync(c.session, c.arg(1), offset);
}

void sync(Call& c) {  // as before 2.8: everything, without a line that names the history
  if (c.session.replica == ReplicaState::online) return;
  if (may_sync(c)) c.engine.replication().serve_sync(c.session, "", -1);
}

void wait(Call& c) {
  if (c.engine.is_replica()) {
    return c.out.error(
        "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica "
        "is "
        "configured to be writable (which is not the default) writes to replicas are just local and are not "
        "propagated.");
  }
  std::int64_t replicas = 0, timeout_ms = 0;
  if (!integer_arg(c, 1, replicas)) return;
  if (!integer_arg(c, 2, timeout_ms, "ERR timeout is not an integer or out of range")) return;
  if (timeout_ms < 0) return c.out.error("ERR timeout is negative");
  Replication& replication = c.engine.replication();
  const std::int64_t offset = c.session.last_write_offset;
  const std::int64_t acked = replication.acknowledged(offset);
  if (acked >= replicas || c.session.in_multi) return c.out.integer(acked);
  c.session.wait_offset = offset;
  c.session.wait_replicas = replicas;
  c.engine.block(c.session, Blocked::by_wait, timeout_ms == 0 ? 0 : c.engine.mono_ms() + timeout_ms);
  replication.ask_for_acknowledgements();
}

void failover(Call& c) {
  Replication& replication = c.engine.replication();
  if (c.argc() == 2 && c.option(1, "ABORT")) {
    if (replication.failover() == Replication::Failover::none)
      return c.out.error("ERR No failover in progress.");
    replication.abort_failover();
    return c.out.ok();
  }
  Replication::FailoverOrder order;
  std::int64_t timeout_ms = 0;
  for (std::size_t i = 1; i < c.argc(); ++i) {
    if (c.option(i, "TIMEOUT") && i + 1 < c.argc() && timeout_ms == 0) {
      if (!integer_arg(c, ++i, timeout_ms)) return;
      if (timeout_ms <= 0) return c.out.error("ERR FAILOVER timeout must be greater than 0");
    } else if (c.option(i, "TO") && i + 2 < c.argc() && order.target.host.empty()) {
      std::int64_t port = 0;
      if (!integer_arg(c, i + 2, port)) return;
      order.target = {std::string(c.arg(i + 1)), static_cast<std::uint16_t>(port)};
      i += 2;
    } else if (c.option(i, "FORCE") && !order.force) {
      order.force = true;
    } else {
      return c.out.error(kSyntax);
    }
  }
  if (replication.failover() != Replication::Failover::none)
    return c.out.error("ERR FAILOVER already in progress.");
  if (replication.is_replica()) return c.out.error("ERR FAILOVER is not valid when server is a replica.");
  if (replication.replica_count() == 0) return c.out.error("ERR FAILOVER requires connected replicas.");
  if (order.force && (timeout_ms == 0 || order.target.host.empty())) {
    return c.out.error("ERR FAILOVER with force option requires both a timeout and target HOST and IP.");
  }
  if (!order.target.host.empty() && !replication.has_replica(order.target))
    return c.out.error("ERR FAILOVER target HOST and PORT is not a replica.");
  if (timeout_ms > 0) order.until_ms = c.engine.wall_ms() + timeout_ms;
  c.out.ok();
  replication.begin_failover(order);
}

void role(Call& c) {
  const Replication& r = c.engine.replication();
  if (r.is_replica()) {
    static constexpr std::string_view kStates[] = {"connect", "connecting", "sync", "connected"};
    c.out.array(5);
    c.out.bulk("slave");
    c.out.bulk(r.primary().host);
    c.out.integer(r.primary().port);
    c.out.bulk(kStates[static_cast<std::size_t>(r.link_state())]);
    return c.out.integer(r.link_state() == LinkState::connected ? r.offset() : -1);
  }
  c.out.array(3);
  c.out.bulk("master");
  c.out.integer(r.offset());
  c.out.array(r.replicas().size());
  for (const Session* replica : r.replicas()) {
    const std::string host = replica->announced_host.empty()
                                 ? replica->peer.substr(0, replica->peer.rfind(':'))
                                 : replica->announced_host;
    c.out.array(3);
    c.out.bulk(host);
    c.out.bulk(std::to_string(replica->listening_port));
    c.out.bulk(std::to_string(replica->acked_offset));
  }
}

}  // namespace

void add_replication_commands(Specs& specs) {
  constexpr std::uint32_t kR = kAdmin | kNoScript;
  specs.insert(specs.end(), {
                                {"replicaof", replicaof, 3, kR},
                                {"slaveof", replicaof, 3, kR},
                                {"replconf", replconf, -1, kR | kWhilePaused | kAllowBusy},
                                {"psync", psync, -3, kR | kNoMulti | kWhilePaused},
                                {"sync", sync, 1, kR | kNoMulti | kWhilePaused},
                                {"wait", wait, 3, kNoScript},
                                {"failover", failover, -1, kR},
                                {"role", role, 1, kNoScript | kFast},
                            });
}

}  // namespace holdfast::sim::embedded
