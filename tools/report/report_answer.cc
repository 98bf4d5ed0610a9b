// The first paragraph: what was run, what held, what did not.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/holdfast/explain.h"
#include "tools/report/html.h"
#include "tools/report/report_page.h"

namespace holdfast::tools {
namespace {

using What = SaleSaid::What;

std::string strong(const std::string& words) { return "<strong>" + words + "</strong>"; }

std::string sentence_of_runs(const ReportData& data) {
  std::uint64_t runs = 0, cases = 0, came = 0, none_came = 0, not_run = 0, cut = 0;
  std::set<std::string> worlds;
  std::vector<std::string> unexpected;
  std::map<std::string, std::uint64_t> checks;
  for (const ReportRunFile& file : data.run_files) {
    not_run += file.not_run.size();
    for (const ReportCase& one : file.cases) {
      ++cases;
      runs += one.runs;
      worlds.insert(one.world);
      cut += one.cut ? 1 : 0;
      if (one.unexpected) unexpected.push_back(one.title());
      if (one.unexpected || one.cut) continue;
      bool violated = false;
      for (const ReportCase::Expected& expected : one.expected) {
        if (!expected.violated || expected.check == "reached" || expected.matching == 0) continue;
        violated = true;
        ++checks[expected.check];
      }
      ++(violated ? came : none_came);
    }
  }
  if (cases == 0) return "";
  std::string where;
  for (const std::string& world : worlds) where += (where.empty() ? "" : " and ") + world_words(world);
  std::string text = fmt::format("{} ran {} in the {}. ", counted(cases, "case", "cases"),
                                 counted(runs, "time", "times"), where);
  if (worlds == std::set<std::string>{"real"})
    text = fmt::format("{} ran {} on {}. ", counted(cases, "case", "cases"), counted(runs, "time", "times"),
                       where);
  if (unexpected.empty()) {
    text += strong(cut > 0      ? "Nothing unexpected was found"
                   : cases == 1 ? "It did what its file expects"
                                : "All did what their files expect") +
            ": ";
  } else {
    text += strong(fmt::format("{} did not do what {} expects", counted(unexpected.size(), "case", "cases"),
                               unexpected.size() == 1 ? "its file" : "their files")) +
            ": " + listed(unexpected, 6) + (none_came + came > 0 ? ". Of the others: " : "");
  }
  if (none_came > 0)
    text += fmt::format("in {} no violation was expected and none came", with_commas(none_came));
  if (came > 0) {
    std::vector<std::string> found;
    for (const auto& [check, count] : checks) found.push_back(fmt::format("{} {}", check, count));
    text += fmt::format("{}in {} {} was expected and came ({})", none_came > 0 ? ", " : "", with_commas(came),
                        none_came > 0 ? "one" : "a violation", listed(found, 8));
  }
  if (unexpected.empty() && none_came + came == 0) text += "no case was whole";
  text += ". ";
  if (cut > 0) text += fmt::format("{} cut short. ", counted(cut, "case was", "cases were"));
  if (not_run > 0)
    text += fmt::format("{} not run on that machine. ",
                        counted(not_run, "file or variant was", "files or variants were"));
  return text;
}

std::string sentence_of_stories(const ReportData& data) {
  if (!data.run_files.empty() || data.stories.empty()) return "";
  std::vector<std::string> unexpected, expected;
  for (const ReportStory& story : data.stories) {
    if (story.run.told) (story.run.expected ? expected : unexpected).push_back(story.run.title());
  }
  std::string text = fmt::format("{} kept here. ", counted(data.stories.size(), "run is", "runs are"));
  if (!unexpected.empty())
    text += strong(fmt::format("{} a violation that nobody expected",
                               counted(unexpected.size(), "shows", "show"))) +
            ": " + listed(unexpected, 6) + ". ";
  if (!expected.empty())
    text += fmt::format("{} a violation that was expected. ", counted(expected.size(), "shows", "show"));
  return text;
}

// Of one world: which locks kept the shop from overselling, alone; which protections did.
std::string sentence_of_sales(const ReportData& data, const std::string& world) {
  std::map<std::string, int> locks;                               // how often it oversold
  std::map<std::string, std::map<std::string, int>> protections;  // and by lock
  std::set<std::string> faults;
  for (const Measurement& m : data.bench.measurements) {
    if (m.world != world || !is_small_sale(m)) continue;
    const SaleSaid said = sale_said(m);
    if (said.what == What::no_sale) continue;
    const std::string protection = m.parameters.at("protection");
    faults.insert(m.parameters.at("fault"));
    (protection == "lock" ? locks : protections[protection])[m.subject] +=
        said.what == What::oversells ? 1 : 0;
  }
  if (locks.empty()) return "";
  std::vector<std::string> safe, guarded;
  for (const auto& [lock, oversold] : locks) {
    if (oversold == 0) safe.push_back(lock);
  }
  for (const auto& [protection, behind] : protections) {
    const auto holds = [](const auto& one) { return one.second == 0; };
    if (std::all_of(behind.begin(), behind.end(), holds)) {
      guarded.push_back("“" + spaced(protection) + "”");
      continue;
    }
    for (const auto& [lock, oversold] : behind) {
      if (oversold == 0) guarded.push_back("“" + spaced(protection) + "” with " + lock);
    }
  }
  std::string text =
      fmt::format("A flash sale was held behind {} in {} ({}). ", counted(locks.size(), "lock", "locks"),
                  counted(faults.size(), "situation", "situations"), world_words(world));
  text += safe.empty() ? strong("Alone, no lock kept the shop from overselling in all of them")
                       : strong("Alone, only " + listed(safe, 5) + " never oversold");
  text += ". ";
  if (!guarded.empty()) text += strong("What never oversold: " + listed(guarded, 6)) + ". ";
  return text;
}

std::string sentence_of_comparison(const Comparison& comparison) {
  using Says = ComparedRow::Says;
  const auto row = [&](Says says) { return comparison.count(says); };
  std::string text =
      fmt::format("Beside the older result, {} compared: ",
                  counted(comparison.rows.size() - row(Says::unknown), "row could be", "rows could be"));
  if (row(Says::worse) + row(Says::better) + row(Says::differs) == 0)
    return text + strong("no difference can be seen") + ". ";
  text += strong(
      fmt::format("{} worse, {} better", with_commas(row(Says::worse)), with_commas(row(Says::better))));
  return text + fmt::format(", in {} no difference can be seen. ", with_commas(row(Says::none)));
}

std::string sentence_of_measurements(const ReportData& data) {
  std::set<std::string> suites, subjects;
  std::size_t rows = 0;
  for (const Measurement& m : data.bench.measurements) {
    if (m.suite == "seckill") continue;
    suites.insert(m.suite);
    subjects.insert(m.subject);
    ++rows;
  }
  if (rows == 0) return "";
  return fmt::format("{} of {} taken (suites {}). ", counted(rows, "measurement", "measurements"),
                     counted(subjects.size(), "lock or reference was", "locks and references were"),
                     listed({suites.begin(), suites.end()}, 8));
}

}  // namespace

std::string answer_of(const ReportData& data, const Comparison* comparison) {
  std::string text = sentence_of_runs(data) + sentence_of_stories(data);
  std::string sales = sentence_of_sales(data, "embedded");
  if (sales.empty()) sales = sentence_of_sales(data, "real/fibers");
  text += sales + sentence_of_measurements(data);
  if (comparison != nullptr) text += sentence_of_comparison(*comparison);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace holdfast::tools
