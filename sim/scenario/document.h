// Document: a TOML file as a tree of values that know where they stand, so that every later complaint can
// name line and column; also after a variant replaced some of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/problem.h"

namespace holdfast::sim {

struct Member;

struct Value {
  enum class Kind { text, integer, real, flag, list, table };
  Kind kind = Kind::table;
  Position at;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool flag = false;
  std::vector<Value> items;     // list
  std::vector<Member> members;  // table, in the order of the file

  Value* find(std::string_view key);
  const Value* find(std::string_view key) const;
  std::string_view kind_name() const;  // "a string", "a table", ...
};

struct Member {
  std::string key;
  Position at;  // of the key
  Value value;
};

// Throws BadScenario when the file cannot be read or is no TOML.
Value read_toml_file(const std::string& path);
Value parse_toml(std::string_view text, const std::string& name);

}  // namespace holdfast::sim
