#include "sim/hunt/dice.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/scenario/units.h"

namespace holdfast::sim {
namespace {

// Two leading digits: 1234567 -> 1200000.
std::int64_t two_digits(std::int64_t value) {
  std::int64_t unit = 1;
  while (value / unit >= 100) unit *= 10;
  return value / unit * unit;
}

}  // namespace

// Integers only: an octave is drawn, then a place in it.
Duration Dice::log_uniform(Duration low, Duration high) {
  const auto from = static_cast<std::uint64_t>(std::max<Duration::rep>(low.count(), 1));
  const auto to = std::max(static_cast<std::uint64_t>(high.count()), from);
  const auto first = static_cast<std::uint64_t>(std::bit_width(from)),
             last = static_cast<std::uint64_t>(std::bit_width(to));
  const std::uint64_t octave = between(first, last);
  const std::uint64_t begin = std::max(from, std::uint64_t{1} << (octave - 1));
  const std::uint64_t end = octave == last ? to : (std::uint64_t{1} << octave) - 1;
  const auto drawn = static_cast<std::int64_t>(between(std::min(begin, end), end));
  return Duration(
      std::clamp(two_digits(drawn), static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)));
}

Duration Dice::about_lease(Duration lease) {
  if (percent(55)) return log_uniform(std::chrono::microseconds(10), 3 * lease);
  static const std::vector<std::pair<int, int>> kParts = {{1, 3}, {2, 3}, {1, 1}, {2, 1}};
  const auto& [part, of] = pick(kParts);
  const Duration there = lease * part / of;
  const Duration off = log_uniform(std::chrono::microseconds(100),
                                   std::max<Duration>(lease / 10, std::chrono::microseconds(200)));
  const Duration moment = one_in(2) ? there + off : there - off;
  return Duration(two_digits(std::max<Duration>(moment, std::chrono::microseconds(10)).count()));
}

std::string Dice::range(Duration low, Duration high) {
  Duration a = log_uniform(low, high), b = log_uniform(low, high);
  if (a > b) std::swap(a, b);
  return a == b ? format_duration(a) : format_duration(a) + ".." + format_duration(b);
}

}  // namespace holdfast::sim
