// Ranges of sorted sets, by rank, score or member.
#pragma once

#include "sim/redis/command.h"

namespace holdfast::sim::embedded {

void add_sorted_set_range_commands(Specs& specs);

}  // namespace holdfast::sim::embedded
