// The command line of `holdfast survivor`.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "lib/lock/engine/checked_options.h"
#include "sim/scenario/units.h"
#include "tools/holdfast/command_line.h"
#include "tools/holdfast/command_page.h"

namespace holdfast::tools {

namespace {

void read_client_user(SurvivorArguments& arguments) {
  const std::string& user = arguments.client.user;
  const auto wrong = [&](const std::string& why) {
    throw BadUsage("survivor: --client-user: `" + user + "`, expected " + why);
  };
  if (user.empty() || std::any_of(user.begin(), user.end(), [](unsigned char c) { return c <= ' '; }))
    wrong("a name without blanks");
  // Replicas log in as one of these, and so does who asks.
  if (user == "default") wrong("another name than that of the user who is always there");
  if (user == arguments.access.user) wrong("another name than --user");
  if (arguments.what != "init") return;
  const char* const password = std::getenv("HOLDFAST_CLIENT_PASSWORD");
  if (password == nullptr || *password == 0)
    throw BadUsage("survivor: --client-user: no password, expected one in $HOLDFAST_CLIENT_PASSWORD");
  arguments.client.password = password;
}

}  // namespace

void CommandLine::add_survivor() {
  survivor = app.add_subcommand(
      "survivor",
      "set up servers whose locks survive a failover, or say how they are\n"
      "`init` gives a primary and its replicas their constants and refuses what is unsafe; `status` shows "
      "roles, quarantine, lag and what is held. Both name users who may do what makes two owners. "
      "lib/SURVIVOR.md says what for. The password is read from $HOLDFAST_REDIS_PASSWORD, that of the "
      "clients from $HOLDFAST_CLIENT_PASSWORD.");
  survivor->add_option("WHAT", survivor_.what, "what to do")
      ->required()
      ->type_name("WHAT")
      ->check(Choice({"init", "status"}));
  survivor
      ->add_option("--members", members_, "all servers that may become the primary, with commas between them")
      ->required()
      ->type_name("HOST:PORT,...");
  survivor->add_option("--longest-lease", longest_lease_, "init: no client asks for a longer one (\"30s\")")
      ->type_name("TIME");
  survivor->add_option("--drift", survivor_.options.drift_ppm, "init: how fast any clock may run, in ppm")
      ->type_name("PPM")
      ->capture_default_str();
  survivor->add_option("--skew", skew_, "init: by how much clocks may step and differ (\"100ms\")")
      ->type_name("TIME");
  survivor->add_flag("--by-lag", by_lag_,
                     "init: clients trust min-replicas and wait for no acknowledgement (SurvivorOptions)");
  survivor->add_flag("--change", survivor_.change, "init: the set has other constants, which these replace");
  survivor->add_option("--user", survivor_.access.user, "the user on all members")->type_name("NAME");
  survivor
      ->add_option(
          "--client-user", survivor_.client.user,
          "init: make this user, with the rights that clients of locks need, on all members; status: "
          "look whether all have it")
      ->type_name("NAME");
}

SurvivorArguments CommandLine::survivor_arguments() const {
  SurvivorArguments arguments = survivor_;
  const bool sets_up = arguments.what == "init";
  for (const char* flag : {"--longest-lease", "--drift", "--skew", "--by-lag", "--change"}) {
    if (!sets_up && survivor->count(flag) > 0)
      throw BadUsage(std::string("survivor: ") + flag + " is a flag of `holdfast survivor init`");
  }
  for (std::size_t at = 0; at <= members_.size();) {
    const std::size_t end = std::min(members_.find(',', at), members_.size());
    arguments.options.members.push_back(members_.substr(at, end - at));
    at = end + 1;
  }
  if (by_lag_) arguments.options.acknowledged = SurvivorOptions::Acknowledged::by_lag;
  const auto time = [](const char* flag, const std::string& text, Duration& into) {
    if (text.empty()) return;
    const auto given = sim::parse_duration(text);
    if (!given)
      throw BadUsage(std::string("survivor: ") + flag + ": `" + text + "`, expected a time such as 10s");
    into = *given;
  };
  time("--longest-lease", longest_lease_, arguments.options.longest_lease);
  time("--skew", skew_, arguments.options.skew);
  try {
    checked_options({.lease = arguments.options.longest_lease, .survivor = arguments.options});
  } catch (const std::invalid_argument& error) {
    throw BadUsage(error.what());
  }
  if (const char* const password = std::getenv("HOLDFAST_REDIS_PASSWORD"))
    arguments.access.password = password;
  if (survivor->count("--client-user") > 0) read_client_user(arguments);
  return arguments;
}

}  // namespace holdfast::tools
