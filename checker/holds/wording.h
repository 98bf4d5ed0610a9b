// Wording: how verdicts write times, owners and holds.
#pragma once

#include <cstdint>
#include <string>

#include "checker/holds/holds.h"

namespace holdfast::checker {

class Wording {
 public:
  explicit Wording(const History& history);
  std::string time(std::int64_t time_ns) const;          // "3001.250 ms", since the history's first event
  std::string duration(std::int64_t duration_ns) const;  // "398.7 ms", "5 s"
  std::string owner(const Hold& hold) const;             // "c1:0"
  std::string grant(const Hold& hold) const;             // "c1:0 (c1-7, granted by r1 at 3001.250 ms)"
  std::string text(Symbol symbol) const { return std::string(history_.text(symbol)); }
  std::int64_t start_ns() const { return start_ns_; }

 private:
  const History& history_;
  std::int64_t start_ns_;
};

std::string format_ms(std::int64_t duration_ns);  // "3001.250": milliseconds with three digits

}  // namespace holdfast::checker
