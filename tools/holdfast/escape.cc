#include "tools/holdfast/escape.h"

#include <fmt/format.h>

#include <algorithm>

#include "checker/story/text_layout.h"

namespace holdfast::tools {
namespace {

using checker::printable;
using checker::shortened;

// Cut before it is escaped, for an escape must not be cut in half.
std::string shown(std::string_view text, bool unicode, std::size_t most = kMostShown) {
  return printable(shortened(text, most), unicode);
}

// `each` of every line of `text`.
template <typename Each>
std::string by_line(std::string_view text, const Each& each) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += each(text.substr(0, end));
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string annotation(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || special.find(c) != std::string_view::npos) {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : shown(text, true)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string for_terminal(std::string_view text, const Terminal& terminal, std::size_t most) {
  return shown(text, terminal.unicode, most);
}

std::string for_terminal(std::string_view text) { return shown(text, true); }

std::string lines_for_terminal(std::string_view text, const Terminal& terminal) {
  return by_line(text, [&](std::string_view line) { return for_terminal(line, terminal); });
}

std::string for_shell(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
  if (printable(word) == word) {
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }
  std::string out = "\"$(printf '";
  for (const char c : word) {
    if (c == '%') out += '%';
    out += (plain(c) && c != ':') || c == ' ' ? std::string(1, c)
                                              : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return out + "')\"";
}

std::string for_annotation(std::string_view text) {
  // Lines stay lines: %0A is how a command has them.
  return annotation(
      by_line(shortened(text, kMostShown), [](std::string_view line) { return printable(line); }), "\n");
}

std::string for_annotation_property(std::string_view text) { return annotation(shown(text, true), ":,"); }

std::string for_xml(std::string_view text) {
  return by_line(text, [](std::string_view line) { return xml(line); });
}

std::string for_xml_attribute(std::string_view text) { return xml(text); }

std::string for_file_name(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || (c == '.' && !out.empty());
    out += kept ? c : '_';
  }
  return out.empty() ? "_" : out;
}

}  // namespace holdfast::tools
