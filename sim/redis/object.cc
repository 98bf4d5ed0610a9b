#include "sim/redis/object.h"

#include <algorithm>

#include "lib/runtime/check.h"
#include "sim/redis/resp.h"

namespace holdfast::sim::embedded {

bool Set::add(std::string_view member) {
  bool created = false;
  members_.at(member, created);
  std::int64_t ignored = 0;
  if (created && only_integers_) only_integers_ = parse_integer(member, ignored);
  return created;
}

std::vector<std::string_view> Set::ordered() const {
  std::vector<std::string_view> result;
  result.reserve(size());
  members_.each([&](const std::string& member, const Nothing&) { result.push_back(member); });
  if (only_integers_) {
    std::sort(result.begin(), result.end(), [](std::string_view a, std::string_view b) {
      std::int64_t x = 0;
      std::int64_t y = 0;
      parse_integer(a, x);
      parse_integer(b, y);
      return x < y;
    });
  }
  return result;
}

void SortedSet::set(std::string_view member, double score) {
  bool created = false;
  double& known = scores_.at(member, created);
  if (!created) {
    if (known == score) return;
    items_.erase(std::lower_bound(items_.begin(), items_.end(), Item{known, std::string(member)}));
  }
  known = score;
  Item item{score, std::string(member)};
  items_.insert(std::lower_bound(items_.begin(), items_.end(), item), std::move(item));
}

bool SortedSet::remove(std::string_view member) {
  const double* score = scores_.find(member);
  if (score == nullptr) return false;
  items_.erase(std::lower_bound(items_.begin(), items_.end(), Item{*score, std::string(member)}));
  return scores_.erase(member);
}

void SortedSet::remove_ranks(std::size_t first, std::size_t count) {
  const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  for (auto it = begin; it != end; ++it) scores_.erase(it->member);
  items_.erase(begin, end);
}

std::size_t SortedSet::rank(std::string_view member) const {
  const double* score = scores_.find(member);
  HF_CHECK(score != nullptr, "rank of a member that is not there");
  return static_cast<std::size_t>(
      std::lower_bound(items_.begin(), items_.end(), Item{*score, std::string(member)}) - items_.begin());
}

std::string_view type_name(const Value& value) {
  static constexpr std::string_view kNames[] = {"string", "list", "hash", "set", "zset"};
  return kNames[value.index()];
}

std::string encoding_name(const Value& value, const Config::Thresholds& thresholds) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::int64_t ignored = 0;
    if (parse_integer(*text, ignored)) return "int";
    return text->size() <= 44 ? "embstr" : "raw";
  }
  if (const auto* hash = std::get_if<std::unique_ptr<Hash>>(&value)) {
    std::size_t longest = 0;
    (*hash)->each([&](const std::string& field, const std::string& text) {
      longest = std::max({longest, field.size(), text.size()});
    });
    return (*hash)->size() <= thresholds.hash_entries && longest <= thresholds.hash_value ? "listpack"
                                                                                          : "hashtable";
  }
  if (const auto* zset = std::get_if<std::unique_ptr<SortedSet>>(&value)) {
    std::size_t longest = 0;
    for (const auto& item : (*zset)->items()) longest = std::max(longest, item.member.size());
    return (*zset)->size() <= thresholds.zset_entries && longest <= thresholds.zset_value ? "listpack"
                                                                                          : "skiplist";
  }
  if (const auto* set = std::get_if<std::unique_ptr<Set>>(&value)) {
    return (*set)->only_integers() && (*set)->size() <= thresholds.intset ? "intset" : "hashtable";
  }
  return "quicklist";
}

std::size_t bytes_of(const Value& value) {
  constexpr std::size_t kElement = 16;
  std::size_t bytes = 0;
  if (const auto* text = std::get_if<std::string>(&value)) return text->size();
  if (const auto* list = std::get_if<std::unique_ptr<List>>(&value)) {
    for (const std::string& item : **list) bytes += kElement + item.size();
  } else if (const auto* hash = std::get_if<std::unique_ptr<Hash>>(&value)) {
    (*hash)->each([&](const std::string& field, const std::string& text) {
      bytes += kElement + field.size() + text.size();
    });
  } else if (const auto* set = std::get_if<std::unique_ptr<Set>>(&value)) {
    for (const std::string_view member : (*set)->ordered()) bytes += kElement + member.size();
  } else if (const auto* zset = std::get_if<std::unique_ptr<SortedSet>>(&value)) {
    for (const auto& item : (*zset)->items()) bytes += kElement + sizeof item.score + item.member.size();
  }
  return bytes;
}

Value copy_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> Value {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return held;
        } else if constexpr (std::is_same_v<T, std::unique_ptr<List>>) {
          return std::make_unique<List>(*held);
        } else if constexpr (std::is_same_v<T, std::unique_ptr<Hash>>) {
          auto copy = std::make_unique<Hash>();
          held->each([&](const std::string& field, const std::string& text) {
            bool created = false;
            copy->at(field, created) = text;
          });
          return copy;
        } else if constexpr (std::is_same_v<T, std::unique_ptr<Set>>) {
          auto copy = std::make_unique<Set>();
          for (const std::string_view member : held->ordered()) copy->add(member);
          return copy;
        } else {
          auto copy = std::make_unique<SortedSet>();
          for (const auto& item : held->items()) copy->set(item.member, item.score);
          return copy;
        }
      },
      value);
}

}  // namespace holdfast::sim::embedded
