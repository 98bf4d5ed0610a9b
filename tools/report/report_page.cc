#include "tools/report/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "generated/report_page_html.h"
#include "generated/report_script.h"
#include "generated/report_style.h"
#include "tools/holdfast/explain.h"
#include "tools/report/html.h"

namespace holdfast::tools {

std::string world_words(const std::string& world) {
  if (world == "embedded") return "embedded world";
  if (world == "real/threads") return "real Redis, threads";
  if (world == "real/peer") return "real Redis, other library";
  return "real Redis";
}

std::string spaced(const std::string& name) {
  std::string out = name;
  std::replace(out.begin(), out.end(), '-', ' ');
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string counted(std::uint64_t number, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", with_commas(number), number == 1 ? one : many);
}

std::string listed(const std::vector<std::string>& names, std::size_t most) {
  std::string out;
  const std::size_t shown = names.size() <= most ? names.size() : most - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == names.size();
    out += (i == 0 ? "" : last ? " and " : ", ") + html::text(names[i]);
  }
  if (shown < names.size()) out += fmt::format(" and {} more", with_commas(names.size() - shown));
  return out;
}

namespace {

std::string title_of(const ReportData& data) {
  std::filesystem::path path = std::filesystem::path(data.folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = path.filename().string();
  return name.empty() || name == "." || name == ".." ? "" : name;
}

}  // namespace

std::string report_page(const ReportData& data) {
  std::optional<Comparison> comparison;
  if (data.before) comparison = compare(*data.before, *data.now, data.compared[0], data.compared[1]);
  struct Part {
    const char *id, *title;
    std::string body;
  };
  const Part parts[] = {
      {"faults", "Which lock, which fault", fault_tables(data)},
      {"cases", "Scenarios, as they were expected", cases_of(data)},
      {"difference", "Two results beside each other", comparison ? comparison_of(*comparison) : ""},
      {"measurements", "What was measured", measurements_of(data)},
      {"stories", "Stories", stories_of(data)},
      {"sources", "What this page was made from", sources_of(data)}};
  std::string menu, body;
  for (const Part& part : parts) {
    if (part.body.empty()) continue;
    menu += fmt::format("<a href=\"#{}\">{}</a>\n", part.id, part.title);
    body += fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", part.id, part.title, part.body);
  }
  const std::string name = title_of(data);
  std::string_view page = kReportPage;
  std::string out;
  const auto until = [&](std::string_view mark) {
    const std::size_t at = page.find(mark);
    out += page.substr(0, at);
    page.remove_prefix(at + mark.size());
  };
  until("<!--TITLE-->");
  out += "Holdfast report" + (name.empty() ? "" : ": " + html::text(name));
  until("/*STYLE*/");
  out += kReportStyle;
  until("<!--NAME-->");
  out += html::text(name);
  until("<!--ANSWER-->");
  out += answer_of(data, comparison ? &*comparison : nullptr);
  until("<!--MENU-->");
  out += menu;
  until("<!--BODY-->");
  out += body;
  until("/*SCRIPT*/");
  out += kReportScript;
  return out += page;
}

}  // namespace holdfast::tools
