// Snapshots: all databases as bytes, for the disk and for full synchronisation.
//
// The format is Redis' own dump format (version 9) restricted to its plain types, without a checksum, so a
// real server can load what is written here. Reading understands the same plain types (and short integers as
// strings), not the packed ones that a real server writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/redis/keyspace.h"

namespace holdfast::sim::embedded {

// `stream_db`: for a replica's replica, the database that the stream has selected; -1: says nothing.
std::string write_snapshot(std::vector<Keyspace>& databases, int stream_db = -1);
// Adds to `databases`. Keys that expired before `now_ms` are left out (0: none are), and added to `expired`
// with their database. False: not understood.
bool read_snapshot(std::string_view bytes, std::vector<Keyspace>& databases, std::int64_t now_ms,
                   int* stream_db = nullptr, std::vector<std::pair<int, std::string>>* expired = nullptr);

// What DUMP answers: a value in the same format, the format's version, and a checksum (CRC-64 as Redis has
// it). Integers as Redis writes them; texts are never compressed.
std::string dump_value(const Value& value);
enum class Restored : std::uint8_t { yes, wrong_checksum, not_understood };
Restored restore_value(std::string_view dump, Value& value);

}  // namespace holdfast::sim::embedded
