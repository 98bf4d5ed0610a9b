// ToldLine: a line that a foreign program printed about its lock. The format: checker/README.md, "What a
// program tells".
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "checker/history/history.h"

namespace holdfast::sim {

struct ToldLine {
  checker::EventType type{};
  checker::Function f{};
  std::string key = {};  // "": the first of HOLDFAST_KEYS
  int thread = 0;
  std::string id = {}, mode = {}, error = {};
  std::optional<std::int64_t> value = {}, token = {};
  std::uint32_t permits = 0;  // 0: not told
  std::optional<std::int64_t> valid_for_ns = {};
};

// `column` counts bytes from 1.
class BadLine : public std::runtime_error {
 public:
  BadLine(std::size_t column, const std::string& problem) : std::runtime_error(problem), column_(column) {}
  std::size_t column() const { return column_; }

 private:
  std::size_t column_;
};

// Strict: an unknown field, a wrong type or a field that does not belong to the function is refused. Throws
// BadLine.
ToldLine parse_told(std::string_view line);

}  // namespace holdfast::sim
