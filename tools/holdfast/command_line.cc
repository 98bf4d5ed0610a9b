#include "tools/holdfast/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "sim/hunt/case_file.h"
#include "sim/scenario/problem.h"
#include "sim/scenario/units.h"
#include "tools/holdfast/command_page.h"

namespace holdfast::tools {
namespace {

sim::SeedSet seeds_from(const std::string& text, const char* flag) {
  const auto seeds = sim::parse_seeds(text);
  if (!seeds) throw BadUsage(std::string(flag) + ": `" + text + "`, expected such as 7, 1..200 or random:50");
  return *seeds;
}

}  // namespace

void CommandLine::add_terminal_flags(CLI::App& command) {
  command.add_flag(
      "--ascii", ascii_,
      "no character beyond ASCII; by itself where LC_ALL, LC_CTYPE or LANG names a locale without UTF-8");
  command.add_option("--color", color_, "colour; auto: on a terminal, unless NO_COLOR is set")
      ->type_name("WHEN")
      ->check(Choice({"auto", "always", "never"}))
      ->capture_default_str();
}

CommandLine::CommandLine()
    : app("Holdfast: shows which Redis locks you can trust.\n"
          "Exit codes: 0 everything as expected, 1 not, 2 unknown, 3 one seed gave two histories, 64 bad "
          "file or flag, "
          "69 something is missing on this machine (or the port is taken), 70 internal error, 74 output "
          "cannot be written, 130 "
          "interrupted.",
          "holdfast") {
  app.set_version_flag("--version", "holdfast " + version(), "print the version");
  app.set_help_flag("-h,--help", "print this help");
  add_run();
  add_check();
  add_hunt();
  add_merge();
  add_explore();
  add_show();
  add_replay();
  add_bench();
  add_rest();
  app.require_subcommand(1);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    command->set_help_flag("-h,--help", "print this help");
}

void CommandLine::add_run() {
  run = app.add_subcommand("run",
                           "run scenario files and say whether their expectations are met\n"
                           "The last line but one is the total, the last one the trace of all runs.");
  run->add_option("FILE", run_.files,
                  "scenario files, or folders: every *.toml in them and below, in the order of their paths")
      ->required()
      ->type_name("FILE");
  run->add_option("--world", world_, "simulated and deterministic, or on redis-server processes")
      ->type_name("WORLD")
      ->check(Choice({"embedded", "real"}))
      ->capture_default_str();
  auto* one = run->add_option("--seed", seed_, "one seed")->type_name("N");
  run->add_option("--seeds", seeds_, "A..B or random:N instead of the file's own")
      ->type_name("SEEDS")
      ->excludes(one);
  run->add_option("--decisions", run_.decisions_file,
                  "decisions that differ from what the seed gives, as `hunt` writes them; the seed is theirs")
      ->type_name("FILE")
      ->excludes(one);
  run->add_option("--variant", run_.variant, "only this variant; `base` is the file without one")
      ->type_name("NAME");
  run->add_option("-j,--jobs", run_.jobs, "runs at a time")
      ->type_name("N")
      ->check(CLI::Range(1u, 256u))
      ->default_val(std::max(1u, std::thread::hardware_concurrency()));
  run->add_option("--shard", shard_,
                  "K/N: of all runs, in the order of file, variant and seed, each Nth, from the Kth; `merge` "
                  "joins the --json of all shards")
      ->type_name("K/N");
  run->add_option("--junit", run_.junit, "write a JUnit report here")->type_name("FILE");
  run->add_option("--json", run_.json, "write one JSON document here")->type_name("FILE");
  run->add_flag("--github", run_.github, "print GitHub annotations for what was unexpected");
  run->add_flag("--check-determinism", run_.check_determinism,
                "run each seed twice; exit 3 when its histories differ");
  run->add_option("--out", run_.out,
                  "keep runs below this folder, each with history, story, timeline, server logs and the line "
                  "that runs "
                  "it again")
      ->type_name("DIR");
  run->add_option("--keep", keep_,
                  "which runs --out keeps. failed: of each failed expectation the seed that shows it; "
                  "violated: and of "
                  "each other case the first violation that was expected; all: every run")
      ->type_name("WHICH")
      ->check(Choice({"failed", "violated", "all"}))
      ->capture_default_str();
  add_terminal_flags(*run);
}

void CommandLine::add_show() {
  show = app.add_subcommand("show",
                            "tell of a run that was kept\n"
                            "Prints its story, the line that runs it again, and where its timeline is.");
  show->add_option("RUN", show_.run,
                   "a folder that `run --out` wrote, one that has such folders in it, or a history")
      ->required()
      ->type_name("DIR");
  show->add_flag("--open", show_.open, "open the timeline in a browser (by xdg-open)");
  show->add_option("--timeline", show_.timeline, "write the timeline page here")->type_name("FILE");
  add_terminal_flags(*show);
}

void CommandLine::add_replay() {
  replay = app.add_subcommand(
      "replay",
      "run a failure of the embedded world again, and walk through it moment by moment\n"
      "Writes one HTML file, which loads nothing: a cursor on the run shows what each server has under the "
      "lock's keys, what each client believes, which messages are under way, and what is decided next.");
  replay
      ->add_option(
          "RUN", replay_.what,
          "a folder that `run --out` wrote, one of `hunt --out` or `explore --out`, or a scenario file")
      ->required()
      ->type_name("DIR");
  auto* one =
      replay->add_option("--seed", replay_.seed, "this seed; without it: the kept one, or the file's first")
          ->type_name("N");
  replay->add_option("--variant", replay_.variant, "of a scenario file; `base` is the file without one")
      ->type_name("NAME");
  replay
      ->add_option(
          "--decisions", replay_.decisions,
          "decisions that differ from what the seed gives; the seed is theirs. Without it and --seed: "
          "those that lie beside the file, if there are some")
      ->type_name("FILE")
      ->excludes(one);
  replay
      ->add_option("--page", replay_.page,
                   "write the page here; without it: replay.html in the folder of a kept run, else a file "
                   "named after scenario and seed")
      ->type_name("FILE");
  replay->add_flag("--open", replay_.open, "open the page in a browser (by xdg-open)");
  add_terminal_flags(*replay);
}

void CommandLine::add_rest() {
  add_plot();

  list = app.add_subcommand("list", "list what scenarios may name, one a line");
  list->add_option("WHAT", what, "of what")
      ->required()
      ->type_name("WHAT")
      ->check(Choice({"locks", "faults", "workloads", "checks", "models", "marks", "events", "recognisers"}));

  redis = app.add_subcommand("redis",
                             "serve the embedded Redis on a port of this machine\n"
                             "A test double of Redis 7.0.15 (sim/redis/README.md), on 127.0.0.1 only and in "
                             "memory only: never for data. Its clocks are the machine's. Ends with Ctrl-C, "
                             "SIGTERM or the command SHUTDOWN.");
  redis->add_option("-p,--port", redis_.port, "0: any free one; the first line printed has it")
      ->type_name("PORT")
      ->capture_default_str();
  redis->add_option("--config", redis_config_, "a setting, as CONFIG SET takes it (may be repeated)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  redis->add_option("--replicaof", redis_primary_, "follow this primary, a server of this machine")
      ->type_name("HOST:PORT");

  external =
      app.add_subcommand("external",
                         "start a test of your own lock\n"
                         "`holdfast external init DIR` writes a scenario, an adapter in Python to put "
                         "your lock into, and a workflow for continuous integration. Nothing is "
                         "overwritten.\n"
                         "`holdfast external init DIR -- PROGRAM [ARG...]` writes them for a program that is "
                         "not changed: what it does is seen by its commands to localhost:6379, or to "
                         "$HOLDFAST_REDIS_URL, which may stand in an ARG.");
  external->add_option("WHAT", external_.what, "what to do")
      ->required()
      ->type_name("WHAT")
      ->check(Choice({"init"}));
  external->add_option("DIR", external_.folder, "where; it need not exist")->required()->type_name("DIR");
  external->add_option("PROGRAM", external_.program, "a program as it is, and its arguments")
      ->type_name("PROGRAM")
      ->expected(0, -1);
  external->positionals_at_end();

  add_proxy();
  add_survivor();
  add_locks();

  schema = app.add_subcommand("schema",
                              "print the JSON schema of scenario files\n"
                              "Editors complete and check a file by it that begins with `#:schema FILE` "
                              "(scenarios/README.md).");

  completion = app.add_subcommand("completion",
                                  "print the completion script of a shell\n"
                                  "bash: eval \"$(holdfast completion bash)\" in ~/.bashrc\n"
                                  "zsh: eval \"$(holdfast completion zsh)\" in ~/.zshrc, after compinit");
  completion->add_option("SHELL", shell, "of which shell")
      ->required()
      ->type_name("SHELL")
      ->check(Choice({"bash", "zsh"}));

  man = app.add_subcommand("man",
                           "print the manual page\n"
                           "Read it by: holdfast man | man -l -");

  help = app.add_subcommand("help", "print the help of a command");
  help->add_option("COMMAND", about, "of which command; without it: the list of commands")
      ->type_name("COMMAND");
}

void CommandLine::add_proxy() {
  proxy = app.add_subcommand(
      "proxy",
      "a proxy that makes trouble, driven by the HTTP API of Toxiproxy 2\n"
      "Clients of Toxiproxy drive it; rules on Redis commands, keys and client names come "
      "on top (tools/proxy/README.md). Ends with Ctrl-C or SIGTERM. `holdfast proxy top` shows "
      "what goes through one that runs.");
  proxy->add_option("WHAT", proxy_.what, "top: look at the traffic of a proxy that runs, by its API")
      ->type_name("WHAT")
      ->check(Choice({"top"}));
  proxy
      ->add_option("--listen", proxy_.listen, "where the first proxy, `redis`, listens; port 0: any free one")
      ->type_name("HOST:PORT");
  proxy->add_option("--upstream", proxy_.upstream, "the server behind it")->type_name("HOST:PORT");
  proxy->add_option("--api", proxy_.api, "where the API listens")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  proxy->add_option("--seed", proxy_.seed, "of what is drawn")->type_name("N")->capture_default_str();
  proxy->add_flag("--anywhere", proxy_.anywhere, "it may listen where other machines reach it");
  proxy
      ->add_option("--tls-certificate", guests_.certificate_file,
                   "who connects speaks TLS, which the proxy ends with this certificate (PEM)")
      ->type_name("FILE");
  proxy->add_option("--tls-key", guests_.key_file, "its key (PEM)")->type_name("FILE");
  proxy
      ->add_option("--tls-ca", guests_.ca_file,
                   "who connects must show a certificate that this CA has signed")
      ->type_name("FILE");
  proxy->add_flag("--upstream-tls", upstream_tls_, "the servers speak TLS");
  proxy
      ->add_option("--upstream-ca", upstreams_.ca_file,
                   "the CA of their certificates (PEM); without it those that the system trusts")
      ->type_name("FILE");
  proxy
      ->add_option("--upstream-name", upstreams_.server_name,
                   "what their certificates name; without it the host of --upstream")
      ->type_name("NAME");
  proxy
      ->add_option("--upstream-certificate", upstreams_.certificate_file,
                   "the certificate that the proxy shows them (PEM)")
      ->type_name("FILE");
  proxy->add_option("--upstream-key", upstreams_.key_file, "its key (PEM)")->type_name("FILE");
  proxy
      ->add_option("--record", proxy_.record,
                   "write the history of the locks that are seen here, event by event, for `holdfast check "
                   "--follow`; `-`: on standard output, and all else on standard error")
      ->type_name("FILE");
  proxy
      ->add_option("--recogniser", proxy_.recogniser,
                   "which commands are those of a lock: one of `holdfast list recognisers`, or a file "
                   "(sim/watched/README.md); with --record set-nx, if it is not given")
      ->type_name("NAME");
  proxy->add_flag("--once", proxy_.once, "top: once, not until Ctrl-C");
  proxy->add_flag("--json", proxy_.json, "top: a JSON document each time, on a line of its own");
  proxy->add_flag("--keys", proxy_.keys, "top: the keys that are asked for most, by name");
  proxy->add_option("--interval", interval_, "top: how long from one look to the next (\"1s\")")
      ->type_name("TIME");
}

ProxyArguments CommandLine::proxy_arguments() const {
  ProxyArguments arguments = proxy_;
  const bool top = arguments.what == "top";
  const auto of = [&](bool of_top, std::initializer_list<const char*> flags) {
    for (const char* flag : flags) {
      if (top == of_top || proxy->count(flag) == 0) continue;
      throw BadUsage(std::string("proxy: ") + flag +
                     (of_top ? " is a flag of `holdfast proxy top`" : " is no flag of `holdfast proxy top`"));
    }
  };
  of(true, {"--once", "--json", "--keys", "--interval"});
  of(false, {"--listen", "--upstream", "--seed", "--anywhere", "--record", "--recogniser",
             "--tls-certificate", "--tls-key", "--tls-ca", "--upstream-tls", "--upstream-ca",
             "--upstream-name", "--upstream-certificate", "--upstream-key"});
  const TlsOptions none;
  if (guests_ != none) {
    if (guests_.certificate_file.empty() || guests_.key_file.empty())
      throw BadUsage("proxy: --tls-certificate and --tls-key go together, and --tls-ca with both");
    arguments.guests = guests_;
    arguments.guests->demand_client_certificates = !guests_.ca_file.empty();
  }
  if (upstreams_ != none && !upstream_tls_)
    throw BadUsage(
        "proxy: --upstream-ca, --upstream-name, --upstream-certificate and --upstream-key say how "
        "servers are spoken to by TLS: add --upstream-tls");
  if (upstream_tls_) arguments.upstreams = upstreams_;
  if (!interval_.empty()) {
    const auto interval = sim::parse_duration(interval_);
    if (!interval || *interval < std::chrono::milliseconds(10) || *interval > std::chrono::hours(24))
      throw BadUsage("proxy: --interval: `" + interval_ + "`, expected a time from 10ms to 24h, such as 1s");
    arguments.interval = *interval;
  }
  arguments.terminal = detect_terminal(ColorChoice::automatic, false);
  return arguments;
}

RunArguments CommandLine::run_arguments(const std::string& command) const {
  RunArguments arguments = run_;
  arguments.command = command;
  arguments.embedded = world_ == "embedded";
  if (!seed_.empty()) arguments.seeds = seeds_from(seed_, "--seed");
  if (!seeds_.empty()) arguments.seeds = seeds_from(seeds_, "--seeds");
  if (!arguments.decisions_file.empty()) {
    const sim::DecisionsFile read = sim::read_decisions(arguments.decisions_file);
    arguments.decisions = read.changes;
    if (seeds_.empty()) arguments.seeds = seeds_from(std::to_string(read.seed), "--decisions");
  }
  arguments.keep = keep_ == "all" ? Keep::all : keep_ == "violated" ? Keep::violated : Keep::failed;
  if (arguments.out.empty() && run->count("--keep") > 0)
    throw BadUsage("--keep: says what --out keeps, expected --out DIR as well");
  if (!shard_.empty()) {
    arguments.shard = parse_shard(shard_);
    if (!arguments.out.empty() && arguments.keep != Keep::all)
      throw BadUsage(
          "--shard: what is worth keeping is known when all shards are merged, expected --keep all with "
          "--out");
  }
  if (arguments.check_determinism && !arguments.embedded)
    throw BadUsage("--check-determinism: the real world is not deterministic, expected --world embedded");
  arguments.terminal = detect_terminal(parse_color(color_), ascii_);
  return arguments;
}

ShowArguments CommandLine::show_arguments(const std::string& command) const {
  ShowArguments arguments = show_;
  arguments.command = command;
  arguments.terminal = detect_terminal(parse_color(color_), ascii_);
  return arguments;
}

ReplayArguments CommandLine::replay_arguments(const std::string& command) const {
  ReplayArguments arguments = replay_;
  arguments.command = command;
  arguments.terminal = detect_terminal(parse_color(color_), ascii_);
  return arguments;
}

ExternalArguments CommandLine::external_arguments(const std::string& command) const {
  ExternalArguments arguments = external_;
  arguments.command = command;
  return arguments;
}

RedisArguments CommandLine::redis_arguments() const {
  RedisArguments arguments = redis_;
  for (const std::string& text : redis_config_) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      throw BadUsage("--config: `" + text + "`, expected KEY=VALUE such as requirepass=secret");
    arguments.settings.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  if (redis_primary_.empty()) return arguments;
  const std::size_t colon = redis_primary_.rfind(':');
  const std::string port = colon == std::string::npos ? "" : redis_primary_.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), arguments.primary.port);
  if (colon == 0 || port.empty() || error != std::errc() || end != port.data() + port.size() ||
      arguments.primary.port == 0)
    throw BadUsage("--replicaof: `" + redis_primary_ + "`, expected HOST:PORT such as 127.0.0.1:6379");
  arguments.primary.host = redis_primary_.substr(0, colon);
  return arguments;
}

namespace {

// The flags of `app`, as they are written.
std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const OptionPage& option : read_page(app).options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// Before CLI11 looks, which would complain first about what is missing.
void refuse_unknown(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(command->get_name());
  const std::string first = argc > 1 ? argv[1] : "";
  const bool is_command = std::find(commands.begin(), commands.end(), first) != commands.end();
  if (first.empty())
    throw BadUsage("no command is given, expected " + sim::one_of(commands) +
                   " (`holdfast help` tells of them)");
  if (!is_command && !first.starts_with("-")) {
    throw BadUsage("unknown command `" + first + "`, expected " + sim::one_of(commands) +
                   sim::did_you_mean(first, commands) + " (`holdfast help` tells of them)");
  }
  const CLI::App& own = is_command ? *app.get_subcommand(first) : app;
  const std::vector<std::string> flags = flags_of(own);
  for (int i = is_command ? 2 : 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return;
    if (!word.starts_with("--")) continue;
    const std::string flag(word.substr(0, word.find('=')));
    if (std::find(flags.begin(), flags.end(), flag) != flags.end()) continue;
    const std::string command = is_command ? "holdfast " + first : "holdfast";
    throw BadUsage("unknown flag `" + flag + "` of `" + command + "`" + sim::did_you_mean(flag, flags) +
                   " (`" + command + " --help` lists them)");
  }
}

}  // namespace

void parse_command_line(CommandLine& line, int argc, const char* const* argv) {
  refuse_unknown(line.app, argc, argv);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success&) {  // --help, --version
    throw;
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    const auto used = line.app.get_subcommands();
    throw BadUsage(text + " (`holdfast " + (used.empty() ? "" : used.front()->get_name() + " ") +
                   "--help` lists arguments and flags)");
  }
}

}  // namespace holdfast::tools
