// `holdfast run`: reads every file, then runs every scenario over its seeds, then tells.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>

#include "lib/testing/server/temporary_folder.h"
#include "sim/world/trace.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/memory.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/progress.h"
#include "tools/holdfast/reports.h"
#include "tools/holdfast/run_report.h"
#include "tools/holdfast/runner.h"

namespace holdfast::tools {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // written by a signal's handler
void on_interrupt(int) { interrupted = true; }

// A failed case first. What was expected is told when one file is run.
CaseResult* case_to_tell(const Plan& plan) {
  for (const auto& result : plan.cases) {
    if (result->unexpected() && result->telling()) return result.get();
  }
  if (plan.many) return nullptr;
  for (const auto& result : plan.cases) {
    if (!result->unexpected() && result->telling()) return result.get();
  }
  return nullptr;
}

std::string folder_of(const CaseResult& result, std::uint64_t seed) {
  for (const KeptFolder& one : result.kept) {
    if (one.seed == seed) return one.path;
  }
  return "";
}

bool any_unexpected(const Plan& plan) {
  for (const auto& result : plan.cases) {
    if (result->unexpected()) return true;
  }
  return false;
}

void print_story(const Plan& plan, Runner& runner, const Terminal& terminal) {
  CaseResult* const result = case_to_tell(plan);
  if (result == nullptr || (any_unexpected(plan) && !result->unexpected())) return;
  const Telling telling = *result->telling();
  try {
    const auto [run, history] = runner.recall(*result, telling);
    print_out("\n" + story_report(run, history, folder_of(*result, telling.seed), terminal));
  } catch (const std::exception& error) {
    print_out(fmt::format("\n{}, seed {}: it cannot be told: {}\n", for_terminal(result->scenario.title()),
                          telling.seed, for_terminal(error.what())));
  }
}

// Does `what`. What goes wrong is told in a line and costs nothing else. Returns whether it went well.
bool attempt(const std::function<void()>& what, ExitCode& code) {
  try {
    if (try_to_write(what)) return true;
    code = worse(code, kOutput);
  } catch (const std::exception& error) {
    print_err(fmt::format("holdfast: internal error: {}\n", for_terminal(error.what())));
    code = worse(code, kInternal);
  }
  return false;
}

void require_writable(const RunArguments& arguments) {
  if (!arguments.out.empty()) require_writable_folder("--out", arguments.out);
  if (!arguments.junit.empty()) require_writable_file("--junit", arguments.junit);
  if (!arguments.json.empty()) require_writable_file("--json", arguments.json);
}

}  // namespace

ExitCode run_command(const RunArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const Plan plan = make_plan(arguments);
  require_writable(arguments);
  std::uint64_t total = 0;
  for (const auto& result : plan.cases) total += result->planned();

  interrupted = false;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::unique_ptr<TemporaryFolder> folder;
  if (!arguments.embedded) folder = std::make_unique<TemporaryFolder>();
  const std::string servers = folder ? folder->path() : "";
  ExitCode code = kMet;
  Progress progress(total, "runs");
  Runner runner(plan.cases, arguments, servers, interrupted, progress);
  runner.on_settled = [&](const CaseResult& result) {
    const std::string text = case_report(result, arguments.terminal, plan.many);
    if (!text.empty()) progress.clear();
    print_out(text);
  };
  const MemoryReserve reserve;
  runner.run();
  progress.clear();
  const bool short_of_memory = memory_is_short();
  print_out(not_run_report(plan, arguments.terminal));
  if (short_of_memory) {
    print_err(fmt::format("holdfast: {}\n", kNoMemory));
    code = worse(code, kInternal);
  }
  const bool kept = short_of_memory || attempt([&] { runner.keep(); }, code);
  if (!short_of_memory) print_story(plan, runner, arguments.terminal);

  sim::Trace trace;
  for (const auto& result : plan.cases) {
    if (result->unexpected()) code = worse(code, result->code());
    for (std::size_t i = 0; i < result->traces.size(); ++i) {
      if (result->mine(i)) trace.add(result->traces[i]);
    }
  }
  if (interrupted) code = worse(code, kInterrupted);
  if (const std::string text = unexpected_report(plan, arguments); !text.empty()) print_out("\n" + text);
  if (const std::string text = kept_report(plan, arguments, kept); !text.empty()) print_out("\n" + text);

  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!arguments.junit.empty())
    attempt([&] { write_file(arguments.junit, junit_xml(plan, arguments, seconds.count())); }, code);
  if (!arguments.json.empty())
    attempt(
        [&] { write_file(arguments.json, json_document(plan, arguments, trace.digest(), seconds.count())); },
        code);
  if (arguments.github) print_out(github_annotations(plan, arguments));
  const std::string cut = interrupted               ? "interrupted"
                          : short_of_memory         ? "no memory left"
                          : arguments.shard.of == 1 ? ""
                                                    : "shard " + arguments.shard.to_string();
  print_out(fmt::format("\n{}trace {:016x}\n", total_line(plan, seconds.count(), cut), trace.digest()));
  return code;
}

}  // namespace holdfast::tools
