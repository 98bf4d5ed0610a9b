// Two results, row by row; and what all of the page was made from.
#include <fmt/format.h>

#include "tools/bench/compare_words.h"
#include "tools/holdfast/explain.h"
#include "tools/report/html.h"
#include "tools/report/report_page.h"

namespace holdfast::tools {
namespace {

using html::Table;
using Says = ComparedRow::Says;

constexpr std::size_t kMostNamed = 20;

const char* style_of(Says says) {
  switch (says) {
    case Says::worse: return "bad";
    case Says::better: return "good";
    case Says::differs: return "odd";
    case Says::none:
    case Says::unknown: break;
  }
  return "";
}

Table table_of(const Comparison& comparison, bool told) {
  Table table{
      .caption = {},
      .columns =
          {{"lock"}, {"suite"}, {"where"}, {"figure"}, {"before", {}, true}, {"now", {}, true}, {"said"}},
      .rows = {},
      .style = "dense"};
  for (const ComparedRow& row : comparison.rows) {
    const bool differs = row.says != Says::none && row.says != Says::unknown;
    if (differs != told) continue;
    std::string where = world_words(row.world);
    for (const auto& [name, value] : row.parameters) where += ", " + spaced(name) + " " + spaced(value);
    table.rows.push_back({html::plain(row.subject),
                          html::plain(row.suite),
                          html::plain(where),
                          {html::text(spaced(row.metric.name)), {}, {}, row.metric.meaning},
                          {html::figure(row.before), row.before, {}, {}},
                          {html::figure(row.now), row.now, {}, {}},
                          {html::text(row.words), {}, style_of(row.says), {}}});
  }
  return table;
}

std::string notes_of(const std::vector<std::string>& lines, const std::string& before, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < lines.size() && i < most; ++i)
    out += "<p class=\"note\">" + html::text(before + lines[i]) + "</p>\n";
  if (lines.size() > most)
    out += "<p class=\"note\">" +
           html::text(fmt::format("{}{} more", before, with_commas(lines.size() - most))) + "</p>\n";
  return out;
}

}  // namespace

std::string comparison_of(const Comparison& comparison) {
  std::string out = "<p>" + html::text(comparison.now) + ", compared with " + html::text(comparison.before) +
                    ". Of the rows with intervals that are said to differ, 5% at most are expected to be "
                    "chance. Rounds tell "
                    "how a run scatters, not what is otherwise an hour later.</p>\n";
  out += notes_of(comparison.unlike, "not alike: ", kMostNamed);
  for (const ComparedRow& row : comparison.rows) {
    if (row.reference && row.first && row.says != Says::none && row.says != Says::unknown)
      out += "<p class=\"note\">" +
             html::text(fmt::format("not alike: {} is {}, and no lock has a part in it: look at ratios",
                                    row_name(row), row.words)) +
             "</p>\n";
  }
  const Table told = table_of(comparison, true), rest = table_of(comparison, false);
  if (told.rows.empty()) {
    out += "<p><strong>No difference can be seen.</strong></p>\n";
  } else {
    out += html::table(told);
  }
  if (!rest.rows.empty())
    out += fmt::format("<details><summary>{}</summary>\n",
                       counted(rest.rows.size(),
                               "row in which no difference can be seen, or which cannot be compared",
                               "rows in which no difference can be seen, or which cannot be compared")) +
           html::table(rest) + "</details>\n";
  return out;
}

std::string sources_of(const ReportData& data) {
  std::string out;
  for (std::size_t i = 0; i < data.bench.documents.size(); ++i) {
    const BenchResult& one = data.bench.documents[i];
    std::vector<std::string> facts = {"started " + one.started};
    if (!one.complete) facts.emplace_back("interrupted: what was whole is here");
    for (const auto& [name, value] : one.machine) facts.push_back(spaced(name) + " " + value);
    for (const auto& [name, value] : one.versions) facts.push_back(name + " " + value);
    for (const auto& [name, value] : one.seeds) facts.push_back("seeds of " + name + ": " + value);
    out += "<dt>" + html::text(data.bench.files[i]) + "</dt><dd><code>" + html::text(one.command) +
           "</code><br>";
    for (std::size_t f = 0; f < facts.size(); ++f) out += (f == 0 ? "" : "; ") + html::text(facts[f]);
    for (const std::string& note : one.notes) out += "<br>note: " + html::text(note);
    out += "</dd>\n";
  }
  for (const ReportRunFile& file : data.run_files)
    out += "<dt>" + html::text(file.path) + "</dt><dd>" + html::text(world_words(file.world)) +
           ", trace <code>" + html::text(file.trace) + "</code></dd>\n";
  for (const ReportStory& story : data.stories)
    out += "<dt>" + html::text(story.folder.empty() ? "." : story.folder) +
           "</dt><dd>a run that was kept: " + html::text(story.run.title()) + "</dd>\n";
  if (!out.empty()) out = "<dl>\n" + out + "</dl>\n";
  return out + notes_of(data.left_out, "left out: ", kMostNamed);
}

}  // namespace holdfast::tools
