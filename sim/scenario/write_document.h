// A document as TOML text, laid out as people write scenario files. What is read back is the same document.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/document.h"

namespace holdfast::sim {

// Values without a place in a file.
Value text_value(std::string text);
Value integer_value(std::int64_t number);
Value flag_value(bool flag);
Value list_value(std::vector<Value> items);
Value texts_value(const std::vector<std::string>& texts);

// Sets the key of a table; one that is new comes last.
void set_key(Value& table, const std::string& key, Value value);
bool erase_key(Value& table, const std::string& key);  // false: it was not there
// The table of that name in `document`; it is made if it is not there.
Value& section_of(Value& document, const std::string& name);
// The list of tables of that name, [[fault]]; it is made if it is not there.
std::vector<Value>& tables_of(Value& document, const std::string& name);

// Whether they say the same, wherever it stands.
bool same(const Value& a, const Value& b);

// The root table: its own keys, then a [section] for each table and a [[section]] for each table of a list;
// tables below these are written inline. Each line of `comment` goes before it all.
std::string to_toml(const Value& document, const std::string& comment = "");

}  // namespace holdfast::sim
