// A message of the bus of an embedded Redis Cluster. What it says is what redis-server's messages say; how it
// stands in bytes is our own: "RCmb", the length in eight digits, then the words as a request in RESP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/redis/cluster/peer.h"

namespace holdfast::sim::embedded {

struct BusMessage {
  enum class Type : std::uint8_t {
    ping,
    pong,
    meet,  // a ping that also says: take me in
    fail,  // `about` fails
    publish,
    auth_request,  // a replica asks for votes
    auth_ack,      // a vote
    update,        // `about` has these slots, by a newer configuration than yours
    mf_start       // a replica asks its primary to stand still: it is to take over
  };

  Type type = Type::ping;
  // Of the sender. Of a replica `config_epoch` and `slots` are those of its primary.
  std::string sender = {};
  Endpoint at = {};  // as it announces itself
  std::uint16_t bus_port = 0;
  bool primary = true;
  std::string follows = {};
  std::int64_t current_epoch = 0, config_epoch = 0, offset = 0;
  SlotSet slots = {};
  bool paused = false;      // a primary that stands still for a replica
  bool force_vote = false;  // the replica was asked to take over: its primary need not fail

  struct Gossip {
    std::string id = {};
    bool pfail = false, fail = false;
    std::int64_t pinged_ms = 0, ponged_ms = 0;
    Endpoint at = {};
    std::uint16_t bus_port = 0;
    bool primary = true;
  };
  std::vector<Gossip> gossip = {};  // ping, pong

  std::string about = {};             // fail, update
  std::int64_t about_epoch = 0;       // update
  SlotSet about_slots = {};           // update
  std::string channel, payload = {};  // publish
  bool sharded = false;
};

std::string to_bytes(const BusMessage& message);

// Splits what came on one connection.
class BusReader {
 public:
  void feed(std::string_view bytes) { in_ += bytes; }
  // The next whole message. nullopt: there is none yet, or broken().
  std::optional<BusMessage> next();
  bool broken() const { return broken_; }

 private:
  std::string in_;
  bool broken_ = false;
};

// "0-5460 7000", as CLUSTER NODES names slots.
std::string ranges_of(const SlotSet& slots);

}  // namespace holdfast::sim::embedded
