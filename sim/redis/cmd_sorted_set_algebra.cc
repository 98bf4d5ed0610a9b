// Unions, intersections and differences of sorted sets and sets (whose members count as 1), and drawing of
// members.
#include <algorithm>
#include <cmath>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"
#include "sim/redis/zrange.h"

namespace holdfast::sim::embedded {
namespace {

enum class Operation { unite, intersect, subtract };
enum class Aggregate { sum, least, greatest };

// One input: a sorted set, a set, or nothing.
struct Source {
  const SortedSet* zset = nullptr;
  const Set* set = nullptr;
  double weight = 1;

  std::size_t size() const { return zset != nullptr ? zset->size() : set != nullptr ? set->size() : 0; }
  bool find(std::string_view member, double& score) const {
    const double* held = zset != nullptr ? zset->find(member) : nullptr;
    score = held != nullptr ? *held : 1;
    return held != nullptr || (set != nullptr && set->contains(member));
  }
  template <class F>
  void each(F&& visit) const {  // visit(member, score)
    if (zset != nullptr) {
      for (const auto& item : zset->items()) visit(std::string_view(item.member), item.score);
    } else if (set != nullptr) {
      for (const std::string_view member : set->ordered()) visit(member, 1.0);
    }
  }
};

double weighted(double score, double weight) {
  const double product = score * weight;
  return std::isnan(product) ? 0 : product;
}

double joined(double a, double b, Aggregate how) {
  if (how == Aggregate::least) return std::min(a, b);
  if (how == Aggregate::greatest) return std::max(a, b);
  const double sum = a + b;  // inf + -inf counts as 0
  return std::isnan(sum) ? 0 : sum;
}

struct Query {
  Operation operation = Operation::unite;
  bool store = false, count_only = false;
  // From the arguments:
  std::vector<Source> sources = {};
  Aggregate aggregate = Aggregate::sum;
  bool with_scores = false;
  std::size_t limit = 0;  // of the count; 0: none
};

// argv[at] is the number of keys, which follow. False: answered with a complaint.
bool read_query(Call& c, std::size_t at, Query& q) {
  const auto refuse = [&](std::string_view why) { return c.out.error(why), false; };
  std::int64_t keys = 0;
  if (!integer_arg(c, at, keys)) return false;
  if (keys < 1)
    return refuse("ERR at least 1 input key is needed for '" + std::string(c.spec.name) + "' command");
  if (static_cast<std::uint64_t>(keys) > c.argc() - at - 1) return refuse(kSyntax);
  std::size_t i = at + 1;
  for (; i <= at + static_cast<std::size_t>(keys); ++i) {
    Source source;
    if (const Entry* entry = find_key(c, c.arg(i), false); entry != nullptr) {
      const auto* zset = std::get_if<std::unique_ptr<SortedSet>>(&entry->value);
      const auto* set = std::get_if<std::unique_ptr<Set>>(&entry->value);
      if (zset == nullptr && set == nullptr) return refuse(kWrongType);
      if (zset != nullptr) source.zset = zset->get();
      if (set != nullptr) source.set = set->get();
    }
    q.sources.push_back(source);
  }
  const bool joins = q.operation != Operation::subtract && !q.count_only;
  while (i < c.argc()) {
    const std::size_t left = c.argc() - i;
    if (joins && left > q.sources.size() && c.option(i, "WEIGHTS")) {
      for (Source& source : q.sources) {
        if (!real_arg(c, ++i, source.weight, "ERR weight value is not a float")) return false;
      }
      ++i;
    } else if (joins && left >= 2 && c.option(i, "AGGREGATE")) {
      if (c.option(i + 1, "SUM"))
        q.aggregate = Aggregate::sum;
      else if (c.option(i + 1, "MIN"))
        q.aggregate = Aggregate::least;
      else if (c.option(i + 1, "MAX"))
        q.aggregate = Aggregate::greatest;
      else
        return refuse(kSyntax);
      i += 2;
    } else if (!q.store && !q.count_only && c.option(i, "WITHSCORES")) {
      q.with_scores = true;
      ++i;
    } else if (q.count_only && left >= 2 && c.option(i, "LIMIT")) {
      std::int64_t limit = 0;
      if (!integer_arg(c, i + 1, limit, "ERR LIMIT can't be negative")) return false;
      if (limit < 0) return refuse("ERR LIMIT can't be negative");
      q.limit = static_cast<std::size_t>(limit);
      i += 2;
    } else {
      return refuse(kSyntax);
    }
  }
  return true;
}

SortedSet compute(Query& q) {
  SortedSet result;
  if (q.operation != Operation::subtract) {  // Redis adds up in this order, and sums of floats show it
    std::stable_sort(q.sources.begin(), q.sources.end(),
                     [](const Source& a, const Source& b) { return a.size() < b.size(); });
  }
  const Source& first = q.sources.front();
  if (q.operation == Operation::unite) {
    for (const Source& source : q.sources) {
      source.each([&](std::string_view member, double score) {
        score = weighted(score, source.weight);
        const double* known = result.find(member);
        result.set(member, known == nullptr ? score : joined(*known, score, q.aggregate));
      });
    }
    return result;
  }
  first.each([&](std::string_view member, double score) {
    if (q.limit != 0 && result.size() == q.limit) return;
    double sum = q.operation == Operation::subtract ? score : weighted(score, first.weight);
    for (std::size_t i = 1; i < q.sources.size(); ++i) {
      double other = 0;
      if (q.sources[i].find(member, other) == (q.operation == Operation::subtract)) return;
      if (q.operation == Operation::intersect) sum = joined(sum, other * q.sources[i].weight, q.aggregate);
    }
    result.set(member, sum);
  });
  return result;
}

void answer(Call& c, Operation operation) {
  Query q{.operation = operation};
  if (!read_query(c, 1, q)) return;
  const SortedSet result = compute(q);
  const bool nested = q.with_scores && c.out.protocol > 2;
  c.out.array(result.size() * (q.with_scores && !nested ? 2 : 1));
  for (const auto& item : result.items()) {
    if (nested) c.out.array(2);
    c.out.bulk(item.member);
    if (q.with_scores) c.out.real(item.score);
  }
}
void store(Call& c, Operation operation) {
  Query q{.operation = operation, .store = true};
  if (read_query(c, 2, q)) store_members(c, c.arg(1), compute(q).items());
}
void zunion(Call& c) { answer(c, Operation::unite); }
void zinter(Call& c) { answer(c, Operation::intersect); }
void zdiff(Call& c) { answer(c, Operation::subtract); }
void zunionstore(Call& c) { store(c, Operation::unite); }
void zinterstore(Call& c) { store(c, Operation::intersect); }
void zdiffstore(Call& c) { store(c, Operation::subtract); }
void zintercard(Call& c) {
  Query q{.operation = Operation::intersect, .count_only = true};
  if (read_query(c, 1, q)) c.out.integer(static_cast<std::int64_t>(compute(q).size()));
}

void zrandmember(Call& c) {
  std::int64_t count = 1;
  if (c.argc() > 2 && !draw_count_arg(c, 2, count)) return;
  const bool with_scores = c.argc() == 4;
  if (c.argc() > 4 || (with_scores && !c.option(3, "WITHSCORES"))) return c.out.error(kSyntax);
  if (with_scores && (count < -(INT64_MAX / 2) || count > INT64_MAX / 2))
    return c.out.error(kOutOfRangeValue);
  const auto found = find_value<SortedSet>(c, c.arg(1), false);
  if (found.wrong) return;
  if (!found) return c.argc() == 2 ? c.out.nil() : c.out.array(0);
  const SortedSet& zset = *found.value;
  const auto any = [&] { return c.engine.runtime().random_between(0, zset.size() - 1); };
  if (c.argc() == 2) return c.out.bulk(zset.nth(any()).member);
  if (count < -kMostDrawn) return c.out.error(kOutOfRangeValue);
  const bool nested = with_scores && c.out.protocol > 2;
  const bool repeats = count < 0;
  const std::size_t taken =
      repeats ? static_cast<std::size_t>(-count) : std::min(zset.size(), static_cast<std::size_t>(count));
  const std::size_t first = repeats || taken == 0 || taken == zset.size() ? 0 : any();  // all: in their order
  c.out.array(taken * (with_scores && !nested ? 2 : 1));
  for (std::size_t i = 0; i < taken; ++i) {
    const auto& item = zset.nth(repeats ? any() : (first + i) % zset.size());
    if (nested) c.out.array(2);
    c.out.bulk(item.member);
    if (with_scores) c.out.real(item.score);
  }
}

}  // namespace

void add_sorted_set_algebra_commands(Specs& specs) {
  constexpr std::uint32_t kW = kWrite | kDenyOom;
  constexpr Keys kOne{1, 1, 1};
  specs.insert(specs.end(), {
                                {"zunion", zunion, -3, kReadonly},
                                {"zinter", zinter, -3, kReadonly},
                                {"zdiff", zdiff, -3, kReadonly},
                                {"zintercard", zintercard, -3, kReadonly},
                                {"zunionstore", zunionstore, -4, kW, kOne},
                                {"zinterstore", zinterstore, -4, kW, kOne},
                                {"zdiffstore", zdiffstore, -4, kW, kOne},
                                {"zrandmember", zrandmember, -2, kReadonly, kOne},
                            });
}

}  // namespace holdfast::sim::embedded
