// Who holds a lock: by default the calling task (a thread in an application); or an Owner that tasks act for,
// so that work which moves between threads keeps its locks.
//
//   Owner order(runtime);
//   { ActAs me(runtime, order); lock.lock(); }      // on one thread
//   { ActAs me(runtime, order); lock.unlock(); }    // on another one, later
#pragma once

#include <cstdint>
#include <memory>

#include "lib/runtime/runtime.h"

namespace holdfast {

using HolderId = std::uint64_t;  // of a task or of an Owner; never 0

// A holder that is no task. Holds in its name are renewed as long as the object lives. Copies are the same
// owner. Thread safety: any task may use it, one at a time.
class Owner {
 public:
  explicit Owner(Runtime& runtime);             // a new one
  HolderId id() const noexcept { return id_; }  // differs from that of every task and other owner

 private:
  friend std::weak_ptr<const void> life_of_holder(Runtime& runtime);
  HolderId id_;
  std::shared_ptr<const char> life_ = std::make_shared<const char>();
};

// While it lives, what the calling task does with locks it does as `owner`. Scopes may be nested.
class ActAs {
 public:
  ActAs(Runtime& runtime, const Owner& owner);  // the calling task, from now on
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;

 private:
  Runtime& runtime_;
  const Owner owner_;
  const Owner* const before_;
};

// In whose name the calling task acts now.
HolderId current_holder(Runtime& runtime);
// Expires with that task, or with that Owner.
std::weak_ptr<const void> life_of_holder(Runtime& runtime);

}  // namespace holdfast
