// The five value types of Redis that locks use.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/redis/config.h"
#include "sim/redis/ordered_dict.h"

namespace holdfast::sim::embedded {

using List = std::deque<std::string>;

// Fields in insertion order (real Redis: as long as the hash is small).
struct Hash : OrderedDict<std::string> {};

// Members in ascending order while all are integers, else in insertion order.
class Set {
 public:
  std::size_t size() const { return members_.size(); }
  bool contains(std::string_view member) const { return members_.find(member) != nullptr; }
  bool add(std::string_view member);
  bool remove(std::string_view member) { return members_.erase(member); }
  std::vector<std::string_view> ordered() const;
  const std::string& nth(std::size_t n) const { return members_.nth(n).key; }
  bool only_integers() const { return only_integers_; }

 private:
  OrderedDict<Nothing> members_;
  bool only_integers_ = true;
};

// Members by (score, bytes of the member).
class SortedSet {
 public:
  struct Item {
    double score;
    std::string member;
    friend bool operator<(const Item& a, const Item& b) {
      return a.score != b.score ? a.score < b.score : a.member < b.member;
    }
  };

  std::size_t size() const { return items_.size(); }
  const double* find(std::string_view member) const { return scores_.find(member); }
  void set(std::string_view member, double score);  // adds or moves
  bool remove(std::string_view member);
  void remove_ranks(std::size_t first, std::size_t count);
  std::size_t rank(std::string_view member) const;  // REQUIRES: it is there
  const Item& nth(std::size_t rank) const { return items_[rank]; }
  const std::vector<Item>& items() const { return items_; }

 private:
  std::vector<Item> items_;
  OrderedDict<double> scores_;
};

using Value = std::variant<std::string, std::unique_ptr<List>, std::unique_ptr<Hash>, std::unique_ptr<Set>,
                           std::unique_ptr<SortedSet>>;

std::string_view type_name(const Value& value);  // "string", "list", "hash", "set", "zset"
// What OBJECT ENCODING answers of a value of that size (a real one keeps the larger form when it shrinks).
std::string encoding_name(const Value& value, const Config::Thresholds& thresholds);
Value copy_of(const Value& value);
std::size_t bytes_of(const Value& value);  // an estimate: contents, and a little for each element

}  // namespace holdfast::sim::embedded
