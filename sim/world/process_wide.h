// What all worlds of the process share, whatever thread each runs on: things that are dear to make and the
// same for everyone. Nothing of it may show in a run.
#pragma once

#include <mutex>

namespace holdfast::sim {

// Make one by `static auto* const it = new ProcessWide<T>`: never destroyed, for worlds may end late.
template <class T>
class ProcessWide {
 public:
  // One at a time. `use` must not park.
  template <class Use>
  auto with(const Use& use) {
    const std::lock_guard lock(mutex_);
    return use(value_);
  }

 private:
  std::mutex mutex_;
  T value_;
};

}  // namespace holdfast::sim
