#include "tools/report/html.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/holdfast/escape.h"

namespace holdfast::tools::html {

std::string text(std::string_view words) { return for_xml(words); }
std::string attribute(std::string_view words) { return for_xml_attribute(words); }

std::string in_script(std::string_view words) {
  using Json = nlohmann::json;
  std::string out = Json(words).dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = out.find('<', at)) != std::string::npos;) out.replace(at, 1, "\\u003c");
  return out;
}

std::string link(const std::string& to, const std::string& words) {
  return "<a href=\"#" + attribute(to) + "\">" + words + "</a>";
}

Cell plain(std::string_view words) { return {text(words), {}, {}, {}}; }

std::string table(const Table& table) {
  std::string out = fmt::format("<div class=\"wide\"><table class=\"sorts {}\">", table.style);
  if (!table.caption.empty()) out += "<caption>" + text(table.caption) + "</caption>";
  out += "<thead><tr>";
  for (const Table::Column& column : table.columns) {
    out +=
        fmt::format("<th scope=\"col\"{}{}>{}</th>", column.figures ? " class=\"figures\"" : "",
                    column.tip.empty() ? "" : " title=\"" + attribute(column.tip) + "\"", text(column.name));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Cell& cell = row[i];
      std::string style = cell.style;
      if (i < table.columns.size() && table.columns[i].figures)
        style += style.empty() ? "figures" : " figures";
      out += i == 0 ? "<th scope=\"row\"" : "<td";
      if (!style.empty()) out += " class=\"" + style + "\"";
      if (cell.sort) out += fmt::format(" data-sort=\"{:.9g}\"", *cell.sort);
      if (!cell.tip.empty()) out += " title=\"" + attribute(cell.tip) + "\"";
      out += ">" + cell.html + (i == 0 ? "</th>" : "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string figure(double value) {
  const double size = std::abs(value);
  if (size >= 999'500) return fmt::format("{:.{}f}M", value / 1e6, size < 9'995'000 ? 2 : 1);
  if (size >= 99'950) return fmt::format("{:.0f}k", value / 1e3);
  if (size >= 9'995) return fmt::format("{:.1f}k", value / 1e3);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.0995) return fmt::format("{:.2f}", value);
  return size == 0 ? "0" : fmt::format("{:.2g}", value);
}

}  // namespace holdfast::tools::html
