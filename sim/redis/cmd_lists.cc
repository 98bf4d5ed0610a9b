// Lists. Pops from one of several keys, and moves from list to list: cmd_pops.cc.
#include <algorithm>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"
#include "sim/redis/pops.h"

namespace holdfast::sim::embedded {

std::string take_item(Call& c, const Found<List>& found, std::string_view key, bool left) {
  std::string item = std::move(left ? found.value->front() : found.value->back());
  left ? found.value->pop_front() : found.value->pop_back();
  changed(c, key);
  if (found.value->empty()) c.db().erase(*found.entry);
  return item;
}

namespace {

std::int64_t length_of(const List& list) { return static_cast<std::int64_t>(list.size()); }

void push_generic(Call& c, bool left, bool only_if_exists) {
  auto found = find_value<List>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) {
    if (only_if_exists) return c.out.integer(0);
    found = find_or_make<List>(c, c.arg(1));
  }
  for (std::size_t i = 2; i < c.argc(); ++i) {
    left ? found.value->emplace_front(c.arg(i)) : found.value->emplace_back(c.arg(i));
  }
  changed(c, c.arg(1), static_cast<std::int64_t>(c.argc() - 2));
  c.out.integer(length_of(*found.value));
  c.engine.signal_key(c.session.db, c.arg(1));
}
void lpush(Call& c) { push_generic(c, true, false); }
void rpush(Call& c) { push_generic(c, false, false); }
void lpushx(Call& c) { push_generic(c, true, true); }
void rpushx(Call& c) { push_generic(c, false, true); }

void pop_generic(Call& c, bool left) {
  std::int64_t count = 1;
  if (c.argc() > 3)
    return c.out.error("ERR wrong number of arguments for '" + std::string(c.spec.name) + "' command");
  if (c.argc() == 3 && (!parse_integer(c.arg(2), count) || count < 0)) {
    return c.out.error("ERR value is out of range, must be positive");
  }
  const auto found = find_value<List>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.argc() == 3 ? c.out.nil_array() : c.out.nil();
  if (c.argc() == 2) return c.out.bulk(take_item(c, found, c.arg(1), left));
  const std::int64_t taken = std::min(count, length_of(*found.value));
  c.out.array(static_cast<std::size_t>(taken));
  for (std::int64_t i = 0; i < taken; ++i) c.out.bulk(take_item(c, found, c.arg(1), left));
}
void lpop(Call& c) { pop_generic(c, true); }
void rpop(Call& c) { pop_generic(c, false); }

void llen(Call& c) {
  const auto found = find_value<List>(c, c.arg(1), false);
  if (!found.wrong) c.out.integer(found ? length_of(*found.value) : 0);
}

void lrange(Call& c) {
  std::int64_t start = 0, stop = 0;
  if (!integer_arg(c, 2, start) || !integer_arg(c, 3, stop)) return;
  const auto found = find_value<List>(c, c.arg(1), false);
  if (found.wrong) return;
  if (!found || !clamp_range(start, stop, found.value->size())) return c.out.array(0);
  c.out.array(static_cast<std::size_t>(stop - start + 1));
  for (std::int64_t i = start; i <= stop; ++i) c.out.bulk((*found.value)[static_cast<std::size_t>(i)]);
}

void ltrim(Call& c) {
  std::int64_t start = 0, stop = 0;
  if (!integer_arg(c, 2, start) || !integer_arg(c, 3, stop)) return;
  const auto found = find_value<List>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.ok();
  List& list = *found.value;
  const auto before = length_of(list);
  if (!clamp_range(start, stop, list.size())) {
    list.clear();
  } else {
    list.erase(list.begin() + stop + 1, list.end());
    list.erase(list.begin(), list.begin() + start);
  }
  changed(c, c.arg(1), before - length_of(list));
  if (list.empty()) c.db().erase(*found.entry);
  c.out.ok();
}

void lindex(Call& c) {
  const auto found = find_value<List>(c, c.arg(1), false);
  if (found.wrong) return;
  if (!found) return c.out.nil();
  std::int64_t index = 0;
  if (!integer_arg(c, 2, index)) return;
  if (index < 0) index += length_of(*found.value);
  if (index < 0 || index >= length_of(*found.value)) return c.out.nil();
  c.out.bulk((*found.value)[static_cast<std::size_t>(index)]);
}

void lset(Call& c) {
  const auto found = find_value<List>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.error(kNoSuchKey);
  std::int64_t index = 0;
  if (!integer_arg(c, 2, index)) return;
  if (index < 0) index += length_of(*found.value);
  if (index < 0 || index >= length_of(*found.value)) return c.out.error(kOutOfRange);
  (*found.value)[static_cast<std::size_t>(index)] = std::string(c.arg(3));
  changed(c, c.arg(1));
  c.out.ok();
}

void linsert(Call& c) {
  const bool before = c.option(2, "BEFORE");
  if (!before && !c.option(2, "AFTER")) return c.out.error(kSyntax);
  const auto found = find_value<List>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.integer(0);
  auto it = std::find(found.value->begin(), found.value->end(), c.arg(3));
  if (it == found.value->end()) return c.out.integer(-1);
  found.value->insert(before ? it : it + 1, std::string(c.arg(4)));
  changed(c, c.arg(1));
  c.out.integer(length_of(*found.value));
}

void lrem(Call& c) {
  std::int64_t count = 0;
  if (!integer_arg(c, 2, count)) return;
  const auto found = find_value<List>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.integer(0);
  List& list = *found.value;
  std::int64_t left = count == 0 ? INT64_MAX : count == INT64_MIN ? INT64_MAX : count < 0 ? -count : count;
  std::int64_t removed = 0;
  const auto size = length_of(list);
  List kept;
  for (std::int64_t i = 0; i < size; ++i) {
    std::string& item = list[static_cast<std::size_t>(count < 0 ? size - 1 - i : i)];
    if (left > 0 && item == c.arg(3)) {
      --left;
      ++removed;
    } else if (count < 0) {
      kept.push_front(std::move(item));
    } else {
      kept.push_back(std::move(item));
    }
  }
  list = std::move(kept);
  if (removed > 0) changed(c, c.arg(1), removed);
  if (list.empty()) c.db().erase(*found.entry);
  c.out.integer(removed);
}

void lpos(Call& c) {
  std::int64_t rank = 1, count = -1, limit = 0;
  for (std::size_t i = 3; i < c.argc(); i += 2) {
    if (i + 1 >= c.argc()) return c.out.error(kSyntax);
    if (c.option(i, "RANK")) {
      if (!integer_arg(c, i + 1, rank)) return;
      if (rank == 0) {
        return c.out.error(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use "
            "negative to "
            "start from the end of the list");
      }
      if (rank == INT64_MIN)
        return c.out.error(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
    } else if (c.option(i, "COUNT")) {
      if (!integer_arg(c, i + 1, count, "ERR COUNT can't be negative")) return;
      if (count < 0) return c.out.error("ERR COUNT can't be negative");
    } else if (c.option(i, "MAXLEN")) {
      if (!integer_arg(c, i + 1, limit, "ERR MAXLEN can't be negative")) return;
      if (limit < 0) return c.out.error("ERR MAXLEN can't be negative");
    } else {
      return c.out.error(kSyntax);
    }
  }
  const auto found = find_value<List>(c, c.arg(1), false);
  if (found.wrong) return;
  if (!found) return count >= 0 ? c.out.array(0) : c.out.nil();
  const auto size = length_of(*found.value);
  const bool backwards = rank < 0;
  std::int64_t skip = (backwards ? -rank : rank) - 1;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < size && (limit == 0 || i < limit); ++i) {
    const std::int64_t at = backwards ? size - 1 - i : i;
    if ((*found.value)[static_cast<std::size_t>(at)] != c.arg(2)) continue;
    if (skip-- > 0) continue;
    places.push_back(at);
    if (count < 0 || (count > 0 && static_cast<std::int64_t>(places.size()) == count)) break;
  }
  if (count < 0) return places.empty() ? c.out.nil() : c.out.integer(places.front());
  c.out.array(places.size());
  for (const std::int64_t at : places) c.out.integer(at);
}

}  // namespace

void add_list_commands(Specs& specs) {
  constexpr std::uint32_t kW = kWrite | kDenyOom;
  constexpr Keys kOne{1, 1, 1};
  specs.insert(specs.end(), {
                                {"lpush", lpush, -3, kW | kFast, kOne},
                                {"rpush", rpush, -3, kW | kFast, kOne},
                                {"lpushx", lpushx, -3, kW | kFast, kOne},
                                {"rpushx", rpushx, -3, kW | kFast, kOne},
                                {"lpop", lpop, -2, kWrite | kFast, kOne},
                                {"rpop", rpop, -2, kWrite | kFast, kOne},
                                {"llen", llen, 2, kReadonly | kFast, kOne},
                                {"lrange", lrange, 4, kReadonly, kOne},
                                {"ltrim", ltrim, 4, kWrite, kOne},
                                {"lindex", lindex, 3, kReadonly, kOne},
                                {"lset", lset, 4, kW, kOne},
                                {"linsert", linsert, 5, kW, kOne},
                                {"lrem", lrem, 4, kWrite, kOne},
                                {"lpos", lpos, -3, kReadonly, kOne},
                            });
  add_pop_commands(specs);
}

}  // namespace holdfast::sim::embedded
