// HTML of a report: text made safe, tables that sort, links. What comes from a result goes through text() or
// attribute(); both show what would steer a terminal or a browser as an escape (tools/holdfast/escape.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::tools::html {

std::string text(std::string_view words);
std::string attribute(std::string_view words);  // between double quotes
// A text as JSON inside a <script> element, which nothing in it can end.
std::string in_script(std::string_view words);

std::string link(const std::string& to, const std::string& words);  // to an id of this page

struct Cell {
  std::string html;                  // made safe by whoever makes it
  std::optional<double> sort = {};   // what a column of figures is sorted by; without it its words
  std::string style = {}, tip = {};  // class; title
};
Cell plain(std::string_view words);

struct Table {
  struct Column {
    std::string name, tip = {};
    bool figures = false;  // to the right, largest first
  };
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::string style = {};  // class
};
std::string table(const Table& table);

// For people: three digits that count, 131k.
std::string figure(double value);

}  // namespace holdfast::tools::html
