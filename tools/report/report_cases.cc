// What `holdfast run` did, case by case; and the stories of the runs that were kept, each with its timeline.
#include <fmt/format.h>

#include <algorithm>

#include "tools/holdfast/explain.h"
#include "tools/report/html.h"
#include "tools/report/report_page.h"

namespace holdfast::tools {
namespace {

using html::Cell;
using html::Table;

std::string verdict_of(const ReportCase& one) {
  if (one.unexpected) return "<span class=\"badge bad\">not as expected</span>";
  if (one.cut) return "<span class=\"badge odd\">cut short</span>";
  return one.violated() ? "<span class=\"badge expected\">violated, as expected</span>"
                        : "<span class=\"badge good\">holds</span>";
}

std::string expectations_of(const ReportCase& one) {
  if (!one.error.empty()) return html::text(one.error);
  std::string out;
  for (const ReportCase::Expected& expected : one.expected) {
    const bool met = expected.result == "met";
    out += fmt::format(
        "<span class=\"check{}\">{}{} {}: {} of {}</span> ", met ? "" : " unmet", html::text(expected.check),
        expected.kind.empty() ? "" : " (" + html::text(expected.kind) + ")",
        expected.violated ? "violated" : "holds", with_commas(expected.matching), with_commas(one.runs));
    if (!met && !expected.explained.empty())
      out += "<span class=\"why\">" + html::text(expected.explained) + "</span> ";
  }
  return out;
}

std::string faults_of(const std::vector<std::string>& faults) {
  std::string out;
  for (const std::string& fault : faults) out += (out.empty() ? "" : ", ") + html::text(spaced(fault));
  return out;
}

// Common beginnings and ends of texts, cut between characters.
std::size_t common(const std::vector<const std::string*>& texts, bool from_end, std::size_t most) {
  std::size_t length = most;
  const std::string& first = *texts.front();
  for (const std::string* other : texts) {
    length = std::min({length, other->size(), first.size()});
    std::size_t same = 0;
    while (same < length && (from_end ? first[first.size() - 1 - same] == (*other)[other->size() - 1 - same]
                                      : first[same] == (*other)[same]))
      ++same;
    length = same;
  }
  const auto inside = [&](std::size_t at) {
    return at < first.size() && (static_cast<unsigned char>(first[at]) & 0xC0U) == 0x80;
  };
  while (length > 0 && inside(from_end ? first.size() - length : length)) --length;
  return length;
}

// Timelines are mostly the same page: what they share stands here once.
std::string timelines_of(const ReportData& data) {
  std::vector<const std::string*> texts;
  for (const ReportStory& story : data.stories) {
    if (!story.timeline.empty()) texts.push_back(&story.timeline);
  }
  if (texts.empty()) return "";
  std::size_t shortest = texts.front()->size();
  for (const std::string* one : texts) shortest = std::min(shortest, one->size());
  const std::size_t head = common(texts, false, shortest), tail = common(texts, true, shortest - head);
  std::string out = fmt::format("<script type=\"application/json\" id=\"timeline-frame\">[{},{}]</script>\n",
                                html::in_script(texts.front()->substr(0, head)),
                                html::in_script(texts.front()->substr(texts.front()->size() - tail)));
  for (std::size_t i = 0; i < data.stories.size(); ++i) {
    const std::string& page = data.stories[i].timeline;
    if (page.empty()) continue;
    out += fmt::format("<script type=\"application/json\" id=\"timeline-{}\">{}</script>\n", i + 1,
                       html::in_script(page.substr(head, page.size() - head - tail)));
  }
  return out;
}

std::string story_of(const ReportStory& story, std::size_t number) {
  const KeptRun& run = story.run;
  std::string out = fmt::format("<article id=\"story-{}\">\n<h3>{}</h3>\n", number, html::text(run.title()));
  std::string facts = html::text(world_words(run.world));
  if (!run.lock.empty()) facts += ", lock <code>" + html::text(run.lock) + "</code>";
  if (!run.faults.empty()) facts += ", " + faults_of(run.faults);
  out += "<p class=\"facts\">";
  if (run.told) {
    out += run.expected ? "<span class=\"badge expected\">violated, as expected</span> "
                        : "<span class=\"badge bad\">violated, not expected</span> ";
  } else {
    out += "<span class=\"badge good\">nothing was violated</span> ";
  }
  out += facts + "</p>\n";
  if (!run.about.empty()) out += "<p>" + html::text(run.about) + "</p>\n";
  if (run.told && *run.told < run.verdicts.size() && !run.verdicts[*run.told].reason.empty())
    out += "<p class=\"reason\">" + html::text(run.verdicts[*run.told].reason) + "</p>\n";
  if (!story.story.empty())
    out += "<pre class=\"story\" tabindex=\"0\">" + html::text(story.story) + "</pre>\n";
  if (!story.timeline.empty()) {
    out += fmt::format(
        "<details class=\"timeline\" data-timeline=\"{}\"><summary>Timeline: everything that happened, on "
        "lanes</summary><noscript><p class=\"note\">The timeline needs scripts.</p></noscript></details>\n",
        number);
  } else {
    out += "<p class=\"note\">Its history is not in the folder any more, and so there is no picture.</p>\n";
  }
  return out + "<p class=\"again\">Run it again: <code>" + html::text(run.reproduce) +
         "</code></p>\n</article>\n";
}

}  // namespace

std::string cases_of(const ReportData& data) {
  std::string out;
  for (std::size_t f = 0; f < data.run_files.size(); ++f) {
    const ReportRunFile& file = data.run_files[f];
    Table table{.caption = {},
                .columns = {{"scenario"},
                            {"lock"},
                            {"faults"},
                            {"runs", "with another seed each", true},
                            {"violated", "runs in which a check was violated", true},
                            {"said"},
                            {"expected", "of how many runs it was true"}},
                .rows = {},
                .style = {}};
    for (std::size_t i = 0; i < file.cases.size(); ++i) {
      const ReportCase& one = file.cases[i];
      std::string name =
          fmt::format("<span id=\"case-{}-{}\">", f + 1, i + 1) + html::text(one.title()) + "</span>";
      if (one.story) name = html::link(fmt::format("story-{}", *one.story + 1), name);
      table.rows.push_back({{name, {}, {}, one.file},
                            {"<code>" + html::text(one.lock) + "</code>", {}, {}, {}},
                            {faults_of(one.faults), {}, {}, {}},
                            {with_commas(one.runs), static_cast<double>(one.runs), {}, {}},
                            {with_commas(one.violated_runs), static_cast<double>(one.violated_runs), {}, {}},
                            {verdict_of(one), {}, {}, {}},
                            {expectations_of(one), {}, "checks", {}}});
    }
    out += fmt::format("<h3>{} <small>{}, trace {}</small></h3>\n", html::text(file.path),
                       html::text(world_words(file.world)), html::text(file.trace));
    if (!table.rows.empty()) out += html::table(table);
    for (const std::string& one : file.not_run)
      out += "<p class=\"note\">not run: " + html::text(one) + "</p>\n";
  }
  return out;
}

std::string stories_of(const ReportData& data) {
  std::string out;
  for (std::size_t i = 0; i < data.stories.size(); ++i) out += story_of(data.stories[i], i + 1);
  return out.empty() ? "" : out + timelines_of(data);
}

}  // namespace holdfast::tools
