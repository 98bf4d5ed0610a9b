// Which process this is, for what must not be shared with a copy of it: connections, random numbers, names.
#pragma once

#include <cstdint>

namespace holdfast {

// How often this process is a fork of the one in which the program began. What was made at another number
// belongs to a parent: its threads do not exist here, and its connections are in use there. Costs two loads.
std::uint64_t forks_so_far() noexcept;

}  // namespace holdfast
