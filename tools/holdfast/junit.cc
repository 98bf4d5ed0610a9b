// JUnit XML. Attributes and elements are those that the schemas of Jenkins (junit-10.xsd), Surefire and Ant
// have in common, so that a reader that validates takes it: no `file` on a test case, `type` on every
// failure, nothing beside <skipped>, <error> or <failure> in a test case.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "tools/holdfast/explain.h"
#include "tools/holdfast/reports.h"

namespace holdfast::tools {
namespace {

using sim::Tally;

// Bytes that are no UTF-8, and characters that XML 1.0 cannot write, become "?".
std::string escape_xml(std::string_view text, bool attribute) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80                   ? 1
                               : byte >= 0xf0 && byte < 0xf5 ? 4
                               : byte >= 0xe0                ? 3
                               : byte >= 0xc2                ? 2
                                                             : 0;
    bool whole = length > 0 && byte < 0xf5 && i + length <= text.size();
    for (std::size_t j = 1; whole && j < length; ++j)
      whole = (static_cast<unsigned char>(text[i + j]) & 0xc0) == 0x80;
    if (!whole) {
      out += '?';
      ++i;
      continue;
    }
    if (length > 1) {
      out += text.substr(i, length);
      i += length;
      continue;
    }
    const char c = text[i++];
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += attribute ? "&#10;" : "\n"; break;
      case '\t': out += attribute ? "&#9;" : "\t"; break;
      default: out += byte < 0x20 ? '?' : c;
    }
  }
  return out;
}

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
                     escape_xml(class_name(file), true), escape_xml(name, true), seconds);
}

std::string skipped(const std::string& why) {
  return fmt::format("      <skipped message=\"{}\"/>\n", escape_xml(why, true));
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
      body += skipped(fmt::format("interrupted after {} of {} runs, nothing unexpected so far", result->done,
                                  result->seeds.size()));
    } else if (!result->error.empty()) {
      ++errors;
      body +=
          fmt::format("      <error message=\"{}\" type=\"internal\"/>\n", escape_xml(result->error, true));
    } else if (result->unexpected()) {
      ++failures;
      const std::string text = failure_text(*result, arguments);
      const char* const type = result->code() == kUnknown            ? "unknown"
                               : result->code() == kNotDeterministic ? "not-deterministic"
                                                                     : "unexpected";
      body += fmt::format("      <failure message=\"{}\" type=\"{}\">{}</failure>\n",
                          escape_xml(text.substr(0, text.find('\n')), true), type, escape_xml(text, false));
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
