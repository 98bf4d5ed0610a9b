// A key of an embedded server as people read it.
#pragma once

#include "sim/redis/keyspace.h"
#include "sim/replay/replay.h"
#include "sim/replay/short_form.h"

namespace holdfast::sim {

// Type, elements (at most so many of them) and expiry of `entry`.
Replay::Record shown_record(const embedded::Entry& entry, std::size_t most_elements, const OwnerOf& owner);

}  // namespace holdfast::sim
