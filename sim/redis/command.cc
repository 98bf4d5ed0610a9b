#include "sim/redis/command.h"

#include <algorithm>

#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

Keyspace& Call::db() { return engine.db(session.db); }

void Call::propagate_instead(std::vector<std::string> argv_of_effect) {
  replaced = true;
  instead.push_back(std::move(argv_of_effect));
}

const CommandTable& CommandTable::instance() {
  static const CommandTable table;
  return table;
}

CommandTable::CommandTable() {
  add_string_commands(specs_);
  add_key_commands(specs_);
  add_hash_commands(specs_);
  add_list_commands(specs_);
  add_set_commands(specs_);
  add_sorted_set_commands(specs_);
  add_script_commands(specs_);
  add_transaction_commands(specs_);
  add_pubsub_commands(specs_);
  add_connection_commands(specs_);
  add_server_commands(specs_);
  add_replication_commands(specs_);
  for (const CommandSpec& spec : specs_) by_name_.emplace(spec.name, &spec);
}

const CommandSpec* CommandTable::find(std::string_view lower_name) const {
  const auto it = by_name_.find(lower_name);
  return it == by_name_.end() ? nullptr : it->second;
}

const CommandSpec* CommandTable::find(Args argv, const CommandSpec*& container) const {
  container = nullptr;
  char name[64];
  std::size_t length = 0;
  const auto append = [&](std::string_view word) {
    if (word.size() > sizeof name - length) return false;
    std::transform(word.begin(), word.end(), name + length,
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    length += word.size();
    return true;
  };
  if (!append(argv[0])) return nullptr;
  const CommandSpec* spec = find(std::string_view(name, length));
  if (spec == nullptr || (spec->flags & kContainer) == 0 || argv.size() < 2) return spec;
  container = spec;
  if (length == sizeof name) return nullptr;
  name[length++] = '|';
  if (!append(argv[1])) return nullptr;
  return find(std::string_view(name, length));
}

bool integer_arg(Call& call, std::size_t i, std::int64_t& value, std::string_view complaint) {
  if (parse_integer(call.argv[i], value)) return true;
  call.out.error(complaint);
  return false;
}

bool real_arg(Call& call, std::size_t i, double& value, std::string_view complaint) {
  if (parse_real(call.argv[i], value)) return true;
  call.out.error(complaint);
  return false;
}

Entry* find_key(Call& call, std::string_view key, bool for_write) {
  Entry* entry = call.db().find(key);
  if (entry == nullptr || entry->expires_at == kNoExpiry || call.now <= entry->expires_at) return entry;
  return call.engine.meet_expired(call.session, *entry, for_write);
}

template <class T>
Found<T> find_value(Call& call, std::string_view key, bool for_write) {
  Found<T> found;
  found.entry = find_key(call, key, for_write);
  if (found.entry == nullptr) return found;
  if constexpr (std::is_same_v<T, std::string>) {
    found.value = std::get_if<std::string>(&found.entry->value);
  } else {
    auto* held = std::get_if<std::unique_ptr<T>>(&found.entry->value);
    found.value = held == nullptr ? nullptr : held->get();
  }
  if (found.value == nullptr) {
    found.wrong = true;
    call.out.error(kWrongType);
  }
  return found;
}

template <class T>
Found<T> find_or_make(Call& call, std::string_view key) {
  Found<T> found = find_value<T>(call, key, true);
  if (found.wrong || found.value != nullptr) return found;
  if constexpr (std::is_same_v<T, std::string>) {
    found.entry = &call.db().insert(key, std::string());
    found.value = &std::get<std::string>(found.entry->value);
  } else {
    found.entry = &call.db().insert(key, std::make_unique<T>());
    found.value = std::get<std::unique_ptr<T>>(found.entry->value).get();
  }
  return found;
}

#define HF_INSTANTIATE(T)                                                   \
  template Found<T> find_value<T>(Call&, std::string_view, bool for_write); \
  template Found<T> find_or_make<T>(Call&, std::string_view);
HF_INSTANTIATE(std::string)
HF_INSTANTIATE(List)
HF_INSTANTIATE(Hash)
HF_INSTANTIATE(Set)
HF_INSTANTIATE(SortedSet)
#undef HF_INSTANTIATE

Entry& put(Call& call, std::string_view key, Value value) {
  Entry* entry = find_key(call, key, true);
  if (entry == nullptr) {
    entry = &call.db().insert(key, std::move(value));
  } else {
    entry->value = std::move(value);
    call.db().clear_expiry(*entry);
  }
  changed(call, key);
  return *entry;
}

void erase_key(Call& call, Entry& entry) {
  call.engine.touch_watchers(call.session.db, *entry.key);
  call.engine.add_dirty(1);
  call.db().erase(entry);
}

void changed(Call& call, std::string_view key, std::int64_t by) {
  call.engine.touch_watchers(call.session.db, key);
  call.engine.add_dirty(by);
}

bool clamp_range(std::int64_t& start, std::int64_t& stop, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  if (start < 0) start += length;
  if (stop < 0) stop += length;
  if (start < 0) start = 0;
  if (stop >= length) stop = length - 1;
  return start <= stop && start < length;
}

}  // namespace holdfast::sim::embedded
