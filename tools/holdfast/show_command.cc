// `holdfast show`: a run that was kept, told again at the width of this terminal.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "checker/history/history_jsonl.h"
#include "tools/holdfast/check_report.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/kept_run.h"
#include "tools/holdfast/open_page.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/run_report.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

checker::History read_history(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw BadUsage(path + ": cannot be opened, expected the history of a run that was kept");
  try {
    return checker::read_jsonl(file, {.file = path}).history;
  } catch (const checker::FormatError& error) {
    throw BadUsage(error.what());
  }
}

void finish(const ShowArguments& arguments, const std::string& page) {
  if (!page.empty()) print_out(fmt::format("timeline    {}\n", for_terminal(page)));
  if (!arguments.open) return;
  finish_standard_output();
  open_page(page);
}

ExitCode show_kept(const ShowArguments& arguments, const std::string& folder, const KeptRun& run) {
  const checker::History history = read_history(folder + "/history.jsonl");
  print_out(story_report(run, history, "", arguments.terminal));
  std::string page = folder + "/timeline.html";
  if (!arguments.timeline.empty() || !fs::exists(page)) {
    page = arguments.timeline.empty() ? page : arguments.timeline;
    write_file(page, timeline_of(run, history));
  }
  finish(arguments, page);
  return kMet;
}

ExitCode show_history(const ShowArguments& arguments) {
  CheckArguments check;
  check.files = {arguments.run};
  check.timeline = arguments.timeline;
  check.terminal = arguments.terminal;
  if (arguments.open && check.timeline.empty()) {
    std::string folder = (fs::temp_directory_path() / "holdfast-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw OutputError(folder + ": cannot be made");
    check.timeline = folder + "/timeline.html";  // stays: a browser is to read it
  }
  const ExitCode code = check_command(check);
  if (code == kUsage) return code;
  print_out(fmt::format("reproduce   {} check {}\n", for_shell(arguments.command), for_shell(arguments.run)));
  if (arguments.open) {
    finish_standard_output();
    open_page(check.timeline);
  }
  return code == kFailed ? kMet : code;
}

ExitCode list_kept(const ShowArguments& arguments, const std::vector<std::string>& folders) {
  if (arguments.open || !arguments.timeline.empty())
    throw BadUsage(fmt::format("{}: {} runs are kept here, expected one of them, such as {}", arguments.run,
                               folders.size(), folders.front()));
  for (const std::string& folder : folders) {
    const auto run = read_kept_run(folder);
    if (!run) continue;
    std::string what;
    if (run->told) {
      const KeptVerdict& verdict = run->verdicts.at(*run->told);
      what = fmt::format("{} is {}{}", verdict.check, verdict.outcome,
                         run->expected ? ", as expected" : ", unexpected");
    } else {
      what = "nothing was violated";
    }
    print_out(fmt::format("{}  {}\n", for_terminal(folder, arguments.terminal),
                          for_terminal(what, arguments.terminal)));
  }
  print_out(fmt::format("{} runs; `{} show FOLDER` tells of one\n", folders.size(), arguments.command));
  return kMet;
}

}  // namespace

ExitCode show_command(const ShowArguments& arguments) {
  if (!arguments.timeline.empty()) require_writable_file("--timeline", arguments.timeline);
  std::error_code error;
  if (!fs::exists(arguments.run, error))
    throw BadUsage(
        arguments.run +
        ": no such file or folder, expected a folder that `holdfast run --out` wrote, or a history");
  std::string folder = arguments.run;
  if (!fs::is_directory(folder, error)) {
    if (fs::path(folder).filename() != "run.json") return show_history(arguments);
    folder = fs::path(folder).parent_path().string();
    if (folder.empty()) folder = ".";
  }
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (const auto run = read_kept_run(folder)) return show_kept(arguments, folder, *run);
  const std::vector<std::string> below = kept_below(folder);
  if (below.empty())
    throw BadUsage(folder +
                   ": no run is kept here, expected a folder that `holdfast run --out` wrote, or a history");
  if (below.size() == 1) return show_kept(arguments, below.front(), *read_kept_run(below.front()));
  return list_kept(arguments, below);
}

}  // namespace holdfast::tools
