// Shard: one of N parts of a work that is done in several processes or on several machines. Run number i,
// from 0, belongs to shard i modulo N, so that all have as much to do and a shard's runs do not depend on
// who does them, or when.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::tools {

struct Shard {
  std::uint64_t index = 0, of = 1;  // from 0

  bool has(std::uint64_t run) const { return run % of == index; }
  std::uint64_t part_of(std::uint64_t runs) const { return runs / of + (index < runs % of ? 1 : 0); }
  // "2/8"; people count from 1
  std::string to_string() const { return std::to_string(index + 1) + "/" + std::to_string(of); }
  friend bool operator==(const Shard&, const Shard&) = default;
};

// "2/8". Throws BadUsage.
Shard parse_shard(const std::string& text);

}  // namespace holdfast::tools
