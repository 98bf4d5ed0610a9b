#include "tools/holdfast/check_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "checker/history/effects.h"
#include "checker/history/joiner.h"
#include "checker/holds/holds.h"
#include "sim/scenario/problem.h"
#include "tools/holdfast/check_findings.h"
#include "tools/holdfast/check_load.h"
#include "tools/holdfast/check_plan.h"
#include "tools/holdfast/check_view.h"
#include "tools/holdfast/search_watch.h"

namespace holdfast::tools {

using namespace checker;

namespace {

constexpr std::size_t kHuge = 1'000'000;  // events; beyond it no copy of the whole is made
constexpr std::size_t kMostFindings = 1000;

// How many operations of a huge history ended how.
Summary count_operations(const PackedHistory& history) {
  constexpr std::array kOutcomes = {EventType::ok, EventType::fail, EventType::info};
  std::map<Function, std::map<EventType, std::uint64_t>> seen;
  std::int64_t first_ns = kForever, last_ns = kAbsent;
  const auto count = [&](std::size_t, const PackedHistory::Fixed& fixed) {
    ++seen[fixed.f()][fixed.type()];
    first_ns = std::min(first_ns, fixed.time_ns);
    last_ns = std::max(last_ns, fixed.time_ns);
  };
  history.for_each(
      count, [&](std::size_t at, const PackedHistory::Fixed& fixed, const Event&) { count(at, fixed); });
  Summary summary;
  for (auto& [f, types] : seen) {
    if (of_harness(f)) continue;
    auto& outcomes = summary.operations[std::string(to_string(f))];
    std::uint64_t open = types[EventType::invoke];
    for (const EventType type : kOutcomes) {
      if (types[type] > 0) outcomes[std::string(to_string(type))] = types[type];
      open -= std::min(open, types[type]);
    }
    if (open > 0) outcomes["pending"] = open;
  }
  summary.length_ns = last_ns - first_ns;
  return summary;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (int f = 0; f < static_cast<int>(Function::other); ++f) {
    names.emplace_back(to_string(static_cast<Function>(f)));
  }
  return names;
}

// What is wrong with the file as a whole, and what should be known of it.
void look_at_file(const LoadedHistory& loaded, const CheckArguments& arguments, Checked& result) {
  constexpr std::size_t kMostTold = 5;
  std::size_t told = 0;
  for (const NotUnderstood& each : loaded.read.not_understood) {
    if (std::find(arguments.ignored.begin(), arguments.ignored.end(), each.f) != arguments.ignored.end())
      continue;
    if (++told > kMostTold) continue;
    const Place place = loaded.read.places.of(each.first);
    result.doubts.push_back(
        fmt::format("{} event{} of the function `{}`, which is not known here, first at {}:{}{}; "
                    "--ignore {} says that they do not matter",
                    each.count, each.count == 1 ? "" : "s", each.f, place.line, place.column,
                    sim::did_you_mean(each.f, function_names()), each.f));
  }
  if (told > kMostTold) result.doubts.push_back(fmt::format("{} more such functions", told - kMostTold));
  if (loaded.read.cut_off) {
    result.notes.push_back("the last line is cut off; what is before it was judged");
  } else if (loaded.read.skipped > 0) {
    result.doubts.push_back(fmt::format("{} broken lines or events skipped, the first: {}",
                                        loaded.read.skipped, loaded.read.first_skipped));
  }
  if (loaded.read.times_fell == 0) return;
  const std::string times =
      fmt::format("times fall at {} event{}", loaded.read.times_fell, loaded.read.times_fell == 1 ? "" : "s");
  result.notes.push_back(loaded.format == Format::jsonl
                             ? times + "; the events were sorted by time"
                             : times + "; in this format the order of events rules, and times do not");
}

// Violated before unknown before holds.
Outcome sum_up(const std::vector<CheckLine>& lines, const std::vector<std::string>& doubts) {
  if (!doubts.empty()) return Outcome::unknown;
  Outcome outcome = Outcome::holds;
  for (const CheckLine& line : lines) {
    if (!line.counts) continue;
    if (line.outcome == Outcome::violated) return Outcome::violated;
    if (line.outcome == Outcome::unknown) outcome = Outcome::unknown;
  }
  return outcome;
}

// What came of everything that was expected together.
Question::Answer answer_of(const std::vector<CheckLine>& lines, const std::vector<std::string>& doubts) {
  using Answer = Question::Answer;
  if (!doubts.empty()) return Answer::unknown;
  Answer all = Answer::met;
  for (const CheckLine& line : lines) {
    if (!line.counts) continue;
    if (line.answer == Answer::missed) return Answer::missed;
    if (line.answer == Answer::unknown) all = Answer::unknown;
  }
  return all;
}

// Why the check cannot be run without knowing what was asked of the run; "": it can.
std::string missing_for(const Check& check, const Question& question, const CheckContext& context) {
  if (check.name() == "progress" && context.progress_bound_ns == 0)
    return "nobody says how long is too long: `progress_ns` of a header or of --expect FILE does";
  if (check.name() == "reached" && question.marks.empty())
    return "nobody says which marks: a question of a header or of --expect FILE does";
  return "";
}

// Runs the planned checks over a loaded history and gathers their lines and findings.
class PlanRun {
 public:
  PlanRun(const LoadedHistory& loaded, const CheckPlan& plan, const CheckArguments& arguments,
          Checked& result)
      : loaded_(loaded), plan_(plan), arguments_(arguments), result_(result), view_(loaded) {}

  void run() {
    const bool huge = loaded_.packed.size() > kHuge;
    // A check that was asked for by name sees all events, however many there are.
    const bool asked = std::any_of(plan_.checks.begin(), plan_.checks.end(), [](const PlannedCheck& planned) {
      return planned.asked && planned.question.check != "linearizable";
    });
    if (!huge || asked) view_.show_all();
    for (const PlannedCheck& planned : plan_.checks) {
      const std::string& name = planned.question.check;
      if (answered_before(planned.question)) continue;
      if (name == "linearizable") {
        check_linearizability(planned);
      } else if (!view_.whole()) {
        add_line({.name = name,
                  .reason = fmt::format("more than {} events: --check asks for it", kHuge),
                  .counts = false},
                 planned.question, {});
      } else {
        check_view(*find_check(name), planned);
      }
    }
    result_.whole = view_.whole();
    result_.index = view_.indices();
    if (view_.whole()) {
      result_.summary = summarize(view_.history(), result_.reentrant);
      if (view_.failed_releases() > 0)
        result_.summary.operations["release"]["fail"] = view_.failed_releases();
    } else {
      result_.summary = count_operations(loaded_.packed);
    }
    result_.history = view_.take_history();
  }

 private:
  void check_linearizability(const PlannedCheck& planned) {
    LinearizabilityOptions options =
        linearizability_options(plan_, arguments_, loaded_.format, loaded_.packed);
    std::optional<SearchWatch> watch(std::in_place, arguments_.timeout, "judging " + result_.file);
    options.progress = [&](std::size_t done, std::size_t all) { watch->key_done(done, all); };
    options.budget.stop = [&](const SearchProgress& progress) { return watch->ask(progress); };
    const LinearizabilityResult judged = check_linearizable(loaded_.packed, options);
    watch.reset();
    result_.keys = judged.keys_checked;
    result_.operations = judged.operations;
    result_.by_linear = judged.by_linear;
    result_.by_search = judged.by_search;
    CheckLine line{.name = "linearizable", .outcome = judged.outcome, .reason = judged.reason};
    // A run that asked its own questions need not have used a lock at all.
    line.counts = planned.asked || judged.operations > 0 || !plan_.checks.front().asked;
    for (const KeyVerdict& key : judged.keys) {
      result_.bad_keys.emplace_back(loaded_.packed.text(key.key), key.outcome);
      if (key.outcome != Outcome::violated) continue;
      ++line.violations;
      if (result_.findings.size() < kMostFindings) add(key);
    }
    if (line.violations > 0) line.reason = judged.first()->reason;
    Verdict verdict;
    verdict.outcome = judged.outcome;
    for (const KeyVerdict& key : judged.keys) {
      if (key.outcome != Outcome::violated) continue;
      verdict.witnesses.emplace_back();
      verdict.witnesses.back().kind = key.kind;
    }
    add_line(std::move(line), planned.question, verdict);
  }

  void add(const KeyVerdict& key) {
    Finding finding = finding_of(loaded_, key);
    if (view_.empty()) view_.show_around(key.at, loaded_.packed.event(key.at).key, finding.witness.events);
    finding.pictured = view_.translate(finding.witness);
    if (finding.pictured && finding.witness.acquires) finding.witness.to_ns = overlap_end(finding.witness);
    result_.findings.push_back(std::move(finding));
  }

  // When the first of the witness' two holds ends.
  std::int64_t overlap_end(const Witness& witness) {
    if (holds_.empty()) holds_ = build_holds(view_.history(), result_.reentrant);
    std::int64_t end = kForever;
    for (const Hold& hold : holds_) {
      if (hold.acquired == witness.acquires->first || hold.acquired == witness.acquires->second) {
        end = std::min(end, hold.to_ns);
      }
    }
    return std::max(end, witness.from_ns);
  }

  void add_line(CheckLine line, const Question& question, const Verdict& verdict) {
    line.wanted = question.wanted();
    line.of_some_seeds = !question.seeds.empty();
    line.answer = question.answered_by(verdict);
    result_.lines.push_back(std::move(line));
    answers_.push_back({question, verdict});
  }

  static bool counts(const PlannedCheck& planned, const Verdict& verdict) {
    if (!planned.asked) return verdict.outcome != Outcome::unknown;
    // What some seeds do not reach says nothing against the lock.
    return verdict.outcome == Outcome::holds || planned.question.check != "reached" ||
           planned.question.seeds.empty();
  }

  // The same question with another expectation needs no other run of the check.
  bool answered_before(const Question& question) {
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      const Answered& before = answers_[i];
      if (before.question.check != question.check || before.question.marks != question.marks) continue;
      CheckLine line = result_.lines[i];
      line.repeats = true;
      line.wanted = question.wanted();
      line.of_some_seeds = !question.seeds.empty();
      line.answer = question.answered_by(before.verdict);
      result_.lines.push_back(std::move(line));
      answers_.push_back({question, before.verdict});
      return true;
    }
    return false;
  }

  void check_view(const Check& check, const PlannedCheck& planned) {
    if (loaded_.format != Format::jsonl && loaded_.read.times_fell > 0) {
      add_line({.name = std::string(check.name()),
                .reason = "times fall, and this check goes by time",
                .counts = planned.asked},
               planned.question, {});
      return;
    }
    CheckContext context = plan_.context;
    context.required_marks = planned.question.marks;
    if (context.end_ns == 0) {
      for (const Event& event : view_.history().events())
        context.end_ns = std::max(context.end_ns, event.time_ns);
    }
    const std::string missing = missing_for(check, planned.question, context);
    Verdict verdict;
    verdict.reason = missing;
    if (missing.empty()) verdict = check.run(view_.history(), context);
    add_line({.name = std::string(check.name()),
              .outcome = verdict.outcome,
              .reason = verdict.reason,
              .violations = verdict.violations,
              .counts = counts(planned, verdict)},
             planned.question, verdict);
    if (verdict.outcome != Outcome::violated) return;
    for (const Witness& witness : verdict.witnesses) {
      if (witness.events.empty()) continue;  // a mark that was missed is no event
      if (result_.findings.size() >= kMostFindings) return;
      result_.findings.push_back(finding_of(loaded_, view_, check.name(), witness));
    }
  }

  const LoadedHistory& loaded_;
  const CheckPlan& plan_;
  const CheckArguments& arguments_;
  Checked& result_;
  HistoryView view_;
  std::vector<Hold> holds_;  // of the view; empty: not built yet
  struct Answered {
    Question question;
    Verdict verdict;
  };
  std::vector<Answered> answers_;  // one for each line, in their order
};

}  // namespace

std::vector<NamedVerdict> verdicts_of(const Checked& checked) {
  std::vector<NamedVerdict> verdicts;
  for (const CheckLine& line : checked.lines) {
    if (!line.counts || line.repeats) continue;
    NamedVerdict named;
    named.check = line.name;
    named.verdict.outcome = line.outcome;
    named.verdict.reason = line.reason;
    named.verdict.violations = line.violations;
    for (const Finding& finding : checked.findings) {
      if (finding.pictured && finding.check == line.name) named.verdict.witnesses.push_back(finding.witness);
    }
    verdicts.push_back(std::move(named));
  }
  return verdicts;
}

Checked check_history(const std::string& file, const CheckArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  Checked result;
  result.file = file;
  LoadedHistory loaded;
  const Clock::time_point begin = Clock::now();
  try {
    loaded = load_history(file, arguments);
    const Clock::time_point read = Clock::now();
    result.format = loaded.format;
    result.events = loaded.packed.size();
    const bool by_time = loaded.format == Format::jsonl;
    if (arguments.keep_going) drop_misfits(loaded.packed, loaded.read, by_time);
    require_joined(loaded.packed, loaded.read, by_time);
    result.skipped = loaded.read.skipped;
    result.first_skipped = loaded.read.first_skipped;
    look_at_file(loaded, arguments, result);
    result.interrupted = loaded.interrupted;
    if (!loaded.followed_until.empty()) result.notes.push_back("followed until " + loaded.followed_until);
    std::optional<Questions> run;
    if (!arguments.expect.empty()) {
      run = read_questions(arguments.expect);
    } else if (!loaded.read.header.empty()) {
      const Place place = loaded.read.header_place;
      run = parse_questions(loaded.read.header, file, place.line, place.column);
      result.run = run->title.empty() ? "without a title" : run->title;
    }
    const CheckPlan plan = plan_checks(loaded.packed, loaded.format, arguments, run ? &*run : nullptr);
    result.model = plan.model;
    result.why_model = plan.why;
    if (plan.permits_unknown) {
      result.doubts.push_back(
          "a semaphore, by its permits, but nobody says how many there are: --permits N does");
    }
    result.reentrant = plan.context.reentrant;
    if (plan.model.find("leased") != std::string::npos) {
      const History whole = loaded.packed.unpack();
      const std::string doubt = doubted_unit(whole, build_holds(whole, result.reentrant));
      if (!doubt.empty()) result.doubts.push_back(doubt);
    }
    PlanRun(loaded, plan, arguments, result).run();
    result.outcome = sum_up(result.lines, result.doubts);
    if (result.outcome == Outcome::holds && !plan.if_it_holds.empty()) {
      result.doubts.push_back(plan.if_it_holds);
      result.outcome = Outcome::unknown;
    }
    if (!arguments.expect.empty()) result.as_expected = answer_of(result.lines, result.doubts);
    result.read_seconds = std::chrono::duration<double>(read - begin).count();
    result.judge_seconds = std::chrono::duration<double>(Clock::now() - read).count();
  } catch (const FormatError& error) {
    result.error = error.what();
  } catch (const HistoryError& error) {
    const Place place = loaded.read.place_of(error.position);
    result.error =
        fmt::format("{}:{}:{}: index {}: {}, expected each process to do one thing after another", file,
                    place.line, place.column, loaded.read.index_of(error.position), error.what());
  }
  return result;
}

}  // namespace holdfast::tools
