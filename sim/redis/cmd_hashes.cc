// Hashes.
#include <cmath>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

std::int64_t set_fields(Call& c, Hash& hash) {
  std::int64_t created_count = 0;
  for (std::size_t i = 2; i + 1 < c.argc(); i += 2) {
    bool created = false;
    hash.at(c.arg(i), created) = std::string(c.arg(i + 1));
    created_count += created ? 1 : 0;
  }
  changed(c, c.arg(1), static_cast<std::int64_t>(c.argc() - 2) / 2);
  return created_count;
}

bool pairs_ok(Call& c) {
  if (c.argc() % 2 == 0) return true;
  c.out.error("ERR wrong number of arguments for '" + std::string(c.spec.name) + "' command");
  return false;
}

void hset(Call& c) {
  if (!pairs_ok(c)) return;
  const auto found = find_or_make<Hash>(c, c.arg(1));
  if (!found.wrong) c.out.integer(set_fields(c, *found.value));
}
void hmset(Call& c) {
  if (!pairs_ok(c)) return;
  const auto found = find_or_make<Hash>(c, c.arg(1));
  if (found.wrong) return;
  set_fields(c, *found.value);
  c.out.ok();
}
void hsetnx(Call& c) {
  const auto found = find_or_make<Hash>(c, c.arg(1));
  if (found.wrong) return;
  if (found.value->find(c.arg(2)) != nullptr) return c.out.integer(0);
  c.out.integer(set_fields(c, *found.value));
}

void hget(Call& c) {
  const auto found = find_value<Hash>(c, c.arg(1), false);
  if (found.wrong) return;
  const std::string* held = found ? found.value->find(c.arg(2)) : nullptr;
  held != nullptr ? c.out.bulk(*held) : c.out.nil();
}
void hmget(Call& c) {
  const auto found = find_value<Hash>(c, c.arg(1), false);
  if (found.wrong) return;
  c.out.array(c.argc() - 2);
  for (std::size_t i = 2; i < c.argc(); ++i) {
    const std::string* held = found ? found.value->find(c.arg(i)) : nullptr;
    held != nullptr ? c.out.bulk(*held) : c.out.nil();
  }
}
void hexists(Call& c) {
  const auto found = find_value<Hash>(c, c.arg(1), false);
  if (!found.wrong) c.out.integer(found && found.value->find(c.arg(2)) != nullptr ? 1 : 0);
}
void hlen(Call& c) {
  const auto found = find_value<Hash>(c, c.arg(1), false);
  if (!found.wrong) c.out.integer(found ? static_cast<std::int64_t>(found.value->size()) : 0);
}
void hstrlen(Call& c) {
  const auto found = find_value<Hash>(c, c.arg(1), false);
  if (found.wrong) return;
  const std::string* held = found ? found.value->find(c.arg(2)) : nullptr;
  c.out.integer(held != nullptr ? static_cast<std::int64_t>(held->size()) : 0);
}

void hdel(Call& c) {
  const auto found = find_value<Hash>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.integer(0);
  std::int64_t count = 0;
  for (std::size_t i = 2; i < c.argc(); ++i) count += found.value->erase(c.arg(i)) ? 1 : 0;
  if (count > 0) changed(c, c.arg(1), count);
  if (found.value->empty()) c.db().erase(*found.entry);
  c.out.integer(count);
}

void all(Call& c, bool fields, bool values) {
  const auto found = find_value<Hash>(c, c.arg(1), false);
  if (found.wrong) return;
  const std::size_t size = found ? found.value->size() : 0;
  fields&& values ? c.out.map(size) : c.out.array(size);
  if (!found) return;
  found.value->each([&](const std::string& field, const std::string& held) {
    if (fields) c.out.bulk(field);
    if (values) c.out.bulk(held);
  });
}
void hgetall(Call& c) { all(c, true, true); }
void hkeys(Call& c) { all(c, true, false); }
void hvals(Call& c) { all(c, false, true); }

void hincrby(Call& c) {
  std::int64_t by = 0;
  if (!integer_arg(c, 3, by)) return;
  const auto found = find_value<Hash>(c, c.arg(1), true);
  if (found.wrong) return;
  const std::string* held = found ? found.value->find(c.arg(2)) : nullptr;
  std::int64_t value = 0;
  if (held != nullptr && !parse_integer(*held, value)) return c.out.error("ERR hash value is not an integer");
  std::int64_t sum = 0;
  if (__builtin_add_overflow(value, by, &sum))
    return c.out.error("ERR increment or decrement would overflow");
  Hash& hash = found ? *found.value : *find_or_make<Hash>(c, c.arg(1)).value;
  bool created = false;
  std::string& text = hash.at(c.arg(2), created);
  text.clear();
  append_integer(text, sum);
  changed(c, c.arg(1));
  c.out.integer(sum);
}

void hincrbyfloat(Call& c) {
  long double by = 0;
  if (!parse_long_real(c.arg(3), by)) return c.out.error(kNotFloat);
  if (std::isnan(by) || std::isinf(by)) return c.out.error("ERR value is NaN or Infinity");
  const auto found = find_value<Hash>(c, c.arg(1), true);
  if (found.wrong) return;
  const std::string* held = found ? found.value->find(c.arg(2)) : nullptr;
  long double value = 0;
  if (held != nullptr && !parse_long_real(*held, value)) return c.out.error("ERR hash value is not a float");
  value += by;
  if (std::isnan(value) || std::isinf(value))
    return c.out.error("ERR increment would produce NaN or Infinity");
  const std::string text = format_long_real(value);
  Hash& hash = found ? *found.value : *find_or_make<Hash>(c, c.arg(1)).value;
  bool created = false;
  hash.at(c.arg(2), created) = text;
  changed(c, c.arg(1));
  c.propagate_instead({"HSET", c.arg(1), c.arg(2), text});
  c.out.bulk(text);
}

void hrandfield(Call& c) {
  std::int64_t count = 1;
  bool with_values = false;
  if (c.argc() > 2 && !draw_count_arg(c, 2, count)) return;
  if (c.argc() > 4) return c.out.error(kSyntax);
  if (c.argc() == 4) {
    if (!c.option(3, "WITHVALUES")) return c.out.error(kSyntax);
    with_values = true;
    if (count < -(INT64_MAX / 2) || count > INT64_MAX / 2) return c.out.error(kOutOfRangeValue);
  }
  const auto found = find_value<Hash>(c, c.arg(1), false);
  if (found.wrong) return;
  if (c.argc() == 2) {
    if (!found) return c.out.nil();
    return c.out.bulk(found.value->nth(c.engine.runtime().random_between(0, found.value->size() - 1)).key);
  }
  if (!found || count == 0) return c.out.array(0);
  const bool nested = with_values && c.out.protocol > 2;
  const auto announce = [&](std::size_t items) { c.out.array(items * (with_values && !nested ? 2 : 1)); };
  const auto emit = [&](std::size_t n) {
    const auto& slot = found.value->nth(n);
    if (nested) c.out.array(2);
    c.out.bulk(slot.key);
    if (with_values) c.out.bulk(slot.value);
  };
  const std::size_t size = found.value->size();
  if (count < -kMostDrawn) return c.out.error(kOutOfRangeValue);
  if (count < 0) {
    announce(static_cast<std::size_t>(-count));
    for (std::int64_t i = 0; i < -count; ++i) emit(c.engine.runtime().random_between(0, size - 1));
    return;
  }
  const std::size_t taken = std::min(size, static_cast<std::size_t>(count));
  // All of them: in their order.
  const std::size_t first = taken == size ? 0 : c.engine.runtime().random_between(0, size - 1);
  announce(taken);
  for (std::size_t i = 0; i < taken; ++i) emit((first + i) % size);
}

}  // namespace

void add_hash_commands(Specs& specs) {
  constexpr std::uint32_t kW = kWrite | kDenyOom | kFast;
  constexpr Keys kOne{1, 1, 1};
  specs.insert(specs.end(), {
                                {"hset", hset, -4, kW, kOne},
                                {"hmset", hmset, -4, kW, kOne},
                                {"hsetnx", hsetnx, 4, kW, kOne},
                                {"hget", hget, 3, kReadonly | kFast, kOne},
                                {"hmget", hmget, -3, kReadonly | kFast, kOne},
                                {"hexists", hexists, 3, kReadonly | kFast, kOne},
                                {"hlen", hlen, 2, kReadonly | kFast, kOne},
                                {"hstrlen", hstrlen, 3, kReadonly | kFast, kOne},
                                {"hdel", hdel, -3, kWrite | kFast, kOne},
                                {"hgetall", hgetall, 2, kReadonly, kOne},
                                {"hkeys", hkeys, 2, kReadonly, kOne},
                                {"hvals", hvals, 2, kReadonly, kOne},
                                {"hincrby", hincrby, 4, kW, kOne},
                                {"hincrbyfloat", hincrbyfloat, 4, kW, kOne},
                                {"hrandfield", hrandfield, -2, kReadonly, kOne},
                            });
}

}  // namespace holdfast::sim::embedded
