// The locks that the harness can drive: `holdfast list locks`. The rows are in lock_kinds_*.cc.
#include <algorithm>
#include <charconv>

#include "sim/client/lock_kind_rows.h"

namespace holdfast::sim {

bool is(std::string_view word, std::string_view upper) {
  return std::equal(word.begin(), word.end(), upper.begin(), upper.end(), [](char a, char b) {
    return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b;
  });
}

bool calls(const Command& command, const redis::Script& script, ScriptCall& call) {
  if (command.size() < 3) return false;
  const bool by_sha = is(command[0], "EVALSHA") && command[1] == script.sha1;
  const bool by_text = is(command[0], "EVAL") && command[1] == script.text;
  if (!by_sha && !by_text) return false;
  std::size_t keys = 0;
  const auto parsed = std::from_chars(command[2].data(), command[2].data() + command[2].size(), keys);
  if (parsed.ec != std::errc() || keys > command.size() - 3) return false;
  const auto first = command.begin() + 3, middle = first + static_cast<std::ptrdiff_t>(keys);
  call = {Strings(first, middle), Strings(middle, command.end())};
  return true;
}

bool is_one(const redis::Reply& reply) {
  return reply.type == redis::Reply::Type::integer && reply.integer == 1;
}

bool is_ok(const redis::Reply& reply) {
  return reply.type == redis::Reply::Type::status && reply.text == "OK";
}

StoreEffect effect(checker::Function f, std::string_view key, std::string_view record, bool took_effect) {
  return {.f = f, .key = std::string(key), .record = std::string(record), .took_effect = took_effect};
}

const std::vector<LockKind>& all_lock_kinds() {
  static const std::vector<LockKind> kinds = [] {
    std::vector<LockKind> all = hardened_lock_kinds();
    for (const auto& rows : {composite_lock_kinds(), historic_lock_kinds(), historic_redisson_kinds(),
                             historic_redisson_family_kinds()}) {
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return kinds;
}

namespace {

std::deque<LockKind>& hidden() {
  static std::deque<LockKind> kinds;
  return kinds;
}

}  // namespace

const std::deque<LockKind>& hidden_lock_kinds() { return hidden(); }

const LockKind* find_lock_kind(std::string_view name) {
  for (const LockKind& kind : all_lock_kinds()) {
    if (kind.name == name) return &kind;
  }
  for (const LockKind& kind : hidden()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

void add_hidden_lock_kinds(const std::vector<LockKind>& kinds) {
  for (const LockKind& kind : kinds) {
    if (find_lock_kind(kind.name) != nullptr)
      throw std::invalid_argument("there is a lock `" + std::string(kind.name) + "` already");
    hidden().push_back(kind);
  }
}

}  // namespace holdfast::sim
