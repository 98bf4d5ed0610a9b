// What `holdfast bench` measured: a plot and a table for each suite and world. Titles say what was measured,
// not who won: whether a difference is more than chance is for intervals to say.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sim/client/lock_kind.h"
#include "tools/bench/metric_table.h"
#include "tools/report/html.h"
#include "tools/report/plot_svg.h"
#include "tools/report/report_page.h"

namespace holdfast::tools {
namespace {

using html::Cell;
using html::Table;
using Rows = std::vector<const Measurement*>;

Sort sort_of(const Measurement& m) {
  if (m.world == "real/peer") return Sort::library;
  const sim::LockKind* kind = sim::find_lock_kind(m.subject);
  return kind == nullptr ? Sort::reference : kind->historic ? Sort::published : Sort::ours;
}

double shown_of(const Measurement& m, const Metric& metric) {
  return suite_info(m.suite).shows_means ? metric.mean() : metric.median();
}

// Real Redis is one world, whoever the client is.
std::string group_of(const Measurement& m) {
  return m.world == "embedded" ? "embedded" : m.world == "real/threads" ? "real/threads" : "real/fibers";
}

std::string parameters_words(const Parameters& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters) out += (out.empty() ? "" : ", ") + spaced(name) + " " + value;
  return out;
}

std::string axis_of(const MetricInfo& metric) {
  return metric.unit == "ratio" || metric.unit.empty() ? metric.meaning : metric.meaning + ", " + metric.unit;
}

std::string dots_of(const Rows& rows, const MetricInfo& metric, const std::string& where) {
  std::vector<Dot> dots;
  bool once = true;
  for (const Measurement* m : rows) {
    const auto found = m->metrics.find(metric.name);
    if (found == m->metrics.end()) continue;
    dots.push_back(
        {m->subject, shown_of(*m, found->second), found->second.low(), found->second.high(), sort_of(*m)});
    once = once && found->second.count() < 2;
  }
  if (dots.size() < 2) return "";
  std::stable_sort(dots.begin(), dots.end(), [&](const Dot& a, const Dot& b) {
    return metric.better == MetricInfo::Better::more ? a.at > b.at : a.at < b.at;
  });
  const std::string what = metric.meaning + ": " + where;
  return "<figure><figcaption>" + html::text(what) + "<small>" +
         (!once                               ? "dot: median of the rounds; line: lowest to highest round"
          : rows.front()->world == "embedded" ? "one run each, in simulated time: it does not scatter"
                                              : "one round each: how it scatters is not known") +
         "</small></figcaption><div class=\"wide\">" + dot_plot(dots, axis_of(metric), what) +
         "</div></figure>\n";
}

// The point at which most were measured.
std::optional<Parameters> fullest(const Rows& rows) {
  std::map<Parameters, std::set<std::string>> subjects;
  for (const Measurement* m : rows) subjects[m->parameters].insert(m->subject);
  std::optional<Parameters> best;
  for (const auto& [parameters, names] : subjects) {
    if (!best || names.size() > subjects.at(*best).size()) best = parameters;
  }
  return best;
}

// Metrics that have a plot, of each suite.
const std::vector<std::string>& plotted(const std::string& suite) {
  static const std::map<std::string, std::vector<std::string>> kPlotted = {
      {"uncontended", {"pairs"}},
      {"contended", {"of_ceiling", "p99_by_fair_share"}},
      {"scale", {"pairs"}},
      {"watchdog", {"client_cpu_at_30s"}},
      {"failover", {"longest_gap"}}};
  static const std::vector<std::string> kNone;
  const auto found = kPlotted.find(suite);
  return found == kPlotted.end() ? kNone : found->second;
}

std::string plots_of(const SuiteInfo& suite, const Rows& rows, const std::string& world) {
  const std::optional<Parameters> point = fullest(rows);
  if (!point) return "";
  Rows here;
  for (const Measurement* m : rows) {
    if (m->parameters == *point) here.push_back(m);
  }
  const std::string where = world_words(world) + (point->empty() ? "" : ", " + parameters_words(*point));
  std::string out;
  for (const std::string& name : plotted(suite.name))
    out += dots_of(here, metric_info(suite.name, name), where);
  if (!out.empty()) {
    std::set<Sort> sorts;
    for (const Measurement* m : here) sorts.insert(sort_of(*m));
    static constexpr std::pair<Sort, const char*> kNames[] = {
        {Sort::ours, "<span class=\"key ours\">●</span> Holdfast"},
        {Sort::published, "<span class=\"key published\">■</span> published design"},
        {Sort::library, "<span class=\"key library\">◆</span> other library"},
        {Sort::reference, "<span class=\"key reference\">▌</span> reference"}};
    std::string legend;
    for (const auto& [sort, words] : kNames) {
      if (sorts.contains(sort)) legend += std::string(words) + " ";
    }
    out = "<p class=\"legend\">" + legend + "</p>\n" + out;
  }
  return out;
}

// Grants over time, a curve a lock, where a suite has them.
std::string curves_of(const Rows& rows, const std::string& world) {
  std::vector<Curve> curves;
  std::vector<Stretch> stretches;
  for (const Measurement* m : rows) {
    const auto found = m->curves.find("grants_per_s");
    if (found == m->curves.end() || found->second.size() < 2 || curves.size() == 6) continue;
    curves.push_back({m->subject, found->second});
    if (!stretches.empty()) continue;
    for (const Measurement::Band& band : m->bands) stretches.push_back({band.label, band.from, band.to});
  }
  if (curves.empty()) return "";
  const std::string what = "grants a second, over time: " + world_words(world);
  return "<figure><figcaption>" + html::text(what) +
         "<small>one run each; behind them what acted when, in the first of them</small></figcaption><div "
         "class=\"wide\">" +
         curve_plot(curves, stretches, "seconds since the start", "grants a second", what) +
         "</div></figure>\n";
}

std::string table_of(const SuiteInfo& suite, const Rows& rows) {
  std::set<std::string> parameters, used;
  for (const Measurement* m : rows) {
    for (const auto& [name, value] : m->parameters) parameters.insert(name);
    for (const auto& [name, metric] : m->metrics) used.insert(name);
  }
  Table table{.caption = {}, .columns = {{suite.name}}, .rows = {}, .style = "dense"};
  for (const std::string& name : parameters) table.columns.push_back({spaced(name)});
  std::vector<const MetricInfo*> metrics;
  for (const MetricInfo& metric : suite.metrics) {
    if (!used.contains(metric.name)) continue;
    metrics.push_back(&metric);
    const bool bare = metric.unit == "ratio" || metric.unit == metric.name;
    table.columns.push_back({spaced(metric.name) + (bare ? "" : ", " + metric.unit), metric.meaning, true});
  }
  for (const Measurement* m : rows) {
    if (m->metrics.empty()) continue;
    std::vector<Cell> row = {html::plain(m->subject)};
    for (const std::string& name : parameters) {
      const auto found = m->parameters.find(name);
      Cell cell = html::plain(found == m->parameters.end() ? "" : spaced(found->second));
      if (found != m->parameters.end() && found->second.size() < 10 && !found->second.empty() &&
          found->second.find_first_not_of("0123456789") == std::string::npos)
        cell.sort = std::stod(found->second);
      row.push_back(std::move(cell));
    }
    for (const MetricInfo* metric : metrics) {
      const auto found = m->metrics.find(metric->name);
      if (found == m->metrics.end()) {
        row.push_back({});
        continue;
      }
      const double value = shown_of(*m, found->second);
      row.push_back({html::figure(value),
                     value,
                     {},
                     found->second.count() < 2
                         ? ""
                         : fmt::format("{} to {} in {} rounds", html::figure(found->second.low()),
                                       html::figure(found->second.high()), found->second.count())});
    }
    table.rows.push_back(std::move(row));
  }
  return table.rows.empty() ? "" : html::table(table);
}

}  // namespace

std::string measurements_of(const ReportData& data) {
  std::string out;
  for (const SuiteInfo& suite : metric_table()) {
    for (const char* world : {"real/fibers", "real/threads", "embedded"}) {
      Rows rows;
      for (const Measurement& m : data.bench.measurements) {
        if (m.suite == suite.name && group_of(m) == world) rows.push_back(&m);
      }
      if (rows.empty()) continue;
      const std::string table = table_of(suite, rows),
                        plots = plots_of(suite, rows, world) + curves_of(rows, world);
      if (table.empty() && plots.empty()) continue;
      out += fmt::format("<section class=\"suite\"><h3>{} <small>{}: {}</small></h3>\n",
                         html::text(suite.name), html::text(world_words(world)), html::text(suite.about)) +
             plots;
      if (!table.empty())
        out += fmt::format("<details{}><summary>All figures: {}</summary>\n",
                           rows.size() <= 12 ? " open" : "", counted(rows.size(), "row", "rows")) +
               table + "</details>\n";
      out += "</section>\n";
    }
  }
  return out;
}

}  // namespace holdfast::tools
