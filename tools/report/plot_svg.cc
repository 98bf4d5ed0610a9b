#include "tools/report/plot_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/report/html.h"

namespace holdfast::tools {
namespace {

using html::figure;

constexpr double kWidth = 760, kNames = 228, kRight = 64, kRow = 20, kTop = 6, kAxis = 40;
constexpr std::size_t kLongestName = 34;

const char* class_of(Sort sort) {
  switch (sort) {
    case Sort::ours: return "ours";
    case Sort::published: return "published";
    case Sort::library: return "library";
    case Sort::reference: break;
  }
  return "reference";
}

std::string mark(Sort sort, double x, double y) {
  switch (sort) {
    case Sort::ours: return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/>", x, y);
    case Sort::published:
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"8\" height=\"8\"/>", x - 4, y - 4);
    case Sort::library:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l5.5 5.5-5.5 5.5-5.5-5.5z\"/>", x, y - 5.5);
    case Sort::reference: break;
  }
  return fmt::format("<path d=\"M{:.1f} {:.1f}v12h2.5v-12z\"/>", x - 1.25, y - 6);
}

// A round figure, without digits that say nothing.
std::string tick_words(double value) {
  return std::abs(value) < 1000 ? fmt::format("{:.6g}", value) : figure(value);
}

struct Axis {
  double low = 0, high = 1, from = 0, to = 1;  // values; where they are
  bool logarithmic = false;

  double at(double value) const {
    const auto scaled = [&](double v) { return logarithmic ? std::log(v) : v; };
    const double part = (scaled(std::clamp(value, low, high)) - scaled(low)) / (scaled(high) - scaled(low));
    return from + part * (to - from);
  }
};

std::string begin(double width, double height, const std::string& label) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", width, height,
                     html::attribute(label));
}

std::string words(double x, double y, const char* style, const std::string& what) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style,
                     html::text(what));
}

std::string short_name(const std::string& name) {
  if (name.size() <= kLongestName) return name;
  std::size_t end = kLongestName - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80) --end;
  return name.substr(0, end) + "…";
}

}  // namespace

std::vector<double> ticks(double low, double high, bool logarithmic) {
  std::vector<double> found;
  if (logarithmic) {
    const int first = static_cast<int>(std::floor(std::log10(low))),
              last = static_cast<int>(std::ceil(std::log10(high)));
    static const std::array<std::vector<double>, 3> kSteps = {{{1}, {1, 3}, {1, 2, 5}}};
    for (const std::vector<double>& steps : kSteps) {
      found.clear();
      for (int decade = first; decade <= last; ++decade) {
        for (const double step : steps) {
          const double tick = step * std::pow(10.0, decade);
          if (tick >= low * 0.999 && tick <= high * 1.001) found.push_back(tick);
        }
      }
      if (found.size() >= 3) break;
    }
    return found;
  }
  const double rough = high / 5, power = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = power * (rough / power <= 1 ? 1 : rough / power <= 2 ? 2 : rough / power <= 5 ? 5 : 10);
  for (int i = 0; i * step <= high * 1.001; ++i) found.push_back(i * step);
  return found;
}

std::string dot_plot(const std::vector<Dot>& dots, const std::string& axis_name, const std::string& label) {
  double least = INFINITY, most = 0;
  for (const Dot& dot : dots) {
    least = std::min(least, dot.low);
    most = std::max(most, dot.high);
  }
  if (!(most > 0)) most = 1;
  const bool logarithmic = least > 0 && most > 10 * least;
  const Axis axis{.low = logarithmic ? least / 1.15 : 0,
                  .high = logarithmic ? most * 1.15 : most * 1.04,
                  .from = kNames,
                  .to = kWidth - kRight,
                  .logarithmic = logarithmic};
  const double bottom = kTop + kRow * static_cast<double>(dots.size()) + 4;
  std::string out = begin(kWidth, bottom + kAxis, label);
  for (const double tick : ticks(axis.low, axis.high, logarithmic)) {
    const double x = axis.at(tick);
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.0f}V{:.1f}\"/>", x, kTop, bottom);
    out += words(x, bottom + 15, "tick", tick_words(tick));
  }
  out += words((axis.from + axis.to) / 2, bottom + 34, "axis",
               axis_name + (logarithmic ? " (logarithmic)" : ""));
  for (std::size_t i = 0; i < dots.size(); ++i) {
    const Dot& dot = dots[i];
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    const double low = axis.at(dot.low), high = axis.at(dot.high), at = axis.at(dot.at);
    out += fmt::format("<g class=\"{}\"><title>{}: {} ({} to {})</title>", class_of(dot.sort),
                       html::text(dot.name), figure(dot.at), figure(dot.low), figure(dot.high));
    out += words(kNames - 10, y + 4, "name", short_name(dot.name));
    out += fmt::format("<path class=\"spread\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", low, y,
                       std::max(high, low + 0.5));
    out += mark(dot.sort, at, y) + words(std::max(high, at) + 9, y + 4, "value", figure(dot.at)) + "</g>\n";
  }
  return out + "</svg>\n";
}

std::string curve_plot(const std::vector<Curve>& curves, const std::vector<Stretch>& stretches,
                       const std::string& x_axis, const std::string& y_axis, const std::string& label) {
  constexpr double kLeft = 56, kHigh = 236, kHead = 22;
  double width = 0, height = 0;
  for (const Curve& curve : curves) {
    for (const auto& [x, y] : curve.points) {
      width = std::max(width, x);
      height = std::max(height, y);
    }
  }
  const Axis x{.low = 0, .high = width > 0 ? width : 1, .from = kLeft, .to = kWidth - 16};
  const Axis y{.low = 0, .high = height > 0 ? height * 1.05 : 1, .from = kHead + kHigh, .to = kHead};
  std::string out =
      begin(kWidth, kHead + kHigh + kAxis + 18 * static_cast<double>((curves.size() + 2) / 3), label);
  for (const Stretch& stretch : stretches) {
    const double from = x.at(stretch.from), to = x.at(stretch.to);
    out +=
        fmt::format("<rect class=\"stretch\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>",
                    from, kHead, std::max(to - from, 1.5), kHigh);
    out += words(from, kHead - 7, "stretched", stretch.name);
  }
  for (const double tick : ticks(0, y.high, false)) {
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", x.from, y.at(tick), x.to);
    out += words(kLeft - 8, y.at(tick) + 4, "side", tick_words(tick));
  }
  for (const double tick : ticks(0, x.high, false))
    out += words(x.at(tick), y.from + 16, "tick", tick_words(tick));
  out += words((x.from + x.to) / 2, y.from + 33, "axis", x_axis);
  out += words(0, kHead - 7, "top", y_axis);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::string path;
    for (const auto& [at, value] : curves[i].points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.at(at), y.at(value));
    const double left = kLeft + 232 * static_cast<double>(i % 3);
    const double under = y.from + 53 + 18 * static_cast<double>(i / 3);
    out +=
        fmt::format("<g class=\"curve c{}\"><title>{}</title><path d=\"{}\"/><path d=\"M{:.0f} {:.1f}h22\"/>",
                    i % 6, html::text(curves[i].name), path, left, under - 4);
    out += words(left + 28, under, "name", short_name(curves[i].name)) + "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace holdfast::tools
