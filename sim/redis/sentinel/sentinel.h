// Sentinel: what one Sentinel of the embedded world thinks and does. It follows the documented protocol:
// PING, INFO and greetings in their periods; down by its own opinion (+sdown) and by that of a quorum
// (+odown); an election by epochs, in which each Sentinel votes once; the choice of a replica by priority,
// offset and run id; the other replicas turned a few at a time; the old primary made a replica when it comes
// back; TILT when time has jumped. It watches one primary.
//
// sentinel.cc watches; sentinel_failover.cc elects and fails over; sentinel_commands.cc answers. It is run by
// SentinelServer (server.h). All of it is on tasks of one process, and nothing here parks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lib/net/network.h"
#include "lib/redis/reply.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/resp.h"
#include "sim/redis/sentinel/instance.h"
#include "sim/redis/sentinel/options.h"

namespace holdfast::sim::embedded {

class Engine;
struct Session;

class Sentinel {
 public:
  Sentinel(Runtime& runtime, Network& network, Engine& engine, SentinelOptions options,
           SentinelLink::Start start);
  ~Sentinel();

  void tick();                     // ten to twenty times a second
  std::int64_t next_tick_in_ms();  // drawn anew each time, so that no two Sentinels stay in step
  void stop();                     // closes every connection
  // Answers in place of the commands of a server. False: that command is answered as by any server.
  bool answer(Session& session, Args argv);

 private:
  using Instance = SentinelInstance;
  using InstancePtr = std::shared_ptr<SentinelInstance>;
  enum class Failover : std::uint8_t {
    none,
    waits,
    selects,
    promotes,
    awaits_promotion,
    turns_replicas,
    done
  };

  std::int64_t now_ms() const;
  void event(std::string_view type, const std::string& text);
  void event(std::string_view type, const Instance& about, const std::string& more = "");
  std::string describe(const Instance& one) const;
  void remember();

  // --- watching ---
  InstancePtr make(SentinelRole role, const Endpoint& at);
  void forget(Instance& one);
  void look_after(const InstancePtr& one);
  void reconnect(const InstancePtr& one);
  void ask_regularly(const InstancePtr& one);
  void ping(const InstancePtr& one);
  void greet(const InstancePtr& one);
  void heard_info(const InstancePtr& one, const std::string& text);
  void heard_greeting(std::string_view text);
  void judge_down(Instance& one);
  void judge_agreed_down();
  bool primary_is_sane() const;
  void add_replica(const Endpoint& at, bool found);
  void follow(Instance& one, const Endpoint* primary);  // REPLICAOF, or NO ONE
  void switch_to(const Endpoint& at);                   // the primary is there from now on
  Endpoint primary_address() const;                     // of the replica that was promoted, once it is one
  std::int64_t ping_period() const;

  // --- failing over (sentinel_failover.cc) ---
  void ask_others(bool at_once);
  void heard_opinion(Instance& of, const redis::Reply& reply);
  std::string vote(std::int64_t epoch, const std::string& candidate, std::int64_t* voted_epoch);
  std::string elected(std::int64_t epoch);
  void begin_failover();
  bool failover_is_due();
  void advance_failover();
  void wait_for_election();
  InstancePtr best_replica() const;
  void turn_replicas();
  void end_when_turned();
  void enter(Failover state, std::string_view event_name, const Instance& about);
  void abort_failover(std::string_view event_name);

  // --- commands (sentinel_commands.cc) ---
  void answer_sentinel(Session& session, Args argv);
  void answer_is_down(Session& session, Args argv);
  void answer_set(Session& session, Args argv);
  void answer_debug(Session& session, Args argv);
  void show(Session& session, const Instance& one);
  std::string flags_of(const Instance& one) const;
  std::string info_text() const;
  std::size_t usable_sentinels() const;

  Runtime& runtime_;
  Network& network_;
  Engine& engine_;
  SentinelOptions options_;
  const SentinelLink::Start start_;
  SentinelMemory unkept_;   // where nobody keeps it
  SentinelMemory& memory_;  // epochs are only here

  InstancePtr primary_;
  std::map<Endpoint, InstancePtr> replicas_;
  std::map<std::string, InstancePtr> sentinels_;  // by id

  bool agreed_down_ = false;  // +odown
  std::string leader_;        // voted for in memory_.leader_epoch
  Failover state_ = Failover::none;
  bool forced_ = false;
  std::int64_t failover_epoch_ = 0, failover_ms_ = 0, state_ms_ = 0;
  InstancePtr promoted_;

  std::int64_t last_tick_ms_ = 0, tilt_ms_ = 0;  // tilt_ms_: since when
  bool stopped_ = false;
};

}  // namespace holdfast::sim::embedded
