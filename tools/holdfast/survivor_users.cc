#include "tools/holdfast/survivor_users.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "lib/lock/store/replica_watch.h"
#include "lib/redis/client.h"
#include "lib/redis/error.h"
#include "tools/holdfast/escape.h"

namespace holdfast::tools {
namespace {

// What nobody may do, as it is asked for.
const std::vector<std::vector<std::string_view>> kDangerous = {
    {"CONFIG", "RESETSTAT"}, {"SWAPDB", "0", "1"}, {"DEBUG", "RELOAD"}};
constexpr std::string_view kChannels = "&holdfast:*";

std::string name_of(const std::vector<std::string_view>& command) {
  std::string name(command[0]);
  if (name == "CONFIG") name.append(1, ' ').append(command[1]);
  return name;
}

// "a, b and c"
std::string listed(const std::vector<std::string>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i];
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// A user as ACL GETUSER tells him.
struct User {
  bool can_log_in = false;
  std::vector<std::string> rules;
  bool has_selectors = false;
};
std::optional<User> user_of(redis::Client& client, const std::string& name) {
  const redis::Reply told = client.call({"ACL", "GETUSER", name}).reply;
  if (told.items.empty()) return std::nullopt;
  User user;
  const auto has = [](const redis::Reply& all, std::string_view one) {
    return std::any_of(all.items.begin(), all.items.end(),
                       [&](const redis::Reply& item) { return item.text == one; });
  };
  bool on = false, admits = false;
  for (std::size_t i = 0; i + 1 < told.items.size(); i += 2) {
    const std::string& field = told.items[i].text;
    const redis::Reply& value = told.items[i + 1];
    if (field == "flags") {
      on = has(value, "on");
      admits = admits || has(value, "nopass");
    }
    if (field == "passwords") admits = admits || !value.items.empty();
    if (field == "commands") user.rules = words_of(value.text);
    if (field == "selectors") user.has_selectors = !value.items.empty();
  }
  user.can_log_in = on && admits;
  return user;
}

// False, too, where the server has no such command (rename-command).
bool may(redis::Client& client, const std::string& user, const std::vector<std::string_view>& command) {
  std::vector<std::string_view> question{"ACL", "DRYRUN", user};
  question.insert(question.end(), command.begin(), command.end());
  try {
    return client.call(redis::Arguments(question)).reply.text == "OK";
  } catch (const redis::Error& error) {
    if (std::string_view(error.what()).find("ERR Command '") == std::string_view::npos) throw;
    return false;
  }
}

// A setting of the server; empty: it has none of that name, or who asks may not see it.
std::string setting(redis::Client& client, std::string_view name) {
  try {
    const redis::Reply told = client.call({"CONFIG", "GET", name}).reply;
    return told.items.size() == 2 ? told.items[1].text : std::string();
  } catch (const redis::Error& error) {
    if (error.code().empty()) throw;
    return {};
  }
}

void ask_client_user(redis::Client& client, const std::string& name, MemberUsers& users) {
  const std::optional<User> user = user_of(client, name);
  if (!user) return;
  users.has_client_user = user->can_log_in;
  for (const Right& right : client_rights()) {
    if (!may(client, name, right.example)) users.lacks.emplace_back(right.rule);
  }
  for (const std::string& rule : user->rules) {
    const bool known = std::any_of(client_rights().begin(), client_rights().end(),
                                   [&](const Right& right) { return rule.substr(1) == right.rule; });
    if (rule[0] == '+' && !known) users.may_else.push_back(rule);
  }
  if (user->has_selectors) users.may_else.emplace_back("selectors");
}

MemberUsers ask_users(Runtime& runtime, Network& network, const std::string& address, const Access& access,
                      const std::string& client_user) {
  MemberUsers users{.address = address};
  try {
    redis::Client client(runtime, network, options_for(address, access));
    users.asked_as = client.call({"ACL", "WHOAMI"}).reply.text;
    users.replicates_as = setting(client, "masteruser");
    // Redis 7.0 and newer refuse DEBUG, whoever asks, unless they were started otherwise.
    const bool takes_debug = setting(client, "enable-debug-command") != "no";
    std::vector<std::string> names;
    for (const redis::Reply& name : client.call({"ACL", "USERS"}).reply.items) names.push_back(name.text);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::optional<User> user = user_of(client, name);
      if (!user || !user->can_log_in) continue;
      Dangerous dangerous{.user = name, .may = {}};
      for (const auto& command : kDangerous) {
        const bool refused_anyway = command[0] == "DEBUG" && !takes_debug;
        if (!refused_anyway && may(client, name, command)) dangerous.may.push_back(name_of(command));
      }
      if (!dangerous.may.empty()) users.dangerous.push_back(std::move(dangerous));
    }
    if (!client_user.empty()) ask_client_user(client, client_user, users);
  } catch (const redis::Error& error) {
    users.trouble = error.what();
    if (users.trouble.find("DRYRUN") != std::string::npos) users.trouble += " (Redis 7.0 and newer know it)";
  }
  return users;
}

// What was done, and whether it outlasts a restart.
UserChange kept(redis::Client& client, const std::string& done) {
  const std::string users_file = setting(client, "aclfile");
  const std::string server = client.call({"INFO", "server"}).reply.text;
  const std::string file(info_value(server, "config_file"));
  if (users_file.empty() && file.empty()) {
    return {done + "; a restart forgets it: the server has neither an aclfile nor a configuration file", {}};
  }
  try {
    if (users_file.empty()) {
      client.call({"CONFIG", "REWRITE"});
    } else {
      client.call({"ACL", "SAVE"});
    }
  } catch (const redis::Error& error) {
    return {done, fmt::format("a restart forgets it: {}", error.what())};
  }
  return {fmt::format("{}, and kept in {}", done, for_terminal(users_file.empty() ? file : users_file)), {}};
}

// Some of the members, as a reader looks for them.
std::string on_members(const std::vector<MemberUsers>& members, const std::vector<std::string>& some) {
  if (some.size() == members.size() && some.size() > 1) return "all members";
  return listed(some);
}

}  // namespace

std::vector<MemberUsers> survey_users(Runtime& runtime, Network& network,
                                      const std::vector<std::string>& members, const Access& access,
                                      const std::string& client_user) {
  std::vector<MemberUsers> all;
  for (const std::string& member : members)
    all.push_back(ask_users(runtime, network, member, access, client_user));
  return all;
}

std::vector<std::string> warnings_of(const std::vector<MemberUsers>& members) {
  std::vector<std::string> warnings;
  // By user and what he may do: on which members.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> where;
  for (const MemberUsers& member : members) {
    if (!member.trouble.empty())
      warnings.push_back("who may do what on " + member.address + " is not known: " + member.trouble);
    for (const Dangerous& dangerous : member.dangerous) {
      if (dangerous.user == member.asked_as && dangerous.user != "default") continue;
      where[{dangerous.user, listed(dangerous.may)}].push_back(member.address);
    }
  }
  for (const auto& [who, addresses] : where) {
    warnings.push_back(fmt::format(
        "the user {}{} may do {} on {}: that can make two owners of a lock", for_terminal(who.first),
        who.first == "default" ? ", as whom everybody logs in who names none," : "", who.second,
        on_members(members, addresses)));
  }
  return warnings;
}

std::vector<std::string> client_user_problems(const std::vector<MemberUsers>& members,
                                              const std::string& client_user) {
  const std::string name = for_terminal(client_user);
  std::vector<std::string> problems;
  for (const MemberUsers& member : members) {
    if (!member.trouble.empty()) {
      problems.push_back(member.address + " does not say whether it has the user " + name);
    } else if (!member.has_client_user) {
      problems.push_back(member.address + " has no user " + name +
                         " who can log in: holdfast survivor init --client-user");
    } else if (!member.lacks.empty()) {
      problems.push_back(
          fmt::format("{} does not let the user {} do {}: holdfast survivor init --client-user",
                      member.address, name, listed(member.lacks)));
    }
  }
  return problems;
}

std::vector<std::string> not_for_clients(const std::vector<MemberUsers>& members,
                                         const std::string& client_user) {
  const std::string name = for_terminal(client_user);
  std::vector<std::string> problems;
  for (const MemberUsers& member : members) {
    if (!member.trouble.empty()) {
      problems.push_back("who may do what on " + member.address + " is not known: " + member.trouble);
    } else if (client_user == member.replicates_as) {
      problems.push_back(member.address + " logs in at its primary as " + name +
                         " (masteruser): expected one for clients only");
    } else if (!member.may_else.empty()) {
      problems.push_back(fmt::format(
          "{} has a user {} who may do more than clients need ({}): expected one for clients only",
          member.address, name, for_terminal(listed(member.may_else))));
    }
  }
  return problems;
}

UserChange make_client_user(Runtime& runtime, Network& network, const std::string& member,
                            const Access& access, const Access& client) {
  const std::string password = ">" + client.password;
  // One command, so that at no moment the user has less than before: clients may be at work.
  std::vector<std::string> rules = {"reset", "on", password, "~*", std::string(kChannels), "-@all"};
  for (const Right& right : client_rights()) rules.push_back("+" + std::string(right.rule));
  std::vector<std::string_view> command = {"ACL", "SETUSER", client.user};
  command.insert(command.end(), rules.begin(), rules.end());
  try {
    redis::Client asked(runtime, network, options_for(member, access));
    const bool was_there = user_of(asked, client.user).has_value();
    asked.call(redis::Arguments(command));
    return kept(asked, (was_there ? "set anew on " : "made on ") + member);
  } catch (const redis::Error& error) {
    return {{}, error.what()};
  }
}

UserChange drop_client_user(Runtime& runtime, Network& network, const std::string& member,
                            const Access& access, const std::string& client_user) {
  try {
    redis::Client asked(runtime, network, options_for(member, access));
    asked.call({"ACL", "DELUSER", client_user});
    return kept(asked, "taken away from " + member);
  } catch (const redis::Error& error) {
    return {{}, error.what()};
  }
}

}  // namespace holdfast::tools
