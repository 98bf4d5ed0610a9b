// Ranges of sorted sets: every form is turned into an interval of ranks [begin, end).
#include <algorithm>
#include <cmath>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"
#include "sim/redis/zrange.h"

namespace holdfast::sim::embedded {
namespace {

enum class By { rank, score, member };

struct Bounds {
  double low = 0, high = 0;
  std::string_view low_member, high_member;
  int low_infinite = 0, high_infinite = 0;  // members: -1 "-", 1 "+"
  bool low_open = false, high_open = false;
};

bool score_bound(std::string_view text, double& value, bool& open) {
  open = text.starts_with('(');
  if (open) text.remove_prefix(1);
  return parse_real(text, value);
}
bool member_bound(std::string_view text, std::string_view& value, int& infinite, bool& open) {
  infinite = text == "-" ? -1 : text == "+" ? 1 : 0;
  if (infinite != 0) return true;
  if (!text.starts_with('(') && !text.starts_with('[')) return false;
  open = text[0] == '(';
  value = text.substr(1);
  return true;
}

// Answers the complaint itself.
bool read_bounds(Call& c, By by, std::size_t low_at, std::size_t high_at, Bounds& b) {
  if (by == By::score) {
    if (score_bound(c.arg(low_at), b.low, b.low_open) && score_bound(c.arg(high_at), b.high, b.high_open))
      return true;
    c.out.error("ERR min or max is not a float");
    return false;
  }
  if (member_bound(c.arg(low_at), b.low_member, b.low_infinite, b.low_open) &&
      member_bound(c.arg(high_at), b.high_member, b.high_infinite, b.high_open)) {
    return true;
  }
  c.out.error("ERR min or max not valid string range item");
  return false;
}

void interval(const SortedSet& zset, By by, const Bounds& b, std::size_t& begin, std::size_t& end) {
  const auto& items = zset.items();
  const auto below = [&](const SortedSet::Item& item) {
    if (by == By::score) return b.low_open ? item.score <= b.low : item.score < b.low;
    if (b.low_infinite != 0) return b.low_infinite > 0;
    return b.low_open ? item.member <= b.low_member : item.member < b.low_member;
  };
  const auto not_above = [&](const SortedSet::Item& item) {
    if (by == By::score) return b.high_open ? item.score < b.high : item.score <= b.high;
    if (b.high_infinite != 0) return b.high_infinite > 0;
    return b.high_open ? item.member < b.high_member : item.member <= b.high_member;
  };
  begin = static_cast<std::size_t>(std::partition_point(items.begin(), items.end(), below) - items.begin());
  end = static_cast<std::size_t>(std::partition_point(items.begin(), items.end(), not_above) - items.begin());
  end = std::max(begin, end);
}

struct Query {
  By by = By::rank;
  bool reverse = false, with_scores = false;
  std::int64_t offset = 0, count = -1;
  bool limited = false;
};

// Answers, or stores into argv[1], the range of the set at argv[key].
void range(Call& c, std::size_t key, const Query& q, bool store) {
  std::int64_t start = 0, stop = 0;
  Bounds bounds;
  if (q.by == By::rank) {
    if (!integer_arg(c, key + 1, start) || !integer_arg(c, key + 2, stop)) return;
  } else {
    const std::size_t low_at = q.reverse ? key + 2 : key + 1;
    if (!read_bounds(c, q.by, low_at, q.reverse ? key + 1 : key + 2, bounds)) return;
  }
  const auto found = find_value<SortedSet>(c, c.arg(key), store);
  if (found.wrong) return;
  std::vector<SortedSet::Item> result;
  if (found) {
    const SortedSet& zset = *found.value;
    std::size_t begin = 0, end = 0;
    if (q.by == By::rank) {
      if (clamp_range(start, stop, zset.size())) {
        begin = static_cast<std::size_t>(start);
        end = static_cast<std::size_t>(stop) + 1;
        if (q.reverse) {
          const std::size_t size = zset.size();
          begin = size - 1 - static_cast<std::size_t>(stop);
          end = size - static_cast<std::size_t>(start);
        }
      }
    } else {
      interval(zset, q.by, bounds, begin, end);
    }
    std::size_t skip = 0;
    std::size_t take = end - begin;
    if (q.limited) {
      if (q.offset < 0 || static_cast<std::size_t>(q.offset) >= take)
        take = 0;
      else
        skip = static_cast<std::size_t>(q.offset), take -= skip;
      if (q.count >= 0) take = std::min(take, static_cast<std::size_t>(q.count));
    }
    for (std::size_t i = 0; i < take; ++i) {
      result.push_back(zset.nth(q.reverse ? end - 1 - skip - i : begin + skip + i));
    }
  }
  if (!store) {
    const bool nested = q.with_scores && c.out.protocol > 2;
    c.out.array(result.size() * (q.with_scores && !nested ? 2 : 1));
    for (const auto& item : result) {
      if (nested) c.out.array(2);
      c.out.bulk(item.member);
      if (q.with_scores) c.out.real(item.score);
    }
    return;
  }
  store_members(c, c.arg(1), result);
}

void zrange_generic(Call& c, std::size_t key, Query q, bool any_order, bool store) {
  for (std::size_t i = key + 3; i < c.argc(); ++i) {
    if (!store && c.option(i, "WITHSCORES")) {
      q.with_scores = true;
    } else if (c.option(i, "LIMIT") && i + 2 < c.argc()) {
      if (!integer_arg(c, i + 1, q.offset) || !integer_arg(c, i + 2, q.count)) return;
      q.limited = true;
      i += 2;
    } else if (any_order && c.option(i, "REV")) {
      q.reverse = true;
    } else if (any_order && c.option(i, "BYSCORE")) {
      q.by = By::score;
    } else if (any_order && c.option(i, "BYLEX")) {
      q.by = By::member;
    } else {
      return c.out.error(kSyntax);
    }
  }
  if (q.limited && q.by == By::rank) {
    return c.out.error(
        "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
  }
  if (q.with_scores && q.by == By::member) {
    return c.out.error("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
  }
  range(c, key, q, store);
}
void zrange(Call& c) { zrange_generic(c, 1, {}, true, false); }
void zrangestore(Call& c) { zrange_generic(c, 2, {}, true, true); }
void zrevrange(Call& c) { zrange_generic(c, 1, {.reverse = true}, false, false); }
void zrangebyscore(Call& c) { zrange_generic(c, 1, {.by = By::score}, false, false); }
void zrevrangebyscore(Call& c) { zrange_generic(c, 1, {.by = By::score, .reverse = true}, false, false); }
void zrangebylex(Call& c) { zrange_generic(c, 1, {.by = By::member}, false, false); }
void zrevrangebylex(Call& c) { zrange_generic(c, 1, {.by = By::member, .reverse = true}, false, false); }

void count_generic(Call& c, By by) {
  Bounds bounds;
  if (!read_bounds(c, by, 2, 3, bounds)) return;
  const auto found = find_value<SortedSet>(c, c.arg(1), false);
  if (found.wrong) return;
  std::size_t begin = 0, end = 0;
  if (found) interval(*found.value, by, bounds, begin, end);
  c.out.integer(static_cast<std::int64_t>(end - begin));
}
void zcount(Call& c) { count_generic(c, By::score); }
void zlexcount(Call& c) { count_generic(c, By::member); }

void remove_generic(Call& c, By by) {
  Bounds bounds;
  std::int64_t start = 0, stop = 0;
  if (by == By::rank) {
    if (!integer_arg(c, 2, start) || !integer_arg(c, 3, stop)) return;
  } else if (!read_bounds(c, by, 2, 3, bounds)) {
    return;
  }
  const auto found = find_value<SortedSet>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.integer(0);
  std::size_t begin = 0, end = 0;
  if (by != By::rank) {
    interval(*found.value, by, bounds, begin, end);
  } else if (clamp_range(start, stop, found.value->size())) {
    begin = static_cast<std::size_t>(start);
    end = static_cast<std::size_t>(stop) + 1;
  }
  const auto removed = static_cast<std::int64_t>(end - begin);
  found.value->remove_ranks(begin, end - begin);
  if (removed > 0) changed(c, c.arg(1), removed);
  if (found.value->size() == 0) c.db().erase(*found.entry);
  c.out.integer(removed);
}
void zremrangebyrank(Call& c) { remove_generic(c, By::rank); }
void zremrangebyscore(Call& c) { remove_generic(c, By::score); }
void zremrangebylex(Call& c) { remove_generic(c, By::member); }

}  // namespace

void store_members(Call& c, std::string_view key, const std::vector<SortedSet::Item>& items) {
  Entry* old = find_key(c, key, true);
  const bool existed = old != nullptr;
  if (existed) c.db().erase(*old);
  if (!items.empty()) {
    SortedSet& target = *find_or_make<SortedSet>(c, key).value;
    for (const auto& item : items) target.set(item.member, item.score);
    c.engine.signal_key(c.session.db, key);
  }
  if (existed || !items.empty()) changed(c, key);
  c.out.integer(static_cast<std::int64_t>(items.size()));
}

void add_sorted_set_range_commands(Specs& specs) {
  constexpr Keys kOne{1, 1, 1};
  specs.insert(specs.end(), {
                                {"zrange", zrange, -4, kReadonly, kOne},
                                {"zrangestore", zrangestore, -5, kWrite | kDenyOom, {1, 2, 1}},
                                {"zrevrange", zrevrange, -4, kReadonly, kOne},
                                {"zrangebyscore", zrangebyscore, -4, kReadonly, kOne},
                                {"zrevrangebyscore", zrevrangebyscore, -4, kReadonly, kOne},
                                {"zrangebylex", zrangebylex, -4, kReadonly, kOne},
                                {"zrevrangebylex", zrevrangebylex, -4, kReadonly, kOne},
                                {"zcount", zcount, 4, kReadonly | kFast, kOne},
                                {"zlexcount", zlexcount, 4, kReadonly | kFast, kOne},
                                {"zremrangebyrank", zremrangebyrank, 4, kWrite, kOne},
                                {"zremrangebyscore", zremrangebyscore, 4, kWrite, kOne},
                                {"zremrangebylex", zremrangebylex, 4, kWrite, kOne},
                            });
}

}  // namespace holdfast::sim::embedded
