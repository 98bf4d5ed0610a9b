#include "tools/holdfast/command_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "sim/scenario/problem.h"

namespace holdfast::tools {
namespace {

constexpr std::string_view kChoices = "choices ";  // how a Choice is told from other validators

OptionPage read_option(const CLI::Option& option) {
  OptionPage page;
  page.positional = option.get_positional() && option.get_lnames().empty() && option.get_snames().empty();
  if (page.positional) {
    page.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) page.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) page.names.push_back("--" + name);
  }
  page.about = option.get_description();
  page.required = option.get_required();
  page.many = option.get_items_expected_max() > 1;
  if (option.get_items_expected_max() > 0 || page.positional) {
    // "FILE:choices a b:..." : the type's name, then what each validator says of itself.
    std::istringstream parts(option.get_type_name());
    std::getline(parts, page.value, ':');
    for (std::string part; std::getline(parts, part, ':');) {
      if (!part.starts_with(kChoices)) continue;
      std::istringstream words(part.substr(kChoices.size()));
      for (std::string word; words >> word;) page.choices.push_back(word);
    }
    page.usual = option.get_default_str();
    if (page.usual == "[]" || page.usual == "\"\"") page.usual = "";
  }
  return page;
}

}  // namespace

Choice::Choice(const std::vector<std::string>& choices) : CLI::Validator("") {
  std::string all(kChoices);
  for (const std::string& choice : choices) all += choice + " ";
  all.pop_back();
  description(all);
  func_ = [choices](std::string& word) {
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) return std::string();
    return "unknown value `" + word + "`, expected " + sim::one_of(choices) +
           sim::did_you_mean(word, choices);
  };
}

std::string OptionPage::heading() const {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  if (!positional && !value.empty()) text += " " + value;
  return text;
}

std::string CommandPage::usage(const std::string& before) const {
  std::string text = before + name;
  if (!commands.empty()) return text + " COMMAND ...";
  if (!options.empty()) text += " [OPTIONS]";
  for (const OptionPage& one : positionals) {
    const std::string word = one.names.front() + (one.many ? "..." : "");
    text += one.required ? " " + word : " [" + word + "]";
  }
  return text;
}

CommandPage read_page(const CLI::App& app) {
  CommandPage page;
  page.name = app.get_name();
  page.about = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    OptionPage one = read_option(*option);
    (one.positional ? page.positionals : page.options).push_back(std::move(one));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    page.commands.push_back(read_page(*command));
  return page;
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t own = std::min(line.find_first_not_of(' '), line.size());
    std::string so_far(indent + own, ' ');
    bool fresh = true;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (!fresh && so_far.size() + 1 + word.size() > width) {
        out += so_far + "\n";
        so_far = std::string(indent + own, ' ');
        fresh = true;
      }
      so_far += (fresh ? "" : " ") + word;
      fresh = false;
    }
    out += (fresh ? "" : so_far) + "\n";
  }
  return out;
}

namespace {

std::string described(const OptionPage& option) {
  std::string text = option.about;
  // A long list is what `holdfast list` is for.
  if (!option.choices.empty() && option.choices.size() <= 8) {
    std::string all;
    for (const std::string& choice : option.choices) all += (all.empty() ? "" : " | ") + choice;
    text += "; " + all;
  }
  if (!option.usual.empty()) text += " (default: " + option.usual + ")";
  return text;
}

std::string row(const std::string& heading, const std::string& about, std::size_t column, std::size_t width) {
  std::string text = wrapped(about, column, width);
  if (heading.size() + 3 <= column) {
    text.replace(0, std::min(column, text.size()), fmt::format("  {:<{}}", heading, column - 2));
    return text;
  }
  return "  " + heading + "\n" + text;
}

}  // namespace

std::string help_text(const CommandPage& page, const std::string& before, int columns) {
  const auto width = static_cast<std::size_t>(columns);
  const std::size_t column = 24;
  std::string out = "usage: " + page.usage(before) + "\n\n" + wrapped(page.about, 0, width);
  const auto table = [&](const char* title, const std::vector<OptionPage>& options) {
    if (options.empty()) return;
    out += fmt::format("\n{}\n", title);
    for (const OptionPage& option : options) out += row(option.heading(), described(option), column, width);
  };
  if (!page.commands.empty()) {
    out += "\ncommands\n";
    for (const CommandPage& command : page.commands)
      out += row(command.name, command.summary(), column, width);
  }
  table("arguments", page.positionals);
  table("options", page.options);
  return out;
}

}  // namespace holdfast::tools
