// `holdfast merge`: what several machines or processes did, as one result.
#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "tools/holdfast/commands.h"
#include "tools/holdfast/hunt_end.h"
#include "tools/holdfast/interrupt.h"
#include "tools/holdfast/json_file.h"
#include "tools/holdfast/merge_hunts.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/reports.h"
#include "tools/holdfast/run_report.h"
#include "tools/holdfast/run_shard.h"

namespace holdfast::tools {
namespace {

// A file once, however often it is named.
std::vector<std::string> files_of(const MergeArguments& arguments) {
  std::vector<std::string> files;
  std::set<std::filesystem::path> seen;
  for (const std::string& what : arguments.what) {
    for (const std::string& path : json_files(what)) {
      std::error_code error;
      std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
      if (seen.insert(error ? std::filesystem::path(path) : whole).second) files.push_back(path);
    }
  }
  return files;
}

void require_writable(const MergeArguments& arguments) {
  if (!arguments.out.empty()) require_writable_folder("--out", arguments.out);
  if (!arguments.junit.empty()) require_writable_file("--junit", arguments.junit);
  if (!arguments.json.empty()) require_writable_file("--json", arguments.json);
}

ExitCode merge_as_hunt(const MergeArguments& arguments, std::vector<ReadHunt> hunts) {
  if (!arguments.junit.empty() || arguments.github)
    throw BadUsage("merge: --junit and --github are of runs, expected none of them for hunts");
  HuntRecord all = merge_hunts(std::move(hunts));
  require_writable(arguments);
  keep_interrupts();
  return end_hunt(
      all,
      {.jobs = arguments.jobs, .out = arguments.out, .json = arguments.json, .terminal = arguments.terminal});
}

ExitCode merge_as_run(const MergeArguments& arguments, const std::vector<ReadRun>& runs) {
  if (!arguments.out.empty())
    throw BadUsage("merge: --out is of hunts, expected none for runs, whose shards keep their own");
  MergedRun all = merge_runs(runs);
  all.arguments.terminal = arguments.terminal;
  require_writable(arguments);
  ExitCode code = kMet;
  for (const auto& result : all.plan.cases) {
    print_out(case_report(*result, arguments.terminal, all.plan.many));
    if (result->unexpected()) code = worse(code, result->code());
  }
  print_out(not_run_report(all.plan, arguments.terminal));
  if (const std::string text = unexpected_report(all.plan, all.arguments); !text.empty())
    print_out("\n" + text);
  const auto write = [&](const std::string& path, const auto& text) {
    if (path.empty() || try_to_write([&] { write_file(path, text()); })) return;
    code = worse(code, kOutput);
  };
  write(arguments.junit, [&] { return junit_xml(all.plan, all.arguments, all.seconds); });
  write(arguments.json, [&] { return json_document(all.plan, all.arguments, all.trace, all.seconds); });
  if (arguments.github) print_out(github_annotations(all.plan, all.arguments));
  print_out("\n" + total_line(all.plan, all.seconds, "") + "trace " + hex_of(all.trace) + "\n");
  return code;
}

}  // namespace

ExitCode merge_command(const MergeArguments& arguments) {
  std::vector<ReadHunt> hunts;
  std::vector<ReadRun> runs;
  for (const std::string& path : files_of(arguments)) {
    Json document = read_json(path);
    if (is_hunt(document)) {
      hunts.push_back({path, hunt_record(document, path)});
    } else if (is_run(document)) {
      runs.push_back({path, std::move(document)});
    } else {
      throw BadUsage(path +
                     ": cannot be merged, expected what `holdfast hunt` or `holdfast run --shard K/N` wrote "
                     "with --json");
    }
    if (!hunts.empty() && !runs.empty())
      throw BadUsage(hunts.front().path + " is a hunt, " + runs.front().path + " a run; expected one sort");
  }
  if (!hunts.empty()) return merge_as_hunt(arguments, std::move(hunts));
  return merge_as_run(arguments, runs);
}

}  // namespace holdfast::tools
