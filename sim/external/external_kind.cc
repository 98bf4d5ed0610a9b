// What `external` registers of itself: keys, checks, its lock.
#include <filesystem>
#include <system_error>

#include "sim/external/external.h"
#include "sim/external/external_lock.h"
#include "sim/external/secrets.h"
#include "sim/external/variables.h"

#include "sim/client/workload_kind.h"

namespace holdfast::sim {
namespace {

constexpr std::string_view kCommand = "command";

std::optional<WorkloadProblem> problem_of(const WorkloadOptions& options, const LockKind&) {
  const auto* const command = get<std::vector<std::string>>(options.own, kCommand);
  if (command == nullptr || command->empty() || command->front().empty()) {
    return WorkloadProblem{.key = kCommand,
                           .what =
                               "`command` is empty, expected a program and its arguments, such as "
                               "[\"python3\", \"my_lock.py\"]"};
  }
  if (options.own.contains("restart") && !get_or(options.own, "may_fail", false)) {
    return WorkloadProblem{
        .key = "restart", .what = "`restart` starts again what may fail, expected may_fail = true beside it"};
  }
  for (const char* const key : {"command", "environment"}) {
    const auto* const words = get<std::vector<std::string>>(options.own, key);
    if (words == nullptr) continue;
    for (const std::string& word : *words) {
      const std::string unknown = unknown_variable(word);
      if (unknown.empty()) continue;
      return WorkloadProblem{.key = key,
                             .what = "`" + std::string(key) + "` names `$" + unknown +
                                     "`, which programs do not have, expected such as $HOLDFAST_REDIS_URL, "
                                     "$HOLDFAST_REDIS_HOST, $HOLDFAST_REDIS_PORT or $HOLDFAST_KEYS"};
    }
  }
  return std::nullopt;
}

}  // namespace

ExternalOptions external_options(const WorkloadOptions& options) {
  const auto& own = options.own;
  ExternalOptions external;
  external.command = get_or(own, kCommand, external.command);
  external.environment = get_or(own, "environment", external.environment);
  external.port = get_or(own, "port", external.port);
  external.limit = get_or(own, "limit", external.limit);
  external.endless = get_or(own, "endless", external.endless);
  external.may_fail = get_or(own, "may_fail", external.may_fail);
  external.restart = get_or(own, "restart", external.restart);
  external.output =
      static_cast<std::uint64_t>(get_or(own, "output", static_cast<std::int64_t>(external.output)));
  external.keys = get_or(own, "keys", external.keys);
  external.stock = get_or(own, "stock", external.stock);
  return external;
}

const LockKind& external_lock_kind() {
  static const LockKind kKind{
      .name = "external",
      .about = "a lock of the program's own",
      .promises_validity = true,
      .counts_permits = true,
      .make = nullptr,
  };
  return kKind;
}

std::string missing_program(const WorkloadOptions& options) {
  const WorkloadKind* const kind = find_workload_kind(options.kind);
  if (kind == nullptr || !kind->programs) return "";
  const std::string name = external_options(options).command.front();
  if (!path_of_program(name, options.folder).empty()) return "";
  const auto path = std::filesystem::path(options.folder) / name;
  std::error_code error;
  if (name.find('/') != std::string::npos && std::filesystem::is_regular_file(path, error)) {
    return "`" + name +
           "`, which `command` names, is not executable, expected chmod +x, or its interpreter before it in "
           "`command`";
  }
  return "there is no program `" + Secrets().masked(name) +
         "` on this machine, which `command` names; install it (" +
         "tools/setup/setup --clients has those of scenarios/external)";
}

WorkloadKind external_workload() {
  using Type = Setting::Type;
  WorkloadKind kind{
      .name = "external",
      .about = "programs with locks of their own, one process for each client; real world only"};
  kind.keys = {
      {.name = kCommand,
       .type = Type::texts,
       .required = true,
       .about = "the program and its arguments, started without a shell in the folder of the scenario file"},
      {.name = "judge",
       .type = Type::text,
       .about =
           "how it is known what they do: told: they print it as JSON lines; watched: by what they send to "
           "Redis and are answered; both: told, and a mark says whether the other way agrees (told)",
       .choices = {"told", "watched", "both"}},
      {.name = "recogniser",
       .type = Type::text,
       .about = "watched, both: the layout of their lock, `holdfast list recognisers`; absent: the file's "
                "[recogniser]"},
      {.name = "environment",
       .type = Type::texts,
       .about = "variables beside the usual ones: \"NAME\" as holdfast has it, or \"NAME=VALUE\", in which "
                "$HOLDFAST_REDIS_URL stands for what it has; the same in `command` (none)"},
      {.name = "port",
       .type = Type::count,
       .about = "a port of this machine that is written in them, such as 6379: their connections there go "
                "through the proxy (none)",
       .most = 65535},
      {.name = "limit",
       .type = Type::duration,
       .about = "a program that runs longer fails the run (none: until the run's time is over)"},
      {.name = "endless",
       .type = Type::flag,
       .about = "they run until the run's time is over; else one that still runs then fails the run (false)"},
      {.name = "may_fail",
       .type = Type::flag,
       .about = "one that told something and then fails is a client that died, and the run goes on (false)"},
      {.name = "restart",
       .type = Type::duration,
       .about = "with may_fail: and is started again so much later, as by a supervisor (it is not)"},
      {.name = "output",
       .type = Type::count,
       .about = "bytes that one of them may print (16777216)",
       .most = std::int64_t{1} << 30},
      {.name = "keys",
       .type = Type::count,
       .about = "locks, named `key`:1, `key`:2, ... above one (1)",
       .most = 1000},
      {.name = "stock",
       .type = Type::count,
       .about = "units behind the effects port (10)",
       .most = 1'000'000},
  };
  kind.programs = true;
  kind.checks = {"oversell", "lost-update", "negative-stock"};
  kind.cost = "oversold";
  kind.marks = {
      {std::string(kAgree),
       "judge = \"both\": the exclusion checks say the same of what was told and of what was seen"}};
  kind.problem = problem_of;
  kind.make = [](World& world, Recorder& recorder,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<External>(world, recorder, options);
  };
  return kind;
}

}  // namespace holdfast::sim
