// Escape: text that came from outside (keys, names, `about`, errors of servers, file names), made safe for
// the place where it is printed. One function a place. Each of them first shows what would steer a terminal,
// be invisible, turn text around or is no UTF-8 as an escape (checker::printable), then does what its place
// needs, and cuts the middle out of what is too long, because keys may have a megabyte.
//
// JSON has no function here: the library escapes it, and it is written in ASCII. The timeline's page is JSON
// in a <script> without any `<` (checker/story/timeline.cc).
#pragma once

#include <string>
#include <string_view>

#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

inline constexpr std::size_t kMostShown = 1200;  // characters of one text, or a few more

// One line of a terminal: no control character, no newline; ASCII where the terminal has no more.
std::string for_terminal(std::string_view text, const Terminal& terminal, std::size_t most = kMostShown);
// The same for standard error, in UTF-8.
std::string for_terminal(std::string_view text);
// Several lines, each as for_terminal(); what follows the last newline counts as one.
std::string lines_for_terminal(std::string_view text, const Terminal& terminal);

// A word as a POSIX shell reads it: quoted where it has to be. One with control characters or foreign bytes
// is what printf(1) prints, without newlines at its end.
std::string for_shell(std::string_view word);

// The text and a property of GitHub's workflow commands (https://docs.github.com/actions, "workflow
// commands").
std::string for_annotation(std::string_view text);
std::string for_annotation_property(std::string_view text);

// Text or an attribute of XML 1.0. Newlines of texts stay.
std::string for_xml(std::string_view text);
std::string for_xml_attribute(std::string_view text);

// A folder's or file's name, not a path: letters, digits, `-`, `_` and `.`, not hidden, not long.
std::string for_file_name(std::string_view text);

}  // namespace holdfast::tools
