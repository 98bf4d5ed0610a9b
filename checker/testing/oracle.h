// The oracle: a drawn history is written to each format, read back and judged by every engine and check, and
// compared with the truth.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "checker/testing/oracle_draw.h"

namespace holdfast::checker::oracle {

struct Difference {
  std::string by;    // "linearizable (depth) of jsonl"; "": there is none
  std::string what;  // the truth, what was found, and the text
};

struct Tally {
  std::uint64_t drawn = 0, texts = 0, compared = 0;
  std::map<std::string, std::uint64_t> violated, held;  // by check
};

// Draws the history of `seed`, and compares.
Difference compare(const std::string& model, std::uint64_t seed, Tally* tally = nullptr);

}  // namespace holdfast::checker::oracle
