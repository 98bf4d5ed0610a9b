// TableReader: reads the keys of one TOML table by name and type, and complains about what is left over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/document.h"
#include "sim/scenario/units.h"

namespace holdfast::sim {

// Every getter throws BadScenario at the value's position when it has the wrong type, unit or choice, and
// returns nullopt when the key is absent.
class TableReader {
 public:
  // `where`: how complaints call the table, "[run]". REQUIRES: `table` outlives the reader.
  TableReader(const Value& table, std::string where);

  const Value* value(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  std::optional<std::string> choice(std::string_view key, const std::vector<std::string>& choices);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high);
  // Such a number, or two as a text: "1..12".
  std::optional<std::pair<std::int64_t, std::int64_t>> integers(std::string_view key, std::int64_t low,
                                                                std::int64_t high);
  std::optional<Duration> duration(std::string_view key, bool may_be_negative = false);
  std::optional<DurationRange> duration_range(std::string_view key);
  std::optional<std::int64_t> percent(std::string_view key);
  // A number above 0, at most 1, as millionths.
  std::optional<std::int64_t> probability(std::string_view key);
  std::optional<std::vector<std::string>> texts(std::string_view key);  // a list of strings, or one string

  // A key that must be there.
  template <class T>
  T require(std::string_view key, std::optional<T> value) {
    if (!value) missing(key);
    return *std::move(value);
  }
  // REQUIRES: every key that may stand here was asked for (any of them that was not counts as unknown).
  [[noreturn]] void missing(std::string_view key) const;

  // Where the value of `key` stands (the table itself if it is absent).
  Position at(std::string_view key) const;
  const std::string& where() const { return where_; }
  // Complains about the first key that was not asked for.
  void finish() const;

 private:
  const Value& table_;
  std::string where_;
  std::vector<std::string> known_;
};

}  // namespace holdfast::sim
