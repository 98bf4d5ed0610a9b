// FormatError: a history file cannot be read. Says where, what was found and what was expected.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace holdfast::checker {

// what(): "file:line:column: found `x`, expected y". Line and column count from 1; columns are bytes.
class FormatError : public std::runtime_error {
 public:
  FormatError(const std::string& file, std::uint64_t line, std::uint64_t column, const std::string& problem)
      : std::runtime_error(file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
                           problem) {}
};

}  // namespace holdfast::checker
