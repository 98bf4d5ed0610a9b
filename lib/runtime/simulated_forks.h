// For a world that simulates processes: it says which of them a thread runs at the moment.
#pragma once

#include <cstdint>

namespace holdfast::internal {

// From now on forks_so_far() of this thread is larger by `forks`.
void simulate_forks(std::uint64_t forks) noexcept;

}  // namespace holdfast::internal
