// COMMAND: what this server says of its commands.
#include <algorithm>

#include "sim/redis/command.h"
#include "sim/redis/command_keys.h"
#include "sim/redis/engine.h"
#include "sim/redis/glob.h"

namespace holdfast::sim::embedded {
namespace {

struct Name {
  std::uint32_t flag;
  std::string_view text;
};
constexpr Name kFlags[] = {{kWrite, "write"},       {kReadonly, "readonly"}, {kDenyOom, "denyoom"},
                           {kAdmin, "admin"},       {kPubSub, "pubsub"},     {kNoScript, "noscript"},
                           {kBlocking, "blocking"}, {kFast, "fast"},         {kNoAuth, "no_auth"},
                           {kNoMulti, "no_multi"}};
constexpr Name kCategories[] = {{kWrite, "@write"},   {kReadonly, "@read"},     {kAdmin, "@admin"},
                                {kPubSub, "@pubsub"}, {kBlocking, "@blocking"}, {kFast, "@fast"}};

bool is_subcommand(const CommandSpec& spec) { return spec.name.find('|') != std::string_view::npos; }

std::vector<const CommandSpec*> subcommands_of(const CommandSpec& container) {
  std::vector<const CommandSpec*> result;
  if ((container.flags & kContainer) == 0) return result;
  const std::string prefix = std::string(container.name) + "|";
  for (const CommandSpec& spec : CommandTable::instance().all()) {
    if (spec.name.starts_with(prefix)) result.push_back(&spec);
  }
  return result;
}

std::vector<std::string_view> names_of(const CommandSpec& spec, std::span<const Name> names) {
  std::vector<std::string_view> result;
  for (const Name& name : names) {
    if ((spec.flags & name.flag) != 0) result.push_back(name.text);
  }
  return result;
}

std::vector<std::string_view> categories_of(const CommandSpec& spec) {
  std::vector<std::string_view> result = names_of(spec, kCategories);
  if ((spec.flags & kFast) == 0) result.emplace_back("@slow");
  for (const std::string_view start : {"eval", "script", "function"}) {
    if (spec.name.starts_with(start)) result.emplace_back("@scripting");
  }
  for (const std::string_view name : {"discard", "exec", "multi", "unwatch", "watch"}) {
    if (spec.name == name) result.emplace_back("@transaction");
  }
  return result;
}

void statuses(Call& c, const std::vector<std::string_view>& texts) {
  c.out.set(texts.size());
  for (const std::string_view text : texts) c.out.status(text);
}

void describe(Call& c, const CommandSpec& spec) {
  c.out.array(10);
  c.out.bulk(spec.name);
  c.out.integer(spec.arity);
  std::vector<std::string_view> flags = names_of(spec, kFlags);
  if (has_movable_keys(spec)) flags.emplace_back("movablekeys");
  statuses(c, flags);
  c.out.integer(spec.keys.first);
  c.out.integer(spec.keys.last);
  c.out.integer(spec.keys.step);
  const std::vector<std::string_view> categories = categories_of(spec);
  statuses(c, categories);
  c.out.set(0);  // tips
  c.out.set(0);  // key specifications: first, last and step say the same
  const auto subcommands = subcommands_of(spec);
  c.out.array(subcommands.size());
  for (const CommandSpec* one : subcommands) describe(c, *one);
}

std::vector<const CommandSpec*> top_level() {
  std::vector<const CommandSpec*> result;
  for (const CommandSpec& spec : CommandTable::instance().all()) {
    if (!is_subcommand(spec)) result.push_back(&spec);
  }
  return result;
}

void command(Call& c) {
  const auto all = top_level();
  c.out.array(all.size());
  for (const CommandSpec* spec : all) describe(c, *spec);
}
void command_count(Call& c) { c.out.integer(static_cast<std::int64_t>(top_level().size())); }
void command_info(Call& c) {
  if (c.argc() == 2) return command(c);
  c.out.array(c.argc() - 2);
  for (std::size_t i = 2; i < c.argc(); ++i) {
    const CommandSpec* spec = CommandTable::instance().find(lower(c.arg(i)));
    spec != nullptr ? describe(c, *spec) : c.out.nil();
  }
}
void command_docs(Call& c) { c.out.map(0); }  // no texts are kept here

void command_list(Call& c) {
  std::string kind;
  std::string_view wanted;
  for (std::size_t i = 2; i < c.argc(); ++i) {
    if (!c.option(i, "FILTERBY") || i + 3 != c.argc()) return c.out.error(kSyntax);
    kind = lower(c.arg(i + 1));
    if (kind != "module" && kind != "aclcat" && kind != "pattern") return c.out.error(kSyntax);
    wanted = c.arg(i + 2);
    i += 2;
  }
  std::vector<std::string_view> names;
  for (const CommandSpec& spec : CommandTable::instance().all()) {
    bool listed = kind.empty() || (kind == "pattern" && glob_match(wanted, spec.name));
    if (kind == "aclcat") {
      for (const std::string_view category : categories_of(spec))
        listed = listed || equals_ignoring_case(category.substr(1), wanted);
    }
    if (listed) names.push_back(spec.name);
  }
  c.out.array(names.size());
  for (const std::string_view name : names) c.out.bulk(name);
}

// The keys of the request behind the subcommand. False: answered with a complaint, or that there are none.
bool read_keys(Call& c, std::vector<KeyUse>& keys) {
  const Args request = c.argv.subspan(2);
  const CommandSpec* container = nullptr;
  const CommandSpec* spec = CommandTable::instance().find(request, container);
  const auto refuse = [&](std::string_view why) { return c.out.error(why), false; };
  if (spec == nullptr) return refuse("ERR Invalid command specified");
  if (!may_have_keys(*spec)) return refuse("ERR The command has no key arguments");
  if (!spec->arity_ok(request.size())) return refuse("ERR Invalid number of arguments specified for command");
  if (keys_of(*spec, request, keys)) return true;
  if (!keys_are_optional(*spec)) return refuse("ERR Invalid arguments specified for command");
  return c.out.array(0), false;
}
void command_getkeys(Call& c) {
  std::vector<KeyUse> keys;
  if (!read_keys(c, keys)) return;
  c.out.array(keys.size());
  for (const KeyUse& key : keys) c.out.bulk(c.arg(key.at + 2));
}
void command_getkeysandflags(Call& c) {
  std::vector<KeyUse> keys;
  if (!read_keys(c, keys)) return;
  c.out.array(keys.size());
  for (const KeyUse& key : keys) {
    c.out.array(2);
    c.out.bulk(c.arg(key.at + 2));
    std::vector<std::string_view> flags;
    for (std::string_view left = key.flags; !left.empty();) {
      const std::size_t end = std::min(left.find(' '), left.size());
      flags.push_back(left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
    }
    statuses(c, flags);
  }
}

}  // namespace

void add_command_commands(Specs& specs) {
  specs.insert(specs.end(), {
                                {"command", command, -1, kContainer},
                                {"command|count", command_count, 2, 0},
                                {"command|docs", command_docs, -2, 0},
                                {"command|getkeys", command_getkeys, -4, 0},
                                {"command|getkeysandflags", command_getkeysandflags, -4, 0},
                                {"command|info", command_info, -2, 0},
                                {"command|list", command_list, -2, 0},
                            });
}

}  // namespace holdfast::sim::embedded
