// `holdfast unlock`: takes one hold away from the owner that is named, as that owner's own release would.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "lib/redis/error.h"
#include "lib/testing/server/missing.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/held_locks.h"
#include "tools/holdfast/live_server.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/take_away.h"

namespace holdfast::tools {
namespace {

// Whether the person at the terminal means it.
bool confirmed(const HeldLock& lock) {
  print_out(fmt::format(
      "{} is held by {} (left: {}).\nWhoever holds it may be at work: it learns of this at its next renewal. "
      "Type yes to take it away: ",
      for_terminal(lock.key), lock.owner, left_text(lock)));
  std::string answer;
  return std::getline(std::cin, answer) && answer == "yes";
}

ExitCode nothing_changed(const std::string& why) {
  print_out(why + "; nothing was changed\n");
  return kFailed;
}

ExitCode unlock(const UnlockArguments& arguments, redis::Client& client) {
  const std::string key = for_terminal(arguments.key);
  const std::vector<HeldLock> holds = held_under(client, arguments.key);
  const auto found = std::find_if(holds.begin(), holds.end(),
                                  [&](const HeldLock& hold) { return hold.owner == arguments.owner; });
  if (holds.empty()) return nothing_changed(key + " is not held");
  if (found == holds.end() || found->kind == HeldLock::Kind::latch) {
    const bool latch = holds.front().kind == HeldLock::Kind::latch;
    return nothing_changed(latch ? key + " is a latch, which nobody holds"
                                 : fmt::format("{} is held by {}{}, not by {}", key, holds.front().owner,
                                               holds.size() > 1 ? " and others" : "",
                                               for_terminal(arguments.owner)));
  }
  if (!arguments.yes && !confirmed(*found)) return nothing_changed("not confirmed");
  const TakenAway taken = take_away(client, *found);
  if (!taken.held) return nothing_changed(fmt::format("{} is no longer held by {}", key, found->owner));
  print_out(fmt::format("{} was taken away from {}\n", key, found->owner));
  for (const std::string& holder : taken.holders)
    print_out(fmt::format("{} now holds it\n", for_terminal(holder)));
  return kMet;
}

}  // namespace

ExitCode unlock_command(const UnlockArguments& arguments) {
  if (!arguments.yes && isatty(STDIN_FILENO) == 0)
    throw BadUsage("unlock: nobody can be asked, expected --yes (standard input is no terminal)");
  LiveServer server(arguments.urls, arguments.password);
  server.require_primary();
  try {
    return unlock(arguments, server.client());
  } catch (const redis::Error& error) {
    throw Missing(error.what());
  }
}

}  // namespace holdfast::tools
