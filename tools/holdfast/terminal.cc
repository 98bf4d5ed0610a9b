#include "tools/holdfast/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace holdfast::tools {
namespace {

std::optional<int> number_from(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number <= 0) return std::nullopt;
  return number;
}

bool names_utf8(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
}

bool locale_has_unicode(const TerminalFacts& facts) {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = facts.environment(name);
    if (value && !value->empty()) return names_utf8(*value);
  }
  return true;
}

std::string sign(const char* unicode, const char* ascii, const char* color, const Terminal& terminal) {
  const std::string text = terminal.unicode ? unicode : ascii;
  return terminal.color ? color + text + "\x1b[0m" : text;
}

}  // namespace

Terminal decide_terminal(const TerminalFacts& facts, ColorChoice color, bool ascii) {
  Terminal terminal;
  auto width = number_from(facts.environment("COLUMNS"));
  if (!width && facts.is_terminal) width = facts.columns;
  terminal.width =
      std::clamp(width.value_or(terminal.width), checker::kNarrowestPicture, checker::kWidestPicture);
  terminal.unicode = !ascii && locale_has_unicode(facts);
  const auto no_color = facts.environment("NO_COLOR");
  const bool unwanted = (no_color && !no_color->empty()) || facts.environment("TERM") == "dumb";
  terminal.color =
      color == ColorChoice::always || (color == ColorChoice::automatic && facts.is_terminal && !unwanted);
  return terminal;
}

Terminal detect_terminal(ColorChoice color, bool ascii) {
  TerminalFacts facts;
  facts.environment = [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  facts.is_terminal = isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) facts.columns = size.ws_col;
  return decide_terminal(facts, color, ascii);
}

ColorChoice parse_color(std::string_view text) {
  return text == "always"  ? ColorChoice::always
         : text == "never" ? ColorChoice::never
                           : ColorChoice::automatic;
}

std::string good_sign(const Terminal& terminal) { return sign("✓", "ok", "\x1b[32m", terminal); }
std::string bad_sign(const Terminal& terminal) { return sign("✗", "FAIL", "\x1b[1;31m", terminal); }
std::string unknown_sign(const Terminal& terminal) { return sign("?", "?", "\x1b[33m", terminal); }
std::string note_sign(const Terminal& terminal) { return sign("·", "-", "\x1b[2m", terminal); }

}  // namespace holdfast::tools
