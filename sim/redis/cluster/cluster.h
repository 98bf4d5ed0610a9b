// Cluster: what one node of an embedded Redis Cluster thinks and does, as the specification and redis-server
// 7.0 have it (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/): PING, PONG and
// gossip in their periods; down by its own opinion (PFAIL) and by that of a majority of the primaries (FAIL);
// CLUSTERDOWN where a slot is not served, or a primary sees no majority; a replica that asks for votes half a
// second to a second after FAIL, later by its rank; one vote a primary and epoch; slots by the newest
// configuration, so that an old primary becomes a replica when it comes back; CLUSTER FAILOVER.
//
// cluster.cc watches and hears; cluster_slots.cc deals slots; cluster_election.cc elects;
// cluster_membership.cc takes nodes in and forgets them; cluster_admission.cc says who takes a command;
// cluster_commands.cc answers. It is run by RedisServer. All of it is on tasks of one process, and nothing
// here parks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/runtime.h"
#include "sim/redis/cluster/bus.h"
#include "sim/redis/cluster/message.h"
#include "sim/redis/cluster/peer.h"
#include "sim/redis/command.h"

namespace holdfast::sim::embedded {

class Engine;
struct Session;
struct Call;

class Cluster {
 public:
  // `bus` and `engine` outlive it.
  Cluster(Runtime& runtime, Engine& engine, Bus& bus, ClusterNodeOptions options);
  ~Cluster();

  static constexpr std::int64_t kTickMs = 100;
  void tick();  // ten times a second
  void hear(const BusMessage& message, BusLink* from, BusLink& on);
  void stop();
  // The primary that it follows at first; host "": it is one.
  Endpoint primary() const;

  // Why this node does not take that command ("MOVED 1 host:port", "CLUSTERDOWN ..."), or "".
  std::string refuse(Session& session, const CommandSpec& spec, Args argv, bool writes);
  // The same of a command that a script runs, as the script is told.
  std::string refuse_in_script(Session& caller, const CommandSpec& spec, Args argv, bool writes);
  // Why a client need not wait here for its keys any longer (as refuse()), or "".
  std::string refuse_blocked(const Session& session, const CommandSpec& waiting);
  void publish(std::string_view channel, std::string_view payload, bool sharded);

  // CLUSTER ...; argv[1] is the subcommand.
  void answer(Call& call);

 private:
  using Peer = ClusterPeer;
  struct Placed {
    Peer* node = nullptr;
    std::string error = {};
  };

  std::int64_t now_ms() const;
  Peer* find(const std::string& id);
  Peer& own_primary() { return own_->primary ? *own_ : *peers_.at(own_->follows); }
  std::size_t quorum() const { return size_ / 2 + 1; }
  void remember();
  std::int64_t own_offset() const;
  BusMessage header(BusMessage::Type type);

  // --- watching (cluster.cc) ---
  void ping(Peer& peer);
  void send_ping(BusLink& to, const Peer* receiver, BusMessage::Type type);
  void broadcast(const BusMessage& message);
  void announce();  // PONG to everybody
  void hear_role(Peer& sender, const BusMessage& message);
  void hear_slots(Peer& sender, const BusMessage& message, BusLink& on);
  void hear_gossip(Peer& sender, const BusMessage& message);
  void hear_update(const BusMessage& message);
  void set_primary(Peer& peer);
  bool is_unclaimed(std::size_t slot) const { return owners_[slot] == nullptr || unclaimed_.test(slot); }
  std::vector<std::string> keys_in(std::size_t slot);
  bool bump_epoch();  // false: its configuration is the newest already
  void own_slot(std::size_t slot, Peer* peer);
  void claim(Peer& claimant, std::int64_t epoch, const SlotSet& slots);
  void judge_failing(Peer& peer);
  void clear_failure(Peer& peer);
  std::size_t reports_of(Peer& peer);
  void update_state();
  void follow(Peer& primary);

  // --- who is in (cluster_membership.cc) ---
  Peer& add(std::string id, const Endpoint& at, std::uint16_t bus_port);
  void shake_hands(const Endpoint& at, std::uint16_t bus_port, bool meets);
  void drop_handshakes();
  Peer* peer_of(const BusLink& link);
  void hear_stranger(const BusMessage& message, BusLink* from, BusLink& on);
  // What answers on our connection to `linked` is another one than that.
  void settle(Peer& linked, const Peer* sender, const BusMessage& message);
  void move(Peer& peer, const Endpoint& at, std::uint16_t bus_port);
  void update_address(Peer& peer, const BusMessage& message, const BusLink* from);
  void learn(const BusMessage::Gossip& one);
  void end_collision(const Peer& sender, const BusMessage& message);
  void rename(Peer& peer, std::string id);
  void remove(Peer& peer);
  bool is_forgotten(const std::string& id);
  void reset(bool hard);
  void answer_meet(Call& call);
  void answer_forget(Call& call);
  void answer_reset(Call& call);
  void answer_links(Call& call);
  void answer_set_config_epoch(Call& call);

  // --- electing (cluster_election.cc) ---
  void stand_for_election();
  std::int64_t rank() const;
  void vote(Peer& candidate, const BusMessage& request);
  void take_over();
  void end_manual_failover();
  void advance_manual_failover();
  std::string begin_failover(std::string_view how);  // an error, or ""

  // --- who takes it (cluster_admission.cc) ---
  Placed place(Session& session, const CommandSpec& spec, Args argv, bool writes);
  bool has_key(std::string_view key);

  // --- commands (cluster_commands.cc) ---
  std::string nodes_text();
  std::string info_text();
  std::string line_of(const Peer& peer);
  void answer_slots(Call& call);
  void answer_shards(Call& call);
  void answer_set_slot(Call& call);
  void answer_slot_lists(Call& call, bool add, bool ranges);
  void answer_keys_in_slot(Call& call);
  std::vector<Peer*> replicas_of(const Peer& primary);

  Runtime& runtime_;
  Engine& engine_;
  Bus& bus_;
  const ClusterNodeOptions options_;
  std::map<std::string, std::unique_ptr<Peer>> peers_;  // by id, itself included
  Peer* own_ = nullptr;
  std::array<Peer*, kSlots> owners_{};
  SlotSet unclaimed_;  // their owners do not claim them any more, and nobody else has
  std::map<std::size_t, Peer*> migrating_, importing_;
  std::map<std::string, std::int64_t> forgotten_;  // by id: until when nobody's gossip brings it back
  std::int64_t current_epoch_ = 0, last_vote_epoch_ = 0;

  bool well_ = false;     // cluster_state:ok
  std::size_t size_ = 1;  // primaries with slots, when the state was looked at
  std::int64_t began_ms_ = 0, among_minority_ms_ = 0;
  bool look_again_ = false;  // at the state, when what came is worked off
  bool has_output_ = false;  // clients were told that a slot has gone
  std::uint64_t ticks_ = 0;
  std::map<BusMessage::Type, std::int64_t> sent_, received_;

  // An election, as a candidate.
  std::int64_t election_ms_ = 0, election_epoch_ = 0, rank_ = 0;
  bool asked_ = false;
  std::size_t votes_ = 0;
  // A failover that was asked for.
  std::int64_t asked_until_ms_ = 0;   // 0: none
  bool may_start_ = false;            // as a replica
  std::int64_t primary_offset_ = -1;  // at which the primary stands still
  const Peer* stands_for_ = nullptr;  // as a primary: the replica that it stands still for
  bool stopped_ = false;
};

}  // namespace holdfast::sim::embedded
