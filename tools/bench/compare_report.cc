// `holdfast bench --compare`: what is printed of a comparison.
#include <fmt/format.h>

#include <algorithm>

#include "checker/story/text_layout.h"
#include "tools/bench/bench.h"
#include "tools/bench/compare.h"
#include "tools/bench/compare_words.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/explain.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

using Says = ComparedRow::Says;

constexpr std::size_t kMostNamed = 20;

std::string sign_of(Says says, const Terminal& terminal) {
  switch (says) {
    case Says::worse: return bad_sign(terminal);
    case Says::better: return good_sign(terminal);
    case Says::unknown: return unknown_sign(terminal);
    case Says::differs:
    case Says::none: break;
  }
  return note_sign(terminal);
}

std::string paragraph(const std::string& text, const Terminal& terminal, std::size_t indent = 2) {
  return checker::wrap(for_terminal(text, terminal), terminal.columns() - indent, indent) + "\n";
}

std::string figures_of(const ComparedRow& row, const Terminal& terminal) {
  const std::string unit = row.metric.unit == "ratio" ? "" : " " + row.metric.unit;
  return fmt::format("{} {} {}{}", shown(row.before), terminal.unicode ? "→" : "->", shown(row.now), unit);
}

std::string row_line(const ComparedRow& row, const Terminal& terminal) {
  return fmt::format("  {} {}: {}, {}\n", sign_of(row.says, terminal), row.metric.name,
                     figures_of(row, terminal), for_terminal(row.words, terminal));
}

bool is_told(const ComparedRow& row) {
  return row.first || (row.says != Says::none && row.says != Says::unknown);
}

std::string rest_line(std::size_t none, std::size_t unknown, const Terminal& terminal) {
  std::string text;
  if (none > 0) text += fmt::format("  {} {} more: {}\n", note_sign(terminal), none, kNoDifference);
  if (unknown > 0) text += fmt::format("  {} {} more cannot be compared\n", unknown_sign(terminal), unknown);
  return text;
}

std::string rows_report(const Comparison& comparison, const Terminal& terminal) {
  std::string text, suite;
  std::size_t none = 0, unknown = 0;
  const auto end = [&] {
    text += rest_line(none, unknown, terminal);
    none = unknown = 0;
  };
  for (const ComparedRow& row : comparison.rows) {
    if (row.first) {
      end();
      if (suite != row.suite) text += fmt::format("\n{}\n", suite = row.suite);
      text += for_terminal(row_name(row), terminal) + "\n";
    }
    if (is_told(row)) {
      text += row_line(row, terminal);
    } else {
      ++(row.says == Says::none ? none : unknown);
    }
  }
  end();
  return text;
}

std::string only_report(const std::string& where, const std::vector<std::string>& names,
                        const Terminal& terminal) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNamed; ++i)
    text += paragraph(fmt::format("only in {}: {}", where, names[i]), terminal);
  if (names.size() > kMostNamed)
    text += paragraph(fmt::format("only in {}: {} more", where, with_commas(names.size() - kMostNamed)),
                      terminal);
  return text;
}

std::string machine_report(const Comparison& comparison, const Terminal& terminal) {
  std::string text;
  for (const std::string& one : comparison.unlike) text += paragraph("not alike: " + one, terminal);
  for (const ComparedRow& row : comparison.rows) {
    if (!row.reference || !row.first || row.says == Says::none || row.says == Says::unknown) continue;
    text += paragraph(fmt::format("not alike: {} ({}) is {}, and no lock has a part in it: look at ratios",
                                  row_name(row), row.metric.name, row.words),
                      terminal);
  }
  return text;
}

}  // namespace

std::string comparison_report(const Comparison& comparison, const Terminal& terminal) {
  std::string text =
      paragraph(fmt::format("{}, compared with {}", comparison.now, comparison.before), terminal);
  text += machine_report(comparison, terminal);
  text += rows_report(comparison, terminal) + "\n";
  text += only_report(comparison.before, comparison.only_before, terminal);
  text += only_report(comparison.now, comparison.only_now, terminal);
  if (comparison.rows.empty())
    return text + paragraph("nothing is in both: nothing can be compared", terminal);
  const auto counted = [&](Says says) { return with_commas(comparison.count(says)); };
  if (comparison.count(Says::unknown) < comparison.rows.size())
    text += paragraph(
        "Of the rows with intervals that are said to differ, 5% at most are expected to be chance. Rounds "
        "tell how a run scatters, not what is otherwise an hour later.",
        terminal, 0);
  text += fmt::format("{} rows: {} worse, {} better, {} with no difference that can be seen",
                      with_commas(comparison.rows.size()), counted(Says::worse), counted(Says::better),
                      counted(Says::none));
  if (comparison.count(Says::differs) > 0) text += fmt::format(", {} otherwise", counted(Says::differs));
  if (comparison.count(Says::unknown) > 0)
    text += fmt::format(", {} that cannot be compared", counted(Says::unknown));
  return text + "\n";
}

ExitCode compare_command(const BenchArguments& arguments) {
  const std::string &before = arguments.compare.at(0), &now = arguments.compare.at(1);
  const Comparison comparison =
      compare(narrowed(read_results(before), arguments), narrowed(read_results(now), arguments), before, now);
  print_out(comparison_report(comparison, arguments.terminal));
  return comparison.code();
}

}  // namespace holdfast::tools
