// Strings: SET and related commands, counters, ranges.
#include <algorithm>
#include <cmath>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"
#include "sim/redis/expiry.h"

namespace holdfast::sim::embedded {
namespace {

void get(Call& c) {
  const auto found = find_value<std::string>(c, c.arg(1), false);
  if (found.wrong) return;
  found ? c.out.bulk(*found.value) : c.out.nil();
}

void set(Call& c) {
  bool nx = false, xx = false, want_old = false, keep_ttl = false;
  ExpiryUnit unit = ExpiryUnit::none;
  std::size_t expiry_at = 0;
  for (std::size_t i = 3; i < c.argc(); ++i) {
    const bool more = i + 1 < c.argc();
    const auto expiry = [&](ExpiryUnit of) {
      // The same option again is fine; the last one counts.
      if ((unit != ExpiryUnit::none && unit != of) || keep_ttl || !more) return false;
      unit = of;
      expiry_at = ++i;
      return true;
    };
    bool fine = true;
    if (c.option(i, "NX")) {
      fine = !xx;
      nx = true;
    } else if (c.option(i, "XX")) {
      fine = !nx;
      xx = true;
    } else if (c.option(i, "GET")) {
      want_old = true;
    } else if (c.option(i, "KEEPTTL")) {
      fine = unit == ExpiryUnit::none;
      keep_ttl = true;
    } else if (c.option(i, "EX")) {
      fine = expiry(ExpiryUnit::seconds);
    } else if (c.option(i, "PX")) {
      fine = expiry(ExpiryUnit::milliseconds);
    } else if (c.option(i, "EXAT")) {
      fine = expiry(ExpiryUnit::at_seconds);
    } else if (c.option(i, "PXAT")) {
      fine = expiry(ExpiryUnit::at_milliseconds);
    } else {
      fine = false;
    }
    if (!fine) return c.out.error(kSyntax);
  }
  std::int64_t at_ms = 0;
  if (unit != ExpiryUnit::none && !expiry_argument(c, expiry_at, unit, at_ms)) return;

  Entry* entry = find_key(c, c.arg(1), true);
  if (want_old) {
    if (entry == nullptr) {
      c.out.nil();
    } else if (const auto* old = std::get_if<std::string>(&entry->value)) {
      c.out.bulk(*old);
    } else {
      return c.out.error(kWrongType);
    }
  }
  if ((nx && entry != nullptr) || (xx && entry == nullptr)) {
    if (!want_old) c.out.nil();
    return;
  }
  if (entry == nullptr) {
    entry = &c.db().insert(c.arg(1), std::string(c.arg(2)));
  } else {
    entry->value = std::string(c.arg(2));
    entry->raw_text = false;
    if (!keep_ttl) c.db().clear_expiry(*entry);
  }
  changed(c, c.arg(1));
  if (unit != ExpiryUnit::none) {
    c.db().set_expiry(*entry, at_ms);
    if (c.engine.propagating()) {
      c.propagate_instead({"SET", c.arg(1), c.arg(2), "PXAT", std::to_string(at_ms)});
    }
  } else if (want_old && c.engine.propagating()) {  // the reply is of no use to replicas
    std::vector<std::string_view> effect;
    for (std::size_t i = 0; i < c.argc(); ++i) {
      if (i < 3 || !c.option(i, "GET")) effect.emplace_back(c.arg(i));
    }
    c.propagate_instead(effect);
  }
  if (!want_old) c.out.ok();
}

void setnx(Call& c) {
  if (find_key(c, c.arg(1), true) != nullptr) return c.out.integer(0);
  put(c, c.arg(1), std::string(c.arg(2)));
  c.out.integer(1);
}

void set_with_expiry(Call& c, ExpiryUnit unit) {
  std::int64_t at_ms = 0;
  if (!expiry_argument(c, 2, unit, at_ms)) return;
  Entry& entry = put(c, c.arg(1), std::string(c.arg(3)));
  c.db().set_expiry(entry, at_ms);
  c.propagate_instead({"SET", c.arg(1), c.arg(3), "PXAT", std::to_string(at_ms)});
  c.out.ok();
}
void setex(Call& c) { set_with_expiry(c, ExpiryUnit::seconds); }
void psetex(Call& c) { set_with_expiry(c, ExpiryUnit::milliseconds); }

void getset(Call& c) {
  const auto found = find_value<std::string>(c, c.arg(1), true);
  if (found.wrong) return;
  found ? c.out.bulk(*found.value) : c.out.nil();
  put(c, c.arg(1), std::string(c.arg(2)));
  c.propagate_instead({"SET", c.arg(1), c.arg(2)});
}

void getdel(Call& c) {
  const auto found = find_value<std::string>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.nil();
  c.out.bulk(*found.value);
  erase_key(c, *found.entry);
  c.propagate_instead({"DEL", c.arg(1)});
}

void getex(Call& c) {
  ExpiryUnit unit = ExpiryUnit::none;
  bool persist = false;
  std::size_t at = 0;
  for (std::size_t i = 2; i < c.argc(); ++i) {
    ExpiryUnit of = ExpiryUnit::none;
    if (c.option(i, "EX")) of = ExpiryUnit::seconds;
    if (c.option(i, "PX")) of = ExpiryUnit::milliseconds;
    if (c.option(i, "EXAT")) of = ExpiryUnit::at_seconds;
    if (c.option(i, "PXAT")) of = ExpiryUnit::at_milliseconds;
    if (of != ExpiryUnit::none && (unit == ExpiryUnit::none || unit == of) && !persist && i + 1 < c.argc()) {
      unit = of;
      at = ++i;
    } else if (of == ExpiryUnit::none && c.option(i, "PERSIST") && unit == ExpiryUnit::none) {
      persist = true;
    } else {
      return c.out.error(kSyntax);
    }
  }
  const auto found = find_value<std::string>(c, c.arg(1), true);
  if (found.wrong) return;
  if (!found) return c.out.nil();
  std::int64_t at_ms = 0;
  if (unit != ExpiryUnit::none && !expiry_argument(c, at, unit, at_ms)) return;
  c.out.bulk(*found.value);
  const std::string key(c.arg(1));
  if (unit != ExpiryUnit::none) {
    changed(c, key);
    if (at_ms <= c.now && !c.engine.is_replica()) {
      c.db().erase(*found.entry);
      c.propagate_instead({"DEL", key});
    } else {
      c.db().set_expiry(*found.entry, at_ms);
      c.propagate_instead({"PEXPIREAT", key, std::to_string(at_ms)});
    }
  } else if (persist && found.entry->expires_at != kNoExpiry) {
    c.db().clear_expiry(*found.entry);
    changed(c, key);
    c.propagate_instead({"PERSIST", key});
  }
}

void add_to(Call& c, std::int64_t by) {
  const auto found = find_value<std::string>(c, c.arg(1), true);
  if (found.wrong) return;
  std::int64_t value = 0;
  if (found && !parse_integer(*found.value, value)) return c.out.error(kNotInteger);
  std::int64_t sum = 0;
  if (__builtin_add_overflow(value, by, &sum))
    return c.out.error("ERR increment or decrement would overflow");
  if (found) {
    found.value->clear();
    append_integer(*found.value, sum);
    found.entry->raw_text = false;
  } else {
    c.db().insert(c.arg(1), std::to_string(sum));
  }
  changed(c, c.arg(1));
  c.out.integer(sum);
}

void incr(Call& c) { add_to(c, 1); }
void decr(Call& c) { add_to(c, -1); }
void incrby(Call& c) {
  std::int64_t by = 0;
  if (integer_arg(c, 2, by)) add_to(c, by);
}
void decrby(Call& c) {
  std::int64_t by = 0;
  if (!integer_arg(c, 2, by)) return;
  if (by == INT64_MIN) return c.out.error("ERR decrement would overflow");
  add_to(c, -by);
}

void incrbyfloat(Call& c) {
  const auto found = find_value<std::string>(c, c.arg(1), true);
  if (found.wrong) return;
  long double value = 0;
  long double by = 0;
  if (found && !parse_long_real(*found.value, value)) return c.out.error(kNotFloat);
  if (!parse_long_real(c.arg(2), by)) return c.out.error(kNotFloat);
  value += by;
  if (std::isnan(value) || std::isinf(value))
    return c.out.error("ERR increment would produce NaN or Infinity");
  const std::string text = format_long_real(value);
  if (found) {
    *found.value = text;
  } else {
    c.db().insert(c.arg(1), text);
  }
  changed(c, c.arg(1));
  c.propagate_instead({"SET", c.arg(1), text, "KEEPTTL"});
  c.out.bulk(text);
}

void append(Call& c) {
  const auto found = find_or_make<std::string>(c, c.arg(1));
  if (found.wrong) return;
  found.value->append(c.arg(2));
  found.entry->raw_text = true;
  changed(c, c.arg(1));
  c.out.integer(static_cast<std::int64_t>(found.value->size()));
}

void string_length(Call& c) {
  const auto found = find_value<std::string>(c, c.arg(1), false);
  if (found.wrong) return;
  c.out.integer(found ? static_cast<std::int64_t>(found.value->size()) : 0);
}

void getrange(Call& c) {
  std::int64_t start = 0, stop = 0;
  if (!integer_arg(c, 2, start) || !integer_arg(c, 3, stop)) return;
  const auto found = find_value<std::string>(c, c.arg(1), false);
  if (found.wrong) return;
  if (!found || (start < 0 && stop < 0 && start > stop)) return c.out.bulk("");
  const auto length = static_cast<std::int64_t>(found.value->size());
  if (start < 0) start = std::max<std::int64_t>(0, start + length);
  if (stop < 0) stop = std::max<std::int64_t>(0, stop + length);
  stop = std::min(stop, length - 1);
  if (start > stop || length == 0) return c.out.bulk("");
  c.out.bulk(std::string_view(*found.value)
                 .substr(static_cast<std::size_t>(start), static_cast<std::size_t>(stop - start + 1)));
}

void setrange(Call& c) {
  std::int64_t offset = 0;
  if (!integer_arg(c, 2, offset)) return;
  if (offset < 0) return c.out.error("ERR offset is out of range");
  auto found = find_value<std::string>(c, c.arg(1), true);
  if (found.wrong) return;
  const std::string_view text = c.arg(3);
  if (text.empty()) return c.out.integer(found ? static_cast<std::int64_t>(found.value->size()) : 0);
  if (static_cast<std::uint64_t>(offset) + text.size() > 512u * 1024 * 1024) {
    return c.out.error("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
  }
  if (!found) found = find_or_make<std::string>(c, c.arg(1));
  const auto at = static_cast<std::size_t>(offset);
  if (found.value->size() < at + text.size()) found.value->resize(at + text.size());
  std::copy(text.begin(), text.end(), found.value->begin() + static_cast<std::ptrdiff_t>(at));
  found.entry->raw_text = true;
  changed(c, c.arg(1));
  c.out.integer(static_cast<std::int64_t>(found.value->size()));
}

void mget(Call& c) {
  c.out.array(c.argc() - 1);
  for (std::size_t i = 1; i < c.argc(); ++i) {
    Entry* entry = find_key(c, c.arg(i), false);
    const auto* text = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value);
    text != nullptr ? c.out.bulk(*text) : c.out.nil();
  }
}

void put_pairs(Call& c) {
  for (std::size_t i = 1; i < c.argc(); i += 2) put(c, c.arg(i), std::string(c.arg(i + 1)));
}
void mset(Call& c) {
  if (c.argc() % 2 == 0) return c.out.error("ERR wrong number of arguments for 'mset' command");
  put_pairs(c);
  c.out.ok();
}
void msetnx(Call& c) {
  if (c.argc() % 2 == 0) return c.out.error("ERR wrong number of arguments for 'msetnx' command");
  for (std::size_t i = 1; i < c.argc(); i += 2) {
    if (find_key(c, c.arg(i), true) != nullptr) return c.out.integer(0);
  }
  put_pairs(c);
  c.out.integer(1);
}

}  // namespace

void add_string_commands(Specs& specs) {
  constexpr std::uint32_t kW = kWrite | kDenyOom;
  constexpr Keys kOne{1, 1, 1};
  specs.insert(specs.end(), {
                                {"get", get, 2, kReadonly | kFast, kOne},
                                {"set", set, -3, kW, kOne},
                                {"setnx", setnx, 3, kW | kFast, kOne},
                                {"setex", setex, 4, kW, kOne},
                                {"psetex", psetex, 4, kW, kOne},
                                {"getset", getset, 3, kW | kFast, kOne},
                                {"getdel", getdel, 2, kWrite | kFast, kOne},
                                {"getex", getex, -2, kWrite | kFast, kOne},
                                {"incr", incr, 2, kW | kFast, kOne},
                                {"decr", decr, 2, kW | kFast, kOne},
                                {"incrby", incrby, 3, kW | kFast, kOne},
                                {"decrby", decrby, 3, kW | kFast, kOne},
                                {"incrbyfloat", incrbyfloat, 3, kW | kFast, kOne},
                                {"append", append, 3, kW | kFast, kOne},
                                {"strlen", string_length, 2, kReadonly | kFast, kOne},
                                {"getrange", getrange, 4, kReadonly, kOne},
                                {"substr", getrange, 4, kReadonly, kOne},
                                {"setrange", setrange, 4, kW, kOne},
                                {"mget", mget, -2, kReadonly | kFast, {1, -1, 1}},
                                {"mset", mset, -3, kW, {1, -1, 2}},
                                {"msetnx", msetnx, -3, kW, {1, -1, 2}},
                            });
}

}  // namespace holdfast::sim::embedded
