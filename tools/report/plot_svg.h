// Plots of a report as SVG: no scripts, no fonts, colours by the page's style sheet, so that they are
// readable in the dark, in the light and on paper.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace holdfast::tools {

// Who is measured; each has a mark and a colour.
enum class Sort { ours, published, library, reference };

struct Dot {
  std::string name;
  double at = 0, low = 0, high = 0;
  Sort sort = Sort::ours;
};

// One row a dot, a line from `low` to `high` behind it. A logarithmic axis where the values are spread over
// more than a decade and none is zero; else one that begins at zero. `axis`: what is measured, its unit.
std::string dot_plot(const std::vector<Dot>& dots, const std::string& axis, const std::string& label);

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // from left to right
};
struct Stretch {
  std::string name;
  double from = 0, to = 0;
};

// Curves over seconds, and behind them stretches of time.
std::string curve_plot(const std::vector<Curve>& curves, const std::vector<Stretch>& stretches,
                       const std::string& x_axis, const std::string& y_axis, const std::string& label);

// Figures for an axis from 0 (or, logarithmic, from `low`) to `high`: three to eight, and round.
std::vector<double> ticks(double low, double high, bool logarithmic);

}  // namespace holdfast::tools
