#include "sim/cluster/testing/role_story.h"

#include <map>
#include <string_view>

#include "sim/world/rng.h"

namespace holdfast::sim {
namespace {

using Kind = RoleEventKind;

struct KindTraits {
  Kind kind;
  std::string_view name;
  int weight;  // how often it is drawn where it can be
};
constexpr KindTraits kKinds[] = {{Kind::promote, "promote", 4},
                                 {Kind::follow, "follow", 8},
                                 {Kind::crash, "crash", 2},
                                 {Kind::restart_empty, "restart empty", 2},
                                 {Kind::restart_saved, "restart saved", 2},
                                 {Kind::save, "save", 1},
                                 {Kind::kill_links, "kill links of", 2},
                                 {Kind::break_link, "break link of", 2},
                                 {Kind::cut, "cut", 1},
                                 {Kind::heal, "heal", 2},
                                 {Kind::freeze, "freeze", 1},
                                 {Kind::flush, "flush", 1}};

}  // namespace

std::string to_text(const RoleEvent& event) {
  std::string text;
  for (const auto& [kind, name, weight] : kKinds) {
    if (kind == event.kind) text = name;
  }
  text += " " + role_node(event.node);
  return event.kind == Kind::follow ? text + " -> " + role_node(event.other) : text;
}

std::size_t Roles::root(std::size_t node) const {
  for (std::size_t steps = 0; steps < kRoleNodes; ++steps) {
    if (primary(node)) return nodes[node].running ? node : kNobody;
    if (!reaches(node)) return kNobody;
    node = nodes[node].follows;
  }
  return kNobody;
}

bool Roles::can(const RoleEvent& event) const {
  const Node& node = nodes[event.node];
  switch (event.kind) {
    case Kind::promote:
    case Kind::crash:
    case Kind::save: return node.running;
    case Kind::follow: {
      if (!node.running) return false;
      for (std::size_t above = event.other;; above = nodes[above].follows) {
        if (above == event.node) return false;
        if (primary(above)) return true;
      }
    }
    case Kind::restart_empty:
    case Kind::restart_saved: return !node.running;
    case Kind::kill_links:
      for (std::size_t i = 0; i < kRoleNodes; ++i) {
        if (nodes[i].follows == event.node && reaches(i)) return true;
      }
      return false;
    case Kind::break_link: return root(event.node) != kNobody && !primary(event.node);
    case Kind::cut: return !node.cut && !primary(event.node);
    case Kind::heal: return node.cut;
    case Kind::freeze: return !primary(event.node) && root(event.node) == node.follows;
    case Kind::flush: return node.running && primary(event.node);
  }
  return false;
}

void Roles::apply(const RoleEvent& event) {
  Node& node = nodes[event.node];
  switch (event.kind) {
    case Kind::promote: node.follows = kNobody; break;
    case Kind::follow: node.follows = event.other; break;
    case Kind::crash: node.running = false; break;
    case Kind::restart_empty:
    case Kind::restart_saved: node.running = true; break;
    case Kind::cut: node.cut = true; break;
    case Kind::heal: node.cut = false; break;
    case Kind::save:
    case Kind::kill_links:
    case Kind::break_link:
    case Kind::freeze:
    case Kind::flush: break;
  }
}

RoleStory draw_role_story(std::uint64_t seed, std::size_t events) {
  Rng draws(seed);
  Roles roles;
  RoleStory story;
  const auto add = [&](const RoleEvent& event) {
    roles.apply(event);
    story.push_back(event);
  };
  add({Kind::follow, 1, 0});
  add({Kind::follow, 2, 0});
  while (story.size() < events) {
    std::map<Kind, std::vector<RoleEvent>> possible;
    for (const auto& [kind, name, weight] : kKinds) {
      for (std::size_t node = 0; node < kRoleNodes; ++node) {
        for (std::size_t other = 0; other < (kind == Kind::follow ? kRoleNodes : 1); ++other) {
          if (const RoleEvent event{kind, node, other}; roles.can(event)) possible[kind].push_back(event);
        }
      }
    }
    int all = 0;
    for (const auto& [kind, name, weight] : kKinds) all += possible.contains(kind) ? weight : 0;
    auto at = static_cast<int>(draws.between(1, static_cast<std::uint64_t>(all)));
    for (const auto& [kind, name, weight] : kKinds) {
      if (!possible.contains(kind) || (at -= weight) > 0) continue;
      const std::vector<RoleEvent>& choice = possible[kind];
      add(choice[draws.between(0, choice.size() - 1)]);
      break;
    }
  }
  return story;
}

}  // namespace holdfast::sim
