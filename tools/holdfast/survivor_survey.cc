#include "tools/holdfast/survivor_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "lib/lock/store/replica_watch.h"
#include "lib/lock/store/survivor_store.h"
#include "lib/redis/error.h"
#include "sim/scenario/units.h"

namespace holdfast::tools {
namespace {

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Endpoint endpoint_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  return {address.substr(0, colon), static_cast<std::uint16_t>(number_in(address.substr(colon + 1)))};
}

MemberState ask(Runtime& runtime, Network& network, const std::string& address, const Access& access) {
  MemberState state{.address = address};
  try {
    redis::Client client(runtime, network, options_for(address, access));
    const std::string replication = client.call({"INFO", "replication"}).reply.text;
    state.primary = info_value(replication, "role") == "master";
    state.replication_id = info_value(replication, "master_replid");
    if (state.primary) {
      for (const FollowingReplica& replica : replicas_in(replication))
        state.replicas.push_back(replica.address);
      state.offset = number_in(info_value(replication, "master_repl_offset"));
    } else {
      state.follows.append(info_value(replication, "master_host")).append(1, ':');
      state.follows += info_value(replication, "master_port");
      state.link_up = info_value(replication, "master_link_status") == "up";
      state.offset = number_in(info_value(replication, "slave_repl_offset"));
    }
    state.policy = info_value(client.call({"INFO", "memory"}).reply.text, "maxmemory_policy");
    const redis::Reply time = client.call({"TIME"}).reply;
    if (time.items.size() == 2)
      state.now = number_in(time.items[0].text) * 1000 + number_in(time.items[1].text) / 1000;
    state.mark = parse_mark(client.call({"GET", kSurvivorMark}).reply.text);
  } catch (const redis::Error& error) {
    state.trouble = error.what();
  }
  return state;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

std::optional<SurvivorMark> parse_mark(const std::string& text) {
  const std::size_t first = text.find(' ');
  if (first == std::string::npos) return std::nullopt;
  const std::size_t second = text.find(' ', first + 1);
  if (second == std::string::npos) return std::nullopt;
  return SurvivorMark{text.substr(0, first), number_in(text.substr(first + 1, second - first - 1)),
                      text.substr(second)};
}

std::string describe_constants(const std::string& constants) {
  std::istringstream words(constants);
  std::string version, longest, drift, skew, members;
  words >> version >> longest >> drift >> skew;
  for (const std::string& member : members_in(constants)) members += ' ' + member;
  return fmt::format("longest lease {}, drift {} ppm, skew {}, {}members{}",
                     sim::format_duration(std::chrono::milliseconds(number_in(longest))), drift,
                     sim::format_duration(std::chrono::milliseconds(number_in(skew))),
                     constants.find(" by-lag ") == std::string::npos ? "" : "acknowledged by lag, ", members);
}

std::vector<std::string> members_in(const std::string& constants) {
  std::istringstream words(constants);
  std::vector<std::string> members;
  std::string word;
  for (int i = 0; i < 4; ++i) words >> word;
  while (words >> word) {
    if (word != "by-lag") members.push_back(word);
  }
  return members;
}

Duration quarantine_in(const std::string& constants) {
  std::istringstream words(constants);
  int version = 0, drift = 0;
  std::int64_t longest = 0, skew = 0;
  if (!(words >> version >> longest >> drift >> skew) || version != 1) return Duration::zero();
  return quarantine_of({.longest_lease = std::chrono::milliseconds(longest),
                        .drift_ppm = drift,
                        .skew = std::chrono::milliseconds(skew)});
}

redis::ClientOptions options_for(const std::string& member, const Access& access) {
  return {.nodes = {{"", endpoint_of(member)}},
          .user = access.user,
          .password = access.password,
          .connect_timeout = access.patience,
          .command_timeout = access.patience};
}

std::vector<MemberState> survey(Runtime& runtime, Network& network, const std::vector<std::string>& members,
                                const Access& access) {
  std::vector<MemberState> states;
  for (const std::string& member : members) states.push_back(ask(runtime, network, member, access));
  return states;
}

const MemberState* primary_of(const std::vector<MemberState>& members) {
  const MemberState* found = nullptr;
  for (const MemberState& member : members) {
    if (!member.trouble.empty() || !member.primary) continue;
    if (found != nullptr) return nullptr;
    found = &member;
  }
  return found;
}

std::vector<std::string> problems_of(const std::vector<MemberState>& members,
                                     const std::optional<std::string>& constants,
                                     const std::vector<std::string>& leaving) {
  std::vector<std::string> problems, addresses;
  std::string primaries;
  for (const MemberState& member : members) {
    addresses.push_back(member.address);
    if (member.trouble.empty() && member.primary)
      primaries += (primaries.empty() ? "" : " and ") + member.address;
  }
  const MemberState* const primary = primary_of(members);
  if (primaries.empty()) problems.emplace_back("no member is a primary: nothing is granted");
  if (!primaries.empty() && primary == nullptr) {
    problems.push_back(primaries + " are primaries: make all but one of them replicas of it (REPLICAOF)");
  }
  if (members.size() < 3) {
    problems.push_back(fmt::format("{} of three members: a grant needs {}, so no failover is survived",
                                   members.size(), members.size() == 1 ? "the one" : "both"));
  }
  std::size_t behind = 0;
  for (const MemberState& member : members) {
    const auto told = [&](const std::string& what) { problems.push_back(member.address + " " + what); };
    if (!member.trouble.empty()) {
      told("cannot be asked: " + member.trouble);
      continue;
    }
    if (member.policy != "noeviction") {
      told("may evict locks: its maxmemory-policy is " + member.policy +
           ", expected noeviction (CONFIG SET, and its configuration file)");
    }
    for (const std::string& replica : member.replicas) {
      if (!contains(addresses, replica) && !contains(leaving, replica)) {
        told("has the replica " + replica + ", which is no member: nothing is granted while it is there");
      }
    }
    if (primary != nullptr && !member.primary) {
      if (member.follows != primary->address) told("follows " + member.follows + ", not " + primary->address);
      if (!member.link_up) told("has no link to its primary");
      const bool comes_in = member.follows == primary->address && member.link_up;
      if (comes_in) ++behind;
      if (comes_in && !contains(primary->replicas, member.address)) {
        told("announces itself to its primary by another address: set replica-announce-ip and -port");
      }
    }
  }
  if (primary != nullptr && members.size() > 1 && behind < members.size() / 2) {
    problems.push_back(fmt::format("{} of {} replicas follow the primary, {} are needed: nothing is granted",
                                   behind, members.size() - 1, members.size() / 2));
  }
  if (primary == nullptr) return problems;
  const std::string expected = constants.value_or(primary->mark ? primary->mark->constants : std::string());
  for (const MemberState& member : members) {
    if (!member.trouble.empty() || !member.mark || expected.empty()) continue;
    if (member.mark->constants != expected)
      problems.push_back(member.address +
                         " knows other constants: " + describe_constants(member.mark->constants));
  }
  return problems;
}

}  // namespace holdfast::tools
