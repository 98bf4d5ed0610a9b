// `holdfast check`: judges histories. One history has a full report; several have one line each, and a total.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <new>
#include <sstream>

#include "checker/story/timeline.h"
#include "tools/holdfast/check_report.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/memory.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/search_watch.h"

namespace holdfast::tools {
namespace {

ExitCode code_of(const Checked& checked) {
  if (!checked.error.empty()) return kUsage;
  if (checked.as_expected) {
    switch (*checked.as_expected) {
      case checker::Question::Answer::met: return kMet;
      case checker::Question::Answer::missed: return kFailed;
      case checker::Question::Answer::unknown: return kUnknown;
    }
  }
  switch (checked.outcome) {
    case checker::Outcome::holds: return kMet;
    case checker::Outcome::violated: return kFailed;
    case checker::Outcome::unknown: return kUnknown;
  }
  return kInternal;
}

// "w.edn", then "w-2.edn", ...
std::string numbered(const std::string& path, std::size_t number) {
  if (number == 1) return path;
  const std::filesystem::path whole(path);
  return (whole.parent_path() /
          fmt::format("{}-{}{}", whole.stem().string(), number, whole.extension().string()))
      .string();
}

void write_page(const Checked& checked, const std::string& path) {
  std::ostringstream page;
  checker::write_timeline(checked.history, verdicts_of(checked),
                          {.title = checked.file, .reentrant = checked.reentrant, .index = checked.index},
                          page);
  write_file(path, page.str());
}

// A history that is too large for this machine does not keep the others from being judged.
Checked judge(const std::string& file, const CheckArguments& arguments, ExitCode& code) {
  Checked checked;
  try {
    checked = check_history(file, arguments);
    code = worse(code, code_of(checked));
  } catch (const std::bad_alloc&) {
    checked = {};
    checked.file = file;
    checked.error = fmt::format("{}: {}", file, kNoMemory);
    code = worse(code, kInternal);
  }
  return checked;
}

}  // namespace

ExitCode check_command(const CheckArguments& arguments) {
  require_sane(arguments);
  if (!arguments.timeline.empty()) require_writable_file("--timeline", arguments.timeline);
  if (!arguments.witness.empty()) require_writable_file("--witness", arguments.witness);
  if (!arguments.json.empty() && arguments.json != "-") require_writable_file("--json", arguments.json);
  std::ios::sync_with_stdio(false);
  const bool alone = arguments.files.size() == 1, text = arguments.json != "-";
  ExitCode code = kMet;
  std::vector<Checked> all;
  std::size_t witnesses = 0;
  bool drawn = false;
  const auto write = [&](const std::function<void()>& what) {
    const bool written = try_to_write(what);
    if (!written) code = worse(code, kOutput);
    return written;
  };
  for (std::size_t i = 0; i < arguments.files.size(); ++i) {
    Checked checked = judge(arguments.files[i], arguments, code);
    if (!checked.error.empty()) print_err(for_terminal(checked.error) + "\n");
    if (text) print_out(alone ? check_report(checked, arguments) : check_line(checked, arguments.terminal));
    if (!arguments.witness.empty()) {
      for (const Finding& finding : checked.findings) {
        const std::string path = numbered(arguments.witness, ++witnesses);
        if (!write([&] { write_file(path, witness_text(checked, finding, arguments.keyed)); })) break;
        if (text)
          print_out(fmt::format("witness     {} ({}, index {})\n", for_terminal(path), finding.check,
                                finding.index));
      }
    }
    // Of several histories the first violated one is drawn, else the last.
    const bool telling = checked.outcome == checker::Outcome::violated || i + 1 == arguments.files.size();
    if (!arguments.timeline.empty() && checked.error.empty() && !drawn && (telling || alone)) {
      drawn = true;
      const bool written = write([&] { write_page(checked, arguments.timeline); });
      if (written && text) print_out(fmt::format("timeline    {}\n", for_terminal(arguments.timeline)));
    }
    if (checked.interrupted) code = worse(code, kInterrupted);
    checked.history = {};
    all.push_back(std::move(checked));
    if (!SearchWatch::interrupted()) continue;
    code = worse(code, kInterrupted);
    if (text && !alone) {
      print_out(fmt::format("interrupted; {} of {} histories were judged\n", i + 1, arguments.files.size()));
    }
    break;
  }
  if (!alone && text) print_out(check_total(all));
  if (arguments.json == "-") {
    print_out(check_json(all));
  } else if (!arguments.json.empty()) {
    write([&] { write_file(arguments.json, check_json(all)); });
  }
  return code;
}

}  // namespace holdfast::tools
