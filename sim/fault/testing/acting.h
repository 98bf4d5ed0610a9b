// Acting: a fault as a test plays it, with the healings of its acts.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <utility>

#include "sim/fault/fault.h"

namespace holdfast::sim::testing {

class Acting {
 public:
  // REQUIRES: there is such a kind.
  Acting(std::string_view kind, SettingValues values)
      : fault_(find_fault_kind(kind)->make({.id = "test", .values = std::move(values)})) {}

  void act(FaultTargets& targets) { healings_.push_back(fault_->act(targets)); }
  // Heals the oldest act. REQUIRES: there is one.
  void heal(FaultTargets& targets) {
    if (healings_.front()) healings_.front()(targets);
    healings_.pop_front();
  }

 private:
  std::unique_ptr<Fault> fault_;
  std::deque<Healing> healings_;
};

}  // namespace holdfast::sim::testing
