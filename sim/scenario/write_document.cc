#include "sim/scenario/write_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::sim {
namespace {

bool is_bare(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string key_text(const std::string& key) { return is_bare(key) ? key : quoted(key); }

std::string inline_text(const Value& value) {
  switch (value.kind) {
    case Value::Kind::text: return quoted(value.text);
    case Value::Kind::integer: return std::to_string(value.integer);
    case Value::Kind::real: {
      const std::string text = fmt::format("{}", value.real);
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    case Value::Kind::flag: return value.flag ? "true" : "false";
    case Value::Kind::list: {
      std::string text;
      for (const Value& item : value.items) text += (text.empty() ? "" : ", ") + inline_text(item);
      return "[" + text + "]";
    }
    case Value::Kind::table: {
      std::string text;
      for (const Member& member : value.members)
        text += (text.empty() ? "" : ", ") + key_text(member.key) + " = " + inline_text(member.value);
      return text.empty() ? "{}" : "{ " + text + " }";
    }
  }
  return "";
}

bool is_tables(const Value& value) {
  return value.kind == Value::Kind::list && !value.items.empty() &&
         std::all_of(value.items.begin(), value.items.end(),
                     [](const Value& item) { return item.kind == Value::Kind::table; });
}

// The keys of one section, their values in one column.
template <class Which>
std::string lines(const Value& table, const Which& which) {
  std::size_t width = 0;
  for (const Member& member : table.members) {
    if (which(member.value)) width = std::max(width, key_text(member.key).size());
  }
  std::string text;
  for (const Member& member : table.members) {
    if (which(member.value))
      text += fmt::format("{:<{}} = {}\n", key_text(member.key), width, inline_text(member.value));
  }
  return text;
}

std::string lines(const Value& table) {
  return lines(table, [](const Value&) { return true; });
}

}  // namespace

Value text_value(std::string text) {
  Value value;
  value.kind = Value::Kind::text;
  value.text = std::move(text);
  return value;
}

Value integer_value(std::int64_t number) {
  Value value;
  value.kind = Value::Kind::integer;
  value.integer = number;
  return value;
}

Value flag_value(bool flag) {
  Value value;
  value.kind = Value::Kind::flag;
  value.flag = flag;
  return value;
}

Value list_value(std::vector<Value> items) {
  Value value;
  value.kind = Value::Kind::list;
  value.items = std::move(items);
  return value;
}
Value texts_value(const std::vector<std::string>& texts) {
  std::vector<Value> items;
  for (const std::string& text : texts) items.push_back(text_value(text));
  return list_value(std::move(items));
}

void set_key(Value& table, const std::string& key, Value value) {
  if (Value* const present = table.find(key)) {
    *present = std::move(value);
  } else {
    table.members.push_back({key, table.at, std::move(value)});
  }
}

bool erase_key(Value& table, const std::string& key) {
  return std::erase_if(table.members, [&](const Member& member) { return member.key == key; }) > 0;
}

Value& section_of(Value& document, const std::string& name) {
  if (document.find(name) == nullptr) set_key(document, name, Value{});
  return *document.find(name);
}

std::vector<Value>& tables_of(Value& document, const std::string& name) {
  if (document.find(name) == nullptr) set_key(document, name, list_value({}));
  return document.find(name)->items;
}

bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Value::Kind::text: return a.text == b.text;
    case Value::Kind::integer: return a.integer == b.integer;
    case Value::Kind::real: return a.real == b.real;
    case Value::Kind::flag: return a.flag == b.flag;
    case Value::Kind::list:
      return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same);
    case Value::Kind::table:
      return std::equal(
          a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
          [](const Member& x, const Member& y) { return x.key == y.key && same(x.value, y.value); });
  }
  return false;
}

std::string to_toml(const Value& document, const std::string& comment) {
  std::string text;
  for (std::size_t from = 0; from < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', from), comment.size());
    text += end == from ? "#\n" : "# " + comment.substr(from, end - from) + "\n";
    from = end + 1;
  }
  text += lines(document,
                [](const Value& value) { return value.kind != Value::Kind::table && !is_tables(value); });
  for (const Member& member : document.members) {
    const std::string name = key_text(member.key);
    if (member.value.kind == Value::Kind::table) {
      text += fmt::format("\n[{}]\n{}", name, lines(member.value));
    } else if (is_tables(member.value)) {
      for (const Value& item : member.value.items) text += fmt::format("\n[[{}]]\n{}", name, lines(item));
    }
  }
  return text;
}

}  // namespace holdfast::sim
