// JUnit XML. Attributes and elements are those that the schemas of Jenkins (junit-10.xsd), Surefire and Ant
// have in common, so that a reader that validates takes it: no `file` on a test case, `type` on every
// failure, nothing beside <skipped>, <error> or <failure> in a test case.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "tools/holdfast/escape.h"
#include "tools/holdfast/explain.h"
#include "tools/holdfast/reports.h"

namespace holdfast::tools {
namespace {

using sim::Tally;

// "scenarios/historic/annotation.toml" -> "scenarios.historic.annotation": readers group by what is before a
// dot.
std::string class_name(const std::string& file) {
  std::filesystem::path path = std::filesystem::path(file).lexically_normal().replace_extension();
  std::string out;
  for (const auto& part : path.relative_path()) {
    if (part == "..") continue;
    std::string name = part.string();
    std::replace(name.begin(), name.end(), '.', '_');
    out += (out.empty() ? "" : ".") + name;
  }
  return out;
}

std::string opening(const std::string& file, const std::string& name, double seconds) {
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n",
                     for_xml_attribute(class_name(file)), for_xml_attribute(name), seconds);
}

std::string skipped(const std::string& why) {
  return fmt::format("      <skipped message=\"{}\"/>\n", for_xml_attribute(why));
}

// What is told of a case that failed: the first line is its message.
std::string failure_text(const CaseResult& result, const RunArguments& arguments) {
  std::string text;
  if (!result.nondeterministic.empty()) {
    const std::uint64_t seed = result.nondeterministic.front();
    text += fmt::format("seed {} gave two different histories\n  reproduce: {}\n", seed,
                        result.reproduce(seed, arguments));
  }
  for (std::size_t i = 0; i < result.scenario.expectations.size(); ++i) {
    const sim::Expectation& expectation = result.scenario.expectations[i];
    const Tally& tally = result.judge.tallies()[i];
    if (!is_unmet(expectation, tally)) continue;
    text += explain(expectation, tally) + "\n";
    const auto seed = culprit(expectation, tally);
    if (!seed) continue;
    text += fmt::format("  {}:{}: seed {}: {}\n  reproduce: {}\n", expectation.at.file, expectation.at.line,
                        *seed, reason_of(expectation, tally), result.reproduce(*seed, arguments));
  }
  for (const KeptFolder& folder : result.kept) text += fmt::format("  kept: {}/\n", folder.path);
  return text;
}

std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts));
}

}  // namespace

std::string junit_xml(const Plan& plan, const RunArguments& arguments, double seconds) {
  std::size_t failures = 0, errors = 0, skips = 0;
  std::string body;
  for (const auto& result : plan.cases) {
    body += opening(result->scenario.file, result->scenario.title(), result->seconds);
    if (!result->missing.empty()) {
      ++skips;
      body += skipped("not run: " + result->missing);
    } else if (result->cut()) {
      ++skips;
      const bool whole_shard = result->done == result->planned();
      body +=
          skipped(fmt::format("{} {} of {} runs, nothing unexpected so far",
                              whole_shard ? "shard " + result->shard.to_string() + ":" : "interrupted after",
                              result->done, whole_shard ? result->seeds.size() : result->planned()));
    } else if (!result->error.empty()) {
      ++errors;
      body +=
          fmt::format("      <error message=\"{}\" type=\"internal\"/>\n", for_xml_attribute(result->error));
    } else if (result->unexpected()) {
      ++failures;
      const std::string text = failure_text(*result, arguments);
      const char* const type = result->code() == kUnknown            ? "unknown"
                               : result->code() == kNotDeterministic ? "not-deterministic"
                                                                     : "unexpected";
      body += fmt::format("      <failure message=\"{}\" type=\"{}\">{}</failure>\n",
                          for_xml_attribute(text.substr(0, text.find('\n'))), type, for_xml(text));
    }
    body += "    </testcase>\n";
  }
  for (const NotRun& one : plan.not_run) {
    ++skips;
    body += opening(one.file, one.variant.empty() ? "all of it" : one.variant, 0) +
            skipped("not run: " + one.reason) + "    </testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"holdfast {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\" "
      "timestamp=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      arguments.embedded ? "embedded" : "real", plan.cases.size() + plan.not_run.size(), failures, errors,
      skips, seconds, now_as_text(), body);
}

}  // namespace holdfast::tools
