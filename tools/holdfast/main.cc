// The `holdfast` command: arguments in, exit code out.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <thread>

#include "lib/testing/server/redis_process.h"
#include "sim/scenario/problem.h"
#include "tools/bench/bench.h"
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

std::optional<checker::Format> format_from(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto format = checker::parse_format(text);
  if (!format) {
    const std::vector<std::string> known = {"jsonl", "jepsen-edn", "jepsen-log"};
    throw BadUsage("--format: unknown format `" + text + "`, expected " + sim::one_of(known) +
                   sim::did_you_mean(text, known));
  }
  return format;
}

checker::Engine engine_from(const std::string& text) {
  const auto engine = checker::parse_engine(text);
  if (!engine) {
    const std::vector<std::string> known = {"auto", "search", "linear"};
    throw BadUsage("--engine: unknown engine `" + text + "`, expected " + sim::one_of(known) +
                   sim::did_you_mean(text, known));
  }
  return *engine;
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
  run_app->add_option(
      "--out", run.out,
      "keep history, story, timeline and server logs of the first violated seed below this folder");

  CheckArguments check;
  std::string format, engine = "auto";
  CLI::App* check_app = app.add_subcommand(
      "check",
      "judge histories of any lock or register: JSON lines, Jepsen's EDN or its old text logs.\nAlways: is "
      "the "
      "history linearizable under the model. In JSON lines also every check of `holdfast list checks` that "
      "the "
      "file has the fields for (not told-in-time, which needs the pauses; fair-order only for --model fair); "
      "--check names others, and makes a missing field count as unknown.");
  check_app->add_option("HISTORY", check.files, "files; `-` is standard input")->required();
  check_app->add_option(
      "--model,-m", check.model,
      "`holdfast list models`; default: leased-mutex where the history has valid_until, mutex "
      "where it has acquires, else cas-register or register");
  check_app
      ->add_option("--check", check.checks, "only this check (may be repeated), instead of the usual ones")
      ->allow_extra_args(false);
  check_app->add_option("--format", format, "jsonl, jepsen-edn or jepsen-log; default: by the content");
  check_app->add_flag("--keyed", check.keyed, "values are [key value] (Jepsen's independent keys)");
  check_app->add_option("--engine", engine, "auto, search or linear")->capture_default_str();
  check_app
      ->add_option("--init", check.init,
                   "a register's value at the start, the stock: a number, a text or nil")
      ->capture_default_str();
  check_app->add_option("--permits", check.permits, "of a semaphore")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32))
      ->capture_default_str();
  check_app->add_option("--entries", check.entries, "how often a reentrant lock may be entered; 0: no bound")
      ->check(CLI::NonNegativeNumber);
  check_app->add_option("--overtakes", check.overtakes, "how often a waiter may be overtaken (fair-order)")
      ->check(CLI::NonNegativeNumber);
  check_app->add_option("--memory", check.memory_mb, "MB that a search may use; beyond: unknown")
      ->check(CLI::Range(1u, 1u << 20))
      ->capture_default_str();
  check_app->add_option("--timeline", check.timeline, "draw the (first violated) history as one HTML page");
  check_app->add_option(
      "--witness", check.witness,
      "write the smallest sub-history that still violates here, in a format that this command "
      "and Knossos read; a second violation goes to F-2, and so on");
  check_app->add_flag("--ascii", check.ascii, "pictures without a character beyond ASCII");
  check_app->add_flag("--json{-}", check.json,
                      "one JSON document on standard output instead of text; --json=F: in F");
  check_app->add_flag("--keep-going", check.keep_going, "count broken lines and skip them");

  BenchArguments bench;
  CLI::App* bench_app =
      app.add_subcommand("bench",
                         "measure locks beside each other: throughput, latency, fairness, oversell under "
                         "faults, cost of scale.\n"
                         "Everything is started by the command; variants are interleaved round by round.\n"
                         "Ctrl-C ends it within about a second and keeps what is whole (exit 130).");
  std::string suites;
  for (const Suite& suite : all_suites()) {
    suites += "\n  " + std::string(suite.name) + ": " + std::string(suite.about);
  }
  bench_app->add_option("--suite", bench.suites, "only these (commas between them):" + suites)
      ->delimiter(',');
  bench_app->add_option("--locks", bench.locks, "only these of `holdfast list locks`")->delimiter(',');
  bench_app->add_option("--clients", bench.clients, "how many clients, 1 to 10000 (several: 1,50)")
      ->delimiter(',');
  bench_app->add_option("--threads", bench.threads, "clients that share one process and its connection");
  bench_app->add_option("--world", bench.world, "embedded, real or both")
      ->check(CLI::IsMember({"embedded", "real", "both"}))
      ->capture_default_str();
  bench_app->add_option("--rounds", bench.rounds, "of each suite");
  bench_app->add_option("--seconds", bench.seconds, "of one measurement");
  bench_app->add_option("--seeds", bench.seeds, "of each cell of seckill");
  bench_app->add_flag("--quick", bench.quick,
                      "fewer points, fewer rounds, shorter: all suites in three minutes, not 40");
  bench_app->add_flag("!--no-peers", bench.peers, "without redis-py and redis-semaphore");
  bench_app->add_option("--json", bench.json, "write the result here, for `holdfast plot`");

  std::string result, figures;
  CLI::App* plot_app = app.add_subcommand("plot", "draw what `holdfast bench --json` wrote, as PNG and SVG");
  plot_app->add_option("RESULT", result, "a result, or a folder of results")->required();
  plot_app->add_option("--out", figures, "folder of the figures; default: beside the result");

  std::string what;
  CLI::App* list_app =
      app.add_subcommand("list", "list locks, faults, checks, models, marks or events, one a line");
  list_app->add_option("WHAT", what, "locks | faults | checks | models | marks | events")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return kMet;
  } catch (const CLI::ParseError& error) {
    throw BadUsage(std::string(error.what()) + " (`holdfast --help` lists commands and flags)");
  }
  if (*list_app) return list_command(what);
  if (*check_app) {
    check.format = format_from(format);
    check.engine = engine_from(engine);
    return check_command(check);
  }
  if (*plot_app) return plot_command(result, figures);
  if (*bench_app) {
    bench.command = "holdfast";
    for (int i = 1; i < argc; ++i) bench.command += std::string(" ") + argv[i];
    return bench_command(bench);
  }
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
  } catch (const MissingServer& error) {
    std::fprintf(stderr, "holdfast: %s\n", error.what());
    return kMissing;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "holdfast: internal error: %s\n", error.what());
    return kInternal;
  }
}
