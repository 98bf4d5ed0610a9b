// The flags of `bench`, `plot` and `report`: what is measured, and what is made of it.
#include <fmt/format.h>

#include "tools/bench/metric_table.h"
#include "tools/holdfast/command_line.h"
#include "tools/holdfast/command_page.h"

namespace holdfast::tools {

void CommandLine::add_bench() {
  bench = app.add_subcommand(
      "bench",
      "measure locks beside each other: throughput, latency, fairness, oversell under faults, "
      "cost of scale\n"
      "Everything is started by the command; variants are interleaved round by round.\n"
      "Ctrl-C ends it within about a second and keeps what is whole (exit 130). With --compare, exit 1 means "
      "that something is worse by more than chance explains, and 2 that nothing could be compared.");
  std::string about;
  std::vector<std::string> suites;
  for (const Suite& suite : all_suites()) {
    about += "\n  " + std::string(suite.name) + ": " + suite_info(suite.name).about;
    suites.emplace_back(suite.name);
  }
  bench->add_option("--suite", bench_.suites, "only these (commas between them):" + about)
      ->type_name("SUITE")
      ->check(Choice(suites))
      ->delimiter(',');
  bench->add_option("--locks", bench_.locks, "only these of `holdfast list locks`")
      ->type_name("LOCK")
      ->delimiter(',');
  bench->add_option("--clients", bench_.clients, "how many clients, 1 to 10000 (several: 1,50)")
      ->type_name("N")
      ->delimiter(',');
  bench
      ->add_option("--hold", bench_.hold_ms,
                   "contended: ms inside the lock, 0 to 10000 (several: 1,1000); 0, 1 and 10 without it")
      ->type_name("MS")
      ->delimiter(',');
  bench->add_option("--threads", bench_.threads, "clients that share one process and its connection")
      ->type_name("N");
  bench->add_option("--world", bench_.world, "where")
      ->type_name("WORLD")
      ->check(Choice({"embedded", "real", "both"}))
      ->capture_default_str();
  bench->add_option("--rounds", bench_.rounds, "of each suite")->type_name("N");
  bench->add_option("--seconds", bench_.seconds, "of one measurement")->type_name("S");
  bench->add_option("--seeds", bench_.seeds, "of each cell of seckill and oversell")->type_name("N");
  bench->add_flag("--quick", bench_.quick,
                  "fewer points, fewer rounds, shorter: all suites in four minutes, not 105");
  bench->add_flag("!--no-peers", bench_.peers, "without the locks of other libraries");
  bench->add_option("--json", bench_.json, "write the result here, for `holdfast plot`")->type_name("FILE");
  bench
      ->add_option("--out", bench_.out,
                   "seckill, oversell: keep of each lock, protection and fault the first sale that oversold "
                   "below this "
                   "folder, as `run --out` does, for `holdfast report`")
      ->type_name("DIR");
  bench
      ->add_option("--compare", bench_.compare,
                   "an older result: what is measured is compared with it, row by row, with intervals. A "
                   "second FILE is the newer one: then nothing is measured. A folder of results is one, too; "
                   "--suite, --locks and --world choose rows")
      ->type_name("FILE")
      ->expected(1, 2);
}

void CommandLine::add_plot() {
  plot = app.add_subcommand("plot", "draw what `holdfast bench --json` wrote, as PNG and SVG");
  plot->add_option("RESULT", result, "a result, or a folder of results")->required()->type_name("FILE");
  plot->add_option("--out", figures, "folder of the figures; without it: beside the result")
      ->type_name("DIR");

  report = app.add_subcommand(
      "report",
      "make one page of a folder of results\n"
      "What `run --json`, `run --out` and `bench --json` left in the folder and below: the answer "
      "first, which lock met which fault with the story and timeline behind it, tables, plots, and of "
      "two results of a benchmark the difference. One HTML file, which loads nothing.");
  report->add_option("DIR", report_.folder, "the folder")->required()->type_name("DIR");
  report->add_option("--page", report_.page, "write the page here; without it: report.html in the folder")
      ->type_name("FILE");
  report->add_flag("--open", report_.open, "open the page in a browser (by xdg-open)");
}

BenchArguments CommandLine::bench_arguments(int argc, const char* const* argv) const {
  BenchArguments arguments = bench_;
  arguments.command = "holdfast";
  for (int i = 1; i < argc; ++i) arguments.command += std::string(" ") + argv[i];
  arguments.terminal = detect_terminal(ColorChoice::automatic, false);
  if (arguments.compare.size() < 2) return arguments;
  for (const char* flag : {"--clients", "--hold", "--threads", "--rounds", "--seconds", "--seeds", "--quick",
                           "--no-peers", "--json", "--out"}) {
    if (bench->count(flag) > 0)
      throw BadUsage(
          fmt::format("{}: says how to measure, and with two files after --compare nothing is "
                      "measured; expected one file, or no {}",
                      flag, flag));
  }
  return arguments;
}

}  // namespace holdfast::tools
