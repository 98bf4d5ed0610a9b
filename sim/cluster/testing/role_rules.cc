#include "sim/cluster/testing/role_rules.h"

#include <algorithm>
#include <chrono>

namespace holdfast::sim {
namespace {

// survivor_store.cc: whole seconds, of a clock that a server looks at ten times a second.
constexpr std::int64_t kAgeMayBeOffMs = 1200;
constexpr std::string_view kNoId = "0000000000000000000000000000000000000000";

std::int64_t in_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}
std::int64_t joins(const RoleSight& sight) { return sight.full + sight.partial; }

}  // namespace

RoleRules::RoleRules(const Roles& roles, const RoleLook& look, MonotonicTime begun)
    : roles_(roles), last_(look) {
  learn(look, begun);
  check_each(look);
}

void RoleRules::check(bool holds, const std::string& rule) {
  if (!holds) broken_.push_back(when_ + ": " + rule);
}

std::string RoleRules::short_name(const std::string& id) const {
  if (id == kNoId) return "-";
  const auto found = ids_.find(id);
  return found == ids_.end() ? "?" : std::to_string(found->second);
}

std::size_t RoleRules::link_since(std::size_t node, const RoleSight& sight, std::int64_t link) const {
  return links_.at({node, sight.incarnation, link}).event;
}

void RoleRules::learn(const RoleLook& look, MonotonicTime begun) {
  for (std::size_t node = 0; node < kRoleNodes; ++node) {
    const RoleSight& now = look[node];
    if (!now.running) continue;
    ids_.emplace(now.id, ids_.size());
    for (const RoleSight::Link& link : now.links)
      links_.try_emplace({node, now.incarnation, link.id}, Came{events_, begun, now.listed_until});
  }
}

void RoleRules::saw(const RoleEvent& event, const Roles& roles, const RoleLook& look, MonotonicTime begun) {
  ++events_;
  when_ = "event " + std::to_string(events_) + ", " + to_text(event);
  const Roles before = std::exchange(roles_, roles);
  if (event.kind == RoleEventKind::flush) trusted_[event.node].clear();
  for (std::size_t node = 0; node < kRoleNodes; ++node) {
    const RoleSight &was = last_[node], &now = look[node];
    if (!now.running) continue;
    const std::string name = role_node(node);
    const bool restarted = now.incarnation != was.incarnation;
    const bool promoted = now.primary && !before.primary(node);
    const bool demoted = !now.primary && before.primary(node);
    if (now.primary) {
      if (restarted || promoted) {
        // Not only one that it had before: another primary's mark is in its data, and must not be its own.
        check(!ids_.contains(now.id),
              name + " is new as a primary, with a replication ID that was there before");
      } else if (now.id != was.id) {
        check(joins(was) == 0 && joins(now) > 0 && !ids_.contains(now.id),
              name + " has another replication ID, and is neither new nor has its first replica");
      }
    }
    const auto known = [&](const RoleSight::Link& link) {
      return links_.contains({node, now.incarnation, link.id});
    };
    // A server that was demoted keeps its replicas until it follows its new primary.
    if (restarted || promoted || (demoted && now.up)) {
      check(std::none_of(now.links.begin(), now.links.end(), known),
            name + " has changed its role and kept the link of a replica");
    }
    if (!restarted) {
      const std::int64_t fresh = std::count_if(now.links.begin(), now.links.end(), std::not_fn(known));
      check(joins(now) >= joins(was) + fresh,
            name + " has " + std::to_string(fresh) + " new links, and its count of joins went from " +
                std::to_string(joins(was)) + " to " + std::to_string(joins(now)));
    }
  }
  learn(look, begun);
  check_each(look);
  last_ = look;
}

void RoleRules::check_each(const RoleLook& look) {
  for (std::size_t node = 0; node < kRoleNodes; ++node) {
    const RoleSight& now = look[node];
    if (!now.running) continue;
    const std::string name = role_node(node);
    const std::size_t root = roles_.root(node);
    if (!now.primary && now.up && root != Roles::kNobody) {
      check(now.id == look[root].id,
            name + " follows " + role_node(root) + " and shows another replication ID");
    }
    for (const RoleSight::Link& link : now.links) {
      const Came& came = links_.at({node, now.incarnation, link.id});
      const std::int64_t oldest = in_ms(now.listed_until - came.not_before);
      const std::int64_t youngest = in_ms(now.listed_from - came.not_after);
      check(link.age_s * 1000 <= oldest + kAgeMayBeOffMs && link.age_s * 1000 >= youngest - kAgeMayBeOffMs,
            name + " says that a link is " + std::to_string(link.age_s) + " s old, and it is " +
                std::to_string(youngest) + " to " + std::to_string(oldest) + " ms");
    }
    if (!now.primary) {
      check(now.first == "READONLY", name + " is a replica, and the guard says " + now.first);
      continue;
    }
    const auto online = static_cast<std::int64_t>(now.replicas.size());
    check(now.bare_wait == online, name + " has " + std::to_string(online) +
                                       " replicas, and WAIT without a command before it says " +
                                       std::to_string(now.bare_wait));
    const bool foreign =
        std::find(now.replicas.begin(), now.replicas.end(), role_node(kRoleMembers)) != now.replicas.end();
    if (foreign) {
      check(now.first == "FOREIGNREPLICA" && now.other == "FOREIGNREPLICA",
            name + " is followed by a stranger, and the guard says " + now.first + ", " + now.other);
      continue;
    }
    const bool trusts = trusted_[node] == now.id;
    check(now.first == (trusts ? "granted" : "quarantine"),
          name + (trusts ? " is as it was when it granted" : " has not granted in this role") +
              ", and the guard says " + now.first);
    check(now.later == "granted", name + " has sat out its quarantine, and the guard says " + now.later);
    check(now.other == "OTHERCONSTANTS",
          name + " was asked with other constants, and the guard says " + now.other);
    check(now.wait == online, name + " has " + std::to_string(online) +
                                  " replicas, and WAIT after a write says " + std::to_string(now.wait));
    trusted_[node] = now.id;
  }
}

}  // namespace holdfast::sim
