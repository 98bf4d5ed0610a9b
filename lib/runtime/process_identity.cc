#include "lib/runtime/process_identity.h"

#include <pthread.h>

#include <atomic>

#include "lib/runtime/check.h"

namespace holdfast {
namespace {

constinit std::atomic<std::uint64_t> forks{0};

// Before main(), so that no fork comes before it.
[[maybe_unused]] const bool counting = [] {
  const int failed = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  HF_CHECK(failed == 0, "there is memory for a fork handler");
  return true;
}();

}  // namespace

std::uint64_t forks_so_far() noexcept { return forks.load(std::memory_order_relaxed); }

}  // namespace holdfast
