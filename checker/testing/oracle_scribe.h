// Writes a drawn history as a file, with the liberties that its format grants. Shares no code with the
// library's writers and readers.
#pragma once

#include <string>

#include "checker/testing/oracle_truth.h"
#include "checker/testing/random.h"

namespace holdfast::checker::oracle {

// Lines in any order that keeps each process's own; fields in any order, names as numbers or texts, tokens as
// text, fields that one of two events lacks, fields that nobody knows, escapes, a byte order mark.
// `telling.times`: false: no line has a time, and the lines stand in their order.
std::string write_jsonl(const Drawn& drawn, const Telling& telling, testing::Random& random);

// In order; one map after another, in a vector or a list; words as keywords or strings; commas, comments,
// tags, discarded values.
std::string write_edn(const Drawn& drawn, const Telling& telling, testing::Random& random);

// A text log has processes, functions and values, and nothing else.
bool log_can_tell(const Drawn& drawn);
std::string write_log(const Drawn& drawn, testing::Random& random);

}  // namespace holdfast::checker::oracle
