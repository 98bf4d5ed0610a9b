// SCAN and its like.
//
// A cursor of SCAN is a place in the order of the keys' hashes: the least hash that was not looked at yet. So
// a key that is there from the first call to the last is seen, whatever comes and goes meanwhile. Hashes,
// sets and sorted sets are answered as a whole, as a real server does with small ones.
#include <algorithm>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"
#include "sim/redis/glob.h"

namespace holdfast::sim::embedded {
namespace {

struct Options {
  std::int64_t count = 10;
  std::string_view pattern = "*";
  std::string type;
};

// argv[i..]. False: answered with a complaint.
bool read_options(Call& c, std::size_t i, bool may_ask_type, Options& options) {
  for (; i < c.argc(); i += 2) {
    const bool has_value = i + 1 < c.argc();
    if (has_value && c.option(i, "COUNT")) {
      if (!integer_arg(c, i + 1, options.count)) return false;
      if (options.count < 1) return c.out.error(kSyntax), false;
    } else if (has_value && c.option(i, "MATCH")) {
      options.pattern = c.arg(i + 1);
    } else if (has_value && may_ask_type && c.option(i, "TYPE")) {
      options.type = lower(c.arg(i + 1));
    } else {
      return c.out.error(kSyntax), false;
    }
  }
  return true;
}

void answer(Call& c, std::uint64_t cursor, const std::vector<std::string>& items) {
  c.out.array(2);
  c.out.bulk(std::to_string(cursor));
  c.out.array(items.size());
  for (const std::string& item : items) c.out.bulk(item);
}

std::uint64_t place_of(std::string_view key) {  // never 0, which is the beginning
  return (static_cast<std::uint64_t>(StringHash()(key)) >> 16) + 1;
}

void scan(Call& c) {
  std::uint64_t cursor = 0;
  Options options;
  if (!cursor_arg(c, 1, cursor) || !read_options(c, 2, true, options)) return;
  std::vector<std::pair<std::uint64_t, std::string>> ahead;
  c.db().each([&](const Entry& entry) {
    if (const std::uint64_t place = place_of(*entry.key); place >= cursor)
      ahead.emplace_back(place, *entry.key);
  });
  std::sort(ahead.begin(), ahead.end());
  std::size_t end = std::min(ahead.size(), static_cast<std::size_t>(options.count));
  while (end > 0 && end < ahead.size() && ahead[end].first == ahead[end - 1].first) ++end;
  std::vector<std::string> found;
  for (std::size_t i = 0; i < end; ++i) {
    const std::string& key = ahead[i].second;
    if (!glob_match(options.pattern, key)) continue;
    const Entry* entry = peek_key(c, key);  // deletes what has expired
    if (entry == nullptr || (!options.type.empty() && options.type != type_name(entry->value))) continue;
    found.push_back(key);
  }
  answer(c, end == ahead.size() ? 0 : ahead[end].first, found);
}

// The value of a scan of one key, or nullptr: answered.
template <class T>
T* scanned(Call& c, Options& options) {
  std::uint64_t cursor = 0;
  if (!cursor_arg(c, 2, cursor)) return nullptr;
  const auto found = find_value<T>(c, c.arg(1), false);
  if (found.wrong) return nullptr;
  if (!found) return answer(c, 0, {}), nullptr;
  return read_options(c, 3, false, options) ? found.value : nullptr;
}

void hscan(Call& c) {
  Options options;
  const Hash* hash = scanned<Hash>(c, options);
  if (hash == nullptr) return;
  std::vector<std::string> items;
  hash->each([&](const std::string& field, const std::string& held) {
    if (glob_match(options.pattern, field)) items.insert(items.end(), {field, held});
  });
  answer(c, 0, items);
}

void sscan(Call& c) {
  Options options;
  const Set* set = scanned<Set>(c, options);
  if (set == nullptr) return;
  std::vector<std::string> items;
  for (const std::string_view member : set->ordered()) {
    if (glob_match(options.pattern, member)) items.emplace_back(member);
  }
  answer(c, 0, items);
}

void zscan(Call& c) {
  Options options;
  const SortedSet* zset = scanned<SortedSet>(c, options);
  if (zset == nullptr) return;
  std::vector<std::string> items;
  for (const auto& item : zset->items()) {
    if (glob_match(options.pattern, item.member))
      items.insert(items.end(), {item.member, format_real(item.score)});
  }
  answer(c, 0, items);
}

}  // namespace

void add_scan_commands(Specs& specs) {
  constexpr Keys kOne{1, 1, 1};
  specs.insert(specs.end(), {
                                {"scan", scan, -2, kReadonly | kAnyKeys},
                                {"hscan", hscan, -3, kReadonly, kOne},
                                {"sscan", sscan, -3, kReadonly, kOne},
                                {"zscan", zscan, -3, kReadonly, kOne},
                            });
}

}  // namespace holdfast::sim::embedded
