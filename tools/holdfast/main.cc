// The `holdfast` command: arguments in, exit code out.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <thread>

#include "sim/cluster/redis_process.h"
#include "sim/scenario/problem.h"
#include "tools/holdfast/commands.h"

namespace {

using namespace holdfast;
using namespace holdfast::tools;

sim::SeedSet seeds_from(const std::string& text, const char* flag) {
  const auto seeds = sim::parse_seeds(text);
  if (!seeds) {
    throw BadUsage(std::string(flag) + ": `" + text + "`, expected such as 7, 1..200 or random:50");
  }
  return *seeds;
}

ExitCode dispatch(int argc, char** argv) {
  CLI::App app{
      "Holdfast: proves which Redis locks you can trust.\nExit codes: 0 met, 1 failed, 2 unknown, 3 not "
      "deterministic, "
      "64 bad file or flag, 69 something is missing, 70 internal error, 130 interrupted.",
      "holdfast"};
  app.require_subcommand(1);

  RunArguments run;
  std::string world = "embedded", seed, seeds;
  CLI::App* run_app =
      app.add_subcommand("run", "run scenario files and say whether their expectations are met");
  run_app->add_option("FILE", run.files, "scenario files, or folders of them")->required();
  run_app
      ->add_option("--world", world, "embedded (simulated, deterministic) or real (redis-server processes)")
      ->check(CLI::IsMember({"embedded", "real"}))
      ->capture_default_str();
  auto* one = run_app->add_option("--seed", seed, "one seed");
  run_app->add_option("--seeds", seeds, "A..B or random:N instead of the file's own")->excludes(one);
  run_app->add_option("--variant", run.variant, "only this variant; `base` is the file without one");
  run_app->add_option("--jobs,-j", run.jobs, "runs at a time")
      ->check(CLI::Range(1u, 256u))
      ->default_val(std::max(1u, std::thread::hardware_concurrency()));
  run_app->add_option("--junit", run.junit, "write a JUnit report here");
  run_app->add_option("--json", run.json, "write one JSON document here");
  run_app->add_flag("--github", run.github, "print GitHub annotations for what failed");
  run_app->add_flag("--check-determinism", run.check_determinism,
                    "run each seed twice; exit 3 when its histories differ");
  run_app->add_option("--out", run.out,
                      "keep history, story and server logs of the first violated seed below this folder");

  std::string what;
  CLI::App* list_app = app.add_subcommand("list", "list locks, faults, checks, marks or events, one a line");
  list_app->add_option("WHAT", what, "locks | faults | checks | marks | events")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return kMet;
  } catch (const CLI::ParseError& error) {
    throw BadUsage(std::string(error.what()) + " (`holdfast --help` lists commands and flags)");
  }
  if (*list_app) return list_command(what);
  run.embedded = world == "embedded";
  if (!seed.empty()) run.seeds = seeds_from(seed, "--seed");
  if (!seeds.empty()) run.seeds = seeds_from(seeds, "--seeds");
  if (run.check_determinism && !run.embedded) {
    throw BadUsage("--check-determinism: the real world is not deterministic, expected --world embedded");
  }
  return run_command(run);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const sim::BadScenario& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kUsage;
  } catch (const BadUsage& error) {
    std::fprintf(stderr, "holdfast: %s\n", error.what());
    return kUsage;
  } catch (const sim::MissingServer& error) {
    std::fprintf(stderr, "holdfast: %s\n", error.what());
    return kMissing;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "holdfast: internal error: %s\n", error.what());
    return kInternal;
  }
}
