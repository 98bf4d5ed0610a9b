// Who takes the place of a primary: votes, and failovers that somebody asked for.
#include <algorithm>

#include "sim/redis/cluster/cluster.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::int64_t kDelayMs = 500;     // until FAIL has reached everybody; and as much again, drawn
constexpr std::int64_t kOfARankMs = 1000;  // who has less waits longer
constexpr std::int64_t kManualLimitMs = 5000;
constexpr std::int64_t kValidity = 10;  // cluster-replica-validity-factor

}  // namespace

// How many replicas of the same primary have more of its data.
std::int64_t Cluster::rank() const {
  std::int64_t before = 0;
  for (const auto& [id, peer] : peers_) {
    if (peer.get() != own_ && !peer->primary && peer->follows == own_->follows && peer->offset > own_offset())
      ++before;
  }
  return before;
}

void Cluster::stand_for_election() {
  if (own_->primary) return;
  const Peer& primary = own_primary();
  const bool manual = asked_until_ms_ != 0 && may_start_;
  if ((!primary.fail && !manual) || primary.slots.none()) return;
  const std::int64_t now = now_ms();
  const Replication& replication = engine_.replication();
  std::int64_t age =
      now - (replication.link_state() == LinkState::connected ? replication.last_io_ms()
                                                              : replication.link_down_since_ms());
  if (age > options_.node_timeout_ms) age -= options_.node_timeout_ms;
  if (!manual && age > engine_.config().repl_ping_period_s * 1000 + options_.node_timeout_ms * kValidity)
    return;
  const std::int64_t limit = std::max<std::int64_t>(options_.node_timeout_ms * 2, 2000);
  if (now - election_ms_ > limit * 2) {
    election_ms_ = now + kDelayMs + static_cast<std::int64_t>(runtime_.random_between(0, kDelayMs - 1));
    rank_ = rank();
    election_ms_ += rank_ * kOfARankMs;
    votes_ = 0;
    asked_ = false;
    if (manual) {
      election_ms_ = now;
      rank_ = 0;
    }
    for (const auto& [id, peer] : peers_) {  // so that ranks are known
      if (peer.get() != own_ && !peer->primary && peer->follows == own_->follows && peer->link)
        send_ping(*peer->link, peer.get(), BusMessage::Type::pong);
    }
    if (!manual) return;
  }
  if (!asked_ && asked_until_ms_ == 0) {
    const std::int64_t rank_now = rank();
    if (rank_now > rank_) {
      election_ms_ += (rank_now - rank_) * kOfARankMs;
      rank_ = rank_now;
    }
  }
  if (now < election_ms_ || now - election_ms_ > limit) return;
  if (!asked_) {
    election_epoch_ = ++current_epoch_;
    asked_ = true;
    remember();
    broadcast(header(BusMessage::Type::auth_request));
    return;
  }
  if (votes_ < quorum()) return;
  own_->config_epoch = std::max(own_->config_epoch, election_epoch_);
  take_over();
}

// One vote for each epoch, and one for the replicas of one primary within two timeouts.
void Cluster::vote(Peer& candidate, const BusMessage& request) {
  if (!own_->has_slots()) return;
  Peer* const primary = candidate.primary ? nullptr : find(candidate.follows);
  const std::int64_t now = now_ms();
  if (request.current_epoch < current_epoch_ || last_vote_epoch_ == current_epoch_) return;
  if (primary == nullptr || (!primary->fail && !request.force_vote)) return;
  if (now - primary->voted_ms < options_.node_timeout_ms * 2) return;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (request.slots.test(slot) && owners_[slot] != nullptr &&
        owners_[slot]->config_epoch > request.config_epoch)
      return;
  }
  primary->voted_ms = now;
  last_vote_epoch_ = current_epoch_;
  remember();
  if (!candidate.link || !candidate.link->open()) return;
  ++sent_[BusMessage::Type::auth_ack];
  candidate.link->send(header(BusMessage::Type::auth_ack));
}

void Cluster::take_over() {
  Peer& old = own_primary();
  own_->primary = true;
  own_->follows.clear();
  engine_.replication().promote();
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (owners_[slot] == &old) own_slot(slot, own_);
  }
  asked_ = false;
  update_state();
  remember();
  announce();
  end_manual_failover();
  engine_.finish_batch();
  if (options_.on_role_changed) options_.on_role_changed(true);
}

// --- asked for -------------------------------------------------------------------------------------------

void Cluster::end_manual_failover() {
  if (asked_until_ms_ != 0 && stands_for_ != nullptr) engine_.unpause_clients(Engine::Pause::during_failover);
  asked_until_ms_ = 0;
  may_start_ = false;
  primary_offset_ = -1;
  stands_for_ = nullptr;
}

void Cluster::advance_manual_failover() {
  if (asked_until_ms_ == 0) return;
  if (now_ms() >= asked_until_ms_) return end_manual_failover();
  if (own_->primary || may_start_ || primary_offset_ < 0) return;
  if (own_offset() != primary_offset_) return;
  may_start_ = true;
  election_ms_ = 0;
}

std::string Cluster::begin_failover(std::string_view how) {
  if (own_->primary) return "ERR You should send CLUSTER FAILOVER to a replica";
  Peer& primary = own_primary();
  const bool linked = primary.link && primary.link->open();
  if (how.empty() && (primary.fail || !linked))
    return "ERR Master is down or failed, please use CLUSTER FAILOVER FORCE";
  end_manual_failover();
  if (how == "takeover") {
    bump_epoch();
    take_over();
    return {};
  }
  asked_until_ms_ = now_ms() + kManualLimitMs;
  election_ms_ = 0;
  if (how == "force") {
    may_start_ = true;
  } else {
    ++sent_[BusMessage::Type::mf_start];
    primary.link->send(header(BusMessage::Type::mf_start));
  }
  stand_for_election();
  return {};
}

}  // namespace holdfast::sim::embedded
