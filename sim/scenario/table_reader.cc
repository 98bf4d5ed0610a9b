#include "sim/scenario/table_reader.h"

#include <algorithm>
#include <cmath>

namespace holdfast::sim {
namespace {

std::string quoted(const Value& value) {
  switch (value.kind) {
    case Value::Kind::text: return "\"" + value.text + "\"";
    case Value::Kind::integer: return std::to_string(value.integer);
    case Value::Kind::flag: return value.flag ? "true" : "false";
    default: return std::string(value.kind_name());
  }
}

[[noreturn]] void wrong(const Value& value, std::string_view key, const std::string& expected) {
  throw BadScenario(value.at, "`" + std::string(key) + "` is " + quoted(value) + ", expected " + expected);
}

const std::string& text_of(const Value& value, std::string_view key, const std::string& expected) {
  if (value.kind != Value::Kind::text) wrong(value, key, expected);
  return value.text;
}

}  // namespace

TableReader::TableReader(const Value& table, std::string where) : table_(table), where_(std::move(where)) {
  if (table.kind != Value::Kind::table) {
    throw BadScenario(table.at, where_ + " is " + std::string(table.kind_name()) + ", expected a table");
  }
}

const Value* TableReader::value(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return table_.find(key);
}

std::optional<std::string> TableReader::text(std::string_view key) {
  const Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  return text_of(*found, key, "a string");
}

std::optional<std::string> TableReader::choice(std::string_view key,
                                               const std::vector<std::string>& choices) {
  const Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (found->kind != Value::Kind::text) wrong(*found, key, one_of(choices));
  if (std::find(choices.begin(), choices.end(), found->text) == choices.end()) {
    wrong(*found, key, one_of(choices) + did_you_mean(found->text, choices));
  }
  return found->text;
}

std::optional<bool> TableReader::flag(std::string_view key) {
  const Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (found->kind != Value::Kind::flag) wrong(*found, key, "true or false");
  return found->flag;
}

std::optional<std::int64_t> TableReader::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  const Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (found->kind != Value::Kind::integer || found->integer < low || found->integer > high) {
    wrong(*found, key, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return found->integer;
}

std::optional<std::pair<std::int64_t, std::int64_t>> TableReader::integers(std::string_view key,
                                                                           std::int64_t low,
                                                                           std::int64_t high) {
  const Value* const found = value(key);
  if (found == nullptr) return std::nullopt;
  if (found->kind == Value::Kind::integer) {
    const std::int64_t one = *integer(key, low, high);
    return std::pair(one, one);
  }
  if (found->kind == Value::Kind::text) {
    const auto parsed = parse_seeds(found->text);
    if (parsed && parsed->random == 0 && parsed->ranges.size() == 1 &&
        parsed->ranges[0].first >= static_cast<std::uint64_t>(low) &&
        parsed->ranges[0].second <= static_cast<std::uint64_t>(high))
      return std::pair(static_cast<std::int64_t>(parsed->ranges[0].first),
                       static_cast<std::int64_t>(parsed->ranges[0].second));
  }
  wrong(*found, key,
        "a whole number from " + std::to_string(low) + " to " + std::to_string(high) +
            ", or two of them such as \"1..12\"");
}

std::optional<Duration> TableReader::duration(std::string_view key, bool may_be_negative) {
  const Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  const std::string expected = std::string("a duration with its unit, such as \"1500ms\" or \"5s\"") +
                               (may_be_negative ? ", negative for backwards" : "");
  const auto parsed = parse_duration(text_of(*found, key, expected));
  if (!parsed || (!may_be_negative && parsed->count() < 0)) wrong(*found, key, expected);
  return parsed;
}

std::optional<DurationRange> TableReader::duration_range(std::string_view key) {
  const Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  const std::string expected = "a range or a duration with units, such as \"1ms..5ms\" or \"2s\"";
  const auto parsed = parse_duration_range(text_of(*found, key, expected));
  if (!parsed || parsed->low.count() < 0) wrong(*found, key, expected);
  return parsed;
}

std::optional<std::int64_t> TableReader::percent(std::string_view key) {
  const Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  const std::string expected = "a share such as \"60%\"";
  const auto parsed = parse_percent(text_of(*found, key, expected));
  if (!parsed) wrong(*found, key, expected);
  return parsed;
}

std::optional<std::int64_t> TableReader::probability(std::string_view key) {
  const Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  const bool whole = found->kind == Value::Kind::integer;
  const double number = whole ? static_cast<double>(found->integer) : found->real;
  const bool fits = (whole || found->kind == Value::Kind::real) && number >= 1e-6 && number <= 1;
  if (!fits) wrong(*found, key, "a number from 0.000001 to 1, such as 0.02");
  return std::llround(number * 1e6);
}

std::optional<std::vector<std::string>> TableReader::texts(std::string_view key) {
  const Value* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (found->kind == Value::Kind::text) return std::vector<std::string>{found->text};
  if (found->kind != Value::Kind::list) wrong(*found, key, "a list of strings");
  std::vector<std::string> out;
  for (const Value& item : found->items) out.push_back(text_of(item, key, "a list of strings"));
  return out;
}

void TableReader::missing(std::string_view key) const {
  finish();  // a misspelt key is the likelier cause
  throw BadScenario(table_.at, where_ + " has no `" + std::string(key) + "`, expected one");
}

Position TableReader::at(std::string_view key) const {
  const Value* found = table_.find(key);
  return found == nullptr ? table_.at : found->at;
}

void TableReader::finish() const {
  for (const Member& member : table_.members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    throw BadScenario(member.at, "unknown key `" + member.key + "` in " + where_ + ", expected " +
                                     one_of(known_) + did_you_mean(member.key, known_));
  }
}

}  // namespace holdfast::sim
