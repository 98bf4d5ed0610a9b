// Role stories: what happens to the roles of four servers, one event after the other, drawn from a seed.
// The same story is played on embedded servers and on real ones (role_player.cc). After each event the
// servers are asked for all that a lock which survives a failover rests on
// (lib/lock/store/survivor_store.h, tools/model/README.md). What they say has to keep its rules
// (role_rules.h), and to be the same in both worlds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/testing/scene.h"

namespace holdfast::sim {

// r1, r2 and r3 are members of the lock's set; r4 is a stranger.
inline constexpr std::size_t kRoleNodes = 4, kRoleMembers = 3;
inline std::string role_node(std::size_t number) { return "r" + std::to_string(number + 1); }

enum class RoleEventKind : std::uint8_t {
  promote,        // REPLICAOF NO ONE, of a primary, too
  follow,         // REPLICAOF `other`, which may be dead, cut off or a replica
  crash,          // SIGKILL
  restart_empty,  // with the role that it had
  restart_saved,  // with what the last SAVE has left on its disk, if there was one
  save,
  kill_links,  // CLIENT KILL TYPE replica
  break_link,  // of a replica to its primary, once: it comes back with what it has
  cut,         // the same, until `heal`: it cannot come back
  heal,
  freeze,  // nothing passes between a replica and its primary while that is asked about WAIT; then all does
  flush,   // FLUSHALL
};

struct RoleEvent {
  RoleEventKind kind{};
  std::size_t node = 0, other = 0;
};
std::string to_text(const RoleEvent& event);
using RoleStory = std::vector<RoleEvent>;

// What was done to the servers, whatever they make of it.
struct Roles {
  static constexpr std::size_t kNobody = kRoleNodes;
  struct Node {
    bool running = true;
    bool cut = false;               // from whomever it follows
    std::size_t follows = kNobody;  // a primary
    bool operator==(const Node&) const = default;
  };
  std::array<Node, kRoleNodes> nodes{};

  bool primary(std::size_t node) const { return nodes[node].follows == kNobody; }
  // Whom it follows is there for it.
  bool reaches(std::size_t node) const {
    return !primary(node) && nodes[node].running && !nodes[node].cut && nodes[nodes[node].follows].running;
  }
  // The primary at the end of the chain that it follows; kNobody: the chain is broken, or runs in a circle.
  std::size_t root(std::size_t node) const;
  bool can(const RoleEvent& event) const;
  void apply(const RoleEvent& event);
};

// Begins with two replicas of r1.
RoleStory draw_role_story(std::uint64_t seed, std::size_t events);

// What one server says, and what the harness knows of it.
struct RoleSight {
  struct Link {  // of a replica to it
    std::int64_t id = 0, age_s = 0;
  };
  bool running = false, primary = false;
  std::uint64_t incarnation = 0;
  bool up = false;  // a replica's link
  std::string id = {}, second_id = {};
  bool backlog = false;
  std::int64_t full = 0, partial = 0;      // how many have joined, with all data and with a part
  std::vector<std::string> replicas = {};  // those that are online
  std::vector<Link> links = {};
  MonotonicTime listed_from{}, listed_until{};  // the links were listed between these
  // Of a primary: WAIT on a connection that has run no command, and after a write on its own.
  std::int64_t bare_wait = -1, wait = -1;
  // What the guard's script says to the first acquire: granted, quarantine, or the code of an error; then,
  // when the quarantine is over; and to who comes with other constants.
  std::string first = {}, later = {}, other = {};
};
using RoleLook = std::array<RoleSight, kRoleNodes>;

struct RoleReport {
  std::vector<std::string> seen;    // at first, and after each event: comparable between worlds
  std::vector<std::string> broken;  // rules, and what does not come to rest
};
// [parks]
RoleReport play_role_story(Scene& scene, const RoleStory& story);

// Plays it on servers of its own.
RoleReport play_role_story(bool embedded, const RoleStory& story);

// Where the two differ first; "": nowhere.
std::string role_difference(const RoleStory& story, const RoleReport& ours, const RoleReport& real);

}  // namespace holdfast::sim
