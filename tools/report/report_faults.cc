// Lock x fault: of the cases of `holdfast run`, and of the sales of `holdfast bench --suite seckill`. Each
// cell leads to the story behind it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/report/html.h"
#include "tools/report/report_page.h"

namespace holdfast::tools {
namespace {

using html::Cell;
using html::Table;
using What = SaleSaid::What;

constexpr std::size_t kMostMarks = 12;  // of a cell

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string id_of_case(std::size_t file, std::size_t at) {
  return fmt::format("case-{}-{}", file + 1, at + 1);
}

struct CaseAt {
  const ReportCase* one;
  std::string id;
};

std::string mark_of(const CaseAt& at) {
  const ReportCase& one = *at.one;
  const bool violated = one.violated();
  const std::string to = one.story ? fmt::format("story-{}", *one.story + 1) : at.id;
  const std::string said = one.unexpected ? "not as expected" : violated ? "violated, as expected" : "holds";
  return fmt::format("<a class=\"mark {}\" href=\"#{}\" title=\"{}\" aria-label=\"{}\">{}</a>",
                     one.unexpected ? "unexpected"
                     : violated     ? "violated"
                                    : "holds",
                     to, html::attribute(one.title() + ": " + said),
                     html::attribute(one.title() + ": " + said),
                     one.unexpected ? "!"
                     : violated     ? "✗"
                                    : "✓");
}

std::string table_of_cases(const ReportData& data) {
  std::vector<std::string> locks, faults;
  std::map<std::pair<std::string, std::string>, std::vector<CaseAt>> cells;
  for (std::size_t f = 0; f < data.run_files.size(); ++f) {
    for (std::size_t i = 0; i < data.run_files[f].cases.size(); ++i) {
      const ReportCase& one = data.run_files[f].cases[i];
      if (one.lock.empty()) continue;
      add_once(locks, one.lock);
      std::vector<std::string> kinds = one.faults;
      if (kinds.empty()) kinds = {"no fault"};
      for (const std::string& kind : kinds) {
        add_once(faults, kind);
        cells[{one.lock, kind}].push_back({&one, id_of_case(f, i)});
      }
    }
  }
  if (locks.empty()) return "";
  std::stable_partition(faults.begin(), faults.end(),
                        [](const std::string& name) { return name == "no fault"; });
  Table table{.caption = {}, .columns = {{"lock"}}, .rows = {}, .style = "matrix marks"};
  for (const std::string& fault : faults) table.columns.push_back({spaced(fault)});
  for (const std::string& lock : locks) {
    std::vector<Cell> row = {html::plain(lock)};
    for (const std::string& fault : faults) {
      const auto found = cells.find({lock, fault});
      if (found == cells.end()) {
        row.push_back({"<span class=\"none\">–</span>", -1, {}, "did not meet"});
        continue;
      }
      std::string marks;
      double violated = 0;
      for (std::size_t i = 0; i < found->second.size(); ++i) {
        violated += found->second[i].one->violated() ? 1 : 0;
        if (i < kMostMarks) marks += mark_of(found->second[i]);
      }
      if (found->second.size() > kMostMarks)
        marks += fmt::format(" <span class=\"none\">+{}</span>", found->second.size() - kMostMarks);
      row.push_back({marks, violated, {}, {}});
    }
    table.rows.push_back(std::move(row));
  }
  return "<h3>Scenarios</h3>\n<p class=\"note\">A mark is a case: <span class=\"mark holds\">✓</span> "
         "nothing was "
         "violated, <span class=\"mark violated\">✗</span> violated as its file expects, <span class=\"mark "
         "unexpected\">!</span> not as expected. A case with several faults stands under each. A mark leads "
         "to the "
         "story, where one was kept.</p>\n" +
         html::table(table);
}

const ReportStory* story_of_sale(const ReportData& data, const Measurement& m, std::size_t& number) {
  const std::string protection = m.parameters.at("protection"),
                    variant = protection == "lock" ? "" : protection;
  const std::string world = m.world == "embedded" ? "embedded" : "real";
  for (std::size_t i = 0; i < data.stories.size(); ++i) {
    const KeptRun& run = data.stories[i].run;
    const bool lock = run.lock == m.subject || (m.subject == "no lock" && run.lock == "no-lock");
    if (run.scenario != m.parameters.at("fault") || run.variant != variant || run.world != world || !lock)
      continue;
    number = i + 1;
    return &data.stories[i];
  }
  return nullptr;
}

Cell cell_of_sale(const ReportData& data, const Measurement* m) {
  if (m == nullptr)
    return {"<span class=\"none\">–</span>", -1, {}, "cannot meet this fault, or was not measured"};
  const SaleSaid said = sale_said(*m);
  std::size_t number = 0;
  std::string words = html::text(said.words);
  if (story_of_sale(data, *m, number) != nullptr) words = html::link(fmt::format("story-{}", number), words);
  const auto mean = [&](const char* name) {
    const auto found = m->metrics.find(name);
    return found == m->metrics.end() ? 0 : found->second.mean();
  };
  const std::size_t sales = m->metrics.empty() ? 0 : m->metrics.begin()->second.count();
  return {words, mean("runs_oversold") + (said.what == What::stalls ? 0.001 : 0),
          said.what == What::oversells ? "bad"
          : said.what == What::holds   ? "good"
                                       : "odd",
          fmt::format("{}: {} sold beyond the stock on average, {} s to sell out",
                      counted(sales, "sale", "sales"), html::figure(mean("oversold")),
                      html::figure(mean("sold_out")))};
}

std::string table_of_sales(const ReportData& data, const std::string& world, bool alone) {
  std::vector<std::pair<std::string, std::string>> rows;  // lock, protection
  std::vector<std::string> faults;
  std::map<std::tuple<std::string, std::string, std::string>, const Measurement*> cells;
  for (const Measurement& m : data.bench.measurements) {
    if (m.world != world || !is_small_sale(m)) continue;
    const std::string protection = m.parameters.at("protection"), fault = m.parameters.at("fault");
    if ((protection == "lock") != alone) continue;
    if (std::find(rows.begin(), rows.end(), std::pair(m.subject, protection)) == rows.end())
      rows.emplace_back(m.subject, protection);
    add_once(faults, fault);
    cells.try_emplace({m.subject, protection, fault}, &m);
  }
  if (rows.empty()) return "";
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return !alone && a.second < b.second; });
  std::stable_partition(faults.begin(), faults.end(),
                        [](const std::string& name) { return name == "no-fault"; });
  Table table{.caption = {}, .columns = {}, .rows = {}, .style = "matrix"};
  if (!alone) table.columns.push_back({"protection"});
  table.columns.push_back({"lock"});
  for (const std::string& fault : faults) table.columns.push_back({spaced(fault)});
  for (const auto& [lock, protection] : rows) {
    std::vector<Cell> row;
    if (!alone) row.push_back(html::plain(spaced(protection)));
    row.push_back(html::plain(lock));
    for (const std::string& fault : faults) {
      const auto found = cells.find({lock, protection, fault});
      row.push_back(cell_of_sale(data, found == cells.end() ? nullptr : found->second));
    }
    table.rows.push_back(std::move(row));
  }
  return fmt::format("<h3>{}, {}</h3>\n",
                     alone ? "A flash sale behind the lock alone" : "The same behind other protections",
                     html::text(world_words(world))) +
         html::table(table);
}

}  // namespace

bool is_small_sale(const Measurement& m) {
  const auto buyers = m.parameters.find("buyers");
  return m.suite == "seckill" && m.metrics.contains("runs_oversold") && m.metrics.contains("sold") &&
         m.parameters.contains("fault") && m.parameters.contains("protection") &&
         buyers != m.parameters.end() && buyers->second.size() < 3 &&
         buyers->second.find_first_not_of("0123456789") == std::string::npos &&
         std::stoi("0" + buyers->second) < 50;
}

SaleSaid sale_said(const Measurement& m) {
  if (m.metrics.at("sold").mean() == 0) return {What::no_sale, "no sale"};
  const double share = m.metrics.at("runs_oversold").mean();
  if (share > 0)
    return {What::oversells, share >= 1
                                 ? "oversells"
                                 : fmt::format("oversells {:.0f}%", std::max(1.0, std::round(100 * share)))};
  const auto cut = m.metrics.find("cut");
  if (cut != m.metrics.end() && cut->second.mean() > 0) return {What::stalls, "stalls"};
  return {What::holds, "holds"};
}

std::string fault_tables(const ReportData& data) {
  std::string out = table_of_cases(data);
  std::string sales;
  for (const char* world : {"embedded", "real/fibers"}) {
    for (const bool alone : {true, false}) sales += table_of_sales(data, world, alone);
  }
  if (!sales.empty()) {
    out +=
        "<p class=\"note\"><em>oversells 65%</em>: in so many of the sales more was sold than the shop had; "
        "<em>oversells</em>: in all of them; <em>holds</em>: in none; <em>stalls</em>: nothing was oversold, "
        "but "
        "some sales did not end. A cell leads to the story, where one was kept.</p>\n" +
        sales;
  }
  return out;
}

}  // namespace holdfast::tools
