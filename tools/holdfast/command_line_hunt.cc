// The flags of `holdfast hunt` and `holdfast explore`.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "sim/scenario/units.h"
#include "tools/holdfast/command_line.h"
#include "tools/holdfast/command_page.h"

namespace holdfast::tools {

void CommandLine::add_hunt() {
  hunt = app.add_subcommand("hunt",
                            "look for broken promises of a lock, in cases that nobody wrote\n"
                            "Each case is drawn: topology, options, clients, times, network, faults and when "
                            "they act; what a scenario "
                            "file says stays. Cases that came through something new are changed and gone on "
                            "with. What is found is made "
                            "small and written as a scenario file that shows it, with a variant in which the "
                            "promise holds. One seed and "
                            "a number of runs give one hunt, whatever --jobs is, and however often it was "
                            "interrupted and gone on with. Exit 1: a promise was broken.");
  hunt->add_option("LOCK", hunt_.what,
                   "a kind of `holdfast list locks`, or a scenario file; not with --resume")
      ->type_name("LOCK");
  auto* time =
      hunt->add_option("--for", hunt_time_, "how long it hunts; without --runs: 60s")->type_name("TIME");
  hunt->add_option("--runs", hunt_.runs, "how many cases, in generations of 64")
      ->type_name("N")
      ->excludes(time);
  hunt->add_option("--seed", hunt_.seed, "of what is drawn")->type_name("N")->capture_default_str();
  hunt->add_option("-j,--jobs", hunt_.jobs, "runs at a time")
      ->type_name("N")
      ->check(CLI::Range(1u, 256u))
      ->default_val(std::max(1u, std::thread::hardware_concurrency()));
  hunt->add_option("--out", hunt_.out,
                   "write what is found into this folder, and hunt.json, all that --resume and `merge` need")
      ->type_name("DIR");
  hunt->add_option("--json", hunt_.json, "write hunt.json here")->type_name("FILE");
  hunt->add_option("--resume", hunt_.resume,
                   "go on with what an earlier hunt left: a folder of --out or a file of --json, which are "
                   "written anew unless other ones are named. --runs: with the earlier ones; without it and "
                   "--for: until all is run that was asked for")
      ->type_name("DIR");
  hunt->add_option(
          "--bounds", hunt_.bounds,
          "what may go wrong. promised: what the lock says that it bears (hardened locks); anything: also "
          "grants lost in failovers, servers that forget, clocks that jump (published designs)")
      ->type_name("BOUNDS")
      ->check(Choice({"promised", "anything"}));
  hunt->add_option("--real", hunt_.real,
                   "run each find so often on redis-server processes as well, and say how often it shows")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000}));
  hunt->add_option("--shard", hunt_shard_,
                   "K/N: of all runs each Nth, from the Kth; needs --no-feedback and --runs")
      ->type_name("K/N");
  hunt->add_flag("!--no-feedback", hunt_.feedback, "every case is drawn from nothing");
  hunt->add_flag("!--no-targets", hunt_.targets,
                 "faults act at drawn times alone, not at events and messages");
  hunt->add_flag("!--no-swarm", hunt_.swarm, "every kind of fault in every case");
  hunt->add_flag("!--no-shrink", hunt_.shrink, "what is found stays as it is");
  add_terminal_flags(*hunt);
}

void CommandLine::add_merge() {
  merge = app.add_subcommand(
      "merge",
      "join what several processes or machines did\n"
      "Of `run --shard` and of `hunt --no-feedback --shard`: all shards of one run or hunt; "
      "the result is that of one, but for times. Of hunts with feedback, each with a --seed "
      "of its own: the union of corpora, coverage and finds, which `hunt --resume` goes on "
      "from. What does not fit together is refused. Exit codes are those of one run or hunt.");
  merge->add_option("RESULT", merge_.what, "files of --json, or folders: every *.json in them")
      ->required()
      ->type_name("RESULT");
  merge->add_option("--out", merge_.out, "hunts: write what was found into this folder, and hunt.json")
      ->type_name("DIR");
  merge->add_option("--json", merge_.json, "write the result here")->type_name("FILE");
  merge->add_option("--junit", merge_.junit, "runs: write a JUnit report here")->type_name("FILE");
  merge->add_flag("--github", merge_.github, "runs: print GitHub annotations for what was unexpected");
  merge->add_option("-j,--jobs", merge_.jobs, "hunts: runs at a time, where a find is not small yet")
      ->type_name("N")
      ->check(CLI::Range(1u, 256u))
      ->default_val(std::max(1u, std::thread::hardware_concurrency()));
  add_terminal_flags(*merge);
}

MergeArguments CommandLine::merge_arguments() const {
  MergeArguments arguments = merge_;
  arguments.terminal = detect_terminal(parse_color(color_), ascii_);
  return arguments;
}

namespace {

// A number, or "all".
CLI::Option* add_bound(CLI::App& app, const std::string& name, std::uint32_t& bound, const char* about) {
  return app
      .add_option_function<std::string>(
          name,
          [&bound, name](const std::string& text) {
            const bool all = text == "all";
            std::uint32_t number = 0;
            if (!all && (!CLI::detail::lexical_cast(text, number) || number > 1000))
              throw CLI::ValidationError(name, "`" + text + "` is no bound, expected 0 to 1000, or all");
            bound = all ? UINT32_MAX : number;
          },
          about)
      ->type_name("N|all");
}

}  // namespace

void CommandLine::add_explore() {
  explore = app.add_subcommand("explore",
                               "run a small scenario in every way in which few things go otherwise\n"
                               "Usual is the shortest time of each message and pause, the first of the tasks "
                               "that can run, and the last "
                               "place of a fault, which may lie beyond the end. Each message may take "
                               "longer, another task may go on, a "
                               "fault may act elsewhere (nth = \"1..40\"): first one of these, then two, up "
                               "to --deviations. Orders that come to the same are run once. It ends at "
                               "the first broken promise, which has the fewest, or says that there is none "
                               "in any of these runs, and for what that holds. Exit 1: "
                               "a promise was broken.");
  explore->add_option("FILE", explore_.file, "a scenario file; its base is explored")
      ->required()
      ->type_name("FILE");
  add_bound(*explore, "--deviations", explore_.deviations, "how many things may go otherwise in one run")
      ->default_str("2");
  add_bound(*explore, "--orders", explore_.orders, "of these, other tasks that go first")->default_str("all");
  add_bound(*explore, "--late", explore_.times, "of these, longer times of messages and pauses")
      ->default_str("all");
  add_bound(*explore, "--faults", explore_.faults, "of these, faults that act elsewhere")->default_str("all");
  explore->add_flag("!--no-twice", explore_.twice,
                    "a time is the shortest or the longest of its range, never twice the shortest");
  explore->add_flag("!--no-reduction", explore_.reduce,
                    "run all orders, to the end, also those that come to the same (to compare)");
  explore->add_option("--runs", explore_.runs, "the most; then it is not complete")->type_name("N");
  explore->add_option("--seed", explore_.seed, "of draws that are not explored: names of owners, jitter")
      ->type_name("N")
      ->capture_default_str();
  explore->add_option("-j,--jobs", explore_.jobs, "runs at a time")
      ->type_name("N")
      ->check(CLI::Range(1u, 256u))
      ->default_val(std::max(1u, std::thread::hardware_concurrency()));
  explore->add_option("--out", explore_.out, "write the run that breaks a promise into this folder")
      ->type_name("DIR");
  auto* page =
      explore
          ->add_option("--page", explore_.page,
                       "write the tree of what was run as one HTML page to walk through by hand, "
                       "which loads nothing: at each "
                       "decision what else it may come to, which run that is and how it ends, or why "
                       "it need not be run; the first runs and the one that breaks a promise with the "
                       "cursor of `replay`")
          ->type_name("FILE");
  explore
      ->add_option("--show", explore_.shown, "these runs, too, with that cursor: their numbers on the page")
      ->type_name("RUN")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->needs(page);
  explore->add_flag("--open", explore_.open, "open the page in a browser (by xdg-open)")->needs(page);
  add_terminal_flags(*explore);
}

ExploreArguments CommandLine::explore_arguments() const {
  ExploreArguments arguments = explore_;
  arguments.terminal = detect_terminal(parse_color(color_), ascii_);
  return arguments;
}

HuntArguments CommandLine::hunt_arguments() const {
  HuntArguments arguments = hunt_;
  if (!hunt_time_.empty()) {
    arguments.time = sim::parse_duration(hunt_time_);
    if (!arguments.time || arguments.time->count() <= 0)
      throw BadUsage("--for: `" + hunt_time_ + "` is no time, expected one such as 60s");
  }
  if (arguments.what.empty() && arguments.resume.empty())
    throw BadUsage(
        "hunt: what is hunted is not given, expected a lock of `holdfast list locks`, a scenario "
        "file, or --resume");
  if (!arguments.resume.empty()) {
    if (!arguments.what.empty())
      throw BadUsage("--resume: the earlier hunt says what is hunted, expected no `" + arguments.what + "`");
    for (const char* const flag :
         {"--seed", "--bounds", "--shard", "--no-feedback", "--no-targets", "--no-swarm", "--no-shrink"}) {
      if (hunt->count(flag) > 0)
        throw BadUsage(std::string("--resume: the earlier hunt's own is kept, expected no ") + flag);
    }
  }
  if (!hunt_shard_.empty()) {
    arguments.shard = parse_shard(hunt_shard_);
    if (arguments.feedback || !arguments.runs)
      throw BadUsage(
          "--shard: shards share nothing while they hunt, expected --no-feedback and --runs as well");
  }
  arguments.terminal = detect_terminal(parse_color(color_), ascii_);
  return arguments;
}

}  // namespace holdfast::tools
