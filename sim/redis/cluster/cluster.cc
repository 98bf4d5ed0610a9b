#include "sim/redis/cluster/cluster.h"

#include <algorithm>
#include <utility>

#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::int64_t kWritableDelayMs = 2000;          // a primary that starts serves nobody before
constexpr std::int64_t kReportsLast = 2, kFailUndo = 2;  // times the node's timeout

}  // namespace

Cluster::Cluster(Runtime& runtime, Engine& engine, Bus& bus, ClusterNodeOptions options)
    : runtime_(runtime), engine_(engine), bus_(bus), options_(std::move(options)) {
  const ClusterMemory& memory = *options_.memory;
  current_epoch_ = memory.current_epoch;
  last_vote_epoch_ = memory.last_vote_epoch;
  for (const auto& [id, known] : memory.nodes) {
    auto peer = std::make_unique<Peer>();
    static_cast<KnownNode&>(*peer) = known;
    peer->id = id;
    peer->no_address = known.at.port == 0;
    peer->slot_count = known.slots.count();
    each_range(known.slots, [&](std::size_t first, std::size_t last) {
      std::fill(owners_.begin() + static_cast<std::ptrdiff_t>(first),
                owners_.begin() + static_cast<std::ptrdiff_t>(last) + 1, peer.get());
    });
    peers_[id] = std::move(peer);
  }
  own_ = peers_.at(memory.id).get();
  update_state();
}

Cluster::~Cluster() = default;

std::int64_t Cluster::now_ms() const { return engine_.wall_ms(); }

Cluster::Peer* Cluster::find(const std::string& id) {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second.get();
}

Endpoint Cluster::primary() const { return own_->primary ? Endpoint{} : peers_.at(own_->follows)->at; }

std::int64_t Cluster::own_offset() const { return engine_.replication().offset(); }

void Cluster::stop() {
  stopped_ = true;
  for (const auto& [id, peer] : peers_) {
    if (peer->link) peer->link->close();
  }
}

// What a real one writes to its file.
void Cluster::remember() {
  ClusterMemory& memory = *options_.memory;
  memory.current_epoch = current_epoch_;
  memory.last_vote_epoch = last_vote_epoch_;
  memory.id = own_->id;
  memory.nodes.clear();
  for (const auto& [id, peer] : peers_) {
    if (!peer->handshake) memory.nodes[id] = *peer;
  }
}

// --- messages --------------------------------------------------------------------------------------------

BusMessage Cluster::header(BusMessage::Type type) {
  const Peer& speaks_for = own_primary();
  BusMessage message;
  message.type = type;
  message.sender = own_->id;
  message.at = own_->at;
  message.bus_port = own_->bus_port;
  message.primary = own_->primary;
  message.follows = own_->follows;
  message.current_epoch = current_epoch_;
  message.config_epoch = speaks_for.config_epoch;
  message.offset = own_offset();
  message.slots = speaks_for.slots;
  message.paused = own_->primary && asked_until_ms_ != 0;
  message.force_vote = !own_->primary && asked_until_ms_ != 0;
  return message;
}

void Cluster::ping(Peer& peer) {
  peer.pinged_ms = now_ms();
  send_ping(*peer.link, &peer, peer.meets ? BusMessage::Type::meet : BusMessage::Type::ping);
}

// With what it has heard of some others, and of all that seem to fail.
void Cluster::send_ping(BusLink& to, const Peer* receiver, BusMessage::Type type) {
  BusMessage message = header(type);
  std::vector<Peer*> others, failing;
  for (const auto& [id, peer] : peers_) {
    if (peer.get() == own_ || peer.get() == receiver || !peer->is_settled()) continue;
    (peer->pfail ? failing : others).push_back(peer.get());
  }
  const std::size_t wanted = std::max<std::size_t>(3, peers_.size() / 10);
  while (others.size() > wanted)
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(runtime_.random_between(0, others.size() - 1)));
  others.insert(others.end(), failing.begin(), failing.end());
  for (const Peer* const peer : others) {
    message.gossip.push_back({.id = peer->id,
                              .pfail = peer->pfail,
                              .fail = peer->fail,
                              .pinged_ms = peer->pinged_ms,
                              .ponged_ms = peer->ponged_ms,
                              .at = peer->at,
                              .bus_port = peer->bus_port,
                              .primary = peer->primary});
  }
  ++sent_[type];
  to.send(message);
}

void Cluster::broadcast(const BusMessage& message) {
  for (const auto& [id, peer] : peers_) {
    if (peer.get() == own_ || !peer->link || !peer->link->open()) continue;
    ++sent_[message.type];
    peer->link->send(message);
  }
}

void Cluster::announce() {
  for (const auto& [id, peer] : peers_) {
    if (peer.get() != own_ && peer->link && peer->link->open())
      send_ping(*peer->link, peer.get(), BusMessage::Type::pong);
  }
}

void Cluster::publish(std::string_view channel, std::string_view payload, bool sharded) {
  BusMessage message = header(BusMessage::Type::publish);
  message.channel = channel;
  message.payload = payload;
  message.sharded = sharded;
  if (!sharded) return broadcast(message);
  const Peer& mine = own_primary();
  for (const auto& [id, peer] : peers_) {
    const bool of_shard = peer.get() == &mine || peer->follows == mine.id;
    if (peer.get() == own_ || !of_shard || !peer->link || !peer->link->open()) continue;
    ++sent_[message.type];
    peer->link->send(message);
  }
}

// --- watching --------------------------------------------------------------------------------------------

void Cluster::tick() {
  if (stopped_) return;
  const std::int64_t now = now_ms(), timeout = options_.node_timeout_ms;
  if (began_ms_ == 0) began_ms_ = now;
  drop_handshakes();
  for (const auto& [id, peer] : peers_) {
    if (peer.get() == own_ || peer->no_address || (peer->link && peer->link->open())) continue;
    peer->link = bus_.connect({peer->at.host, peer->bus_port});
    peer->link->opened_ms = now;
    const std::int64_t waiting = peer->pinged_ms;
    ping(*peer);
    if (waiting != 0) peer->pinged_ms = waiting;
  }
  if (++ticks_ % 10 == 0) {  // once a second one that has been quiet for long
    Peer* quietest = nullptr;
    for (int i = 0; i < 5; ++i) {
      auto at = peers_.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(runtime_.random_between(0, peers_.size() - 1)));
      Peer& peer = *at->second;
      if (&peer == own_ || peer.pinged_ms != 0 || !peer.is_settled()) continue;
      if (quietest == nullptr || peer.ponged_ms < quietest->ponged_ms) quietest = &peer;
    }
    if (quietest != nullptr) ping(*quietest);
  }
  bool changed = false;
  for (const auto& [id, owned] : peers_) {
    Peer& peer = *owned;
    if (&peer == own_ || !peer.is_settled()) continue;
    const bool linked = peer.link && peer.link->open();
    // It may be the connection alone that is stuck.
    if (linked && now - peer.link->opened_ms > timeout && peer.pinged_ms != 0 &&
        now - peer.pinged_ms > timeout / 2 && now - peer.heard_ms > timeout / 2)
      peer.link->close();
    if (linked && peer.link->open() && peer.pinged_ms == 0 && now - peer.ponged_ms > timeout / 2) {
      ping(peer);
      continue;
    }
    if (linked && peer.link->open() && asked_until_ms_ != 0 && own_->primary && stands_for_ == &peer) {
      ping(peer);
      continue;
    }
    if (peer.pinged_ms == 0) continue;
    if (std::min(now - peer.pinged_ms, now - peer.heard_ms) > timeout && !peer.pfail && !peer.fail) {
      peer.pfail = true;
      changed = true;
    }
  }
  advance_manual_failover();
  stand_for_election();
  if (changed || !well_) update_state();
}

void Cluster::hear(const BusMessage& message, BusLink* from, BusLink& on) {
  using Type = BusMessage::Type;
  if (stopped_) return;
  Peer* const sender = find(message.sender);
  if (sender == own_) return;
  const std::int64_t now = now_ms();
  ++received_[message.type];
  if (sender == nullptr) return hear_stranger(message, from, on);
  if (from == nullptr) sender->inbound = on.weak_from_this();
  sender->heard_ms = now;
  bool epochs = false;
  if (message.current_epoch > current_epoch_) {
    current_epoch_ = message.current_epoch;
    epochs = true;
  }
  if (message.primary && message.config_epoch > sender->config_epoch) {
    sender->config_epoch = message.config_epoch;
    epochs = true;
  }
  if (epochs) remember();
  sender->offset = message.offset;
  // The primary of a failover that was asked for stands still: this is where.
  if (asked_until_ms_ != 0 && !own_->primary && own_->follows == sender->id && message.paused &&
      primary_offset_ == -1)
    primary_offset_ = message.offset;

  const bool asks = message.type == Type::ping || message.type == Type::meet;
  if (asks) send_ping(on, sender, Type::pong);
  if (asks || message.type == Type::pong) {
    Peer* const linked = from == nullptr ? nullptr : peer_of(*from);
    if (linked != nullptr && linked != sender) return settle(*linked, sender, message);
    if (message.type == Type::ping) update_address(*sender, message, from);
    if (message.type == Type::pong && from != nullptr) {
      sender->ponged_ms = now;
      sender->pinged_ms = 0;
      if (sender->pfail) {
        sender->pfail = false;
        look_again_ = true;
      } else if (sender->fail) {
        clear_failure(*sender);
      }
    }
    hear_role(*sender, message);
    hear_slots(*sender, message, on);
    end_collision(*sender, message);
    hear_gossip(*sender, message);
  }
  switch (message.type) {
    case Type::fail:
      if (Peer* const about = find(message.about); about != nullptr && about != own_ && !about->fail) {
        about->fail = true;
        about->pfail = false;
        about->fail_ms = now;
        look_again_ = true;
      }
      break;
    case Type::auth_request: vote(*sender, message); break;
    case Type::auth_ack:
      if (sender->has_slots() && message.current_epoch >= election_epoch_ && asked_) ++votes_;
      break;
    case Type::update: hear_update(message); break;
    case Type::mf_start:
      if (own_->primary && sender->follows == own_->id) {
        end_manual_failover();
        asked_until_ms_ = now + 5000;
        stands_for_ = sender;
        engine_.pause_clients(Engine::Pause::during_failover, engine_.mono_ms() + 10'000, false);
      }
      break;
    case Type::publish:
      engine_.pubsub().publish(engine_, message.channel, message.payload, message.sharded);
      engine_.finish_batch();
      break;
    default: break;
  }
  if (std::exchange(look_again_, false)) update_state();
  if (std::exchange(has_output_, false)) engine_.finish_batch();
  advance_manual_failover();
  stand_for_election();
}

void Cluster::hear_role(Peer& sender, const BusMessage& message) {
  if (message.primary) {
    if (!sender.primary) set_primary(sender);
    return;
  }
  if (sender.primary) {
    sender.primary = false;
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      if (owners_[slot] == &sender) own_slot(slot, nullptr);
    }
    look_again_ = true;
  }
  if (sender.follows != message.follows && find(message.follows) != nullptr) {
    sender.follows = message.follows;
    remember();
  }
}

void Cluster::set_primary(Peer& peer) {
  peer.primary = true;
  peer.follows.clear();
  look_again_ = true;
  remember();
}

void Cluster::hear_gossip(Peer& sender, const BusMessage& message) {
  const std::int64_t now = now_ms();
  for (const BusMessage::Gossip& one : message.gossip) {
    Peer* const about = find(one.id);
    if (about == nullptr) learn(one);
    if (about == nullptr || about == own_) continue;
    if (sender.has_slots()) {
      if (one.pfail || one.fail) {
        about->failures[sender.id] = now;
        judge_failing(*about);
      } else {
        about->failures.erase(sender.id);
      }
    }
    if (!one.pfail && !one.fail && about->pinged_ms == 0 && reports_of(*about) == 0 &&
        one.ponged_ms <= now + 500 && one.ponged_ms > about->ponged_ms)
      about->ponged_ms = one.ponged_ms;
    if ((about->pfail || about->fail) && !one.pfail && !one.fail && one.at.port != 0 &&
        (about->at != one.at || about->bus_port != one.bus_port))
      move(*about, one.at, one.bus_port);
  }
}

std::size_t Cluster::reports_of(Peer& peer) {
  const std::int64_t since = now_ms() - options_.node_timeout_ms * kReportsLast;
  std::erase_if(peer.failures, [&](const auto& report) { return report.second < since; });
  return peer.failures.size();
}

// PFAIL becomes FAIL when a majority of the primaries says so.
void Cluster::judge_failing(Peer& peer) {
  if (!peer.pfail || peer.fail) return;
  const std::size_t votes = reports_of(peer) + (own_->has_slots() ? 1 : 0);
  if (votes < quorum()) return;
  peer.pfail = false;
  peer.fail = true;
  peer.fail_ms = now_ms();
  look_again_ = true;
  if (!own_->primary) return;
  BusMessage message = header(BusMessage::Type::fail);
  message.about = peer.id;
  broadcast(message);
}

// It answers again. A primary that nobody replaced in the meantime has its slots back.
void Cluster::clear_failure(Peer& peer) {
  const bool replaced = !peer.has_slots();
  if (!replaced && now_ms() - peer.fail_ms <= options_.node_timeout_ms * kFailUndo) return;
  peer.fail = false;
  look_again_ = true;
}

void Cluster::update_state() {
  const std::int64_t now = now_ms();
  if (own_->primary && !well_ && now - (began_ms_ == 0 ? now : began_ms_) < kWritableDelayMs) return;
  std::size_t reachable = 0, served = 0;
  size_ = 0;
  for (const auto& [id, peer] : peers_) {
    if (!peer->fail) served += peer->slot_count;
    if (!peer->has_slots()) continue;
    ++size_;
    if (!peer->fail && !peer->pfail) ++reachable;
  }
  bool well = served == kSlots;
  if (reachable < quorum()) {
    well = false;
    among_minority_ms_ = now;
  }
  if (well == well_) return;
  const std::int64_t rejoin = std::clamp<std::int64_t>(options_.node_timeout_ms, 500, 5000);
  if (well && own_->primary && now - among_minority_ms_ < rejoin) return;
  well_ = well;
}

void Cluster::follow(Peer& primary) {
  const bool was_primary = own_->primary;
  if (was_primary) {
    own_->primary = false;
    migrating_.clear();
    importing_.clear();
  }
  own_->follows = primary.id;
  engine_.replication().follow(primary.at);
  engine_.finish_batch();
  end_manual_failover();
  remember();
  if (was_primary && options_.on_role_changed) options_.on_role_changed(false);
}

}  // namespace holdfast::sim::embedded
