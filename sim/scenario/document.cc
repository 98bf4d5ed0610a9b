#include "sim/scenario/document.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sim/scenario/toml_library.h"

namespace holdfast::sim {
namespace {

Position position(const std::string& file, const toml::source_position& at) {
  return {file, static_cast<int>(at.line), static_cast<int>(at.column)};
}

Value convert(const toml::node& node, const std::string& file);

// toml++ keeps tables sorted by key; the file's own order is what people expect in complaints.
std::vector<Member> convert_members(const toml::table& table, const std::string& file) {
  std::vector<Member> members;
  for (const auto& [key, value] : table) {
    members.push_back({std::string(key.str()), position(file, key.source().begin), convert(value, file)});
  }
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  return members;
}

Value convert(const toml::node& node, const std::string& file) {
  Value value;
  value.at = position(file, node.source().begin);
  switch (node.type()) {
    case toml::node_type::string:
      value.kind = Value::Kind::text;
      value.text = node.as_string()->get();
      break;
    case toml::node_type::integer:
      value.kind = Value::Kind::integer;
      value.integer = node.as_integer()->get();
      break;
    case toml::node_type::floating_point:
      value.kind = Value::Kind::real;
      value.real = node.as_floating_point()->get();
      break;
    case toml::node_type::boolean:
      value.kind = Value::Kind::flag;
      value.flag = node.as_boolean()->get();
      break;
    case toml::node_type::array:
      value.kind = Value::Kind::list;
      for (const toml::node& item : *node.as_array()) value.items.push_back(convert(item, file));
      break;
    case toml::node_type::table:
      value.kind = Value::Kind::table;
      value.members = convert_members(*node.as_table(), file);
      break;
    default:
      throw BadScenario(value.at,
                        "a date or a time, expected a string, a number, true or false, a list or a table");
  }
  return value;
}

}  // namespace

Value* Value::find(std::string_view key) {
  for (Member& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

const Value* Value::find(std::string_view key) const { return const_cast<Value*>(this)->find(key); }

std::string_view Value::kind_name() const {
  switch (kind) {
    case Kind::text: return "a string";
    case Kind::integer: return "an integer";
    case Kind::real: return "a number with a fraction";
    case Kind::flag: return "true or false";
    case Kind::list: return "a list";
    case Kind::table: return "a table";
  }
  return "?";
}

Value parse_toml(std::string_view text, const std::string& name) {
  try {
    const toml::table table = toml::parse(text, name);
    Value root = convert(table, name);
    root.at = {name, 1, 1};
    return root;
  } catch (const toml::parse_error& error) {
    Position at = position(name, error.source().begin);
    if (at.line == 0) at = {name, 1, 1};
    throw BadScenario(at, "not valid TOML: " + std::string(error.description()) +
                              ", expected a scenario file (TOML, `schema = 1`)");
  } catch (const TomlGaveUp& failed) {
    throw BadScenario({name, 1, 1}, "not valid TOML: the TOML library met what it does not expect (" +
                                        std::string(failed.what()) +
                                        "), expected a scenario file (TOML, `schema = 1`)");
  }
}

Value read_toml_file(const std::string& path) {
  constexpr std::size_t kLargest = 4u << 20;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    throw BadScenario({path, 0, 0}, std::string("cannot be opened (") + std::strerror(errno) +
                                        "), expected a readable scenario file");
  }
  std::string text;
  char buffer[65536];
  std::size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, file)) > 0 && text.size() <= kLargest)
    text.append(buffer, got);
  const bool broken = std::ferror(file) != 0;
  const int why = errno;
  std::fclose(file);
  if (broken) {
    throw BadScenario({path, 0, 0}, std::string("cannot be read (") + std::strerror(why) +
                                        "), expected a readable scenario file");
  }
  if (text.size() > kLargest) throw BadScenario({path, 0, 0}, "larger than 4 MiB, expected a scenario file");
  return parse_toml(text, path);
}

}  // namespace holdfast::sim
