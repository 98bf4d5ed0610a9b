// `holdfast survivor`: sets up servers whose locks survive a failover, and says how they are.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "lib/lock/engine/checked_options.h"
#include "lib/lock/engine/wire.h"
#include "lib/lock/store/survivor_store.h"
#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "lib/redis/error.h"
#include "lib/runtime/thread_runtime.h"
#include "sim/scenario/units.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/held_locks.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/survivor_survey.h"
#include "tools/holdfast/survivor_users.h"

namespace holdfast::tools {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostHeld = 100;
constexpr Duration kUntilAllHaveIt = std::chrono::seconds(10);

std::string time_text(std::int64_t ms) { return sim::format_duration(milliseconds(ms)); }

// What stands in the table about a member's mark.
std::string mark_text(const MemberState& member, const MemberState* primary) {
  if (!member.mark) return "none";
  if (member.primary) {
    return member.knows_its_role() ? "of its own time as the primary"
                                   : "of an earlier primary: it begins a quarantine";
  }
  const bool same =
      primary != nullptr && primary->mark && primary->mark->replication_id == member.mark->replication_id;
  return same ? "as the primary's" : "not the primary's";
}

void print_members(const std::vector<MemberState>& members) {
  const MemberState* const primary = primary_of(members);
  std::size_t widest = 6;
  for (const MemberState& member : members) widest = std::max(widest, member.address.size());
  print_out(
      fmt::format("{:<{}}  {:<8} {:<5} {:>9}  {}\n", "member", widest, "role", "link", "behind", "mark"));
  for (const MemberState& member : members) {
    if (!member.trouble.empty()) {
      print_out(fmt::format("{:<{}}  cannot be asked\n", member.address, widest));
      continue;
    }
    const std::int64_t behind =
        primary == nullptr ? 0 : std::max<std::int64_t>(0, primary->offset - member.offset);
    print_out(fmt::format("{:<{}}  {:<8} {:<5} {:>9}  {}\n", member.address, widest,
                          member.primary ? "primary" : "replica",
                          member.primary   ? ""
                          : member.link_up ? "up"
                                           : "down",
                          member.primary ? "" : fmt::format("{} B", behind), mark_text(member, primary)));
  }
}

void print_problems(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) print_out("✗ " + problem + "\n");
}

void append(std::vector<std::string>& all, std::vector<std::string> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<std::string> that_answer(const std::vector<MemberState>& members) {
  std::vector<std::string> addresses;
  for (const MemberState& member : members) {
    if (member.trouble.empty()) addresses.push_back(member.address);
  }
  return addresses;
}

void print_warnings(const std::vector<MemberUsers>& users) {
  const std::vector<std::string> warnings = warnings_of(users);
  for (const std::string& warning : warnings) print_out("! " + warning + "\n");
}

ExitCode status(const SurvivorArguments& arguments, Runtime& runtime, Network& network) {
  const std::vector<MemberState> members =
      survey(runtime, network, arguments.options.members, arguments.access);
  std::vector<std::string> problems = problems_of(members, std::nullopt);
  const std::vector<MemberUsers> users =
      survey_users(runtime, network, that_answer(members), arguments.access, arguments.client.user);
  if (!arguments.client.user.empty()) append(problems, client_user_problems(users, arguments.client.user));
  const MemberState* const primary = primary_of(members);
  print_members(members);
  if (primary != nullptr && primary->mark) {
    print_out("\n" + describe_constants(primary->mark->constants) + "\n");
    const std::int64_t left = primary->mark->quarantine_ends - primary->now;
    if (!primary->knows_its_role()) {
      print_out("quarantine  begins with the next request\n");
    } else if (left > 0) {
      print_out("quarantine  " + time_text(left) + " left: nothing is granted until then\n");
    } else {
      print_out("quarantine  over for " + time_text(-left) + "\n");
    }
    redis::Client client(runtime, network, options_for(primary->address, arguments.access));
    try {
      const HeldLocks held = held_on(client, "*", kMostHeld);
      print_out(fmt::format("held        {}{}\n", held.locks.size(), held.all ? "" : " or more"));
      for (const HeldLock& lock : held.locks) {
        print_out(fmt::format("  {}  by {}, {} left\n", for_terminal(lock.key), lock.owner, left_text(lock)));
      }
    } catch (const redis::Error& error) {
      print_out(fmt::format("held        not known: {}\n", error.what()));
    }
  } else if (primary != nullptr) {
    print_out("\nno mark: `holdfast survivor init` sets it up, or the first client does\n");
  }
  if (!problems.empty() || !warnings_of(users).empty()) print_out("\n");
  print_problems(problems);
  print_warnings(users);
  const bool unasked = std::any_of(members.begin(), members.end(),
                                   [](const MemberState& member) { return !member.trouble.empty(); });
  return unasked ? kMissing : problems.empty() ? kMet : kFailed;
}

// [parks] Until each of `addresses` has that mark. Who has not.
std::vector<std::string> without_mark(Runtime& runtime, Network& network,
                                      const std::vector<std::string>& addresses, const Access& access,
                                      const std::string& constants) {
  // They are asked one after the other: only where nobody changed his role or history meanwhile, all have it
  // at one moment.
  const MonotonicTime until = runtime.now() + kUntilAllHaveIt;
  for (std::vector<std::string> ids_before;;) {
    std::vector<std::string> missing, ids;
    for (const MemberState& member : survey(runtime, network, addresses, access)) {
      if (!member.mark || member.mark->constants != constants) missing.push_back(member.address);
      ids.push_back(member.replication_id + (member.primary ? " primary" : " " + member.follows));
    }
    const bool twice = missing.empty() && ids == ids_before;
    if (twice) return {};
    if (runtime.now() >= until) return missing.empty() ? addresses : missing;
    ids_before = missing.empty() ? std::move(ids) : std::vector<std::string>();
    runtime.sleep_for(milliseconds(100));
  }
}

struct Changed {
  bool everywhere = true;  // on each member
  bool kept = true;        // and each that could keep it does
};
// [parks] Changes that user on each of them, and says what was done.
Changed for_each_member(const std::vector<std::string>& addresses, const std::string& user,
                        const std::function<UserChange(const std::string&)>& change) {
  Changed all;
  for (const std::string& address : addresses) {
    const UserChange changed = change(address);
    const std::string who = for_terminal(user);
    if (!changed.done.empty()) print_out(fmt::format("user {} {}\n", who, changed.done));
    if (!changed.trouble.empty())
      print_out(fmt::format("✗ user {} on {}: {}\n", who, address, changed.trouble));
    all.everywhere = all.everywhere && !changed.done.empty();
    all.kept = all.kept && changed.trouble.empty();
  }
  return all;
}

ExitCode init(const SurvivorArguments& arguments, Runtime& runtime, Network& network) {
  const std::string constants = survivor_constants(arguments.options);
  const std::vector<MemberState> members =
      survey(runtime, network, arguments.options.members, arguments.access);
  const MemberState* const primary = primary_of(members);
  const std::optional<SurvivorMark> before = primary == nullptr ? std::nullopt : primary->mark;
  const bool changes = before && before->constants != constants;
  std::vector<std::string> leaving;
  if (changes && arguments.change) {
    for (const std::string& old : members_in(before->constants)) {
      const auto& stay = arguments.options.members;
      if (std::find(stay.begin(), stay.end(), old) == stay.end()) leaving.push_back(old);
    }
  }
  std::vector<std::string> all = arguments.options.members;
  all.insert(all.end(), leaving.begin(), leaving.end());
  // Who comes in has a copy of the mark as it was.
  std::vector<std::string> problems =
      problems_of(members, changes && arguments.change ? before->constants : constants, leaving);
  if (changes && arguments.change) {
    // A change before the last one has come everywhere could be undone by a failover.
    for (const std::string& missing :
         without_mark(runtime, network, members_in(before->constants), arguments.access, before->constants)) {
      problems.push_back(
          missing + " has not the constants from before the change: wait for it, or for the last change");
    }
  }
  const Access& client = arguments.client;
  if (!client.user.empty()) {
    append(problems, not_for_clients(
                         survey_users(runtime, network, that_answer(members), arguments.access, client.user),
                         client.user));
  }
  if (!problems.empty()) {
    print_members(members);
    print_out("\n");
    print_problems(problems);
    if (changes && !arguments.change) print_out("to change them: holdfast survivor init --change\n");
    print_out("nothing was changed\n");
    return kFailed;
  }
  Changed changed;
  if (!client.user.empty()) {
    changed = for_each_member(arguments.options.members, client.user, [&](const std::string& address) {
      return make_client_user(runtime, network, address, arguments.access, client);
    });
    if (!changed.everywhere) {
      print_out("the constants were not touched: run the same command again\n");
      return kFailed;
    }
  }
  const Duration quarantine = std::max(quarantine_of(arguments.options),
                                       changes ? quarantine_in(before->constants) : Duration::zero());
  if (!before || changes || !primary->knows_its_role()) {
    // One value, as the guard writes it. The clock is the server's.
    constexpr std::string_view kWrite = R"(
      local time = redis.call('time')
      local id = redis.call('info', 'replication'):match('master_replid:(%x+)')
      local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
      return redis.call('set', KEYS[1], string.format('%s %.0f%s', id, ends, ARGV[2])))";
    redis::Client client(runtime, network, options_for(primary->address, arguments.access));
    const std::string ms = milliseconds_text(quarantine);
    client.call({"EVAL", kWrite, "1", kSurvivorMark, ms, constants});
  }
  const std::vector<std::string> missing = without_mark(runtime, network, all, arguments.access, constants);
  if (!missing.empty()) {
    for (const std::string& address : missing) print_out("✗ " + address + " does not have it yet\n");
    print_out("the change is not complete: run the same command again until it is\n");
    return kFailed;
  }
  print_out(describe_constants(constants) + "\n");
  print_out(fmt::format("all members have it; {}\n",
                        !before || changes
                            ? "the first grant is " + sim::format_duration(quarantine) + " away"
                            : "it was set up before"));
  for (const std::string& address : leaving) {
    print_out(address + " is no member any more: nothing is granted as long as it follows the primary\n");
  }
  if (changes)
    print_out("Every client now needs the same SurvivorOptions; those with the old ones are refused.\n");
  if (!client.user.empty()) {
    // Who logs in as he is let in by members only.
    const Changed left = for_each_member(leaving, client.user, [&](const std::string& address) {
      return drop_client_user(runtime, network, address, arguments.access, client.user);
    });
    changed.kept = changed.kept && left.everywhere && left.kept;
  }
  print_warnings(survey_users(runtime, network, arguments.options.members, arguments.access, client.user));
  return changed.kept ? kMet : kFailed;
}

}  // namespace

ExitCode survivor_command(const SurvivorArguments& arguments) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  try {
    return arguments.what == "init" ? init(arguments, runtime, network) : status(arguments, runtime, network);
  } catch (const redis::Error& error) {
    print_err(fmt::format("holdfast: survivor: {}\n", error.what()));
    return kMissing;
  }
}

}  // namespace holdfast::tools
