// A role that one task holds at a time, as a flag under its owner's mutex.
#pragma once

#include "../runtime/check.h"

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
