// for_each: a body for each of so many numbers, on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace holdfast::tools {

// Calls `one` for 0..count-1 on `jobs` threads, this one among them; returns when all are done.
// REQUIRES: `one` does not throw.
void for_each(unsigned jobs, std::size_t count, const std::function<void(std::size_t)>& one);

}  // namespace holdfast::tools
