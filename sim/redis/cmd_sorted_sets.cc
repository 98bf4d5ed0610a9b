// Sorted sets: adding, removing, counting. Ranges: cmd_sorted_set_ranges.cc.
#include <algorithm>
#include <cmath>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"
#include "sim/redis/pops.h"
#include "sim/redis/zrange.h"

namespace holdfast::sim::embedded {
namespace {

void zadd_generic(Call& c, bool increment) {
  bool nx = false, xx = false, gt = false, lt = false, count_changes = false;
  std::size_t i = 2;
  for (; i < c.argc(); ++i) {
    if (c.option(i, "NX"))
      nx = true;
    else if (c.option(i, "XX"))
      xx = true;
    else if (c.option(i, "GT"))
      gt = true;
    else if (c.option(i, "LT"))
      lt = true;
    else if (c.option(i, "CH"))
      count_changes = true;
    else if (c.option(i, "INCR"))
      increment = true;
    else
      break;
  }
  const std::size_t words = c.argc() - i;
  if (words % 2 != 0 || words == 0) return c.out.error(kSyntax);
  if (nx && xx) return c.out.error("ERR XX and NX options at the same time are not compatible");
  if ((gt && nx) || (lt && nx) || (gt && lt)) {
    return c.out.error("ERR GT, LT, and/or NX options at the same time are not compatible");
  }
  if (increment && words > 2) return c.out.error("ERR INCR option supports a single increment-element pair");
  std::vector<double> scores;
  for (std::size_t s = i; s < c.argc(); s += 2) {
    double score = 0;
    if (!real_arg(c, s, score)) return;
    scores.push_back(score + 0.0);  // -0 becomes 0
  }
  auto found = find_value<SortedSet>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) {
    if (xx) return increment ? c.out.nil() : c.out.integer(0);
    found = find_or_make<SortedSet>(c, c.arg(1));
  }
  SortedSet& zset = *found.value;
  std::int64_t added = 0, updated = 0;
  bool processed = false;
  double result = 0;
  for (std::size_t n = 0; n < scores.size(); ++n) {
    const std::string_view member = c.arg(i + 2 * n + 1);
    double score = scores[n];
    const double* known = zset.find(member);
    if (known != nullptr) {
      const double old = *known;
      result = old;
      if (nx) continue;
      if (increment) {
        score += old;
        if (std::isnan(score)) return c.out.error("ERR resulting score is not a number (NaN)");
      }
      if ((lt && score >= old) || (gt && score <= old)) continue;
      result = score;
      processed = true;
      if (score != old) {
        zset.set(member, score);
        ++updated;
      }
    } else if (!xx) {
      zset.set(member, score);
      ++added;
      processed = true;
      result = score;
    }
  }
  if (added + updated > 0) changed(c, c.arg(1), added + updated);
  if (zset.size() == 0) c.db().erase(*found.entry);
  if (added > 0) c.engine.signal_key(c.session.db, c.arg(1));
  if (increment) return processed ? c.out.real(result) : c.out.nil();
  c.out.integer(count_changes ? added + updated : added);
}
void zadd(Call& c) { zadd_generic(c, false); }

void zincrby(Call& c) {
  double by = 0;
  if (!real_arg(c, 2, by)) return;
  auto found = find_or_make<SortedSet>(c, c.arg(1));
  if (found.wrong) return;
  const double* known = found.value->find(c.arg(3));
  const double score = known != nullptr ? *known + by : by;
  if (std::isnan(score)) return c.out.error("ERR resulting score is not a number (NaN)");
  found.value->set(c.arg(3), score);
  changed(c, c.arg(1));
  c.engine.signal_key(c.session.db, c.arg(1));
  c.out.real(score);
}

void zrem(Call& c) {
  const auto found = find_value<SortedSet>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.integer(0);
  std::int64_t removed = 0;
  for (std::size_t i = 2; i < c.argc(); ++i) removed += found.value->remove(c.arg(i)) ? 1 : 0;
  if (removed > 0) changed(c, c.arg(1), removed);
  if (found.value->size() == 0) c.db().erase(*found.entry);
  c.out.integer(removed);
}

void zscore(Call& c) {
  const auto found = find_value<SortedSet>(c, c.arg(1), false);
  if (found.wrong) return;
  const double* score = found ? found.value->find(c.arg(2)) : nullptr;
  score != nullptr ? c.out.real(*score) : c.out.nil();
}
void zmscore(Call& c) {
  const auto found = find_value<SortedSet>(c, c.arg(1), false);
  if (found.wrong) return;
  c.out.array(c.argc() - 2);
  for (std::size_t i = 2; i < c.argc(); ++i) {
    const double* score = found ? found.value->find(c.arg(i)) : nullptr;
    score != nullptr ? c.out.real(*score) : c.out.nil();
  }
}
void zcard(Call& c) {
  const auto found = find_value<SortedSet>(c, c.arg(1), false);
  if (!found.wrong) c.out.integer(found ? static_cast<std::int64_t>(found.value->size()) : 0);
}

void rank_generic(Call& c, bool reverse) {
  const auto found = find_value<SortedSet>(c, c.arg(1), false);
  if (found.wrong) return;
  if (!found || found.value->find(c.arg(2)) == nullptr) return c.out.nil();
  const std::size_t rank = found.value->rank(c.arg(2));
  c.out.integer(static_cast<std::int64_t>(reverse ? found.value->size() - 1 - rank : rank));
}
void zrank(Call& c) { rank_generic(c, false); }
void zrevrank(Call& c) { rank_generic(c, true); }

void pop_generic(Call& c, bool least) {
  std::int64_t count = 1;
  if (c.argc() > 3) return c.out.error(kSyntax);
  if (c.argc() == 3 && (!parse_integer(c.arg(2), count) || count < 0)) {
    return c.out.error("ERR value is out of range, must be positive");
  }
  const auto found = find_value<SortedSet>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found || count == 0) return c.out.array(0);
  const std::size_t taken = std::min(found.value->size(), static_cast<std::size_t>(count));
  const bool nested = c.argc() == 3 && c.out.protocol > 2;
  c.out.array(nested ? taken : 2 * taken);
  pop_members(c, found, c.arg(1), least, taken, nested);
}
void zpopmin(Call& c) { pop_generic(c, true); }
void zpopmax(Call& c) { pop_generic(c, false); }

}  // namespace

void add_sorted_set_commands(Specs& specs) {
  constexpr std::uint32_t kW = kWrite | kDenyOom | kFast;
  constexpr Keys kOne{1, 1, 1};
  specs.insert(specs.end(), {
                                {"zadd", zadd, -4, kW, kOne},
                                {"zincrby", zincrby, 4, kW, kOne},
                                {"zrem", zrem, -3, kWrite | kFast, kOne},
                                {"zscore", zscore, 3, kReadonly | kFast, kOne},
                                {"zmscore", zmscore, -3, kReadonly | kFast, kOne},
                                {"zcard", zcard, 2, kReadonly | kFast, kOne},
                                {"zrank", zrank, 3, kReadonly | kFast, kOne},
                                {"zrevrank", zrevrank, 3, kReadonly | kFast, kOne},
                                {"zpopmin", zpopmin, -2, kWrite | kFast, kOne},
                                {"zpopmax", zpopmax, -2, kWrite | kFast, kOne},
                            });
  add_sorted_set_range_commands(specs);
  add_sorted_set_algebra_commands(specs);
}

}  // namespace holdfast::sim::embedded
