#include "tools/holdfast/manual.h"

#include <fmt/format.h>

#include <sstream>

namespace holdfast::tools {
namespace {

// Text as roff shows it: no line of it is a request, no character is special.
std::string roff(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '`': out += "\\(ga"; break;
      case '\'': out += "\\(aq"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      case '"': out += "\\(dq"; break;
      default: out += c;
    }
  }
  return out;
}

// Lines of the text stay lines.
std::string paragraphs(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    out += (out.empty() ? "" : ".br\n") + roff(line.substr(begin)) + "\n";
  }
  return out;
}

std::string option_entry(const OptionPage& option) {
  std::string heading;
  for (const std::string& name : option.names)
    heading += (heading.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  if (!option.positional && !option.value.empty()) heading += " \\fI" + roff(option.value) + "\\fR";
  std::string about = option.about;
  if (!option.choices.empty()) {
    std::string all;
    for (const std::string& choice : option.choices) all += (all.empty() ? "" : ", ") + choice;
    about += about.find('\n') == std::string::npos ? "; one of " + all : "\none of " + all;
  }
  if (!option.usual.empty()) about += " (default: " + option.usual + ")";
  return ".TP\n" + heading + "\n" + paragraphs(about);
}

std::string command_section(const CommandPage& command) {
  std::string out = fmt::format(".SS \"holdfast {}\"\n", roff(command.name));
  out += fmt::format(".B {}\n.PP\n{}", roff(command.usage("holdfast ")), paragraphs(command.about));
  for (const OptionPage& option : command.positionals) out += option_entry(option);
  for (const OptionPage& option : command.options) out += option_entry(option);
  return out;
}

constexpr const char* kRest = R"(.SH EXIT STATUS
.TP
.B 0
everything was as expected
.TP
.B 1
an expectation was not met, or \fBcheck\fR found a violation
.TP
.B 2
unknown: the history does not say, or a search ran out of time or memory
.TP
.B 3
one seed gave two histories
.TP
.B 64
a bad file or flag; nothing was run
.TP
.B 69
something is missing on this machine, such as a server, or a port is taken
.TP
.B 70
internal error, or no memory left
.TP
.B 74
a file or standard output could not be written; the verdict is told all the same
.TP
.B 130
interrupted; what was done is told
.SH ENVIRONMENT
.TP
.B COLUMNS
width of pictures, 60 to 200; without it that of the terminal, else 100
.TP
.B LC_ALL, LC_CTYPE, LANG
ASCII is printed where the first of them that is set names a locale without UTF\-8
.TP
.B NO_COLOR
no colour, unless \fB\-\-color always\fR asks for it
.TP
.B TMPDIR
where servers of the real world have their data while they run
.SH EXAMPLES
.nf
holdfast run scenarios
holdfast run scenarios/primary_failover_double_grant.toml \-\-variant base \-\-seed 7
holdfast run scenarios \-\-junit junit.xml \-\-out results/runs \-\-github
holdfast show results/runs
holdfast check history.jsonl \-\-timeline page.html
.fi
)";

}  // namespace

std::string man_page(const CommandPage& app, const std::string& version) {
  std::string out = fmt::format(".TH HOLDFAST 1 \"\" \"holdfast {}\" \"User Commands\"\n", version);
  out += ".SH NAME\nholdfast \\- shows which Redis locks you can trust\n.SH SYNOPSIS\n";
  for (const CommandPage& command : app.commands)
    out += fmt::format("{}.B {}\n", &command == &app.commands.front() ? "" : ".br\n",
                       roff(command.usage("holdfast ")));
  out +=
      ".SH DESCRIPTION\n"
      "Runs distributed locks through faults in a simulated or a real world, and judges the recorded "
      "histories.\n"
      ".SH COMMANDS\n";
  for (const CommandPage& command : app.commands) out += command_section(command);
  out += ".SH OPTIONS\n";
  for (const OptionPage& option : app.options) out += option_entry(option);
  return out + kRest;
}

}  // namespace holdfast::tools
