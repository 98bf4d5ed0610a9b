#include "sim/redis/command.h"

#include <bit>
#include <charconv>

#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

Keyspace& Call::db() { return engine.db(session.db); }

void Call::propagate_instead(Args effect) {
  replaced = true;
  engine.note_instead(effect);
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
  add_cluster_commands(specs_);
  add_migration_commands(specs_);
  slots_.resize(std::bit_ceil(specs_.size() * 4));
  for (const CommandSpec& spec : specs_) {
    std::uint32_t hash = 0;
    for (const char c : spec.name) hash = hash_of(hash, c);
    while (slots_[hash & (slots_.size() - 1)] != nullptr) ++hash;
    slots_[hash & (slots_.size() - 1)] = &spec;
  }
}

std::uint32_t CommandTable::hash_of(std::uint32_t before, char lower) {
  return (before ^ static_cast<unsigned char>(lower)) * 0x01000193u + (before >> 15);
}

const CommandSpec* CommandTable::look_up(std::string_view lower_name, std::uint32_t hash) const {
  for (;; ++hash) {
    const CommandSpec* spec = slots_[hash & (slots_.size() - 1)];
    if (spec == nullptr || spec->name == lower_name) return spec;
  }
}

const CommandSpec* CommandTable::find(std::string_view lower_name) const {
  std::uint32_t hash = 0;
  for (const char c : lower_name) hash = hash_of(hash, c);
  return look_up(lower_name, hash);
}

const CommandSpec* CommandTable::find(Args argv, const CommandSpec*& container) const {
  container = nullptr;
  char name[64];
  std::size_t length = 0;
  std::uint32_t hash = 0;
  const auto append = [&](std::string_view word) {
    if (word.size() > sizeof name - length) return false;
    for (char c : word) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
      name[length++] = c;
      hash = hash_of(hash, c);
    }
    return true;
  };
  if (!append(argv[0]) || argv[0].find('|') != std::string_view::npos) return nullptr;
  const CommandSpec* spec = look_up(std::string_view(name, length), hash);
  if (spec == nullptr || (spec->flags & kContainer) == 0 || argv.size() < 2) return spec;
  container = spec;
  if (!append("|") || !append(argv[1])) return nullptr;
  return look_up(std::string_view(name, length), hash);
}

bool integer_arg(Call& call, std::size_t i, std::int64_t& value, std::string_view complaint) {
  if (parse_integer(call.argv[i], value)) return true;
  call.out.error(complaint);
  return false;
}

bool int_arg(Call& call, std::size_t i, std::int64_t& value, std::string_view complaint) {
  if (!integer_arg(call, i, value, complaint.empty() ? kNotInteger : complaint)) return false;
  if (value >= INT32_MIN && value <= INT32_MAX) return true;
  call.out.error(!complaint.empty()
                     ? complaint
                     : "ERR value is out of range, value must between -2147483648 and 2147483647");
  return false;
}

bool cursor_arg(Call& call, std::size_t i, std::uint64_t& cursor) {
  std::string_view text = call.argv[i];
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), cursor);
  if (status != std::errc() || end != text.data() + text.size()) {
    call.out.error("ERR invalid cursor");
    return false;
  }
  if (negative) cursor = -cursor;
  return true;
}

bool draw_count_arg(Call& call, std::size_t i, std::int64_t& count) {
  if (!integer_arg(call, i, count)) return false;
  if (count == INT64_MIN) {
    call.out.error(
        "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
    return false;
  }
  return true;
}

bool database_arg(Call& call, std::size_t i, std::int64_t& db) {
  if (!int_arg(call, i, db)) return false;
  if (db >= 0 && db < kDatabases) return true;
  call.out.error("ERR DB index is out of range");
  return false;
}

bool real_arg(Call& call, std::size_t i, double& value, std::string_view complaint) {
  if (parse_real(call.argv[i], value)) return true;
  call.out.error(complaint);
  return false;
}

static Entry* look_up_key(Call& call, std::string_view key, bool for_write) {
  Entry* entry = call.db().find(key);
  if (entry == nullptr || entry->expires_at == kNoExpiry || call.now <= entry->expires_at) return entry;
  return call.engine.meet_expired(call.session, *entry, for_write);
}
static void count_read(Call& call, const Entry* entry) {
  EngineStats& stats = call.engine.stats();
  ++(entry != nullptr ? stats.keyspace_hits : stats.keyspace_misses);
}
Entry* find_key(Call& call, std::string_view key, bool for_write) {
  Entry* entry = look_up_key(call, key, for_write);
  if (entry != nullptr) entry->used_ms = call.now;
  if (!for_write) count_read(call, entry);
  return entry;
}
Entry* peek_key(Call& call, std::string_view key) {
  Entry* entry = look_up_key(call, key, false);
  count_read(call, entry);
  return entry;
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
    entry->raw_text = false;
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
