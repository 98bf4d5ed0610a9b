// What a node of an embedded Redis Cluster knows of the nodes, itself included, and what it keeps of it over
// a restart. Times are milliseconds of its wall clock, 0: never.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lib/net/network.h"

namespace holdfast::sim::embedded {

inline constexpr std::size_t kSlots = 16384;
using SlotSet = std::bitset<kSlots>;

// visit(first, last) of each run of slots without a gap, in their order.
template <class F>
void each_range(const SlotSet& slots, F&& visit) {
  const SlotSet gaps = ~slots;
  std::size_t last = 0;
  for (std::size_t first = slots._Find_first(); first < kSlots; first = slots._Find_next(last)) {
    last = std::min(gaps._Find_next(first), kSlots) - 1;
    visit(first, last);
  }
}

class BusLink;

// A node as its file of the cluster (nodes.conf) names it.
struct KnownNode {
  Endpoint at;  // as it announces itself
  std::uint16_t bus_port = 0;
  bool primary = true;
  std::string follows = {};  // a replica: the id of its primary
  std::int64_t config_epoch = 0;
  SlotSet slots = {};  // of a primary
};

struct ClusterMemory {
  std::string id = {};  // its own
  std::int64_t current_epoch = 0, last_vote_epoch = 0;
  std::map<std::string, KnownNode> nodes = {};  // by id
};

struct ClusterNodeOptions {
  Endpoint bus;  // where it listens for the others
  std::int64_t node_timeout_ms = 15'000;
  ClusterMemory* memory = nullptr;  // outlives it; knows all nodes
  // Called when it became a primary, or a replica. Must not park.
  std::function<void(bool primary)> on_role_changed = {};
};

struct ClusterPeer : KnownNode {
  std::string id;                         // until the handshake is over: any
  std::size_t slot_count = 0;             // of `slots`
  bool handshake = false, meets = false;  // it was told of the address alone; and is to be told of us by MEET
  bool no_address = false;                // somebody else answers where it was
  std::int64_t since_ms = 0;
  bool pfail = false, fail = false;  // PFAIL: in this node's opinion; FAIL: in that of a majority
  std::int64_t fail_ms = 0, voted_ms = 0;
  std::int64_t pinged_ms = 0;  // since when a PING waits for its PONG
  std::int64_t ponged_ms = 0, heard_ms = 0;
  std::int64_t offset = 0;                       // of its replication
  std::map<std::string, std::int64_t> failures;  // who says that it fails, and when it said so
  std::shared_ptr<BusLink> link;                 // to it; null: none
  std::weak_ptr<BusLink> inbound;                // from it

  bool has_slots() const { return primary && slot_count > 0; }
  bool is_settled() const { return !handshake && !no_address; }
};

}  // namespace holdfast::sim::embedded
