// CLUSTER and its subcommands.
#include <algorithm>
#include <chrono>

#include "lib/redis/hash_slot.h"
#include "sim/redis/cluster/cluster.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::string_view kInvalidSlot = "ERR Invalid or out of range slot";

bool read_slot(std::string_view text, std::size_t& slot) {
  std::int64_t number = 0;
  if (!parse_integer(text, number) || number < 0 || number >= static_cast<std::int64_t>(kSlots)) return false;
  slot = static_cast<std::size_t>(number);
  return true;
}

std::string_view name_of(BusMessage::Type type) {
  static constexpr std::string_view kNames[] = {"ping",     "pong",     "meet",   "fail",   "publish",
                                                "auth-req", "auth-ack", "update", "mfstart"};
  return kNames[static_cast<std::size_t>(type)];
}

}  // namespace

std::vector<Cluster::Peer*> Cluster::replicas_of(const Peer& primary) {
  std::vector<Peer*> replicas;
  for (const auto& [id, peer] : peers_) {
    if (!peer->primary && peer->follows == primary.id) replicas.push_back(peer.get());
  }
  return replicas;
}

std::string Cluster::line_of(const Peer& peer) {
  std::string flags = &peer == own_ ? "myself," : "";
  flags += peer.handshake ? "handshake" : peer.primary ? "master" : "slave";
  if (peer.pfail) flags += ",fail?";
  if (peer.fail) flags += ",fail";
  if (peer.no_address) flags += ",noaddr";
  const bool linked = &peer == own_ || (peer.link && peer.link->open());
  const std::int64_t epoch =
      peer.primary || find(peer.follows) == nullptr ? peer.config_epoch : find(peer.follows)->config_epoch;
  std::string line = peer.id + ' ' + peer.at.to_string() + '@' + std::to_string(peer.bus_port) + ' ' + flags +
                     ' ' + (peer.follows.empty() ? "-" : peer.follows) + ' ' +
                     std::to_string(peer.pinged_ms) + ' ' + std::to_string(peer.ponged_ms) + ' ' +
                     std::to_string(epoch) + (linked ? " connected" : " disconnected");
  const std::string slots = ranges_of(peer.slots);
  if (!slots.empty()) line += ' ' + slots;
  if (&peer == own_) {
    for (const auto& [slot, to] : migrating_) line += " [" + std::to_string(slot) + "->-" + to->id + ']';
    for (const auto& [slot, from] : importing_) line += " [" + std::to_string(slot) + "-<-" + from->id + ']';
  }
  return line;
}

std::string Cluster::nodes_text() {
  std::string text;
  for (const auto& [id, peer] : peers_) text += line_of(*peer) + '\n';
  return text;
}

std::string Cluster::info_text() {
  std::size_t assigned = 0, pfail = 0, fail = 0;
  for (const auto& [id, peer] : peers_) {
    assigned += peer->slot_count;
    if (peer->fail) {
      fail += peer->slot_count;
    } else if (peer->pfail) {
      pfail += peer->slot_count;
    }
  }
  std::string text = std::string("cluster_state:") + (well_ ? "ok" : "fail") + "\r\n";
  const auto line = [&](std::string_view name, std::int64_t value, std::string_view more = {}) {
    text.append(name).append(more).append(":").append(std::to_string(value)).append("\r\n");
  };
  const auto count = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  line("cluster_slots_assigned", count(assigned));
  line("cluster_slots_ok", count(assigned - fail - pfail));
  line("cluster_slots_pfail", count(pfail));
  line("cluster_slots_fail", count(fail));
  line("cluster_known_nodes", count(peers_.size()));
  line("cluster_size", count(size_));
  line("cluster_current_epoch", current_epoch_);
  line("cluster_my_epoch", own_primary().config_epoch);
  for (const auto& [what, stats] : {std::pair{"sent", &sent_}, std::pair{"received", &received_}}) {
    std::int64_t all = 0;
    for (const auto& [type, number] : *stats) {
      text.append("cluster_stats_messages_").append(name_of(type));
      line("_", number, what);
      all += number;
    }
    line("cluster_stats_messages_", all, what);
  }
  line("total_cluster_links_buffer_limit_exceeded", 0);
  return text;
}

void Cluster::answer_slots(Call& c) {
  struct Range {
    std::size_t first, last;
    Peer* owner;
  };
  std::vector<Range> ranges;
  for (const auto& [id, peer] : peers_) {
    each_range(peer->slots, [&, owner = peer.get()](std::size_t first, std::size_t last) {
      ranges.push_back({first, last, owner});
    });
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  c.out.array(ranges.size());
  for (const Range& range : ranges) {
    std::vector<Peer*> nodes = {range.owner};
    for (Peer* const replica : replicas_of(*range.owner)) {
      if (!replica->fail && (replica == own_ ? own_offset() : replica->offset) != 0) nodes.push_back(replica);
    }
    c.out.array(2 + nodes.size());
    c.out.integer(static_cast<std::int64_t>(range.first));
    c.out.integer(static_cast<std::int64_t>(range.last));
    for (const Peer* const node : nodes) {
      c.out.array(4);
      c.out.bulk(node->at.host);
      c.out.integer(node->at.port);
      c.out.bulk(node->id);
      c.out.map(0);
    }
  }
}

void Cluster::answer_shards(Call& c) {
  std::vector<Peer*> primaries;
  for (const auto& [id, peer] : peers_) {
    if (peer->primary) primaries.push_back(peer.get());
  }
  c.out.array(primaries.size());
  for (Peer* const primary : primaries) {
    std::vector<std::pair<std::size_t, std::size_t>> ranges;
    each_range(primary->slots,
               [&](std::size_t first, std::size_t last) { ranges.emplace_back(first, last); });
    c.out.map(2);
    c.out.bulk("slots");
    c.out.array(ranges.size() * 2);
    for (const auto& [first, last] : ranges) {
      c.out.integer(static_cast<std::int64_t>(first));
      c.out.integer(static_cast<std::int64_t>(last));
    }
    c.out.bulk("nodes");
    std::vector<Peer*> nodes = replicas_of(*primary);
    nodes.insert(nodes.begin(), primary);
    c.out.array(nodes.size());
    for (const Peer* const node : nodes) {
      const std::int64_t offset = node == own_ ? own_offset() : node->offset;
      c.out.map(7);
      c.out.bulk("id");
      c.out.bulk(node->id);
      c.out.bulk("port");
      c.out.integer(node->at.port);
      c.out.bulk("ip");
      c.out.bulk(node->at.host);
      c.out.bulk("endpoint");
      c.out.bulk(node->at.host);
      c.out.bulk("role");
      c.out.bulk(node->primary ? "master" : "replica");
      c.out.bulk("replication-offset");
      c.out.integer(offset);
      c.out.bulk("health");
      c.out.bulk(node->fail ? "fail" : !node->primary && offset == 0 ? "loading" : "online");
    }
  }
}

// ADDSLOTS, DELSLOTS, and the same by ranges.
void Cluster::answer_slot_lists(Call& c, bool add, bool ranges) {
  SlotSet chosen;
  const auto choose = [&](std::size_t first, std::size_t last) {
    for (std::size_t slot = first; slot <= last; ++slot) {
      if (add && owners_[slot] != nullptr) {
        c.out.error("ERR Slot " + std::to_string(slot) + " is already busy");
        return false;
      }
      if (!add && owners_[slot] == nullptr) {
        c.out.error("ERR Slot " + std::to_string(slot) + " is already unassigned");
        return false;
      }
      if (chosen.test(slot)) {
        c.out.error("ERR Slot " + std::to_string(slot) + " specified multiple times");
        return false;
      }
      chosen.set(slot);
    }
    return true;
  };
  if (ranges && c.argc() % 2 == 1) {
    return c.out.error("ERR wrong number of arguments for 'cluster|" + lower(c.arg(1)) + "' command");
  }
  // All are read before any is looked at.
  std::vector<std::size_t> numbers;
  for (std::size_t i = 2; i < c.argc(); ++i) {
    std::size_t slot = 0;
    if (!read_slot(c.arg(i), slot)) return c.out.error(kInvalidSlot);
    numbers.push_back(slot);
    if (!ranges || numbers.size() % 2 == 1) continue;
    const std::size_t first = numbers[numbers.size() - 2];
    if (first > slot) {
      return c.out.error("ERR start slot number " + std::to_string(first) +
                         " is greater than end slot number " + std::to_string(slot));
    }
  }
  for (std::size_t i = 0; i < numbers.size(); i += ranges ? 2 : 1) {
    if (!choose(numbers[i], numbers[ranges ? i + 1 : i])) return;
  }
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (!chosen.test(slot)) continue;
    if (add) importing_.erase(slot);
    own_slot(slot, add ? own_ : nullptr);
  }
  update_state();
  remember();
  c.out.ok();
}

void Cluster::answer_set_slot(Call& c) {
  std::size_t slot = 0;
  if (!own_->primary) return c.out.error("ERR Please use SETSLOT only with masters.");
  if (!read_slot(c.arg(2), slot)) return c.out.error(kInvalidSlot);
  const bool named = c.argc() == 5;
  if (c.option(3, "stable") && !named) {
    migrating_.erase(slot);
    importing_.erase(slot);
    return c.out.ok();
  }
  if (!named || !(c.option(3, "migrating") || c.option(3, "importing") || c.option(3, "node")))
    return c.out.error("ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP");
  Peer* const node = find(std::string(c.arg(4)));
  if (c.option(3, "migrating") && owners_[slot] != own_)
    return c.out.error("ERR I'm not the owner of hash slot " + std::to_string(slot));
  if (c.option(3, "importing") && owners_[slot] == own_)
    return c.out.error("ERR I'm already the owner of hash slot " + std::to_string(slot));
  if (node == nullptr) {
    return c.out.error((c.option(3, "node") ? "ERR Unknown node " : "ERR I don't know about node ") +
                       std::string(c.arg(4)));
  }
  if (!node->primary) return c.out.error("ERR Target node is not a master");
  if (c.option(3, "migrating")) {
    migrating_[slot] = node;
  } else if (c.option(3, "importing")) {
    importing_[slot] = node;
  } else {
    const bool was_mine = owners_[slot] == own_, has_keys = !keys_in(slot).empty();
    if (was_mine && node != own_ && has_keys) {
      return c.out.error("ERR Can't assign hashslot " + std::to_string(slot) +
                         " to a different node while I still hold keys for this hash slot.");
    }
    if (!has_keys) migrating_.erase(slot);
    own_slot(slot, node);
    if (was_mine && node != own_ && own_->slots.none()) follow(*node);
    if (node == own_ && importing_.erase(slot) > 0) {
      bump_epoch();
      announce();  // so that everybody learns of it
    }
    update_state();
    remember();
  }
  c.out.ok();
}

void Cluster::answer_keys_in_slot(Call& c) {
  std::size_t slot = 0;
  std::int64_t number = 0;
  if (!integer_arg(c, 2, number)) return;
  const bool lists = c.argc() == 4;
  std::int64_t most = INT64_MAX;
  if (lists && !integer_arg(c, 3, most)) return;
  if (!read_slot(c.arg(2), slot) || most < 0) {
    return c.out.error(lists ? "ERR Invalid slot or number of keys" : "ERR Invalid slot");
  }
  std::vector<std::string> keys = keys_in(slot);
  if (static_cast<std::int64_t>(keys.size()) > most) keys.resize(static_cast<std::size_t>(most));
  if (!lists) return c.out.integer(static_cast<std::int64_t>(keys.size()));
  c.out.array(keys.size());
  for (const std::string& key : keys) c.out.bulk(key);
}

void Cluster::answer(Call& c) {
  const std::string name = lower(c.arg(1));
  if (name == "myid") return c.out.bulk(own_->id);
  if (name == "info") return c.out.verbatim(info_text());
  if (name == "nodes") return c.out.verbatim(nodes_text());
  if (name == "slots") return answer_slots(c);
  if (name == "shards") return answer_shards(c);
  if (name == "keyslot") return c.out.integer(redis::hash_slot(c.arg(2)));
  if (name == "addslots" || name == "delslots") return answer_slot_lists(c, name == "addslots", false);
  if (name == "addslotsrange" || name == "delslotsrange")
    return answer_slot_lists(c, name == "addslotsrange", true);
  if (name == "setslot") return answer_set_slot(c);
  if (name == "countkeysinslot" || name == "getkeysinslot") return answer_keys_in_slot(c);
  if (name == "saveconfig") return c.out.ok();
  if (name == "meet") return answer_meet(c);
  if (name == "forget") return answer_forget(c);
  if (name == "reset") return answer_reset(c);
  if (name == "links") return answer_links(c);
  if (name == "set-config-epoch") return answer_set_config_epoch(c);
  if (name == "bumpepoch") {
    const bool newest = !bump_epoch();
    return c.out.status((newest ? "STILL " : "BUMPED ") + std::to_string(own_->config_epoch));
  }
  if (name == "flushslots") {
    if (engine_.db(0).size() > 0) return c.out.error("ERR DB must be empty to perform CLUSTER FLUSHSLOTS.");
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      if (owners_[slot] == own_) own_slot(slot, nullptr);
    }
    update_state();
    remember();
    return c.out.ok();
  }
  if (name == "failover") {
    if (c.argc() > 3) {
      return c.out.error("ERR unknown subcommand or wrong number of arguments for '" + std::string(c.arg(1)) +
                         "'. Try CLUSTER HELP.");
    }
    std::string how = c.argc() == 3 ? lower(c.arg(2)) : "";
    if (c.argc() == 3 && how != "force" && how != "takeover") return c.out.error(kSyntax);
    const std::string error = begin_failover(how);
    return error.empty() ? c.out.ok() : c.out.error(error);
  }
  Peer* const node = find(std::string(c.arg(2)));  // of all that follow
  if (node == nullptr) return c.out.error("ERR Unknown node " + std::string(c.arg(2)));
  if (name == "count-failure-reports") return c.out.integer(static_cast<std::int64_t>(reports_of(*node)));
  if (name == "replicate") {
    if (node == own_) return c.out.error("ERR Can't replicate myself");
    if (!node->primary) return c.out.error("ERR I can only replicate a master, not a replica.");
    if (own_->primary && (own_->slots.any() || engine_.db(0).size() > 0)) {
      return c.out.error("ERR To set a master the node must be empty and without assigned slots.");
    }
    follow(*node);
    update_state();
    return c.out.ok();
  }
  // REPLICAS, SLAVES
  if (!node->primary) return c.out.error("ERR The specified node is not a master");
  const std::vector<Peer*> replicas = replicas_of(*node);
  c.out.array(replicas.size());
  for (const Peer* const replica : replicas) c.out.bulk(line_of(*replica));
}

}  // namespace holdfast::sim::embedded
