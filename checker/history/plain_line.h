// The common line of JSON lines, read in one pass with the place in a register: an object without escapes,
// of texts, whole numbers and null, with at most one blank behind `:` and `,`. Most lines of most files are
// such.
#pragma once

#include <cstdint>
#include <string_view>

#include "checker/history/history.h"

namespace holdfast::checker {

struct PlainLine {
  Event event;
  std::int64_t index = kAbsent;  // kAbsent: it names none
  bool has_time = false;
};

// False: the line is no event of that form. It may be one all the same, so the full parser of
// history_read.cc has to look, and it alone says what is wrong. Where this returns true, both agree.
bool read_plain_line(std::string_view line, History& history, PlainLine& out);

}  // namespace holdfast::checker
