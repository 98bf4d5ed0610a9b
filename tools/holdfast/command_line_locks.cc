// The command lines of `holdfast locks` and `holdfast unlock`.
#include <cstdlib>
#include <string>

#include "tools/holdfast/command_line.h"

namespace holdfast::tools {
namespace {

std::string password() {
  const char* const password = std::getenv("HOLDFAST_REDIS_PASSWORD");
  return password == nullptr ? "" : password;
}

}  // namespace

void CommandLine::add_locks() {
  const auto add_url = [](CLI::App& command, std::vector<std::string>& urls) {
    command
        .add_option("--url", urls,
                    "the server, redis://HOST:PORT[/DB], rediss:// over TLS, "
                    "redis+sentinel://HOST,HOST/NAME; several: "
                    "the nodes of one replicated set")
        ->required()
        ->type_name("URL");
  };
  locks = app.add_subcommand(
      "locks",
      "list what is held on a server: by whom, since when, for how much longer, and how many wait\n"
      "Read only, in small steps: SCAN, and a few short commands for each key (+@read +time +role +hello is "
      "enough). `since` is known where tokens "
      "are drawn; `exclusive` is the record of reentrant, non-reentrant, fair, spin, fenced and redlock. The "
      "password is read from the URL or from $HOLDFAST_REDIS_PASSWORD.");
  add_url(*locks, locks_.urls);
  locks->add_option("--match", locks_.pattern, "only keys like this, as SCAN takes it (\"stock:*\")")
      ->type_name("PATTERN");
  locks->add_flag("--json", locks_.json, "one document");

  unlock = app.add_subcommand(
      "unlock",
      "take a lock away from the owner that is named, as that one's own release would\n"
      "Compares and deletes in one script, and makes the first waiter the holder. Whoever held it learns of "
      "the "
      "loss at its next renewal or release, and may work beside the next one until then. Another owner: "
      "nothing "
      "is changed, exit 1. The password is read from the URL or from $HOLDFAST_REDIS_PASSWORD.");
  unlock->add_option("KEY", unlock_.key, "of the lock")->required()->type_name("KEY");
  unlock->add_option("--owner", unlock_.owner, "as `holdfast locks` shows it")
      ->required()
      ->type_name("OWNER");
  add_url(*unlock, unlock_.urls);
  unlock->add_flag("--yes", unlock_.yes, "do not ask");
}

LocksArguments CommandLine::locks_arguments() const {
  LocksArguments arguments = locks_;
  arguments.password = password();
  return arguments;
}

UnlockArguments CommandLine::unlock_arguments() const {
  UnlockArguments arguments = unlock_;
  arguments.password = password();
  return arguments;
}

}  // namespace holdfast::tools
