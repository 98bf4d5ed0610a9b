#include "sim/redis/command_keys.h"

#include <algorithm>

namespace holdfast::sim::embedded {
namespace {

struct Use {
  std::string_view flags;  // of the first key
  std::string_view rest;   // of those behind it; empty: the same
  std::vector<std::string_view> commands;
};

// As COMMAND INFO of Redis 7.0 says in its key specifications. Who is not named reads: "RO access".
const std::vector<Use>& uses() {
  static const std::vector<Use> all = {
      {"RO",
       "",
       {"exists", "hexists", "hlen", "hstrlen", "llen", "object|encoding", "object|freq", "object|idletime",
        "object|refcount", "scard", "sismember", "strlen", "touch", "type", "watch", "zcard"}},
      {"RW insert", "", {"append", "hsetnx", "linsert", "lpush", "lpushx", "rpush", "rpushx", "sadd"}},
      {"RW access delete",
       "",
       {"blmpop", "blpop", "brpop", "bzmpop", "bzpopmax", "bzpopmin", "getdel", "lmpop", "lpop", "rpop",
        "migrate", "spop", "zmpop", "zpopmax", "zpopmin"}},
      {"RW delete",
       "",
       {"hdel", "lrem", "ltrim", "srem", "zrem", "zremrangebylex", "zremrangebyrank", "zremrangebyscore"}},
      {"RW update",
       "",
       {"expire", "expireat", "hmset", "hset", "lset", "persist", "pexpire", "pexpireat", "setrange",
        "zadd"}},
      {"RW access update",
       "",
       {"decr", "decrby", "eval", "evalsha", "getex", "getset", "hincrby", "hincrbyfloat", "incr", "incrby",
        "incrbyfloat", "move", "zincrby"}},
      {"OW insert", "", {"msetnx", "setnx"}},
      {"OW update", "", {"mset", "psetex", "restore", "restore-asking", "setex"}},
      {"RM delete", "", {"del", "unlink"}},
      {"OW update",
       "RO access",
       {"sdiffstore", "sunionstore", "zdiffstore", "zinterstore", "zrangestore", "zunionstore"}},
      {"RW update", "RO access", {"sinterstore"}},
      {"RW access delete", "OW update", {"rename"}},
      {"RW access delete", "OW insert", {"renamenx"}},
      {"RW access delete", "RW insert", {"blmove", "brpoplpush", "lmove", "rpoplpush", "smove"}},
      {"RO access", "OW update", {"copy", "sort"}},
      {"not_key", "", {"spublish", "ssubscribe", "sunsubscribe"}},
  };
  return all;
}

struct Flags {
  std::string_view first, rest;
};
Flags flags_of(const CommandSpec& spec, Args argv) {
  if (spec.name == "set") {
    const bool reads = std::any_of(argv.begin() + 3, argv.end(),
                                   [](auto word) { return equals_ignoring_case(word, "GET"); });
    return reads ? Flags{"RW access update", "RW access update"} : Flags{"OW update", "OW update"};
  }
  for (const Use& use : uses()) {
    if (std::find(use.commands.begin(), use.commands.end(), spec.name) != use.commands.end())
      return {use.flags, use.rest.empty() ? use.flags : use.rest};
  }
  return {"RO access", "RO access"};
}

// The word that holds the number of keys; 0: none does.
std::size_t count_at(std::string_view name) {
  if (name.starts_with("eval") || name == "blmpop" || name == "bzmpop") return 2;
  if (name == "zunionstore" || name == "zinterstore" || name == "zdiffstore") return 2;
  constexpr std::string_view kFirst[] = {"lmpop",      "sintercard", "zdiff", "zinter",
                                         "zintercard", "zmpop",      "zunion"};
  return std::find(std::begin(kFirst), std::end(kFirst), name) != std::end(kFirst) ? 1 : 0;
}

}  // namespace

bool has_movable_keys(const CommandSpec& spec) {
  return count_at(spec.name) != 0 || spec.name == "sort" || spec.name == "sort_ro" || spec.name == "migrate";
}
bool may_have_keys(const CommandSpec& spec) { return spec.keys.first != 0 || has_movable_keys(spec); }
bool keys_are_optional(const CommandSpec& spec) { return spec.name.starts_with("eval"); }

bool keys_of(const CommandSpec& spec, Args argv, std::vector<KeyUse>& keys) {
  const Flags flags = flags_of(spec, argv);
  const auto add = [&](std::size_t at) { keys.push_back({at, keys.empty() ? flags.first : flags.rest}); };
  if (spec.name == "migrate" && argv.size() > 6 && argv[3].empty()) {
    std::size_t first = 3;
    for (std::size_t i = 6; i < argv.size() && first == 3; ++i) {
      if (equals_ignoring_case(argv[i], "AUTH"))
        ++i;
      else if (equals_ignoring_case(argv[i], "AUTH2"))
        i += 2;
      else if (equals_ignoring_case(argv[i], "KEYS"))
        first = i + 1;
    }
    for (std::size_t i = first; i < (first == 3 ? 4 : argv.size()); ++i) add(i);
    return true;
  }
  if (spec.keys.first != 0) {
    const auto words = static_cast<std::int64_t>(argv.size());
    const std::int64_t last = spec.keys.last < 0 ? spec.keys.last + words : spec.keys.last;
    for (std::int64_t i = spec.keys.first; i <= last && i < words; i += spec.keys.step)
      add(static_cast<std::size_t>(i));
  }
  if (const std::size_t at = count_at(spec.name); at != 0) {
    std::int64_t count = 0;
    if (!parse_integer(argv[at], count) || count < 1 ||
        static_cast<std::uint64_t>(count) > argv.size() - at - 1)
      return false;
    for (std::size_t i = at + 1; i <= at + static_cast<std::size_t>(count); ++i) add(i);
  }
  if (spec.name == "sort") {  // the last STORE counts
    std::size_t target = 0;
    for (std::size_t i = 2; i < argv.size(); ++i) {
      if (equals_ignoring_case(argv[i], "LIMIT")) {
        i += 2;
      } else if (equals_ignoring_case(argv[i], "GET") || equals_ignoring_case(argv[i], "BY")) {
        ++i;
      } else if (equals_ignoring_case(argv[i], "STORE") && i + 1 < argv.size()) {
        target = ++i;
      }
    }
    if (target != 0) add(target);
  }
  return true;
}

}  // namespace holdfast::sim::embedded
