#include "tools/holdfast/completion.h"

#include <fmt/format.h>

namespace holdfast::tools {
namespace {

bool takes_path(const OptionPage& option) { return option.value == "FILE" || option.value == "DIR"; }

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// In single quotes.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// --- bash

// What completes the value of an option, as a bash command that fills COMPREPLY.
std::string bash_values(const OptionPage& option, const std::vector<CommandPage>& commands) {
  if (!option.choices.empty())
    return fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))", quoted(joined(option.choices, " ")));
  if (option.value == "DIR") return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))";
  if (option.value == "FILE") return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))";
  if (option.value == "COMMAND") {
    std::vector<std::string> names;
    for (const CommandPage& command : commands) names.push_back(command.name);
    return fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))", quoted(joined(names, " ")));
  }
  return "COMPREPLY=()";
}

std::string bash_command(const CommandPage& command, const CommandPage& app) {
  std::string out = fmt::format("    {})\n      case $before in\n", command.name);
  std::vector<std::string> flags;
  for (const OptionPage& option : command.options) {
    flags.insert(flags.end(), option.names.begin(), option.names.end());
    if (option.value.empty()) continue;
    out += fmt::format("        {}) {}; return ;;\n", joined(option.names, "|"),
                       bash_values(option, app.commands));
  }
  out += "      esac\n      case $word in\n";
  out +=
      fmt::format("        -*) COMPREPLY=($(compgen -W {} -- \"$word\")) ;;\n", quoted(joined(flags, " ")));
  if (!command.positionals.empty())
    out += fmt::format("        *) {} ;;\n", bash_values(command.positionals.front(), app.commands));
  return out + "      esac\n      ;;\n";
}

}  // namespace

std::string bash_completion(const CommandPage& app) {
  std::vector<std::string> words;
  for (const CommandPage& command : app.commands) words.push_back(command.name);
  for (const OptionPage& option : app.options)
    words.insert(words.end(), option.names.begin(), option.names.end());
  std::string out =
      "# Completion of holdfast for bash: eval \"$(holdfast completion bash)\"\n"
      "_holdfast() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  out += fmt::format("    COMPREPLY=($(compgen -W {} -- \"$word\"))\n    return\n  fi\n",
                     quoted(joined(words, " ")));
  out += "  case ${COMP_WORDS[1]} in\n";
  for (const CommandPage& command : app.commands) out += bash_command(command, app);
  return out + "  esac\n}\ncomplete -F _holdfast holdfast\n";
}

// --- zsh

namespace {

// Text within a specification of _arguments: one line, without what ends a part of it.
std::string zsh_text(const std::string& about) {
  std::string out;
  for (const char c : about.substr(0, about.find('\n'))) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionPage& option, const std::vector<CommandPage>& commands) {
  const std::string name = option.positional ? option.names.front() : option.value;
  std::vector<std::string> words = option.choices;
  if (option.value == "COMMAND") {
    for (const CommandPage& command : commands) words.push_back(command.name);
  }
  if (!words.empty()) return fmt::format(":{}:({})", zsh_text(name), joined(words, " "));
  if (takes_path(option))
    return fmt::format(":{}:{}", zsh_text(name), option.value == "DIR" ? "_files -/" : "_files");
  return fmt::format(":{}: ", zsh_text(name));
}

}  // namespace

std::string zsh_completion(const CommandPage& app) {
  std::string out =
      "#compdef holdfast\n"
      "# Completion of holdfast for zsh: eval \"$(holdfast completion zsh)\" after compinit\n"
      "_holdfast() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const CommandPage& command : app.commands)
    out += "    " + quoted(command.name + ":" + zsh_text(command.summary())) + "\n";
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe -t commands command commands\n";
  std::vector<std::string> flags;
  for (const OptionPage& option : app.options)
    flags.insert(flags.end(), option.names.begin(), option.names.end());
  out += fmt::format("    compadd -- {}\n    return\n  fi\n  local command=$words[2]\n", joined(flags, " "));
  out += "  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const CommandPage& command : app.commands) {
    out += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionPage& option : command.options) {
      for (const std::string& name : option.names) {
        const std::string value = option.value.empty() ? "" : zsh_action(option, app.commands);
        const char* const join = value.empty() ? "" : name.starts_with("--") ? "=" : "+";
        out += " \\\n        " + quoted(fmt::format("{}{}{}[{}]{}", option.many ? "*" : "", name, join,
                                                    zsh_text(option.about), value));
      }
    }
    for (const OptionPage& option : command.positionals)
      out += " \\\n        " + quoted((option.many ? "*" : "") + zsh_action(option, app.commands));
    out += "\n      ;;\n";
  }
  return out + "  esac\n}\ncompdef _holdfast holdfast\n";
}

}  // namespace holdfast::tools
