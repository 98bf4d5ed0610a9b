// SORT and SORT_RO. Texts are compared by their bytes (a real server: by its locale, unless it stores).
#include <algorithm>
#include <optional>

#include "sim/redis/command.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

struct Options {
  bool descending = false, by_text = false;
  std::int64_t offset = 0, count = -1;
  std::optional<std::string_view> by, store;
  std::vector<std::string_view> get;
};

// False: answered with a complaint.
bool read_options(Call& c, bool may_store, Options& o) {
  for (std::size_t i = 2; i < c.argc(); ++i) {
    const std::size_t left = c.argc() - i - 1;
    if (c.option(i, "ASC")) {
      o.descending = false;
    } else if (c.option(i, "DESC")) {
      o.descending = true;
    } else if (c.option(i, "ALPHA")) {
      o.by_text = true;
    } else if (c.option(i, "LIMIT") && left >= 2) {
      if (!integer_arg(c, i + 1, o.offset) || !integer_arg(c, i + 2, o.count)) return false;
      i += 2;
    } else if (may_store && c.option(i, "STORE") && left >= 1) {
      o.store = c.arg(++i);
    } else if (c.option(i, "BY") && left >= 1) {
      o.by = c.arg(++i);
    } else if (c.option(i, "GET") && left >= 1) {
      o.get.push_back(c.arg(++i));
    } else {
      return c.out.error(kSyntax), false;
    }
  }
  return true;
}

// What `pattern` ("weight_*", "hash_*->field", "#") names for `element`; none: not there.
std::optional<std::string> follow(Call& c, std::string_view pattern, const std::string& element) {
  if (pattern == "#") return element;
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return {};
  const std::size_t arrow = pattern.find("->", star + 1);
  const bool in_hash = arrow != std::string_view::npos && arrow + 2 < pattern.size();
  const std::string_view behind =
      pattern.substr(star + 1, in_hash ? arrow - star - 1 : std::string_view::npos);
  const std::string key = std::string(pattern.substr(0, star)) + element + std::string(behind);
  const Entry* entry = find_key(c, key, false);
  if (entry == nullptr) return {};
  if (!in_hash) {
    const auto* text = std::get_if<std::string>(&entry->value);
    return text == nullptr ? std::optional<std::string>() : *text;
  }
  const auto* hash = std::get_if<std::unique_ptr<Hash>>(&entry->value);
  const std::string* field = hash == nullptr ? nullptr : (*hash)->find(pattern.substr(arrow + 2));
  return field == nullptr ? std::optional<std::string>() : *field;
}

struct Item {
  std::string element;
  double weight = 0;
  std::optional<std::string> text;
};

std::vector<Item> elements_of(const Value& value) {
  std::vector<Item> items;
  if (const auto* list = std::get_if<std::unique_ptr<List>>(&value)) {
    for (const std::string& one : **list) items.push_back({one, 0, {}});
  } else if (const auto* set = std::get_if<std::unique_ptr<Set>>(&value)) {
    for (const std::string_view one : (*set)->ordered()) items.push_back({std::string(one), 0, {}});
  } else if (const auto* zset = std::get_if<std::unique_ptr<SortedSet>>(&value)) {
    for (const auto& one : (*zset)->items()) items.push_back({one.member, 0, {}});
  }
  return items;
}

// Weighs and sorts. False: a weight is no number (the caller answers).
bool order(Call& c, const Options& o, std::vector<Item>& items) {
  for (Item& item : items) {
    item.text = o.by ? follow(c, *o.by, item.element) : item.element;
    if (o.by_text || !item.text) continue;
    if (!item.text->empty() && !parse_real(*item.text, item.weight)) return false;
  }
  const auto before = [&](const Item& a, const Item& b) {
    if (o.by_text) return a.text < b.text;  // absent ones first
    return a.weight != b.weight ? a.weight < b.weight : a.element < b.element;
  };
  std::stable_sort(items.begin(), items.end(),
                   [&](const Item& a, const Item& b) { return o.descending ? before(b, a) : before(a, b); });
  return true;
}

void sort_generic(Call& c, bool may_store) {
  Options o;
  if (!read_options(c, may_store, o)) return;
  std::vector<Item> items;
  bool of_set = false;
  if (const Entry* entry = find_key(c, c.arg(1), false); entry != nullptr) {
    of_set = std::holds_alternative<std::unique_ptr<Set>>(entry->value);
    if (!of_set && !std::holds_alternative<std::unique_ptr<List>>(entry->value) &&
        !std::holds_alternative<std::unique_ptr<SortedSet>>(entry->value))
      return c.out.error(kWrongType);
    items = elements_of(entry->value);
  }
  bool as_it_stands = o.by && o.by->find('*') == std::string_view::npos;
  if (as_it_stands && of_set && (o.store || &c.out != &c.session.out)) {
    // stored or in a script: replicas must see one order
    as_it_stands = false;
    o.by_text = true;
    o.by.reset();
  }
  if (as_it_stands) {
    if (o.descending && !of_set) std::reverse(items.begin(), items.end());
  } else if (!order(c, o, items)) {
    return c.out.error("ERR One or more scores can't be converted into double");
  }
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t begin = std::clamp<std::int64_t>(o.offset, 0, size);
  const std::int64_t end = o.count < 0 ? size : begin + std::min(o.count, size - begin);
  std::vector<std::optional<std::string>> result;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::string& element = items[static_cast<std::size_t>(i)].element;
    if (o.get.empty()) result.emplace_back(element);
    for (const std::string_view pattern : o.get) result.push_back(follow(c, pattern, element));
  }
  if (!o.store) {
    c.out.array(result.size());
    for (const auto& one : result) one ? c.out.bulk(*one) : c.out.nil();
    return;
  }
  if (result.empty()) {
    Entry* old = find_key(c, *o.store, true);
    if (old != nullptr) erase_key(c, *old);
  } else {
    auto list = std::make_unique<List>();
    for (auto& one : result) list->push_back(one ? std::move(*one) : std::string());
    put(c, *o.store, std::move(list));
    c.engine.add_dirty(static_cast<std::int64_t>(result.size()) - 1);
    c.engine.signal_key(c.session.db, *o.store);
  }
  c.out.integer(static_cast<std::int64_t>(result.size()));
}
void sort(Call& c) { sort_generic(c, true); }
void sort_ro(Call& c) { sort_generic(c, false); }

}  // namespace

void add_sort_commands(Specs& specs) {
  constexpr Keys kOne{1, 1, 1};
  specs.insert(specs.end(), {
                                {"sort", sort, -2, kWrite | kDenyOom, kOne},
                                {"sort_ro", sort_ro, -2, kReadonly, kOne},
                            });
}

}  // namespace holdfast::sim::embedded
