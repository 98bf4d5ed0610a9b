#include "checker/holds/wording.h"

#include <fmt/format.h>

namespace holdfast::checker {

std::string format_ms(std::int64_t duration_ns) {
  const bool negative = duration_ns < 0;
  const std::uint64_t ns =
      negative ? 0 - static_cast<std::uint64_t>(duration_ns) : static_cast<std::uint64_t>(duration_ns);
  const std::uint64_t us = ns / 1000;  // never shown as later than it was
  return fmt::format("{}{}.{:03}", negative ? "-" : "", us / 1000, us % 1000);
}

Wording::Wording(const History& history)
    : history_(history), start_ns_(history.events().empty() ? 0 : history.events().front().time_ns) {}

std::string Wording::time(std::int64_t time_ns) const {
  if (time_ns == kForever) return "the end";
  return format_ms(time_ns - start_ns_) + " ms";
}

std::string Wording::duration(std::int64_t duration_ns) const {
  if (duration_ns >= 1'000'000'000 && duration_ns % 100'000'000 == 0) {
    return duration_ns % 1'000'000'000 == 0 ? fmt::format("{} s", duration_ns / 1'000'000'000)
                                            : fmt::format("{:.1f} s", static_cast<double>(duration_ns) / 1e9);
  }
  return format_ms(duration_ns) + " ms";
}

std::string Wording::owner(const Hold& hold) const { return text(hold.owner); }

std::string Wording::grant(const Hold& hold) const {
  std::string result = owner(hold) + " (";
  if (hold.id != 0) result += text(hold.id) + ", ";
  result += "granted ";
  if (hold.node != 0) result += "by " + text(hold.node) + " ";
  return result + "at " + time(hold.from_ns) + ")";
}

}  // namespace holdfast::checker
