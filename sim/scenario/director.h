// Director: makes a scenario's faults act when their triggers say so, heals them, and keeps the book of
// marks.
//
// All faults act on tasks of the harness with the role "nemesis", except those that a message triggers
// without delay: these act on the proxy's task, before the message is passed on, however long that takes;
// other links go on meanwhile. When a fault acts is drawn from a stream of its
// own, what an act does and how long it lasts from one of the act's. What a fault does it tells itself
// (FaultTargets::tell); the director writes it down and knows no kinds. Each act has a name, "ID#1", and is
// healed by the healing that it returned.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/client/recorder.h"
#include "sim/client/workload.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/scenario/scenario.h"
#include "sim/world/past.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class Director {
 public:
  // All arguments outlive the director, and the director outlives the world's tasks.
  Director(const Scenario& scenario, World& world, Cluster& cluster, Proxy& proxy, Workload& workload,
           Recorder& recorder);
  ~Director();

  // [parks] Time 0 of the scenario: faults at "0s" have acted when this returns, the other triggers are
  // armed. REQUIRES: on a task of the harness; the servers are in sync and no client has started.
  void start();

  // No fault acts any more from now on. What acts goes on until it heals.
  void disarm() { armed_ = false; }
  // Faults without an end act, and the time at which all are healed is to come.
  bool awaits_calm() const { return scenario_.calm && !for_good_.empty(); }

  // A fault that will heal acts now, or a trigger that fired is in its delay.
  bool busy() const { return busy_ > 0; }
  // Called whenever busy() may have become false.
  void on_idle(std::function<void()> callback) { on_idle_ = std::move(callback); }

  // No clock was stepped by more, and none stood farther off, than the scenario declares.
  bool clocks_within_bounds() const { return clocks_within_bounds_; }
  // The first fault that could not do its work, "" if none: a defect of the harness or of the machine.
  const std::string& failure() const { return failure_; }

 private:
  struct Actor;
  struct Act;  // one act of an actor, with its own healing

  void arm(Actor& actor);
  void fire(Actor& actor, bool inline_now);
  void act_now(Actor& actor);  // acts before it returns; the healing is left to a task
  void calm_down();            // [parks] no fault acts any more, and all is healed but what may stay broken
  bool stays_broken(const Actor& actor) const;
  void last(Act& act);      // [parks] waits for the end of an act that is counted in busy_, and heals it
  void play(Actor& actor);  // acts, waits, heals; [parks] when it heals
  std::shared_ptr<Act> act(
      Actor& actor);  // [parks] where a real server needs time; null: `during` forbids it
  void hit(Actor& actor);
  void heal(Act& act);
  // One more of what the trigger counts came by: it is the one that fires.
  bool counts(Actor& actor);
  bool acts_now(const std::string& fault) const;
  void note(const Act& act, const FaultEffect& effect);
  // Tasks of several parties come here (past.h).
  void share(const std::string& what, Past::Access access) const;
  static bool matches(const Actor& actor, const Message& message);
  static bool waits_for(const Actor& actor, const Message& message);
  bool may_act(const Message& message) const;
  void on_message(const Message& message);
  void role_changed(const std::string& node, bool primary);
  void keep_marks();
  void idle();
  FaultTargets targets(Actor& actor, Act& act);
  void nemesis(std::function<void()> body);

  const Scenario& scenario_;
  World& world_;
  Cluster& cluster_;
  Proxy& proxy_;
  Workload& workload_;
  Recorder& recorder_;
  std::vector<std::unique_ptr<Actor>> actors_;  // in the order of the file
  std::vector<std::shared_ptr<Act>> for_good_;  // acts that the file lets nobody heal
  std::set<std::string> promoted_, restarted_;
  std::map<std::string, Duration> stepped_;  // by party: how far its wall clock stands off
  bool clocks_within_bounds_ = true, armed_ = true;
  bool calm_ = false;  // the faults are over, and what they broke is healed
  std::uint64_t role_changes_ = 0;
  int busy_ = 0;
  std::string failure_;
  std::function<void()> on_idle_;
};

}  // namespace holdfast::sim
