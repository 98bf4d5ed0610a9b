// Who is in the cluster: MEET and the handshake behind it, nodes that gossip brings, FORGET, RESET,
// addresses, and two configurations with one epoch.
#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "sim/redis/cluster/cluster.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::int64_t kForgottenMs = 60'000;

bool is_address(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1 || inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool is_port(std::int64_t number) { return number > 0 && number <= 65535; }

}  // namespace

Cluster::Peer& Cluster::add(std::string id, const Endpoint& at, std::uint16_t bus_port) {
  auto peer = std::make_unique<Peer>();
  peer->id = id;
  peer->at = at;
  peer->bus_port = bus_port;
  peer->since_ms = now_ms();
  return *(peers_[std::move(id)] = std::move(peer));
}

// Nothing but its address is known: its name comes with its first answer.
void Cluster::shake_hands(const Endpoint& at, std::uint16_t bus_port, bool meets) {
  for (const auto& [id, peer] : peers_) {
    if (peer->handshake && peer->at == at && peer->bus_port == bus_port) return;
  }
  Peer& peer = add(random_hex(runtime_), at, bus_port);
  peer.primary = false;
  peer.handshake = true;
  peer.meets = meets;
}

void Cluster::drop_handshakes() {
  const std::int64_t limit = std::max<std::int64_t>(options_.node_timeout_ms, 1000);
  std::vector<Peer*> late;
  for (const auto& [id, peer] : peers_) {
    if (peer->handshake && now_ms() - peer->since_ms > limit) late.push_back(peer.get());
  }
  for (Peer* const peer : late) remove(*peer);
}

Cluster::Peer* Cluster::peer_of(const BusLink& link) {
  for (const auto& [id, peer] : peers_) {
    if (peer->link.get() == &link) return peer.get();
  }
  return nullptr;
}

void Cluster::hear_stranger(const BusMessage& message, BusLink* from, BusLink& on) {
  using Type = BusMessage::Type;
  const bool asks = message.type == Type::ping || message.type == Type::meet;
  if (message.type == Type::meet) shake_hands(message.at, message.bus_port, false);
  if (asks) send_ping(on, nullptr, Type::pong);
  if (!asks && message.type != Type::pong) return;
  if (Peer* const linked = from == nullptr ? nullptr : peer_of(*from)) settle(*linked, nullptr, message);
}

void Cluster::settle(Peer& linked, const Peer* sender, const BusMessage& message) {
  if (linked.handshake && sender != nullptr) {
    remove(linked);  // it is known already
  } else if (linked.handshake) {
    linked.handshake = linked.meets = false;
    linked.primary = message.primary;
    linked.pinged_ms = 0;
    linked.ponged_ms = linked.heard_ms = now_ms();
    rename(linked, message.sender);
  } else {
    linked.no_address = true;
    linked.at = {};
    linked.bus_port = 0;
    linked.link->close();
  }
  remember();
}

void Cluster::rename(Peer& peer, std::string id) {
  auto node = peers_.extract(peer.id);
  peer.id = std::move(id);
  node.key() = peer.id;
  peers_.insert(std::move(node));
}

void Cluster::move(Peer& peer, const Endpoint& at, std::uint16_t bus_port) {
  if (peer.link) peer.link->close();
  peer.at = at;
  peer.bus_port = bus_port;
  peer.no_address = false;
  remember();
  if (!own_->primary && own_->follows == peer.id) {
    engine_.replication().follow(at);
    engine_.finish_batch();
  }
}

void Cluster::update_address(Peer& peer, const BusMessage& message, const BusLink* from) {
  if (from != nullptr && peer.link.get() == from) return;
  if (peer.at != message.at || peer.bus_port != message.bus_port) move(peer, message.at, message.bus_port);
}

void Cluster::learn(const BusMessage::Gossip& one) {
  if (one.at.port == 0 || is_forgotten(one.id)) return;
  Peer& peer = add(one.id, one.at, one.bus_port);
  peer.primary = one.primary;
  peer.pfail = one.pfail;
  peer.fail = one.fail;
  remember();
}

// Of two primaries with one epoch, the one whose name is smaller takes the next.
void Cluster::end_collision(const Peer& sender, const BusMessage& message) {
  if (!own_->primary || !sender.primary || message.config_epoch != own_->config_epoch) return;
  if (sender.config_epoch != own_->config_epoch || sender.id <= own_->id) return;
  own_->config_epoch = ++current_epoch_;
  remember();
}

void Cluster::remove(Peer& peer) {
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (owners_[slot] == &peer) own_slot(slot, nullptr);
  }
  const auto is_it = [&](const auto& of) { return of.second == &peer; };
  std::erase_if(migrating_, is_it);
  std::erase_if(importing_, is_it);
  for (const auto& [id, other] : peers_) {
    other->failures.erase(peer.id);
    if (other->follows == peer.id) other->follows.clear();
  }
  if (stands_for_ == &peer) end_manual_failover();
  if (peer.link) peer.link->close();
  if (const auto inbound = peer.inbound.lock()) inbound->close();
  look_again_ = true;
  peers_.erase(peer.id);
}

bool Cluster::is_forgotten(const std::string& id) {
  std::erase_if(forgotten_, [&](const auto& one) { return one.second < now_ms(); });
  return forgotten_.contains(id);
}

void Cluster::reset(bool hard) {
  const bool was_replica = !own_->primary;
  if (was_replica) {
    own_->primary = true;
    own_->follows.clear();
    engine_.replication().promote();
    for (int db = 0; db < kDatabases; ++db) engine_.flush_db(db);
  }
  migrating_.clear();
  importing_.clear();
  end_manual_failover();
  for (std::size_t slot = 0; slot < kSlots; ++slot) own_slot(slot, nullptr);
  std::vector<Peer*> others;
  for (const auto& [id, peer] : peers_) {
    if (peer.get() != own_) others.push_back(peer.get());
  }
  for (Peer* const peer : others) remove(*peer);
  if (hard) {
    current_epoch_ = last_vote_epoch_ = own_->config_epoch = 0;
    rename(*own_, random_hex(runtime_));
  }
  look_again_ = false;
  update_state();
  remember();
  engine_.finish_batch();
  if (was_replica && options_.on_role_changed) options_.on_role_changed(true);
}

// --- commands --------------------------------------------------------------------------------------------

void Cluster::answer_meet(Call& c) {
  if (c.argc() > 5) {
    return c.out.error("ERR unknown subcommand or wrong number of arguments for '" + std::string(c.arg(1)) +
                       "'. Try CLUSTER HELP.");
  }
  std::int64_t port = 0, bus_port = 0;
  if (!parse_integer(c.arg(3), port))
    return c.out.error("ERR Invalid TCP base port specified: " + std::string(c.arg(3)));
  if (c.argc() == 5 && !parse_integer(c.arg(4), bus_port))
    return c.out.error("ERR Invalid TCP bus port specified: " + std::string(c.arg(4)));
  constexpr std::int64_t kAbove = 10'000;
  if (c.argc() == 4) bus_port = port + kAbove;
  const std::string host(c.arg(2));
  if (!is_address(host) || !is_port(port) || !is_port(bus_port))
    return c.out.error("ERR Invalid node address specified: " + host + ':' + std::string(c.arg(3)));
  shake_hands({host, static_cast<std::uint16_t>(port)}, static_cast<std::uint16_t>(bus_port), true);
  c.out.ok();
}

void Cluster::answer_forget(Call& c) {
  Peer* const node = find(std::string(c.arg(2)));
  if (node == nullptr) return c.out.error("ERR Unknown node " + std::string(c.arg(2)));
  if (node == own_) return c.out.error("ERR I tried hard but I can't forget myself...");
  if (!own_->primary && own_->follows == node->id) return c.out.error("ERR Can't forget my master!");
  forgotten_[node->id] = now_ms() + kForgottenMs;
  remove(*node);
  look_again_ = false;
  update_state();
  remember();
  c.out.ok();
}

void Cluster::answer_reset(Call& c) {
  if (c.argc() > 3) {
    return c.out.error("ERR unknown subcommand or wrong number of arguments for '" + std::string(c.arg(1)) +
                       "'. Try CLUSTER HELP.");
  }
  const bool hard = c.argc() == 3 && c.option(2, "hard");
  if (c.argc() == 3 && !hard && !c.option(2, "soft")) return c.out.error(kSyntax);
  if (own_->primary && c.db().size() != 0)
    return c.out.error("ERR CLUSTER RESET can't be called with master nodes containing keys");
  reset(hard);
  c.propagate_nothing = true;
  c.out.ok();
}

void Cluster::answer_links(Call& c) {
  struct Line {
    const Peer* peer;
    const BusLink* link;
    bool own;
  };
  std::vector<Line> lines;
  std::vector<std::shared_ptr<BusLink>> inbound;
  for (const auto& [id, peer] : peers_) {
    if (peer->link && peer->link->open()) lines.push_back({peer.get(), peer->link.get(), true});
    if (auto link = peer->inbound.lock(); link && link->open()) {
      lines.push_back({peer.get(), link.get(), false});
      inbound.push_back(std::move(link));
    }
  }
  c.out.array(lines.size());
  for (const Line& line : lines) {
    c.out.map(6);
    c.out.bulk("direction");
    c.out.bulk(line.own ? "to" : "from");
    c.out.bulk("node");
    c.out.bulk(line.peer->id);
    c.out.bulk("create-time");
    c.out.integer(line.link->opened_ms);
    c.out.bulk("events");
    c.out.bulk("r");
    c.out.bulk("send-buffer-allocated");
    c.out.integer(0);
    c.out.bulk("send-buffer-used");
    c.out.integer(0);
  }
}

void Cluster::answer_set_config_epoch(Call& c) {
  std::int64_t epoch = 0;
  if (!integer_arg(c, 2, epoch)) return;
  if (epoch < 0) return c.out.error("ERR Invalid config epoch specified: " + std::to_string(epoch));
  if (peers_.size() > 1) {
    return c.out.error(
        "ERR The user can assign a config epoch only when the node does not know any other node.");
  }
  if (own_->config_epoch != 0) return c.out.error("ERR Node config epoch is already non-zero");
  own_->config_epoch = epoch;
  current_epoch_ = std::max(current_epoch_, epoch);
  remember();
  c.out.ok();
}

}  // namespace holdfast::sim::embedded
