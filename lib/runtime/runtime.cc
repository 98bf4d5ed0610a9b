#include "lib/runtime/runtime.h"

#include "lib/runtime/check.h"

namespace holdfast {
namespace {
__extension__ using Wide = unsigned __int128;
}  // namespace

Task& Task::operator=(Task&& other) noexcept {
  if (this != &other) {
    Task old(std::move(*this));  // joined here
    impl_ = std::move(other.impl_);
  }
  return *this;
}

Task::~Task() {
  try {
    join();
  } catch (const TaskCancelled&) {  // the process is being killed: there is nobody left to wait for
  }
}

void Task::join() {
  if (!impl_) return;
  const std::unique_ptr<Impl> impl = std::move(impl_);
  impl->join();
}

std::uint64_t Runtime::random_between(std::uint64_t low, std::uint64_t high) {
  HF_CHECK(low <= high, "random_between: empty range");
  const std::uint64_t span = high - low;
  if (span == UINT64_MAX) return random();
  // Multiply and keep the high half, rejecting the few draws that would favour small results
  // (D. Lemire, "Fast Random Integer Generation in an Interval", 2019).
  const std::uint64_t range = span + 1;
  const std::uint64_t threshold = (0 - range) % range;
  for (;;) {
    const Wide product = static_cast<Wide>(random()) * range;
    if (static_cast<std::uint64_t>(product) >= threshold) {
      return low + static_cast<std::uint64_t>(product >> 64);
    }
  }
}

}  // namespace holdfast
