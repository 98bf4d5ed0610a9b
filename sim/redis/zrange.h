// Ranges of sorted sets, by rank, score or member; unions, intersections and differences.
#pragma once

#include "sim/redis/command.h"

namespace holdfast::sim::embedded {

void add_sorted_set_range_commands(Specs& specs);
void add_sorted_set_algebra_commands(Specs& specs);  // cmd_sorted_set_algebra.cc

// Puts a sorted set under `key` in place of what was there, or takes that away if it is empty; answers how
// many members it has.
void store_members(Call& call, std::string_view key, const std::vector<SortedSet::Item>& items);

}  // namespace holdfast::sim::embedded
