#include "tools/holdfast/program.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <exception>
#include <new>

#include "lib/testing/server/missing.h"
#include "sim/scenario/problem.h"
#include "tools/holdfast/command_line.h"
#include "tools/holdfast/command_page.h"
#include "tools/holdfast/completion.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/manual.h"
#include "tools/holdfast/memory.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/scenario_schema.h"

namespace holdfast::tools {
namespace {

int width() { return detect_terminal(ColorChoice::never, true).width; }

ExitCode print(const std::string& text) {
  print_out(text);
  return kMet;
}

ExitCode help_command(const CommandPage& app, const std::string& about) {
  if (about.empty()) return print(help_text(app, "", width()));
  std::vector<std::string> names;
  for (const CommandPage& command : app.commands) {
    if (command.name == about) return print(help_text(command, "holdfast ", width()));
    names.push_back(command.name);
  }
  throw BadUsage("help: unknown command `" + about + "`, expected " + sim::one_of(names) +
                 sim::did_you_mean(about, names));
}

ExitCode dispatch(int argc, char** argv) {
  CommandLine line;
  const CommandPage page = read_page(line.app);
  const std::string command = argv[0];
  try {
    parse_command_line(line, argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto used = line.app.get_subcommands();
    return help_command(page, used.empty() ? "" : used.front()->get_name());
  } catch (const CLI::CallForVersion& text) {
    return print(std::string(text.what()) + "\n");
  }
  if (*line.help) return help_command(page, line.about);
  if (*line.man) return print(man_page(page, version()));
  if (*line.completion) return print(line.shell == "bash" ? bash_completion(page) : zsh_completion(page));
  if (*line.schema) return print(scenario_schema());
  if (*line.list) return list_command(line.what);
  if (*line.check) return check_command(line.check_arguments());
  if (*line.hunt) return hunt_command(line.hunt_arguments());
  if (*line.merge) return merge_command(line.merge_arguments());
  if (*line.explore) return explore_command(line.explore_arguments());
  if (*line.show) return show_command(line.show_arguments(command));
  if (*line.replay) return replay_command(line.replay_arguments(command));
  if (*line.redis) return redis_command(line.redis_arguments());
  if (*line.external) return external_command(line.external_arguments(command));
  if (*line.proxy) {
    const ProxyArguments arguments = line.proxy_arguments();
    return arguments.what == "top" ? proxy_top_command(arguments) : proxy_command(arguments);
  }
  if (*line.locks) return locks_command(line.locks_arguments());
  if (*line.unlock) return unlock_command(line.unlock_arguments());
  if (*line.survivor) return survivor_command(line.survivor_arguments());
  if (*line.report) return report_command(line.report_arguments());
  if (*line.plot) return plot_command(line.result, line.figures);
  if (*line.bench) return bench_command(line.bench_arguments(argc, argv));
  return run_command(line.run_arguments(command));
}

ExitCode told(ExitCode code, const std::exception& error, const char* what = "") {
  print_err(fmt::format("holdfast: {}{}\n", what, for_terminal(error.what())));
  return code;
}

ExitCode guarded(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const sim::BadScenario& error) {
    print_err(for_terminal(error.what()) + "\n");
    return kUsage;
  } catch (const BadUsage& error) {
    return told(kUsage, error);
  } catch (const Missing& error) {
    return told(kMissing, error);
  } catch (const OutputError& error) {
    return told(kOutput, error);
  } catch (const std::bad_alloc&) {
    print_err(fmt::format("holdfast: {}\n", kNoMemory));
    return kInternal;
  } catch (const std::exception& error) {
    return told(kInternal, error, "internal error: ");
  }
}

}  // namespace

int run_program(int argc, char** argv) {
  prepare_output();
  tell_of_no_memory();
  const ExitCode code = guarded(argc, argv);
  try {
    finish_standard_output();
  } catch (const OutputError& error) {
    return worse(code == kUsage ? kMet : code, told(kOutput, error));
  }
  return code;
}

}  // namespace holdfast::tools
