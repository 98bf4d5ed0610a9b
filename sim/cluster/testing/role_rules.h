// The rules that the survivor's proof assumes of servers (tools/model/README.md, "Assumptions"), as
// assertions about what servers say before and after an event.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/testing/role_story.h"

namespace holdfast::sim {

class RoleRules {
 public:
  // What is seen at first. `begun`: when the servers were not there yet.
  RoleRules(const Roles& roles, const RoleLook& look, MonotonicTime begun);
  // `event` began at `begun`; then they were as `look` says.
  void saw(const RoleEvent& event, const Roles& roles, const RoleLook& look, MonotonicTime begun);

  const std::vector<std::string>& broken() const { return broken_; }
  // The number of the event in which that link came up; 0: at first.
  std::size_t link_since(std::size_t node, const RoleSight& sight, std::int64_t link) const;
  std::string short_name(const std::string& id) const;  // of a replication ID: the same in both worlds

 private:
  struct Came {
    std::size_t event = 0;
    MonotonicTime not_before{}, not_after{};
  };
  struct LinkKey {
    std::size_t node;
    std::uint64_t incarnation;
    std::int64_t id;
    auto operator<=>(const LinkKey&) const = default;
  };

  void check(bool holds, const std::string& rule);
  void learn(const RoleLook& look, MonotonicTime begun);
  void check_each(const RoleLook& look);
  void check_change(const RoleEvent& event, std::size_t node, const RoleLook& look);

  Roles roles_;
  RoleLook last_;
  std::size_t events_ = 0;
  std::string when_ = "at first";
  std::map<std::string, std::size_t> ids_;       // in the order in which they were seen
  std::array<std::string, kRoleNodes> trusted_;  // the ID with which it has granted; "": none
  std::map<LinkKey, Came> links_;
  std::vector<std::string> broken_;
};

}  // namespace holdfast::sim
