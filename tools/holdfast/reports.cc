#include "tools/holdfast/reports.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace holdfast::tools {
namespace {

using sim::Tally;

std::string_view name_of(Tally::Result result) {
  return result == Tally::Result::met ? "met" : result == Tally::Result::failed ? "failed" : "unknown";
}

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\t')
          out += c;  // XML 1.0 has no way to write the others
    }
  }
  return out;
}

// Text of a workflow command: https://docs.github.com/actions, "workflow commands".
std::string escape_github(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\n') {
      out += "%0A";
    } else if (c == '\r') {
      out += "%0D";
    } else if (property && c == ':') {
      out += "%3A";
    } else if (property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

// "expected X, but 3 of 200 seeds (4, 9, 11) ...: why"
std::string explain(const sim::Expectation& expectation, const Tally& tally) {
  std::string seeds;
  for (std::size_t i = 0; i < tally.misses.size() && i < 5; ++i)
    seeds += (i > 0 ? ", " : "") + std::to_string(tally.misses[i]);
  const std::string& why = tally.first_miss.empty() ? tally.first_unknown : tally.first_miss;
  return fmt::format("expected: {}; so it was on {} of {} runs{}; other seeds: {}; the first: {}",
                     describe(expectation), tally.matching, tally.runs,
                     tally.unknown > 0 ? fmt::format(" ({} unknown)", tally.unknown) : "",
                     seeds.empty() ? "none" : seeds, why.empty() ? "the verdict was the opposite" : why);
}

}  // namespace

std::string junit_xml(const Cases& cases, bool embedded) {
  std::size_t failures = 0, errors = 0;
  double seconds = 0;
  std::string body;
  for (const auto& result : cases) {
    const sim::Scenario& scenario = result->scenario;
    seconds += result->seconds;
    body += fmt::format("  <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.3f}\">\n",
                        escape_xml(embedded ? "embedded" : "real"), escape_xml(scenario.title()),
                        escape_xml(scenario.file), result->seconds);
    if (!result->error.empty()) {
      ++errors;
      body += fmt::format("    <error message=\"{}\"/>\n", escape_xml(result->error));
    } else if (result->code() != kMet) {
      ++failures;
      std::string text;
      if (!result->nondeterministic.empty()) {
        text += fmt::format("seed {} gave two different histories\n", result->nondeterministic.front());
      }
      for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
        const Tally& tally = result->judge.tallies()[i];
        if (tally.result(scenario.expectations[i]) != Tally::Result::met)
          text += explain(scenario.expectations[i], tally) + "\n";
      }
      const std::string first = text.substr(0, text.find('\n'));
      body += fmt::format("    <failure message=\"{}\">{}</failure>\n", escape_xml(first),
                          escape_xml(text + result->story));
    }
    if (result->story_seed != UINT64_MAX) {
      body += fmt::format("    <system-out>{}</system-out>\n",
                          escape_xml("reproduce: " + result->reproduce(result->story_seed, embedded)));
    }
    body += "  </testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"holdfast\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\" "
      "time=\"{:.3f}\">\n{}</testsuite>\n",
      cases.size(), failures, errors, seconds, body);
}

std::string json_document(const Cases& cases, bool embedded, std::uint64_t trace) {
  nlohmann::ordered_json document;
  document["schema"] = 1;
  document["world"] = embedded ? "embedded" : "real";
  document["trace"] = fmt::format("{:016x}", trace);
  document["cases"] = nlohmann::ordered_json::array();
  for (const auto& result : cases) {
    const sim::Scenario& scenario = result->scenario;
    nlohmann::ordered_json item;
    item["file"] = scenario.file;
    item["scenario"] = scenario.name;
    item["variant"] = scenario.variant;
    item["exit"] = static_cast<int>(result->code());
    item["runs"] = result->done;
    item["violated_runs"] = result->violated_runs;
    item["grants"] = result->grants;
    item["waits"] = result->waits;
    item["oversold"] = result->oversold;
    item["seconds"] = result->seconds;
    item["nondeterministic_seeds"] = result->nondeterministic;
    if (!result->error.empty()) item["error"] = result->error;
    item["expectations"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
      const sim::Expectation& expectation = scenario.expectations[i];
      const Tally& tally = result->judge.tallies()[i];
      nlohmann::ordered_json one;
      one["check"] = expectation.check;
      one["is"] = expectation.violated ? "violated" : "holds";
      one["line"] = expectation.at.line;
      one["result"] = name_of(tally.result(expectation));
      one["matching"] = tally.matching;
      one["unknown"] = tally.unknown;
      one["missed_seeds"] = tally.misses;
      if (!tally.first_miss.empty()) one["first_miss"] = tally.first_miss;
      if (!tally.first_unknown.empty()) one["first_unknown"] = tally.first_unknown;
      item["expectations"].push_back(one);
    }
    if (result->story_seed != UINT64_MAX) {
      item["story"] = {{"seed", result->story_seed},
                       {"check", result->story_check},
                       {"folder", result->story_folder},
                       {"reproduce", result->reproduce(result->story_seed, embedded)}};
    }
    document["cases"].push_back(item);
  }
  // Foreign bytes in a name must not cost the report.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string github_annotations(const Cases& cases, bool embedded) {
  std::string out;
  for (const auto& result : cases) {
    const sim::Scenario& scenario = result->scenario;
    const auto line = [&](const sim::Position& at, const std::string& title, const std::string& text) {
      out += fmt::format("::error file={},line={},title={}::{}\n", escape_github(at.file, true),
                         std::max(1, at.line), escape_github(title, true), escape_github(text, false));
    };
    if (!result->error.empty()) line(scenario.at, scenario.title(), result->error);
    if (!result->nondeterministic.empty()) {
      line(scenario.at, scenario.title(),
           fmt::format("seed {} gave two different histories", result->nondeterministic.front()));
    }
    for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
      const sim::Expectation& expectation = scenario.expectations[i];
      const Tally& tally = result->judge.tallies()[i];
      if (!result->error.empty() || tally.result(expectation) == Tally::Result::met) continue;
      const std::uint64_t seed = tally.misses.empty() ? result->seeds.front() : tally.misses.front();
      line(expectation.at, scenario.title(),
           explain(expectation, tally) + "; reproduce: " + result->reproduce(seed, embedded));
    }
  }
  return out;
}

void write_file(const std::string& path, const std::string& text) {
  const std::filesystem::path target(path);
  std::error_code ignored;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), ignored);
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  file << text;
  file.flush();
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be written ({})", path, std::strerror(errno)));
}

}  // namespace holdfast::tools
