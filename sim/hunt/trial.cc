#include "sim/hunt/trial.h"

#include <algorithm>
#include <cctype>
#include <exception>
#include <set>
#include <string_view>

#include "checker/history/effects.h"
#include "sim/hunt/role_changes.h"
#include "sim/hunt/server_watch.h"
#include "sim/scenario/parse_scenario.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::Function;
using checker::History;
using checker::Witness;

// Marks of faults that take an answer away, of a command that was executed all the same.
std::set<std::string> marks_of_lost_answers(const Scenario& scenario) {
  static const std::set<std::string_view> kKinds = {"reset-after-request", "reset-mid-reply"};
  std::set<std::string> marks;
  for (const FaultPlan& fault : scenario.faults) {
    if (kKinds.contains(fault.kind->name)) marks.insert("fault." + fault.config.id);
  }
  return marks;
}

// What a fault did between the first and the last event of the witness, and whether two nodes are in it.
// Where that is nothing: whether an answer was lost.
std::string shape_of(const History& history, const Witness& witness, const Scenario& scenario) {
  if (witness.events.empty()) return "";
  std::set<std::string> words;
  const std::vector<Event>& events = history.events();
  std::set<checker::Symbol> nodes;
  for (const std::size_t at : witness.events) {
    if (!history.text(events[at].node).empty()) nodes.insert(events[at].node);
  }
  if (nodes.size() > 1) words.insert("two nodes");
  const std::set<std::string> lost = marks_of_lost_answers(scenario);
  bool lost_an_answer = false;
  for (std::size_t at = witness.events.front(); at <= witness.events.back(); ++at) {
    const Event& event = events[at];
    if (event.f == Function::crash) words.insert("client died");
    if (event.f == Function::mark && lost.contains(std::string(history.text(event.key))))
      lost_an_answer = true;
    checker::Effect effect{};
    if (event.f != Function::effect || !checker::effect_of(history, event, effect)) continue;
    if (checker::changes_stores(effect) || effect == checker::Effect::clock_stepped ||
        effect == checker::Effect::clock_drifts)
      words.insert(std::string(checker::to_string(effect)));
  }
  if (words.empty() && lost_an_answer) words.insert("answer lost");
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// What an error says, without the names and numbers that differ from run to run.
std::string shape_of(std::string_view error) {
  constexpr std::size_t kLongest = 60;
  std::string text;
  for (std::size_t at = 0; at < error.size() && text.size() < kLongest;) {
    const auto is_word = [&](std::size_t i) {
      return i < error.size() &&
             (std::isalnum(static_cast<unsigned char>(error[i])) != 0 || error[i] == '\'');
    };
    if (!is_word(at)) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (is_word(at)) ++at;
    const std::string_view word = error.substr(begin, at - begin);
    if (word.find_first_of("0123456789") != std::string_view::npos) continue;
    text += (text.empty() ? "" : " ") + std::string(word);
  }
  return text;
}

std::vector<std::string> marks_of(const History& history) {
  std::set<std::string> marks;
  for (const Event& event : history.events()) {
    if (event.f == Function::mark) marks.insert(std::string(history.text(event.key)));
  }
  return {marks.begin(), marks.end()};
}

}  // namespace

bool Trial::shows(const std::string& promise) const {
  return std::any_of(failures.begin(), failures.end(),
                     [&](const Failure& failure) { return failure.promise() == promise; });
}

bool Trial::holds(const std::string& check) const {
  return std::find(held.begin(), held.end(), check) != held.end();
}

Trial try_case(const HuntCase& one, const TrialOptions& options) {
  Trial trial;
  Decisions own(one.changes);
  try {
    std::optional<Scenario> own_parsed;
    if (options.parsed == nullptr) own_parsed = parse_base(one.document, "hunted");
    const Scenario& scenario = options.parsed != nullptr ? *options.parsed : *own_parsed;
    ServerWatch servers(scenario);
    const RunResult run = run_once(scenario, {.seed = one.seed,
                                              .keep_history = true,
                                              .decisions = options.decisions != nullptr ? options.decisions
                                                           : one.changes.empty()        ? nullptr
                                                                                        : &own,
                                              .observer = options.features ? &servers : nullptr});
    if (options.look) options.look(run);
    trial.trace = run.trace;
    trial.length_ns = run.length_ns;
    trial.grants = run.grants;
    trial.role_changes = role_changes_in_claims(run.history);
    trial.marks = marks_of(run.history);
    if (options.features) trial.features = join(features_of(run.history), servers.take_features());
    for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
      const checker::Verdict& verdict = run.verdicts[i];
      if (verdict.outcome == checker::Outcome::unknown) trial.judged = false;
      if (verdict.outcome == checker::Outcome::holds) trial.held.push_back(scenario.expectations[i].check);
      if (verdict.outcome != checker::Outcome::violated) continue;
      const Witness& witness = verdict.witnesses.front();
      trial.failures.push_back({.check = scenario.expectations[i].check,
                                .kind = witness.kind,
                                .shape = shape_of(run.history, witness, scenario),
                                .why = verdict.reason});
    }
  } catch (const std::exception& error) {
    trial.failures.push_back(
        {.check = "", .kind = "error", .shape = shape_of(error.what()), .why = error.what()});
  }
  return trial;
}

std::optional<Failure> other_way(const HuntCase& one, const Trial& trial) {
  if (try_case(one).trace == trial.trace) return std::nullopt;
  return Failure{.check = "", .kind = "two-histories", .shape = "", .why = "the same case ran in two ways"};
}

}  // namespace holdfast::sim
