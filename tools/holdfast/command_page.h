// CommandPage: what there is to tell of a command, read from its CLI::App: for help, man page and completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace holdfast::tools {

struct OptionPage {
  std::vector<std::string> names;    // "-j", "--jobs"; of a positional one: "FILE"
  std::string value;                 // "N"; "" it takes none
  std::vector<std::string> choices;  // what it may be; empty: anything
  std::string about;
  std::string usual;  // its value when it is not given, "" none worth telling
  bool positional = false, required = false, many = false;

  std::string heading() const;  // "-j, --jobs N"
};

struct CommandPage {
  std::string name;   // "run"; the command itself: "holdfast"
  std::string about;  // the first line is a summary
  std::vector<OptionPage> positionals, options;
  std::vector<CommandPage> commands;

  std::string summary() const { return about.substr(0, about.find('\n')); }
  std::string usage(const std::string& before) const;  // "holdfast run [OPTIONS] FILE..."
};

CommandPage read_page(const CLI::App& app);

// What `holdfast help` prints. `before`: "holdfast " for subcommands.
std::string help_text(const CommandPage& page, const std::string& before, int width);

// A value out of a list. Complains with what was expected and what was meant.
class Choice : public CLI::Validator {
 public:
  explicit Choice(const std::vector<std::string>& choices);
};

// Text in lines of at most `width` columns, each after the first (and it, too) behind `indent` blanks. Line
// breaks of the text are kept.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

}  // namespace holdfast::tools
