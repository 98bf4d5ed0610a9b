// Snapshots: all databases as bytes, for the disk and for full synchronisation.
//
// The format is Redis' own dump format (version 9) restricted to its plain types, without a checksum, so a real
// server can load what is written here. Reading understands the same plain types (and short integers as strings),
// not the packed ones that a real server writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/redis/keyspace.h"

namespace holdfast::sim::embedded {

std::string write_snapshot(std::vector<Keyspace>& databases);
// Adds to `databases`. Keys that expired before `now_ms` are left out (0: none are). False: not understood.
bool read_snapshot(std::string_view bytes, std::vector<Keyspace>& databases, std::int64_t now_ms);

}  // namespace holdfast::sim::embedded
