#include "tools/bench/compare_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace holdfast::tools {
namespace {

using Says = ComparedRow::Says;
using Better = MetricInfo::Better;
using Scale = Contrast::Scale;

bool is_speed(const std::string& unit) {
  return unit == "1/s" || unit == "us" || unit == "ms" || unit == "s";
}

double none_of(Scale scale) { return scale == Scale::ratio ? 1 : 0; }

Says says_of(const MetricInfo& metric, bool rises) {
  if (metric.better == Better::neither) return Says::differs;
  return rises == (metric.better == Better::more) ? Says::better : Says::worse;
}

// "slower", "more", "less often".
std::string direction(const MetricInfo& metric, Scale scale, bool rises) {
  if (is_speed(metric.unit)) return rises == (metric.unit == "1/s") ? "faster" : "slower";
  return std::string(rises ? "more" : "less") + (scale == Scale::shares ? " often" : "");
}

std::string with_unit(const std::string& number, Scale scale, const std::string& unit) {
  if (scale == Scale::ratio) return number + "%";
  if (scale == Scale::shares) return number + " points";
  return unit == "ratio" ? number : number + " " + unit;
}

// How far from no difference, in the unit that is shown.
double size_of(double at, Scale scale) {
  return std::abs(at - none_of(scale)) * (scale == Scale::difference ? 1 : 100);
}

std::string digits(double size, Scale scale) {
  if (scale == Scale::difference) return shown(size);
  return size < 9.95 ? fmt::format("{:.1f}", size) : fmt::format("{:.0f}", size);
}

// "4 to 9": no more digits than it takes to tell the two apart.
std::string range(double low, double high, Scale scale) {
  if (low > high) std::swap(low, high);
  const std::string a = fmt::format("{:.0f}", low), b = fmt::format("{:.0f}", high);
  const bool whole = scale != Scale::difference && low >= 1 && a != b;
  const std::string from = whole ? a : digits(low, scale), to = whole ? b : digits(high, scale);
  return from == to ? from : from + " to " + to;
}

}  // namespace

void say_difference(ComparedRow& row) {
  const Scale scale = *row.scale;
  const auto [low, high] = row.interval;
  const bool rises = low > none_of(scale);
  row.says = says_of(row.metric, rises);
  row.words = direction(row.metric, scale, rises) + " by ";
  if (scale == Scale::ratio && high > 10) {  // thousands of percent tell nobody anything
    row.words += fmt::format("a factor of {}", range(low, high, Scale::difference));
  } else {
    row.words += with_unit(range(size_of(low, scale), size_of(high, scale), scale), scale, row.metric.unit);
  }
}

void say_none(ComparedRow& row) {
  const Scale scale = *row.scale;
  row.says = Says::none;
  const auto end = [&](double at) {
    return with_unit(digits(size_of(at, scale), scale), scale, row.metric.unit) + " " +
           direction(row.metric, scale, at > none_of(scale));
  };
  row.words = fmt::format("{} ({} to {})", kNoDifference, end(row.interval.low), end(row.interval.high));
}

std::string row_name(const std::string& suite, const std::string& subject, const std::string& world,
                     const Parameters& parameters) {
  std::string name = (suite.empty() ? "" : suite + ": ") + subject + ", " + world;
  for (const auto& [parameter, value] : parameters) name += fmt::format(", {} {}", parameter, value);
  return name;
}

std::string row_name(const ComparedRow& row) { return row_name("", row.subject, row.world, row.parameters); }

}  // namespace holdfast::tools
