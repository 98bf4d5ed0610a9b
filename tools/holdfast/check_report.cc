#include "tools/holdfast/check_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "checker/history/history_jsonl.h"
#include "checker/story/story.h"
#include "tools/holdfast/escape.h"

namespace holdfast::tools {

using namespace checker;

namespace {

std::string sign(Outcome outcome, const Terminal& terminal) {
  return outcome == Outcome::holds      ? good_sign(terminal)
         : outcome == Outcome::violated ? bad_sign(terminal)
                                        : unknown_sign(terminal);
}

// "no valid_until" instead of "the history has no valid_until".
std::string lacking(const std::string& reason) {
  const std::string prefix = "the history has ";
  return reason.rfind(prefix, 0) == 0 ? reason.substr(prefix.size()) : reason;
}

std::string engines(const Checked& checked) {
  if (checked.by_search == 0) return "linear";
  if (checked.by_linear == 0) return "search";
  return fmt::format("linear on {} keys, search on {}", checked.by_linear, checked.by_search);
}

const Finding* first_of(const Checked& checked, const std::string& check) {
  for (const Finding& finding : checked.findings) {
    if (finding.check == check) return &finding;
  }
  return nullptr;
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += by + line + "\n";
  return out;
}

std::string headline(const Checked& checked, const Terminal& terminal) {
  const std::string file = for_terminal(checked.file, terminal);
  if (!checked.as_expected || *checked.as_expected == Question::Answer::unknown)
    return fmt::format("{} {}: {}", sign(checked.outcome, terminal), file, to_string(checked.outcome));
  const bool met = *checked.as_expected == Question::Answer::met;
  return fmt::format("{} {}: {}, {}", met ? good_sign(terminal) : bad_sign(terminal), file,
                     to_string(checked.outcome), met ? "as expected" : "not as expected");
}

// " (expected)", " (expected: holds)"; "" nothing was expected.
std::string expectation(const CheckLine& line) {
  if (line.wanted.empty()) return "";
  if (line.answer == Question::Answer::met && !line.of_some_seeds) return " (as expected)";
  return " (expected: " + line.wanted + ")";
}

// The dots between counts as commas.
std::string without_dots(std::string text) {
  const std::string_view dot = " ·";
  for (std::size_t at = 0; (at = text.find(dot, at)) != std::string::npos;) text.replace(at, dot.size(), ",");
  return text;
}

std::string seconds(double time) {
  return time < 0.1 ? fmt::format("{:.1f} ms", time * 1e3) : fmt::format("{:.2f} s", time);
}

}  // namespace

std::string witness_text(const Checked& checked, const Finding& finding, bool keyed) {
  if (checked.format == Format::jsonl) {
    std::string out;
    for (std::size_t i = 0; i < finding.smallest.history.events().size(); ++i) {
      append_jsonl(finding.smallest.history, i, finding.smallest.index_of(i), out);
    }
    return out;
  }
  std::ostringstream out;
  write_edn(finding.smallest, out, keyed);
  return out.str();
}

std::string check_line(const Checked& checked, const Terminal& terminal) {
  if (!checked.error.empty())
    return fmt::format("{} {}\n", bad_sign(terminal), for_terminal(checked.error, terminal));
  std::string out = headline(checked, terminal);
  if (!checked.doubts.empty()) {
    return out + ": not understood: " + for_terminal(checked.doubts.front(), terminal) + "\n";
  }
  for (const CheckLine& line : checked.lines) {
    const bool told = checked.as_expected == Question::Answer::missed
                          ? line.answer == Question::Answer::missed
                          : line.outcome == checked.outcome;
    if (!told || !line.counts) continue;
    const Finding* finding = first_of(checked, line.name);
    out += fmt::format(": {}{}: {}", line.name,
                       line.name == "linearizable" ? " (" + checked.model + ")" : std::string(),
                       for_terminal(finding != nullptr ? finding->at : line.reason, terminal));
    out += expectation(line);
    break;
  }
  return out + "\n";
}

std::string check_report(const Checked& checked, const CheckArguments& arguments) {
  if (!checked.error.empty()) return {};  // the error goes to standard error
  const Terminal& terminal = arguments.terminal;
  const std::string note = note_sign(terminal);
  std::string out = headline(checked, terminal) + "\n";
  if (!checked.run.empty())
    out += fmt::format("    {} asked what the run asked: {}\n", note, for_terminal(checked.run, terminal));
  std::string missing;
  for (const CheckLine& line : checked.lines) {
    if (!line.counts && !line.wanted.empty()) {
      out += fmt::format("    {} {}: {}{}\n", note, line.name, for_terminal(line.reason, terminal),
                         expectation(line));
      continue;
    }
    if (!line.counts) {
      missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", line.name,
                             for_terminal(lacking(line.reason), terminal));
      continue;
    }
    std::string name = line.name;
    if (name == "linearizable") {
      const std::string guessed =
          checked.why_model.empty() ? std::string() : ", guessed: the history has " + checked.why_model;
      name += fmt::format(" ({}{}, engine {})", checked.model, guessed, engines(checked));
    }
    if (line.repeats) {
      out += fmt::format("    {} {}: the same{}\n", sign(line.outcome, terminal), name, expectation(line));
    } else if (const Finding* finding = first_of(checked, line.name)) {
      out += fmt::format("    {} {}: {}{}\n      {}\n", bad_sign(terminal), name,
                         for_terminal(finding->at, terminal), expectation(line),
                         for_terminal(finding->witness.why, terminal));
      if (line.violations > 1) {
        out += fmt::format("      {} violations in all\n", line.violations);
      }
    } else {
      out += fmt::format("    {} {}: {}{}\n", sign(line.outcome, terminal), name,
                         for_terminal(line.reason, terminal), expectation(line));
    }
  }
  if (!missing.empty()) out += fmt::format("    {} not looked at: {}\n", note, missing);
  for (const std::string& doubt : checked.doubts) {
    out += fmt::format("    {} not understood: {}\n", unknown_sign(terminal), for_terminal(doubt, terminal));
  }
  for (const std::string& line : checked.notes) out += fmt::format("    {} {}\n", note, line);
  if (checked.keys > 1) {
    out += fmt::format("    {} {} keys, {} of them hold{}\n", note, checked.keys,
                       checked.keys - checked.bad_keys.size(), checked.bad_keys.empty() ? "" : "; not:");
    std::size_t told = 0;
    for (const auto& [key, outcome] : checked.bad_keys) {
      if (told++ == 10) {
        out += fmt::format("        and {} more\n", checked.bad_keys.size() - 10);
        break;
      }
      out += fmt::format("        {} {}: {}\n", sign(outcome, terminal), for_terminal(key, terminal, 120),
                         to_string(outcome));
    }
  }
  out += "\n";
  std::string summary = to_string(checked.summary);
  if (!checked.whole || checked.summary.total.grants == 0)
    summary.resize(summary.find('\n'));  // the counts alone
  if (!terminal.unicode) summary = without_dots(std::move(summary));
  out += indented(summary, "    ");
  out += fmt::format("    time        read {} ({} events), judged {}\n", seconds(checked.read_seconds),
                     checked.events, seconds(checked.judge_seconds));
  if (checked.findings.empty()) return out;

  const Finding& first = checked.findings.front();
  const bool pictured_well = first.check != "linearizable" || first.witness.acquires;
  if (pictured_well)
    out += "\n" +
           tell_story(checked.history, first.witness, {.style = terminal, .reentrant = checked.reentrant});
  const std::string witness = witness_text(checked, first, arguments.keyed);
  const std::size_t events = first.smallest.history.events().size();
  constexpr std::size_t kMostShown = 24;
  if (events <= kMostShown) {
    out += fmt::format("\nsmallest sub-history that shows it ({} events)\n{}", events,
                       lines_for_terminal(witness, terminal));
  } else {
    out += fmt::format("\nsmallest sub-history that shows it: {} events (--witness F writes them)\n", events);
  }
  return out;
}

std::string check_total(const std::vector<Checked>& all) {
  std::size_t holds = 0, violated = 0, unknown = 0, bad = 0;
  std::uint64_t events = 0;
  double time = 0;
  for (const Checked& checked : all) {
    if (!checked.error.empty()) {
      ++bad;
      continue;
    }
    ++(checked.outcome == Outcome::holds ? holds : checked.outcome == Outcome::violated ? violated : unknown);
    events += checked.events;
    time += checked.read_seconds + checked.judge_seconds;
  }
  return fmt::format("{} histories: {} hold, {} violated, {} unknown{} ({} events in {})\n", all.size(),
                     holds, violated, unknown, bad > 0 ? fmt::format(", {} could not be read", bad) : "",
                     events, seconds(time));
}

namespace {

nlohmann::ordered_json json_of(const KeySummary& key) {
  return {{"grants", key.grants},
          {"contended_grants", key.contended_grants},
          {"held_ns", key.held_ns},
          {"claimed_ns", key.claimed_ns},
          {"longest_wait_ns", key.longest_wait_ns}};
}

nlohmann::ordered_json json_of(const Finding& finding) {
  nlohmann::ordered_json item = {{"check", finding.check},     {"kind", finding.witness.kind},
                                 {"key", finding.witness.key}, {"index", finding.index},
                                 {"process", finding.process}, {"why", finding.witness.why},
                                 {"witness", finding.indices}};
  if (finding.holder) {
    item["holder"] = {{"index", *finding.holder}, {"process", finding.holder_process}};
  }
  return item;
}

nlohmann::ordered_json json_of(const Checked& checked) {
  nlohmann::ordered_json item;
  item["file"] = checked.file;
  if (!checked.error.empty()) {
    item["error"] = checked.error;
    return item;
  }
  item["format"] = to_string(checked.format);
  item["model"] = checked.model;
  item["verdict"] = to_string(checked.outcome);
  if (!checked.run.empty()) item["run"] = checked.run;
  if (checked.as_expected) item["as_expected"] = *checked.as_expected == Question::Answer::met;
  item["checks"] = nlohmann::ordered_json::array();
  for (const CheckLine& line : checked.lines) {
    item["checks"].push_back({{"check", line.name},
                              {"verdict", to_string(line.outcome)},
                              {"counts", line.counts},
                              {"reason", line.reason},
                              {"violations", line.violations}});
    if (!line.wanted.empty()) {
      item["checks"].back()["expected"] = line.wanted;
      item["checks"].back()["as_expected"] = line.answer == Question::Answer::met;
    }
  }
  item["doubts"] = checked.doubts;
  item["notes"] = checked.notes;
  item["violations"] = nlohmann::ordered_json::array();
  for (const Finding& finding : checked.findings) item["violations"].push_back(json_of(finding));
  item["events"] = checked.events;
  item["operations"] = checked.operations;
  item["skipped_lines"] = checked.skipped;
  item["seconds"] = {{"reading", checked.read_seconds}, {"judging", checked.judge_seconds}};
  item["engines"] = {{"linear", checked.by_linear}, {"search", checked.by_search}};
  nlohmann::ordered_json keys = nlohmann::ordered_json::object();
  item["counts"] = checked.summary.operations;
  item["length_ns"] = checked.summary.length_ns;
  if (checked.whole) {
    for (const auto& [name, key] : checked.summary.keys) {
      keys[name] = json_of(key);
      keys[name]["verdict"] = "holds";
    }
    item["total"] = json_of(checked.summary.total);
    item["faults"] = checked.summary.faults;
  }
  for (const auto& [name, outcome] : checked.bad_keys) keys[name]["verdict"] = to_string(outcome);
  item["keys"] = std::move(keys);
  return item;
}

}  // namespace

std::string check_json(const std::vector<Checked>& all) {
  nlohmann::ordered_json document;
  document["schema"] = 1;
  document["histories"] = nlohmann::ordered_json::array();
  for (const Checked& checked : all) document["histories"].push_back(json_of(checked));
  return document.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::tools
