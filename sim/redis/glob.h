// Glob patterns of KEYS, SCAN MATCH, PSUBSCRIBE and CONFIG GET: * ? [abc] [^a] [a-z] \x, as Redis reads them
// (documentation of KEYS). An unterminated class ends with the pattern; a range may be given backwards.
#pragma once

#include <cstddef>
#include <string_view>

namespace holdfast::sim::embedded {

// True when `text` as a whole matches. At most (pattern + 1) * (text + 1) steps, each over one element of the
// pattern: a mismatch goes back to the last star only, because every other element takes exactly one byte.
// `steps`, where given, is increased by the number of steps.
bool glob_match(std::string_view pattern, std::string_view text, std::size_t* steps = nullptr);

}  // namespace holdfast::sim::embedded
