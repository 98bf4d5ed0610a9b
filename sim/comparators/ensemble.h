// Ensemble: servers that agree by majority, and of which one leads. What they say to each other goes through
// the proxy, by doors that are for each pair of them. The harness asks them, past the proxy, who leads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/comparators/engine_cluster.h"
#include "sim/comparators/socks_door.h"

namespace holdfast::sim {

class MemberNode : public ServerNode {
 public:
  using ServerNode::ServerNode;

  // A door where others reach this one, who know it as `known_as`, and where it really listens.
  struct PeerDoor {
    Endpoint known_as, listens;
  };
  virtual std::vector<PeerDoor> peer_doors() const = 0;
  // [parks] Whether it leads, by its own word, and in which term. nullopt: it does not, or says nothing.
  virtual std::optional<std::uint64_t> leads() = 0;
  // By which it connects to the others; nullptr: it is alone.
  const SocksDoor* way_out() const { return way_out_.get(); }

 private:
  friend class Ensemble;
  std::unique_ptr<SocksDoor> way_out_;
};

class Ensemble : public EngineCluster {
 public:
  Ensemble(World& world, Proxy& proxy) : world_(world), proxy_(proxy) {}

 protected:
  MemberNode& member(std::size_t number) { return static_cast<MemberNode&>(node(number)); }
  // After all were added: doors for clients, and, of several, those among members.
  void open_doors_of_members();
  // [parks] Side by side. Throws the first problem.
  void side_by_side(const std::vector<std::function<void()>>& acts);
  // [parks] Until `done()`; throws std::runtime_error that says `what` after a minute. What `done()` throws
  // means: not yet.
  void wait_until(const std::string& what, const std::function<bool()>& done);
  // [parks] By the highest term that one claims; nullopt: nobody.
  std::optional<std::string> leader();
  // From now on on_role_changed is told, on a task of the harness. REQUIRES: one leads.
  void watch_leader();

  World& world() { return world_; }
  Proxy& proxy() { return proxy_; }

 private:
  World& world_;
  Proxy& proxy_;
};

}  // namespace holdfast::sim
