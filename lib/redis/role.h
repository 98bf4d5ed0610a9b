// What one task at a time has of a shared object: a role, as a flag under its owner's mutex, and the place of
// its parker.
#pragma once

#include "lib/runtime/check.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

// Takes the role and gives it back also when the task is cancelled. In ordinary flow the owner's mutex is
// locked at both moments (it may be free in between); in a killed process mutexes have no meaning any more.
class RoleGuard {
 public:
  explicit RoleGuard(bool& role) : role_(role) {
    HF_CHECK(!role, "a role has one holder");
    role_ = true;
  }
  ~RoleGuard() { role_ = false; }
  RoleGuard(const RoleGuard&) = delete;
  RoleGuard& operator=(const RoleGuard&) = delete;

 private:
  bool& role_;
};

// Where others find the parker of a task, so that they can wake it. Empty again when the task ends, also by
// being cancelled: its parker goes with it.
class ParkerPlace {
 public:
  ParkerPlace(Parker*& place, Parker& parker) : place_(&place) { place = &parker; }
  ~ParkerPlace() { leave(); }
  ParkerPlace(const ParkerPlace&) = delete;
  ParkerPlace& operator=(const ParkerPlace&) = delete;
  // REQUIRES: the owner's mutex is locked.
  void leave() {
    if (place_ != nullptr) *place_ = nullptr;
    place_ = nullptr;
  }

 private:
  Parker** place_;
};

}  // namespace holdfast::redis
