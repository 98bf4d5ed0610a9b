#include "sim/scenario/parse_recogniser.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "generated/recognisers.h"
#include "sim/scenario/table_reader.h"

namespace holdfast::sim {
namespace {

LinePattern line_of(TableReader& reader, std::string_view key, std::vector<std::string> options = {}) {
  try {
    return parse_line(*reader.text(key), options);
  } catch (const std::invalid_argument& error) {
    throw BadScenario(reader.at(key), error.what());
  }
}

std::vector<AnswerPattern> answers(TableReader& reader, std::string_view key) {
  std::vector<AnswerPattern> all;
  for (std::string& text : reader.texts(key).value_or(std::vector<std::string>())) {
    all.emplace_back(std::move(text));
  }
  return all;
}

bool has_hole(const LinePattern& line, std::string_view hole) {
  const auto names = [&](const std::vector<WordPattern>& words) {
    return std::ranges::any_of(words, [&](const WordPattern& word) { return word.hole() == hole; });
  };
  return names(line.words) || std::ranges::any_of(line.options, names);
}

LockPattern parse_pattern(const Value& table) {
  TableReader reader(table, "[[pattern]]");
  LockPattern pattern;
  const std::optional<std::string> does = reader.choice("does", {"acquire", "extend", "release"});
  const std::vector<std::string> options = reader.texts("options").value_or(std::vector<std::string>());
  if (table.find("command") != nullptr) pattern.command = line_of(reader, "command", options);
  pattern.script = reader.texts("script").value_or(std::vector<std::string>());
  pattern.not_script = reader.texts("without").value_or(std::vector<std::string>());
  if (table.find("keys") != nullptr) pattern.keys = line_of(reader, "keys");
  if (table.find("args") != nullptr) pattern.args = line_of(reader, "args");
  pattern.done = answers(reader, "done");
  pattern.refused = answers(reader, "refused");
  pattern.lease = reader.duration("lease");
  pattern.shared = reader.flag("shared").value_or(false);
  const std::string what = reader.require("does", does);
  pattern.does = what == "acquire"  ? LockPattern::Does::acquire
                 : what == "extend" ? LockPattern::Does::extend
                                    : LockPattern::Does::release;
  reader.finish();
  if (pattern.command.has_value() == !pattern.script.empty()) {
    throw BadScenario(table.at, pattern.command
                                    ? "[[pattern]] has both `command` and `script`, expected one of them"
                                    : "[[pattern]] has neither `command` nor `script`, expected one of them");
  }
  if (pattern.command && (table.find("keys") != nullptr || table.find("args") != nullptr)) {
    throw BadScenario(table.at,
                      "[[pattern]] with a `command`, expected `keys` and `args` with `script` only");
  }
  if (pattern.done.empty()) reader.missing("done");
  if (!has_hole(pattern.command ? *pattern.command : pattern.keys, "key")) {
    throw BadScenario(table.at, std::string("[[pattern]] without `$key` in `") +
                                    (pattern.command ? "command" : "keys") +
                                    "`, expected the word that names the lock");
  }
  return pattern;
}

}  // namespace

Recogniser parse_recogniser(const Value& table, const std::string& where) {
  TableReader reader(table, where);
  Recogniser recogniser;
  const std::optional<std::string> name = reader.text("name");
  recogniser.about = reader.text("about").value_or("");
  recogniser.counts = reader.flag("counts").value_or(false);
  recogniser.majority = reader.flag("majority").value_or(false);
  if (recogniser.counts && recogniser.majority) {
    throw BadScenario(reader.at("majority"), "`majority` beside `counts`, expected one of them");
  }
  const Value* const patterns = reader.value("pattern");
  recogniser.name = reader.require("name", name);
  reader.finish();
  if (patterns == nullptr || patterns->kind != Value::Kind::list || patterns->items.empty()) {
    throw BadScenario(table.at, where + " has no [[pattern]], expected one for each command of the lock");
  }
  bool acquires = false;
  for (const Value& one : patterns->items) {
    recogniser.patterns.push_back(parse_pattern(one));
    acquires = acquires || recogniser.patterns.back().does == LockPattern::Does::acquire;
  }
  if (!acquires) {
    throw BadScenario(patterns->at,
                      where + " has no [[pattern]] with does = \"acquire\", expected one at least");
  }
  return recogniser;
}

const std::vector<Recogniser>& shipped_recognisers() {
  static const std::vector<Recogniser> all = [] {
    std::vector<Recogniser> read;
    for (const auto& [name, text] : recognisers::kTexts) {
      read.push_back(parse_recogniser(parse_toml(text, std::string(name)), "a recogniser"));
    }
    std::ranges::sort(read, {}, &Recogniser::name);
    return read;
  }();
  return all;
}

const Recogniser* find_recogniser(std::string_view name) {
  const auto& all = shipped_recognisers();
  const auto found = std::ranges::find(all, name, &Recogniser::name);
  return found == all.end() ? nullptr : &*found;
}

std::shared_ptr<const Recogniser> parse_judge(TableReader& root, const TableReader& reader,
                                              const SettingValues& workload) {
  const std::string judge = get_or(workload, "judge", std::string("told"));
  const bool watched = judge != "told";
  const std::string name = get_or(workload, "recogniser", std::string());
  const Value* const own = root.value("recogniser");
  if (!watched && (own != nullptr || !name.empty())) {
    throw BadScenario(own != nullptr ? own->at : reader.at("recogniser"),
                      "a recogniser, but nobody is watched, expected `judge = \"watched\"` in [workload]");
  }
  if (!watched) return nullptr;
  std::vector<std::string> known;
  for (const Recogniser& one : shipped_recognisers()) known.push_back(one.name);
  if (own != nullptr && !name.empty()) {
    throw BadScenario(reader.at("recogniser"),
                      "`recogniser` beside a table [recogniser], expected one of them");
  }
  if (own != nullptr) return std::make_shared<const Recogniser>(parse_recogniser(*own, "[recogniser]"));
  if (const Recogniser* const shipped = find_recogniser(name)) {
    return std::make_shared<const Recogniser>(*shipped);
  }
  if (name.empty()) {
    throw BadScenario(reader.at("judge"), "`judge` is \"" + judge +
                                              "\", but nothing says how, expected `recogniser`, " +
                                              one_of(known) + ", or a table [recogniser]");
  }
  throw BadScenario(reader.at("recogniser"), "unknown recogniser `" + name + "`, expected " + one_of(known) +
                                                 did_you_mean(name, known));
}

}  // namespace holdfast::sim
