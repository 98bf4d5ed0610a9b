#include "lib/lock/observers/exposition.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "lib/runtime/check.h"

namespace holdfast {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

// "0.0025", never with an exponent.
std::string seconds(std::uint64_t ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  std::string fraction = std::to_string(kSecond + ns % kSecond).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return std::to_string(ns / kSecond) + (fraction.empty() ? "" : "." + fraction);
}

}  // namespace

bool is_label_name(std::string_view name) {
  const auto allowed = [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), allowed) &&
         !name.starts_with("__") && name != "le";
}

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  family_ = name;
  text_.append("# HELP ").append(name).append(1, ' ').append(help);
  text_.append("\n# TYPE ").append(name).append(1, ' ').append(type).append(1, '\n');
}

void Exposition::sample(const MetricLabels& labels, std::uint64_t value) {
  line("", labels, std::to_string(value));
}

void Exposition::histogram(const MetricLabels& labels, std::span<const Duration> bounds,
                           std::span<const std::uint64_t> counts, std::uint64_t sum_ns) {
  HF_CHECK(counts.size() == bounds.size() + 1, "a count for each bucket");
  std::uint64_t so_far = 0;
  MetricLabels with_bound = labels;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    so_far += counts[i];
    const std::string bound =
        i < bounds.size() ? seconds(static_cast<std::uint64_t>(bounds[i].count())) : "+Inf";
    with_bound.resize(labels.size());
    with_bound.emplace_back("le", bound);
    line("_bucket", with_bound, std::to_string(so_far));
  }
  line("_sum", labels, seconds(sum_ns));
  line("_count", labels, std::to_string(so_far));
}

void Exposition::line(std::string_view suffix, const MetricLabels& labels, std::string_view value) {
  text_.append(family_).append(suffix);
  char before = '{';
  for (const auto& [name, of] : labels) {
    text_.append(1, before).append(name).append("=\"").append(escaped(of)).append(1, '"');
    before = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_.append(1, ' ').append(value).append(1, '\n');
}

}  // namespace holdfast
