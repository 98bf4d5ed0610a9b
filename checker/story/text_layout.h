// Text layout: text from outside made safe to print, measured in columns of a terminal, cut and wrapped to
// fit.
//
// Keys, names and errors of a history may hold anything. printable() shows each character that would steer a
// terminal, be invisible or be no UTF-8 as an escape, so that no history can clear a screen, colour it, or
// turn text around.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::checker {

// `text` in UTF-8 with "\n", "\t", "\x1b" (a byte) or "\u{202e}" (a character) in place of what must not be
// printed. unicode = false: every character beyond ASCII is written like that. Nor does it hold what the log
// of a CI job takes for a command: the first character of `::` at its beginning or after a space, and the
// second of `##[`, are escapes, too.
std::string printable(std::string_view text, bool unicode = true);

// `text`, or, when it has more than about `most` bytes, its beginning, how much is left out, and its end. No
// character is cut in half. Call it before printable(), whose escapes must not be cut either.
std::string shortened(std::string_view text, std::size_t most);

// How many columns printable text takes: none for a combining mark, two for wide characters (East Asian,
// emoji).
std::size_t columns_of(std::string_view text);

// `text` itself when it fits into `columns`, else its beginning and "…" ("..." without Unicode).
std::string elided(std::string_view text, std::size_t columns, bool unicode = true);

// `text` and as many spaces as it lacks of `columns`.
std::string padded(std::string_view text, std::size_t columns);

// The words of `text` in lines of at most `columns` (at least 1); a longer word is broken. At least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

// The same as one string, each line after the first behind `indent` spaces, which come on top of `columns`.
std::string wrap(std::string_view text, std::size_t columns, std::size_t indent);

// `text` without ANSI colours: for files of what was printed in colour.
std::string without_color(std::string_view text);

}  // namespace holdfast::checker
