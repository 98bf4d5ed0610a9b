// Sets.
#include <algorithm>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

void sadd(Call& c) {
  const auto found = find_or_make<Set>(c, c.arg(1));
  if (found.wrong) return;
  std::int64_t added = 0;
  for (std::size_t i = 2; i < c.argc(); ++i) added += found.value->add(c.arg(i)) ? 1 : 0;
  if (added > 0) changed(c, c.arg(1), added);
  c.out.integer(added);
}

void srem(Call& c) {
  const auto found = find_value<Set>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.integer(0);
  std::int64_t removed = 0;
  for (std::size_t i = 2; i < c.argc(); ++i) removed += found.value->remove(c.arg(i)) ? 1 : 0;
  if (removed > 0) changed(c, c.arg(1), removed);
  if (found.value->size() == 0) c.db().erase(*found.entry);
  c.out.integer(removed);
}

void sismember(Call& c) {
  const auto found = find_value<Set>(c, c.arg(1), false);
  if (!found.wrong) c.out.integer(found && found.value->contains(c.arg(2)) ? 1 : 0);
}
void smismember(Call& c) {
  const auto found = find_value<Set>(c, c.arg(1), false);
  if (found.wrong) return;
  c.out.array(c.argc() - 2);
  for (std::size_t i = 2; i < c.argc(); ++i) c.out.integer(found && found.value->contains(c.arg(i)) ? 1 : 0);
}
void scard(Call& c) {
  const auto found = find_value<Set>(c, c.arg(1), false);
  if (!found.wrong) c.out.integer(found ? static_cast<std::int64_t>(found.value->size()) : 0);
}
void smembers(Call& c) {
  const auto found = find_value<Set>(c, c.arg(1), false);
  if (found.wrong) return;
  if (!found) return c.out.set(0);
  c.out.set(found.value->size());
  for (const std::string_view member : found.value->ordered()) c.out.bulk(member);
}

void spop(Call& c) {
  std::int64_t count = 1;
  if (c.argc() > 3) return c.out.error(kSyntax);
  if (c.argc() == 3 && (!parse_integer(c.arg(2), count) || count < 0)) {
    return c.out.error("ERR value is out of range, must be positive");
  }
  const auto found = find_value<Set>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.argc() == 3 ? c.out.set(0) : c.out.nil();
  const std::string key(c.arg(1));
  const std::size_t taken = std::min(found.value->size(), static_cast<std::size_t>(count));
  if (c.argc() == 3) c.out.set(taken);
  std::vector<std::string> effect = {"SREM", key};
  for (std::size_t i = 0; i < taken; ++i) {
    const std::string member =
        found.value->nth(c.engine.runtime().random_between(0, found.value->size() - 1));
    found.value->remove(member);
    c.out.bulk(member);
    effect.push_back(member);
  }
  if (taken == 0) return;
  changed(c, key, static_cast<std::int64_t>(taken));
  if (found.value->size() == 0) {
    c.db().erase(*found.entry);
    if (c.argc() == 3) effect = {"DEL", key};
  }
  c.propagate_instead(std::vector<std::string_view>(effect.begin(), effect.end()));
}

void srandmember(Call& c) {
  std::int64_t count = 1;
  if (c.argc() > 3) return c.out.error(kSyntax);
  if (c.argc() == 3 && !draw_count_arg(c, 2, count)) return;
  const auto found = find_value<Set>(c, c.arg(1), false);
  if (found.wrong) return;
  if (!found) return c.argc() == 3 ? c.out.array(0) : c.out.nil();
  const std::size_t size = found.value->size();
  if (c.argc() == 2) return c.out.bulk(found.value->nth(c.engine.runtime().random_between(0, size - 1)));
  if (count < -kMostDrawn) return c.out.error(kOutOfRangeValue);
  if (count < 0) {
    c.out.array(static_cast<std::size_t>(-count));
    for (; count < 0; ++count) c.out.bulk(found.value->nth(c.engine.runtime().random_between(0, size - 1)));
    return;
  }
  const std::size_t taken = std::min(size, static_cast<std::size_t>(count));
  // All of them: in their order.
  const std::size_t first = taken == size ? 0 : c.engine.runtime().random_between(0, size - 1);
  c.out.array(taken);
  for (std::size_t i = 0; i < taken; ++i) c.out.bulk(found.value->nth((first + i) % size));
}

void smove(Call& c) {
  if (find_key(c, c.arg(1), true) == nullptr) return c.out.integer(0);  // whatever the other one is
  const auto from = find_value<Set>(c, c.arg(1), true);
  if (from.wrong) return;
  if (find_value<Set>(c, c.arg(2), true).wrong) return;
  if (!from.value->contains(c.arg(3))) return c.out.integer(0);
  if (c.arg(1) == c.arg(2)) return c.out.integer(1);
  from.value->remove(c.arg(3));
  changed(c, c.arg(1));
  if (from.value->size() == 0) c.db().erase(*from.entry);
  if (find_or_make<Set>(c, c.arg(2)).value->add(c.arg(3))) changed(c, c.arg(2));
  c.out.integer(1);
}

enum class Operation { unite, intersect, subtract };

// The sets at argv[first..end); false: one is of another type (answered).
bool combine(Call& c, Operation operation, std::size_t first, std::size_t end,
             std::vector<std::string>& result) {
  std::vector<const Set*> sets;
  for (std::size_t i = first; i < end; ++i) {
    const auto found = find_value<Set>(c, c.arg(i), false);
    if (found.wrong) return false;
    sets.push_back(found.value);
  }
  Set united;
  const auto take_all = [&](const Set* set) {
    if (set == nullptr) return;
    for (const std::string_view member : set->ordered()) united.add(member);
  };
  take_all(sets.front());
  if (operation == Operation::unite) {
    for (const Set* set : sets) take_all(set);
  }
  for (const std::string_view member : united.ordered()) {
    bool keep = true;
    for (std::size_t i = 1; i < sets.size() && operation != Operation::unite; ++i) {
      const bool there = sets[i] != nullptr && sets[i]->contains(member);
      keep = keep && there == (operation == Operation::intersect);
    }
    if (keep) result.emplace_back(member);
  }
  return true;
}

void answer(Call& c, Operation operation) {
  std::vector<std::string> result;
  if (!combine(c, operation, 1, c.argc(), result)) return;
  c.out.set(result.size());
  for (const std::string& member : result) c.out.bulk(member);
}
void store(Call& c, Operation operation) {
  std::vector<std::string> result;
  if (!combine(c, operation, 2, c.argc(), result)) return;
  Entry* old = find_key(c, c.arg(1), true);
  if (old != nullptr) c.db().erase(*old);
  if (!result.empty()) {
    Set& set = *find_or_make<Set>(c, c.arg(1)).value;
    for (const std::string& member : result) set.add(member);
  }
  if (old != nullptr || !result.empty()) changed(c, c.arg(1));
  c.out.integer(static_cast<std::int64_t>(result.size()));
}
void sintercard(Call& c) {
  std::int64_t keys = 0, limit = 0;
  constexpr std::string_view kKeys = "ERR numkeys should be greater than 0";
  if (!integer_arg(c, 1, keys, kKeys)) return;
  if (keys < 1) return c.out.error(kKeys);
  if (static_cast<std::uint64_t>(keys) > c.argc() - 2)
    return c.out.error("ERR Number of keys can't be greater than number of args");
  const std::size_t behind = 2 + static_cast<std::size_t>(keys);
  for (std::size_t i = behind; i < c.argc(); i += 2) {
    if (!c.option(i, "LIMIT") || i + 1 >= c.argc()) return c.out.error(kSyntax);
    if (!integer_arg(c, i + 1, limit, "ERR LIMIT can't be negative")) return;
    if (limit < 0) return c.out.error("ERR LIMIT can't be negative");
  }
  std::vector<std::string> result;
  if (!combine(c, Operation::intersect, 2, behind, result)) return;
  const auto size = static_cast<std::int64_t>(result.size());
  c.out.integer(limit > 0 ? std::min(limit, size) : size);
}
void sunion(Call& c) { answer(c, Operation::unite); }
void sinter(Call& c) { answer(c, Operation::intersect); }
void sdiff(Call& c) { answer(c, Operation::subtract); }
void sunionstore(Call& c) { store(c, Operation::unite); }
void sinterstore(Call& c) { store(c, Operation::intersect); }
void sdiffstore(Call& c) { store(c, Operation::subtract); }

}  // namespace

void add_set_commands(Specs& specs) {
  constexpr std::uint32_t kW = kWrite | kDenyOom;
  constexpr Keys kOne{1, 1, 1};
  constexpr Keys kAll{1, -1, 1};
  specs.insert(specs.end(), {
                                {"sadd", sadd, -3, kW | kFast, kOne},
                                {"srem", srem, -3, kWrite | kFast, kOne},
                                {"sismember", sismember, 3, kReadonly | kFast, kOne},
                                {"smismember", smismember, -3, kReadonly | kFast, kOne},
                                {"scard", scard, 2, kReadonly | kFast, kOne},
                                {"smembers", smembers, 2, kReadonly, kOne},
                                {"spop", spop, -2, kWrite | kFast, kOne},
                                {"srandmember", srandmember, -2, kReadonly, kOne},
                                {"smove", smove, 4, kWrite | kFast, {1, 2, 1}},
                                {"sunion", sunion, -2, kReadonly, kAll},
                                {"sinter", sinter, -2, kReadonly, kAll},
                                {"sdiff", sdiff, -2, kReadonly, kAll},
                                {"sintercard", sintercard, -3, kReadonly},
                                {"sunionstore", sunionstore, -3, kW, kAll},
                                {"sinterstore", sinterstore, -3, kW, kAll},
                                {"sdiffstore", sdiffstore, -3, kW, kAll},
                            });
}

}  // namespace holdfast::sim::embedded
