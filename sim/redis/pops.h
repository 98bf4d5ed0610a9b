// Pops from the first of several keys that holds something, waiting for one or not, and moves between lists.
#pragma once

#include <string>
#include <string_view>

#include "sim/redis/command.h"

namespace holdfast::sim::embedded {

void add_pop_commands(Specs& specs);

// Takes one item off a list, and the key away with the last one. REQUIRES: the list has items.
std::string take_item(Call& call, const Found<List>& found, std::string_view key, bool left);

// Answers with members and scores, takes them off, and the key away with the last one. `nested`: each pair is
// an array of its own. Returns how many. The caller has announced what comes before.
void pop_members(Call& call, const Found<SortedSet>& found, std::string_view key, bool least,
                 std::size_t count, bool nested);

}  // namespace holdfast::sim::embedded
