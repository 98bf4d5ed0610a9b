#include "sim/scenario/units.h"

#include <array>
#include <charconv>
#include <limits>

namespace holdfast::sim {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr std::array<Unit, 6> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  text = trim(text);
  bool negative = false;
  if (!text.empty() && text.front() == '-') {
    negative = true;
    text.remove_prefix(1);
  }
  std::size_t digits = 0;
  while (digits < text.size() && (text[digits] == '.' || (text[digits] >= '0' && text[digits] <= '9')))
    ++digits;
  const std::string_view number = text.substr(0, digits);
  const std::string_view name = text.substr(digits);
  const Unit* unit = nullptr;
  for (const Unit& candidate : kUnits) {
    if (candidate.name == name) unit = &candidate;
  }
  if (unit == nullptr) return std::nullopt;

  const std::size_t point = number.find('.');
  const auto whole = parse_number(number.substr(0, point));
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!whole || *whole > kMost / static_cast<std::uint64_t>(unit->ns) - 1) return std::nullopt;
  std::int64_t ns = static_cast<std::int64_t>(*whole) * unit->ns;
  if (point != std::string_view::npos) {
    const std::string_view fraction = number.substr(point + 1);
    if (fraction.empty()) return std::nullopt;
    std::int64_t scale = unit->ns;
    for (const char digit : fraction) {
      if (digit < '0' || digit > '9') return std::nullopt;
      if (scale % 10 != 0) return std::nullopt;  // finer than a nanosecond, or not a decimal unit
      scale /= 10;
      ns += (digit - '0') * scale;
    }
  }
  return Duration(negative ? -ns : ns);
}

std::optional<DurationRange> parse_duration_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const auto both = parse_duration(text);
    if (!both) return std::nullopt;
    return DurationRange{*both, *both};
  }
  const auto low = parse_duration(text.substr(0, dots));
  const auto high = parse_duration(text.substr(dots + 2));
  if (!low || !high || *high < *low) return std::nullopt;
  return DurationRange{*low, *high};
}

std::string format_duration(Duration value) {
  if (value.count() == 0) return "0s";
  for (std::size_t i = kUnits.size(); i-- > 0;) {
    if (value.count() % kUnits[i].ns == 0) {
      return std::to_string(value.count() / kUnits[i].ns) + std::string(kUnits[i].name);
    }
  }
  return std::to_string(value.count()) + "ns";
}

std::optional<std::int64_t> parse_percent(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.back() != '%') return std::nullopt;
  const auto number = parse_number(trim(text.substr(0, text.size() - 1)));
  if (!number || *number > 100) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::uint64_t SeedSet::count() const {
  std::uint64_t sum = random;
  for (const auto& [low, high] : ranges) sum += high - low + 1;
  return sum;
}

std::uint64_t SeedSet::at(std::uint64_t index) const {
  for (const auto& [low, high] : ranges) {
    if (index <= high - low) return low + index;
    index -= high - low + 1;
  }
  return 0;
}

std::optional<SeedSet> parse_seeds(std::string_view text) {
  constexpr std::uint64_t kMost = 10'000'000;
  text = trim(text);
  SeedSet set;
  if (text.starts_with("random:")) {
    const auto number = parse_number(text.substr(7));
    if (!number || *number == 0 || *number > kMost) return std::nullopt;
    set.random = *number;
    return set;
  }
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = trim(text.substr(0, comma));
    const std::size_t dots = part.find("..");
    const auto low = parse_number(trim(part.substr(0, dots)));
    const auto high = dots == std::string_view::npos ? low : parse_number(trim(part.substr(dots + 2)));
    if (!low || !high || *high < *low || *high - *low >= kMost || set.count() > kMost) return std::nullopt;
    set.ranges.emplace_back(*low, *high);
    if (comma == std::string_view::npos) return set;
    text = text.substr(comma + 1);
  }
}

bool SeedQuota::met(std::uint64_t matching, std::uint64_t runs) const {
  const std::uint64_t have = percent ? matching * 100 : matching;
  const std::uint64_t want = percent ? number * runs : number;
  switch (relation) {
    case Relation::at_least: return have >= want;
    case Relation::at_most: return have <= want;
    case Relation::exactly: return have == want;
  }
  return false;
}

std::string SeedQuota::to_string() const {
  if (relation == Relation::at_least && percent && number == 100) return "all";
  const char* sign = relation == Relation::at_least ? ">= " : relation == Relation::at_most ? "<= " : "== ";
  return sign + std::to_string(number) + (percent ? "%" : "");
}

std::optional<SeedQuota> parse_seed_quota(std::string_view text) {
  text = trim(text);
  SeedQuota quota;
  if (text == "all") return quota;
  if (text.starts_with(">=")) {
    quota.relation = SeedQuota::Relation::at_least;
  } else if (text.starts_with("<=")) {
    quota.relation = SeedQuota::Relation::at_most;
  } else if (text.starts_with("==")) {
    quota.relation = SeedQuota::Relation::exactly;
  } else {
    return std::nullopt;
  }
  text = trim(text.substr(2));
  if (!text.empty() && text.back() == '%') {
    const auto number = parse_percent(text);
    if (!number) return std::nullopt;
    quota.number = static_cast<std::uint64_t>(*number);
    return quota;
  }
  const auto number = parse_number(text);
  if (!number) return std::nullopt;
  quota.percent = false;
  quota.number = *number;
  return quota;
}

}  // namespace holdfast::sim
