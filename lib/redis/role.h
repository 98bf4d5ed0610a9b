// What one task at a time has of a shared object: a role, as a flag under its owner's mutex.
#pragma once

#include "lib/runtime/check.h"

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

}  // namespace holdfast::redis
