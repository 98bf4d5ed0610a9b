#include "sim/planted/planted.h"

#include <deque>
#include <memory>
#include <stdexcept>

#include "sim/client/lock_kind_rows.h"
#include "sim/planted/edited_network.h"
#include "sim/redis/script_engine.h"

namespace holdfast::sim {
namespace {

// The scripts that a version runs in the place of the base's. Edits of one script are made one after the
// other.
std::shared_ptr<const std::vector<EditedScript>> edited_scripts(const PlantedVersion& version) {
  auto scripts = std::make_shared<std::vector<EditedScript>>();
  for (const ScriptEdit& edit : version.edits) {
    const auto same = std::find_if(scripts->begin(), scripts->end(),
                                   [&](const auto& one) { return one.script == edit.script; });
    EditedScript& one = same != scripts->end()
                            ? *same
                            : scripts->emplace_back(edit.script, std::string(edit.script->text), "");
    one.text = edited({edit.script->name, one.text, ""}, edit.from, edit.to);
    one.sha1 = embedded::sha1_hex(one.text);
  }
  return scripts;
}

const std::string& kept(std::string text) {
  static std::deque<std::string> all;
  return all.emplace_back(std::move(text));
}

}  // namespace

std::string edited(const redis::Script& script, std::string_view from, std::string_view to) {
  const std::size_t at = script.text.find(from);
  if (at == std::string_view::npos || script.text.find(from, at + 1) != std::string_view::npos ||
      from == to) {
    throw std::logic_error("planted edit of " + std::string(script.name) + ".lua: `" + std::string(from) +
                           "` does not stand there exactly once");
  }
  return std::string(script.text).replace(at, from.size(), to);
}

LockKind planted_kind(const PlantedVersion& version) {
  const LockKind* const base = find_lock_kind(version.base);
  if (base == nullptr) throw std::logic_error("planted: no lock `" + std::string(version.base) + "`");
  LockKind kind = *base;
  kind.name = kept("planted-" + std::string(version.name));
  kind.about = version.broken;
  kind.version_of = version.base;
  if (version.make) {
    kind.make = version.make;
    kind.registry = base->registry && version.registry;
  }
  kind.asks_strangers = version.asks_strangers;
  if (version.make_latches) kind.make_latches = version.make_latches;
  const auto scripts = edited_scripts(version);
  if (!scripts->empty()) {
    kind.network = [scripts](Network& network) { return std::make_unique<EditedNetwork>(network, *scripts); };
  }
  if (!base->read_effects) return kind;
  kind.read_effects = [scripts, of_base = base->read_effects, more = version.more_effects](
                          const Command& command, const redis::Reply& reply) {
    Command asked = command;
    for (const EditedScript& one : *scripts) {
      if (asked.size() < 2) break;
      if (asked[1] == one.sha1) asked[1] = one.script->sha1;
      if (asked[1] == one.text) asked[1] = one.script->text;
    }
    std::vector<StoreEffect> effects = of_base(asked, reply);
    return effects.empty() && more ? more(command, reply) : effects;
  };
  return kind;
}

const std::vector<PlantedVersion>& planted_versions() {
  static const std::vector<PlantedVersion> versions = [] {
    std::vector<PlantedVersion> all;
    for (const auto& rows :
         {planted_reentrant(), planted_read_write(), planted_semaphore(), planted_redisson(),
          planted_clients(), planted_spaces(), planted_composite(), planted_survivor()})
      all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }();
  return versions;
}

const std::vector<PlantedVersion>& planted_controls() {
  static const std::vector<PlantedVersion> controls = [] {
    std::vector<PlantedVersion> all;
    for (const auto& rows : {client_controls(), space_controls(), composite_controls(), survivor_controls()})
      all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }();
  return controls;
}

void add_planted_kinds() {
  static const bool added = [] {
    std::vector<LockKind> kinds;
    for (const PlantedVersion& version : planted_versions()) kinds.push_back(planted_kind(version));
    for (const PlantedVersion& version : planted_controls()) kinds.push_back(planted_kind(version));
    add_hidden_lock_kinds(kinds);
    return true;
  }();
  static_cast<void>(added);
}

}  // namespace holdfast::sim
