#include "lib/runtime/process_identity.h"

#include <pthread.h>

#include <atomic>

#include "lib/runtime/check.h"
#include "lib/runtime/simulated_forks.h"

namespace holdfast {
namespace {

constinit std::atomic<std::uint64_t> forks{0};
constinit thread_local std::uint64_t simulated = 0;

// Before main(), so that no fork comes before it.
[[maybe_unused]] const bool counting = [] {
  const int failed = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  HF_CHECK(failed == 0, "there is memory for a fork handler");
  return true;
}();

}  // namespace

std::uint64_t forks_so_far() noexcept { return forks.load(std::memory_order_relaxed) + simulated; }

void internal::simulate_forks(std::uint64_t by) noexcept { simulated = by; }

}  // namespace holdfast
