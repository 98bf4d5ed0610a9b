// Pops from the first of several keys that holds something, waiting for one or not, and moves between lists.
#include <algorithm>
#include <cmath>

#include "sim/redis/engine.h"
#include "sim/redis/pops.h"

namespace holdfast::sim::embedded {
namespace {

// The time-out in argument `i`. False: answered with a complaint.
bool timeout_argument(Call& c, std::size_t i, std::int64_t& until_ms) {
  long double seconds = 0;
  if (!parse_long_real(c.arg(i), seconds))
    return c.out.error("ERR timeout is not a float or out of range"), false;
  if (seconds < 0 || seconds * 1000 >= 9223372036854775808.0L)  // in Redis what does not fit becomes negative
    return c.out.error("ERR timeout is negative"), false;
  if (seconds * 1000 > static_cast<long double>(INT64_MAX / 2))
    return c.out.error("ERR timeout is out of range"), false;
  const auto ms = static_cast<std::int64_t>(std::ceil(seconds * 1000));
  until_ms = ms == 0 ? 0 : c.engine.mono_ms() + ms;
  return true;
}

// Parks the session until one of the keys argv[keys_at..keys_at + keys) is there. Inside a transaction or
// script nobody waits: `array` or not, nil is the answer.
void wait_for_keys(Call& c, std::int64_t until_ms, std::size_t keys_at, std::size_t keys, bool array = true) {
  if (c.session.in_multi || c.session.fake || &c.out != &c.session.out) {
    if (c.session.blocked == Blocked::on_keys) return;  // woken too early: goes on waiting
    return array ? c.out.nil_array() : c.out.nil();
  }
  c.session.blocked_argv.assign(c.argv.begin(), c.argv.end());
  c.session.blocked_argv.front() = std::string(c.spec.name);
  c.session.blocked_keys_at = keys_at;
  c.session.blocked_keys = keys;
  c.engine.block(c.session, Blocked::on_keys, until_ms);
}

// --- moves ----------------------------------------------------------------------------------------------

// Moves one item; false: nothing there (answered nothing) or an error was answered.
bool move_item(Call& c, bool from_left, bool to_left, bool& answered) {
  answered = true;
  const auto from = find_value<List>(c, c.arg(1), true);
  if (from.wrong) return false;
  if (!from) {
    answered = false;
    return false;
  }
  if (find_value<List>(c, c.arg(2), true).wrong) return false;
  const std::string item = take_item(c, from, c.arg(1), from_left);
  const auto to = find_or_make<List>(c, c.arg(2));
  to_left ? to.value->push_front(item) : to.value->push_back(item);
  changed(c, c.arg(2), 0);
  c.out.bulk(item);
  c.engine.signal_key(c.session.db, c.arg(2));
  return true;
}
bool side(Call& c, std::size_t i, bool& left) {
  left = c.option(i, "LEFT");
  if (left || c.option(i, "RIGHT")) return true;
  c.out.error(kSyntax);
  return false;
}
void lmove(Call& c) {
  bool from_left = false, to_left = false, answered = false;
  if (!side(c, 3, from_left) || !side(c, 4, to_left)) return;
  if (!move_item(c, from_left, to_left, answered) && !answered) c.out.nil();
}
void rpoplpush(Call& c) {
  bool answered = false;
  if (!move_item(c, false, true, answered) && !answered) c.out.nil();
  c.propagate_instead({"LMOVE", c.arg(1), c.arg(2), "RIGHT", "LEFT"});
}
void blmove(Call& c) {
  bool from_left = false, to_left = false, answered = false;
  std::int64_t until_ms = 0;
  if (!side(c, 3, from_left) || !side(c, 4, to_left) || !timeout_argument(c, 5, until_ms)) return;
  if (move_item(c, from_left, to_left, answered)) {
    c.propagate_instead({"LMOVE", c.arg(1), c.arg(2), c.arg(3), c.arg(4)});
  } else if (!answered) {
    wait_for_keys(c, until_ms, 1, 1, false);
  }
}
void brpoplpush(Call& c) {
  bool answered = false;
  std::int64_t until_ms = 0;
  if (!timeout_argument(c, 3, until_ms)) return;
  if (move_item(c, false, true, answered)) {
    c.propagate_instead({"LMOVE", c.arg(1), c.arg(2), "RIGHT", "LEFT"});
  } else if (!answered) {
    wait_for_keys(c, until_ms, 1, 1, false);
  }
}

// --- one of several keys --------------------------------------------------------------------------------

// Pops from the first of the keys that holds something; waits while none does.
template <typename Data, typename Take>
void pop_of_first(Call& c, const Take& take) {
  std::int64_t until_ms = 0;
  if (!timeout_argument(c, c.argc() - 1, until_ms)) return;
  for (std::size_t i = 1; i + 1 < c.argc(); ++i) {
    const auto found = find_value<Data>(c, c.arg(i), true);
    if (found.wrong) return;
    if (found) return take(found, c.arg(i));
  }
  wait_for_keys(c, until_ms, 1, c.argc() - 2);
}

void blocking_pop(Call& c, bool left) {
  pop_of_first<List>(c, [&](const auto& found, const auto& key) {
    c.out.array(2);
    c.out.bulk(key);
    c.out.bulk(take_item(c, found, key, left));
    c.propagate_instead({left ? "LPOP" : "RPOP", key});
  });
}
void blpop(Call& c) { blocking_pop(c, true); }
void brpop(Call& c) { blocking_pop(c, false); }

void blocking_zpop(Call& c, bool least) {
  pop_of_first<SortedSet>(c, [&](const auto& found, const auto& key) {
    c.out.array(3);
    c.out.bulk(key);
    pop_members(c, found, key, least, 1, false);
    c.propagate_instead({least ? "ZPOPMIN" : "ZPOPMAX", key});
  });
}
void bzpopmin(Call& c) { blocking_zpop(c, true); }
void bzpopmax(Call& c) { blocking_zpop(c, false); }

// "numkeys key ... <first|last> [COUNT n]" from argv[at] on. False: answered with a complaint.
struct Pop {
  std::size_t keys_at = 0, keys = 0, count = 1;
  bool first = false;
};
bool pop_arguments(Call& c, std::size_t at, std::string_view first, std::string_view last, Pop& pop) {
  std::int64_t keys = 0, count = -1;
  constexpr std::string_view kKeys = "ERR numkeys should be greater than 0";
  constexpr std::string_view kCount = "ERR count should be greater than 0";
  if (!integer_arg(c, at, keys, kKeys)) return false;
  if (keys < 1) return c.out.error(kKeys), false;
  const auto refuse = [&] { return c.out.error(kSyntax), false; };
  if (static_cast<std::uint64_t>(keys) >= c.argc() - at - 1) return refuse();
  pop.keys_at = at + 1;
  pop.keys = static_cast<std::size_t>(keys);
  const std::size_t side_at = pop.keys_at + pop.keys;
  pop.first = c.option(side_at, first);
  if (!pop.first && !c.option(side_at, last)) return refuse();
  for (std::size_t i = side_at + 1; i < c.argc(); i += 2) {
    if (count != -1 || !c.option(i, "COUNT") || i + 1 >= c.argc()) return refuse();
    if (!integer_arg(c, i + 1, count, kCount)) return false;
    if (count < 1) return c.out.error(kCount), false;
  }
  if (count != -1) pop.count = static_cast<std::size_t>(count);
  return true;
}

// Answers from the first key that holds something; false: none does, or (answered) one is of another type.
bool pop_first(Call& c, const Pop& pop, bool of_list, bool& answered) {
  answered = true;
  for (std::size_t i = pop.keys_at; i < pop.keys_at + pop.keys; ++i) {
    const std::string_view key = c.arg(i);
    std::size_t taken = 0;
    if (of_list) {
      const auto found = find_value<List>(c, key, true);
      if (found.wrong) return false;
      if (!found) continue;
      taken = std::min(pop.count, found.value->size());
      c.out.array(2);
      c.out.bulk(key);
      c.out.array(taken);
      for (std::size_t n = 0; n < taken; ++n) c.out.bulk(take_item(c, found, key, pop.first));
    } else {
      const auto found = find_value<SortedSet>(c, key, true);
      if (found.wrong) return false;
      if (!found) continue;
      taken = std::min(pop.count, found.value->size());
      c.out.array(2);
      c.out.bulk(key);
      c.out.array(taken);
      pop_members(c, found, key, pop.first, taken, true);
    }
    const std::string_view effect =
        of_list ? (pop.first ? "LPOP" : "RPOP") : (pop.first ? "ZPOPMIN" : "ZPOPMAX");
    c.propagate_instead({effect, key, std::to_string(taken)});
    return true;
  }
  answered = false;
  return false;
}

void pop_now(Call& c, bool of_list) {
  Pop pop;
  bool answered = false;
  if (!pop_arguments(c, 1, of_list ? "LEFT" : "MIN", of_list ? "RIGHT" : "MAX", pop)) return;
  if (!pop_first(c, pop, of_list, answered) && !answered) c.out.nil_array();
}
void pop_or_wait(Call& c, bool of_list) {
  Pop pop;
  bool answered = false;
  std::int64_t until_ms = 0;
  if (!pop_arguments(c, 2, of_list ? "LEFT" : "MIN", of_list ? "RIGHT" : "MAX", pop)) return;
  if (!timeout_argument(c, 1, until_ms)) return;
  if (!pop_first(c, pop, of_list, answered) && !answered) wait_for_keys(c, until_ms, pop.keys_at, pop.keys);
}
void lmpop(Call& c) { pop_now(c, true); }
void zmpop(Call& c) { pop_now(c, false); }
void blmpop(Call& c) { pop_or_wait(c, true); }
void bzmpop(Call& c) { pop_or_wait(c, false); }

}  // namespace

void pop_members(Call& c, const Found<SortedSet>& found, std::string_view key, bool least, std::size_t count,
                 bool nested) {
  SortedSet& zset = *found.value;
  for (std::size_t i = 0; i < count; ++i) {
    if (nested) c.out.array(2);
    const auto& item = zset.nth(least ? i : zset.size() - 1 - i);
    c.out.bulk(item.member);
    c.out.real(item.score);
  }
  zset.remove_ranks(least ? 0 : zset.size() - count, count);
  changed(c, key, static_cast<std::int64_t>(count));
  if (zset.size() == 0) c.db().erase(*found.entry);
}

void add_pop_commands(Specs& specs) {
  constexpr std::uint32_t kW = kWrite | kDenyOom;
  constexpr std::uint32_t kWaits = kBlocking | kNoScript;
  constexpr Keys kTwo{1, 2, 1};
  constexpr Keys kAllButLast{1, -2, 1};
  specs.insert(specs.end(), {
                                {"lmove", lmove, 5, kW, kTwo},
                                {"rpoplpush", rpoplpush, 3, kW, kTwo},
                                {"blmove", blmove, 6, kW | kWaits, kTwo},
                                {"brpoplpush", brpoplpush, 4, kW | kWaits, kTwo},
                                {"blpop", blpop, -3, kWrite | kWaits, kAllButLast},
                                {"brpop", brpop, -3, kWrite | kWaits, kAllButLast},
                                {"lmpop", lmpop, -4, kWrite},
                                {"blmpop", blmpop, -5, kWrite | kBlocking},
                                {"bzpopmin", bzpopmin, -3, kWrite | kFast | kWaits, kAllButLast},
                                {"bzpopmax", bzpopmax, -3, kWrite | kFast | kWaits, kAllButLast},
                                {"zmpop", zmpop, -4, kWrite},
                                {"bzmpop", bzmpop, -5, kWrite | kBlocking},
                            });
}

}  // namespace holdfast::sim::embedded
