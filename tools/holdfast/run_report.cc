#include "tools/holdfast/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "checker/story/text_layout.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/explain.h"
#include "tools/holdfast/progress.h"

namespace holdfast::tools {
namespace {

const char* who_broke(const CaseResult& result) {
  return result.bad_program ? "a program broke" : "the harness broke";
}

using sim::Expectation;
using sim::Tally;

std::string sign_of(Tally::Result result, const Terminal& terminal) {
  return result == Tally::Result::met       ? good_sign(terminal)
         : result == Tally::Result::unknown ? unknown_sign(terminal)
         : result == Tally::Result::too_few ? note_sign(terminal)
                                            : bad_sign(terminal);
}

std::string sign_of(const CaseResult& result, const Terminal& terminal) {
  if (result.cut()) return note_sign(terminal);
  const ExitCode code = result.code();
  return code == kMet ? good_sign(terminal) : code == kUnknown ? unknown_sign(terminal) : bad_sign(terminal);
}

std::string counted(std::uint64_t number, const char* one, const char* many) {
  return fmt::format("{} {}", with_commas(number), number == 1 ? one : many);
}

bool is_expected_violation(const Expectation& expectation, const Tally& tally) {
  return expectation.violated && expectation.check != "reached" && tally.matching > 0;
}

// "double-grant, oversell violated": the kind of each, where one is named.
std::string expected_violations(const CaseResult& result) {
  std::string text;
  for (std::size_t i = 0; i < result.scenario.expectations.size(); ++i) {
    const Expectation& expectation = result.scenario.expectations[i];
    if (!is_expected_violation(expectation, result.judge.tallies()[i])) continue;
    text += (text.empty() ? "" : ", ") +
            (expectation.kind.empty() ? expectation.check + " violated" : expectation.kind);
  }
  return text;
}

// A line of the list, in as many lines of the terminal as it takes.
std::string list_line(const std::string& text, std::size_t indent, const Terminal& terminal) {
  return std::string(indent, ' ') + checker::wrap(text, terminal.columns() - indent, indent) + "\n";
}

std::string expectation_lines(const CaseResult& result, std::size_t i, const Terminal& terminal) {
  const Expectation& expectation = result.scenario.expectations[i];
  const Tally& tally = result.judge.tallies()[i];
  const Tally::Result verdict = tally.result(expectation);
  std::string out = fmt::format("    {} {}: {} of {}", sign_of(verdict, terminal),
                                for_terminal(sim::describe(expectation), terminal),
                                with_commas(tally.matching), with_commas(tally.runs));
  if (tally.unknown > 0) out += fmt::format(" ({} unknown)", with_commas(tally.unknown));
  if (verdict == Tally::Result::met && is_expected_violation(expectation, tally)) out += ", as expected";
  if (verdict == Tally::Result::too_few)
    out += fmt::format(", not judged: needs {} seeds", with_commas(tally.needs(expectation)));
  return out + "\n";
}

}  // namespace

std::string case_report(const CaseResult& result, const Terminal& terminal, bool brief) {
  if (!result.missing.empty()) return "";  // not_run_report() tells of it
  const sim::Scenario& scenario = result.scenario;
  std::string out =
      fmt::format("{} {}: ", sign_of(result, terminal), for_terminal(scenario.title(), terminal));
  out += fmt::format("{}, {}, {} waited", counted(result.done, "run", "runs"),
                     counted(result.grants, "grant", "grants"), with_commas(result.waits));
  if (!result.cost.empty()) {
    out += fmt::format(", {} {}", with_commas(static_cast<std::uint64_t>(result.total_cost)), result.cost);
    if (result.total_cost != 0) out += fmt::format(" (worst run {})", result.worst_cost);
  }
  if (result.done < result.planned()) {
    out += fmt::format("; cut after {} of {}", result.done, result.planned());
  } else if (!result.whole()) {
    out += fmt::format("; {} of {} in this shard", result.done, result.seeds.size());
  }
  const bool fine = result.error.empty() && !result.unexpected();
  if (brief && fine) {
    const std::string expected = expected_violations(result);
    return out + (expected.empty() ? "\n" : "; as expected: " + for_terminal(expected, terminal) + "\n");
  }
  out += "\n";
  if (!result.error.empty())
    out += fmt::format("    {} {}: {}\n", bad_sign(terminal), who_broke(result),
                       for_terminal(result.error, terminal));
  for (const std::uint64_t seed : result.nondeterministic)
    out += fmt::format("    {} seed {} gave two different histories\n", bad_sign(terminal), seed);
  for (std::size_t i = 0; i < scenario.expectations.size() && result.done > 0; ++i)
    out += expectation_lines(result, i, terminal);
  return out;
}

std::string not_run_report(const Plan& plan, const Terminal& terminal) {
  std::string out;
  const auto tell = [&](const std::string& file, const std::string& variant, const std::string& reason) {
    out += fmt::format("{} not run: {}{}: {}\n", note_sign(terminal), for_terminal(file, terminal),
                       variant.empty() ? "" : for_terminal(" (" + variant + ")", terminal),
                       for_terminal(reason, terminal));
  };
  const auto folder = [](const NotRun& one) { return std::filesystem::path(one.file).parent_path(); };
  for (auto one = plan.not_run.begin(); one != plan.not_run.end();) {
    const auto next = std::find_if_not(one, plan.not_run.end(), [&](const NotRun& other) {
      return other.variant.empty() && other.reason == one->reason && folder(other) == folder(*one);
    });
    if (next - one > 1) {
      tell(folder(*one).string(), fmt::format("{} files", next - one), one->reason);
      one = next;
    } else {
      tell(one->file, one->variant, one->reason);
      ++one;
    }
  }
  for (const auto& result : plan.cases) {
    if (result->missing.empty()) continue;
    const std::string variant = result->scenario.variant.empty() ? "base" : result->scenario.variant;
    tell(result->scenario.file, result->alone ? "" : variant, result->missing);
  }
  return out;
}

std::string story_report(const KeptRun& run, const checker::History& history, const std::string& folder,
                         const Terminal& terminal) {
  std::string what;
  if (run.told) {
    const KeptVerdict& verdict = run.verdicts.at(*run.told);
    what = run.expected ? " (the violation is expected)"
                        : fmt::format(" (unexpected: {} is {})", for_terminal(verdict.check, terminal),
                                      for_terminal(verdict.outcome, terminal));
  }
  std::string out = fmt::format("{}{}\n", for_terminal(run.title(), terminal), what);
  if (!run.about.empty()) out += for_terminal(run.about, terminal) + "\n";
  if (const std::string story = story_of(run, history, terminal); !story.empty()) {
    out += "\n" + story;
  } else if (run.told) {
    out += fmt::format("\nno picture: {}\n", for_terminal(run.verdicts.at(*run.told).reason, terminal));
  }
  out += "\n";
  if (!folder.empty())
    out += fmt::format("kept        {0}/\ntimeline    {0}/timeline.html\n", for_terminal(folder, terminal));
  return out + fmt::format("reproduce   {}\n", for_terminal(run.reproduce, terminal));
}

std::string unexpected_report(const Plan& plan, const RunArguments& arguments) {
  const Terminal& terminal = arguments.terminal;
  std::string out;
  for (const auto& result : plan.cases) {
    if (!result->unexpected()) continue;
    const sim::Scenario& scenario = result->scenario;
    out += fmt::format("{} {}\n", sign_of(*result, terminal), for_terminal(scenario.title(), terminal));
    std::vector<std::uint64_t> seeds;  // one that shows it, for each line below
    if (!result->error.empty()) {
      out += fmt::format("    {}: {}: {}\n", for_terminal(scenario.file, terminal), who_broke(*result),
                         for_terminal(result->error, terminal));
      continue;
    }
    if (!result->nondeterministic.empty()) {
      seeds.push_back(result->nondeterministic.front());
      out += fmt::format("    {}: seed {} gave two different histories\n",
                         for_terminal(scenario.file, terminal), seeds.back());
    }
    for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
      const Expectation& expectation = scenario.expectations[i];
      const Tally& tally = result->judge.tallies()[i];
      if (!is_unmet(expectation, tally)) continue;
      out += list_line(for_terminal(explain(expectation, tally), terminal), 4, terminal);
      const auto seed = culprit(expectation, tally);
      if (!seed) continue;
      seeds.push_back(*seed);
      const std::string why = for_terminal(reason_of(expectation, tally), terminal);
      out += list_line(fmt::format("{}:{}: seed {}{}", for_terminal(expectation.at.file, terminal),
                                   expectation.at.line, *seed, why.empty() ? "" : ": " + why),
                       6, terminal);
    }
    for (const KeptFolder& folder : result->kept) {
      if (std::find(seeds.begin(), seeds.end(), folder.seed) != seeds.end())
        out += fmt::format("    kept        {}/\n", for_terminal(folder.path, terminal));
    }
    std::sort(seeds.begin(), seeds.end());
    seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
    for (const std::uint64_t seed : seeds)
      out += fmt::format("    reproduce   {}\n", for_terminal(result->reproduce(seed, arguments), terminal));
  }
  return out.empty() ? "" : "unexpected\n" + out;
}

std::string kept_report(const Plan& plan, const RunArguments& arguments, bool all_written) {
  if (arguments.out.empty()) return "";
  std::size_t kept = 0;
  for (const auto& result : plan.cases) kept += result->kept.size();
  const char* const lost = all_written ? "" : ", but not everything could be written";
  if (kept > 0)
    return fmt::format("kept        {} below {}/{}\n", counted(kept, "run", "runs"),
                       for_terminal(arguments.out, arguments.terminal), lost);
  if (!all_written) return "kept        nothing: it could not be written\n";
  if (arguments.keep == Keep::failed)
    return "kept        nothing: everything was as expected (--keep violated or all keeps more)\n";
  return "kept        nothing: no run showed a violation (--keep all keeps every run)\n";
}

std::string total_line(const Plan& plan, double seconds, std::string_view cut) {
  std::uint64_t runs = 0, planned = 0, unexpected = 0, missing = 0;
  for (const auto& result : plan.cases) {
    runs += result->done;
    planned += result->planned();
    unexpected += result->unexpected() ? 1 : 0;
    missing += result->missing.empty() ? 0 : 1;
  }
  std::string out = counted(plan.cases.size() - missing, "case", "cases") + ", ";
  out += !cut.empty() && runs < planned
             ? fmt::format("{} of {} runs", with_commas(runs), with_commas(planned))
             : counted(runs, "run", "runs");
  out += fmt::format(", {} unexpected", with_commas(unexpected));
  if (const std::uint64_t not_run = missing + plan.not_run.size(); not_run > 0)
    out += fmt::format(", {} not run", with_commas(not_run));
  out += ", " + (seconds < 60 ? fmt::format("{:.1f} s", seconds) : format_seconds(seconds));
  return out + (cut.empty() ? "" : ", ") + std::string(cut) + "\n";
}

}  // namespace holdfast::tools
