// The flags of `holdfast check`.
#include <string>
#include <vector>

#include "checker/checks/check.h"
#include "checker/linearizability/models/model.h"
#include "sim/scenario/units.h"
#include "tools/holdfast/command_line.h"
#include "tools/holdfast/command_page.h"

namespace holdfast::tools {
namespace {

std::vector<std::string> check_names() {
  std::vector<std::string> names;
  for (const checker::Check* check : checker::all_checks()) names.emplace_back(check->name());
  return names;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const checker::ModelKind& model : checker::all_models()) names.emplace_back(model.name);
  return names;
}

}  // namespace

void CommandLine::add_check() {
  check = app.add_subcommand(
      "check",
      "judge histories of any lock or register\n"
      "They may be JSON lines, Jepsen's EDN or its old text logs. Always asked: is the history linearizable "
      "under the "
      "model. In JSON lines also every check of `holdfast list checks` that the file has the fields for (not "
      "told-in-time, which needs the pauses; fair-order only for --model fair); --check names others, and "
      "makes a "
      "missing field count as unknown.");
  check->add_option("HISTORY", check_.files, "files; `-` is standard input")->required()->type_name("FILE");
  check
      ->add_option("-m,--model", check_.model,
                   "of `holdfast list models`; without it: that of the run, else it is guessed from the "
                   "functions and fields of the history, and the report says why")
      ->type_name("MODEL")
      ->check(Choice(model_names()));
  check
      ->add_option("--check", check_.checks,
                   "only this check (may be repeated), instead of those of the run and the usual ones")
      ->type_name("CHECK")
      ->check(Choice(check_names()))
      ->allow_extra_args(false);
  check->add_option("--format", format_, "without it: by the content")
      ->type_name("FORMAT")
      ->check(Choice({"jsonl", "jepsen-edn", "jepsen-log"}));
  check
      ->add_option(
          "--expect", check_.expect,
          "judge by these questions and exit 0 if all are answered as expected: a file like the header "
          "of a history that `run` kept, or such a history. Without it the header of the history "
          "itself says what else is asked, and a violation is exit 1 whatever was expected")
      ->type_name("FILE");
  check->add_flag("--keyed", check_.keyed, "values are [key value] (Jepsen's independent keys)");
  check->add_option("--ignore", check_.ignored, "events of this function do not matter (may be repeated)")
      ->type_name("F");
  check->add_option("--engine", engine_, "how linearizability is decided")
      ->type_name("ENGINE")
      ->check(Choice({"auto", "search", "linear"}))
      ->capture_default_str();
  check
      ->add_option("--init", check_.init,
                   "a register's value at the start, the stock: a number, a text or nil")
      ->type_name("VALUE")
      ->capture_default_str();
  check->add_option("--permits", check_.permits, "of a semaphore; without it and without `resize`: 1")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
  check->add_option("--entries", check_.entries, "how often a reentrant lock may be entered; 0: no bound")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  check->add_option("--overtakes", check_.overtakes, "how often a waiter may be overtaken (fair-order)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  check->add_option("--memory", check_.memory_mb, "MB that a search may use; beyond: unknown")
      ->type_name("MB")
      ->check(CLI::Range(1u, 1u << 20))
      ->capture_default_str();
  check
      ->add_option(
          "--timeout", timeout_,
          "how long one history may be searched (\"30s\"); beyond: unknown, and what is known. Ctrl-C "
          "does the same at once (exit 130)")
      ->type_name("TIME");
  check->add_option("--timeline", check_.timeline, "draw the (first violated) history as one HTML page")
      ->type_name("FILE");
  check
      ->add_option("--witness", check_.witness,
                   "write the smallest sub-history that still violates here, in a format that this command "
                   "and Knossos "
                   "read; a second violation goes to F-2, and so on")
      ->type_name("FILE");
  check->add_flag("--json{-}", check_.json,
                  "one JSON document on standard output instead of text; --json=F: in F");
  check->add_flag("--keep-going", check_.keep_going, "count broken lines and skip them");
  check->add_flag(
      "--follow", check_.follow,
      "judge a history of JSON lines while it grows (`holdfast proxy --record`): end at the first "
      "violation (exit 1), when its writer ends, or by Ctrl-C (130), and say what was found");
  add_terminal_flags(*check);
}

CheckArguments CommandLine::check_arguments() const {
  CheckArguments arguments = check_;
  if (!format_.empty()) arguments.format = checker::parse_format(format_);
  arguments.engine = *checker::parse_engine(engine_);
  if (!timeout_.empty()) {
    arguments.timeout = sim::parse_duration(timeout_);
    if (!arguments.timeout || arguments.timeout->count() <= 0)
      throw BadUsage("--timeout: `" + timeout_ + "` is no time, expected one such as 30s");
  }
  arguments.terminal = detect_terminal(parse_color(color_), ascii_);
  return arguments;
}

}  // namespace holdfast::tools
