// `holdfast run`: reads every file, then runs every scenario over its seeds, then tells.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>

#include "lib/testing/server/temporary_folder.h"
#include "sim/world/trace.h"
#include "tools/holdfast/commands.h"
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
    fmt::print("\n{}", story_report(run, history, folder_of(*result, telling.seed), terminal));
  } catch (const std::exception& error) {
    fmt::print("\n{}, seed {}: it cannot be told: {}\n", result->scenario.title(), telling.seed,
               error.what());
  }
}

// Does `what`; a place that cannot be written is told, and costs nothing else.
void write(const std::function<void()>& what, ExitCode& code) {
  try {
    what();
  } catch (const OutputError& error) {
    fmt::print(stderr, "holdfast: {}\n", error.what());
    code = worse(code, kOutput);
  }
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
  for (const auto& result : plan.cases) total += result->seeds.size();

  interrupted = false;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::unique_ptr<TemporaryFolder> folder;
  if (!arguments.embedded) folder = std::make_unique<TemporaryFolder>();
  const std::string servers = folder ? folder->path() : "";
  ExitCode code = kMet;
  Progress progress(total, "runs");
  Runner runner(plan.cases, arguments, servers, interrupted, progress);
  write([&] { runner.run(); }, code);
  progress.clear();
  write([&] { runner.keep(); }, code);

  sim::Trace trace;
  for (const auto& result : plan.cases) {
    fmt::print("{}", case_report(*result, arguments.terminal, plan.many));
    for (const std::uint64_t one : result->traces) trace.add(one);
  }
  fmt::print("{}", not_run_report(plan, arguments.terminal));
  print_story(plan, runner, arguments.terminal);
  for (const auto& result : plan.cases) {
    if (result->unexpected()) code = worse(code, result->code());
  }
  if (interrupted) code = worse(code, kInterrupted);
  if (const std::string text = unexpected_report(plan, arguments); !text.empty()) fmt::print("\n{}", text);
  if (const std::string text = kept_report(plan, arguments); !text.empty()) fmt::print("\n{}", text);

  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!arguments.junit.empty())
    write([&] { write_file(arguments.junit, junit_xml(plan, arguments, seconds.count())); }, code);
  if (!arguments.json.empty())
    write([&] { write_file(arguments.json, json_document(plan, arguments, trace.digest())); }, code);
  if (arguments.github) fmt::print("{}", github_annotations(plan, arguments));
  fmt::print("\n{}trace {:016x}\n", total_line(plan, seconds.count(), interrupted), trace.digest());
  return code;
}

}  // namespace holdfast::tools
