// A document -> the base scenario and its variants.
//
// A variant is the same document with some values replaced (`set`) and its own expectations; it is then read
// like any other, so that every rule holds for it too and every complaint points at the line that caused it.
// `locks` makes one variant for each kind of lock that it names.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "sim/client/lock_kind.h"
#include "sim/comparators/engine.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/table_reader.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

// The table and the key in it of `path` = "lock.kind" or "fault.ID.key". A section that is not there is made.
std::pair<Value*, std::string> find_value(Value& document, const std::string& path, const Position& at) {
  const std::size_t dot = path.find('.');
  const std::string top = path.substr(0, dot);
  const auto fail = [&](const std::string& expected) {
    throw BadScenario(at, "`" + path + "` names nothing, expected " + expected);
  };
  Value* table = nullptr;
  std::string key;
  if (dot == std::string::npos) fail("a path such as \"lock.kind\" or \"fault.ID.enabled\"");
  if (top == "fault") {
    const std::size_t last = path.rfind('.');
    if (last == dot) fail("a path such as \"fault.ID.enabled\"");
    const std::string id = path.substr(dot + 1, last - dot - 1);
    key = path.substr(last + 1);
    std::vector<std::string> ids;
    if (Value* faults = document.find("fault"); faults != nullptr) {
      for (Value& fault : faults->items) {
        const Value* its = fault.find("id");
        if (its == nullptr) continue;
        ids.push_back(its->text);
        if (its->text == id) table = &fault;
      }
    }
    if (table == nullptr) {
      throw BadScenario(at, "unknown fault `" + id + "`, expected " +
                                (ids.empty() ? "a file with faults" : one_of(ids)) + did_you_mean(id, ids));
    }
  } else {
    const std::vector<std::string> sections = {"run", "cluster", "lock", "workload", "network", "rare"};
    if (std::find(sections.begin(), sections.end(), top) == sections.end()) {
      throw BadScenario(at, "unknown section `" + top + "`, expected " + one_of(sections) + " or `fault`" +
                                did_you_mean(top, sections));
    }
    key = path.substr(dot + 1);
    table = document.find(top);
    if (table == nullptr) {
      Value empty;
      empty.at = at;
      document.members.push_back({top, at, empty});
      table = &document.members.back().value;
    }
  }
  return {table, key};
}

void set_value(Value& document, const Member& change) {
  const auto [table, key] = find_value(document, change.key, change.at);
  if (Value* present = table->find(key)) {
    *present = change.value;
  } else {
    table->members.push_back({key, change.at, change.value});
  }
}

void unset_value(Value& document, const std::string& path, const Position& at) {
  const auto [table, key] = find_value(document, path, at);
  const std::string& name = key;
  if (std::erase_if(table->members, [&](const Member& member) { return member.key == name; }) == 0)
    throw BadScenario(at, "`unset` names `" + path + "`, which is not there, expected a key of the file");
}

// `"fault.x.enabled" = false` and `fault.x.enabled = false` mean the same: dotted keys arrive as nested
// tables.
void flatten(const std::vector<Member>& members, const std::string& prefix, std::vector<Member>& out) {
  for (const Member& member : members) {
    const std::string path = prefix + member.key;
    const auto dots = std::count(path.begin(), path.end(), '.');
    const bool leaf = member.value.kind != Value::Kind::table || dots >= (path.starts_with("fault.") ? 2 : 1);
    if (leaf) {
      out.push_back({path, member.at, member.value});
    } else {
      flatten(member.value.members, path + ".", out);
    }
  }
}

// The kinds of lock that `locks` names; none: it is not there.
std::vector<Value> locks_of(TableReader& reader) {
  const Value* const locks = reader.value("locks");
  if (locks == nullptr) return {};
  std::vector<std::string> known;
  for (const LockKind& kind : all_lock_kinds()) known.emplace_back(kind.name);
  for (const LockKind* const kind : comparator_locks()) known.emplace_back(kind->name);
  if (locks->kind != Value::Kind::list || locks->items.empty()) {
    throw BadScenario(locks->at,
                      "`locks` is " +
                          std::string(locks->kind == Value::Kind::list ? "empty" : locks->kind_name()) +
                          ", expected a list of kinds of locks such as [\"reentrant\", \"fair\"]");
  }
  for (const Value& lock : locks->items) {
    if (lock.kind != Value::Kind::text)
      throw BadScenario(lock.at, "`locks` has " + std::string(lock.kind_name()) + ", expected a string");
    if (std::find(known.begin(), known.end(), lock.text) != known.end()) continue;
    throw BadScenario(lock.at, "`locks` names `" + lock.text + "`, expected " + one_of(known) +
                                   did_you_mean(lock.text, known));
  }
  return locks->items;
}

// The base is right by itself, so what is wrong here is wrong because of the variant, even if the line that
// cannot stand any more is one of the base.
Scenario parse_named(const Value& document, const std::string& file, const std::string& variant) {
  try {
    return parse_base(document, file);
  } catch (const BadScenario& problem) {
    throw BadScenario(problem.at(), problem.message() + " (in the variant `" + variant + "`)");
  }
}

// A scenario of a file before it is read: the whole document, with the values of its variant in place.
struct Draft {
  std::string variant;  // "" is the base
  Value document;
  Position at;
  std::optional<std::string> about;
};

using UseDraft = std::function<void(const Draft& draft)>;

// One [[variant]] table: one draft, or one for each lock of its `locks`.
void draft_variant(const Value& base, const Value& variant, const UseDraft& use) {
  TableReader reader(variant, "[[variant]]");
  for (const char* const key : {"locks", "name", "about", "set", "unset", "expect"}) reader.value(key);
  const std::vector<Value> locks = locks_of(reader);
  const auto given = reader.text("name");
  if (!given && locks.empty()) reader.missing("name");
  if (given && !is_name(*given))
    throw BadScenario(reader.at("name"), "`" + *given + "` is no name, expected letters, digits, - and _");
  const auto about = reader.text("about");
  Value document = base;
  if (const Value* changes = reader.value("set")) {
    if (changes->kind != Value::Kind::table)
      throw BadScenario(changes->at, "`set` is " + std::string(changes->kind_name()) +
                                         ", expected a table such as { \"lock.kind\" = \"reentrant\" }");
    std::vector<Member> flat;
    flatten(changes->members, "", flat);
    for (const Member& change : flat) {
      if (!locks.empty() && change.key == "lock.kind")
        throw BadScenario(change.at, "`lock.kind` is set by `locks` already, expected one of them");
      set_value(document, change);
    }
  }
  const auto gone = reader.texts("unset");
  if (gone) {
    for (const std::string& path : *gone) unset_value(document, path, reader.at("unset"));
  }
  if (const Value* expect = reader.value("expect")) {
    if (Value* present = document.find("expect")) {
      *present = *expect;
    } else {
      document.members.push_back({"expect", expect->at, *expect});
    }
  }
  reader.finish();
  if (locks.empty()) use({*given, document, variant.at, about});
  for (const Value& lock : locks) {
    Value its = document;
    set_value(its, {"lock.kind", lock.at, lock});
    use({given ? *given + "-" + lock.text : lock.text, its, variant.at, about});
  }
}

// The base first, then the variants in order.
void draft_document(const Value& document, const UseDraft& use) {
  use({"", document, document.at, std::nullopt});
  const Value* variants = document.find("variant");
  if (variants == nullptr) return;
  if (variants->kind != Value::Kind::list)
    throw BadScenario(variants->at, "`variant` is " + std::string(variants->kind_name()) +
                                        ", expected a list of tables: [[variant]]");
  std::set<std::string> seen;
  std::optional<Draft> twice;
  for (const Value& variant : variants->items) {
    draft_variant(document, variant, [&](const Draft& draft) {
      if (!seen.insert(draft.variant).second && !twice) twice = draft;
      use(draft);
    });
  }
  if (twice) throw BadScenario(twice->at, "variant `" + twice->variant + "` twice, expected different names");
}

Scenario parse_draft(const Draft& draft, const std::string& file) {
  Scenario scenario = draft.variant.empty() ? parse_base(draft.document, file)
                                            : parse_named(draft.document, file, draft.variant);
  scenario.variant = draft.variant;
  scenario.at = draft.at;
  if (draft.about) scenario.about = *draft.about;
  auto alone = std::make_shared<Value>(draft.document);
  erase_key(*alone, "variant");
  set_key(*alone, "about", text_value(scenario.about));
  scenario.document = std::move(alone);
  return scenario;
}

std::vector<Scenario> parse_document(const Value& document, const std::string& file) {
  std::vector<Scenario> scenarios;
  draft_document(document, [&](const Draft& draft) { scenarios.push_back(parse_draft(draft, file)); });
  return scenarios;
}

Value placed(Value value, const Position& at) {
  value.at = at;
  return value;
}

// As if it stood in the file at `at`.
Value value_of(const Override& one, const Position& at) {
  if (const auto* text = std::get_if<std::string>(&one.value)) return placed(text_value(*text), at);
  if (const auto* number = std::get_if<std::int64_t>(&one.value)) return placed(integer_value(*number), at);
  if (const auto* flag = std::get_if<bool>(&one.value)) return placed(flag_value(*flag), at);
  std::vector<Value> items;
  for (const std::string& text : std::get<std::vector<std::string>>(one.value))
    items.push_back(placed(text_value(text), at));
  return placed(list_value(std::move(items)), at);
}

}  // namespace

std::vector<Scenario> read_scenarios(const std::string& path) {
  return parse_document(read_toml_file(path), path);
}

std::vector<Scenario> parse_scenarios(std::string_view text, const std::string& name) {
  return parse_document(parse_toml(text, name), name);
}

Scenario read_scenario(const std::string& path, const std::string& variant,
                       const std::vector<Override>& overrides) {
  const Value document = read_toml_file(path);
  std::vector<std::string> names;
  std::optional<Draft> found;
  draft_document(document, [&](const Draft& draft) {
    if (draft.variant == variant) found = draft;
    if (!draft.variant.empty()) names.push_back(draft.variant);
  });
  if (!found) {
    throw BadScenario(document.at, "no variant `" + variant + "`, expected " +
                                       (names.empty() ? "a file with variants" : one_of(names)) +
                                       did_you_mean(variant, names));
  }
  for (const Override& one : overrides) {
    set_value(found->document, {one.path, found->at, value_of(one, found->at)});
  }
  return parse_draft(*found, path);
}

}  // namespace holdfast::sim
