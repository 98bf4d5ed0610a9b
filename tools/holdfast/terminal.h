// Terminal: how wide pictures may be, whether they may use characters beyond ASCII, and whether they may use
// colour. Decided once, from flags, the environment and standard output; everything that is printed obeys it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "checker/story/picture_style.h"

namespace holdfast::tools {

enum class ColorChoice { automatic, always, never };

// All that is printed obeys it, not pictures alone.
using Terminal = checker::PictureStyle;

// What the decision is made from; tests put their own here.
struct TerminalFacts {
  std::function<std::optional<std::string>(const char* name)> environment;  // nullopt: not set
  bool is_terminal = false;                                                 // standard output
  std::optional<int> columns = {};  // what the terminal says of itself
};

// Width: COLUMNS, else the terminal's own, else 100; within what pictures can use.
// Unicode: the first of LC_ALL, LC_CTYPE and LANG that is set and not empty must name UTF-8; when none says
// anything, UTF-8 is assumed. `ascii` is the flag --ascii and always wins.
// Colour: `automatic` is on for a terminal, unless NO_COLOR is set and not empty or TERM is "dumb".
Terminal decide_terminal(const TerminalFacts& facts, ColorChoice color, bool ascii);

// The same for standard output of this process.
Terminal detect_terminal(ColorChoice color, bool ascii);

// "auto", "always", "never". REQUIRES: one of them.
ColorChoice parse_color(std::string_view text);

// Verdict signs: "✓" "✗" "?" "·" in their colours, or "ok" "FAIL" "?" "-".
std::string good_sign(const Terminal& terminal);
std::string bad_sign(const Terminal& terminal);
std::string unknown_sign(const Terminal& terminal);
std::string note_sign(const Terminal& terminal);

}  // namespace holdfast::tools
