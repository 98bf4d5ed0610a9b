// A history through the function that `holdfast check` reads it with: read, or refused with FormatError.
#pragma once

#include <sstream>
#include <string>

#include "checker/history/format_error.h"
#include "checker/history/formats.h"
#include "checker/history/packed_history.h"
#include "tools/fuzz/target.h"

namespace holdfast::fuzz {

inline int read_history(const std::uint8_t* data, std::size_t size, checker::Format format) {
  // The first bit of the input says whether broken lines are skipped, the second whether values are keyed.
  const int flags = size > 0 ? data[0] : 0;
  std::istringstream in(std::string(text_of(data, size)));
  checker::PackedHistory packed;
  try {
    static_cast<void>(checker::read_history(in, {.file = "f",
                                                 .format = format,
                                                 .keyed = (flags & 2) != 0,
                                                 .keep_going = (flags & 1) != 0,
                                                 .used = nullptr,
                                                 .into = &packed}));
  } catch (const checker::FormatError&) {
  }
  return 0;
}

}  // namespace holdfast::fuzz
