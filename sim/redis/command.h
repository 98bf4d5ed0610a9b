// Commands: how one is described, called and found.
//
// To add one: write the handler in the file of its family and one line in that file's add_..._commands().
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/redis/keyspace.h"
#include "sim/redis/resp.h"
#include "sim/redis/session.h"

namespace holdfast::sim::embedded {

class Engine;
struct CommandSpec;

enum CommandFlag : std::uint32_t {
  kWrite = 1u << 0,
  kReadonly = 1u << 1,
  kDenyOom = 1u << 2,
  kNoScript = 1u << 3,
  kPubSub = 1u << 4,
  kMayReplicate = 1u << 5,
  kNoAuth = 1u << 6,
  kNoMulti = 1u << 7,
  kContainer = 1u << 8,  // has subcommands, found as "name|subcommand"; without a handler it needs one
  kFast = 1u << 9,
  kAdmin = 1u << 10,
  kBlocking = 1u << 11,
  kInPubSub = 1u << 12,  // allowed while subscribed
  kInMulti = 1u << 13,   // executed, not queued, inside MULTI
  kWhilePaused = 1u << 14,
  kRunsScripts = 1u << 15,   // compiles or runs Lua
  kAllowBusy = 1u << 16,     // answered while a script keeps the server busy
  kNeedsPrimary = 1u << 18,  // of what MULTI queued: refused where a replica may not answer from stale data
  kAnyKeys = 1u << 17,  // meets keys that nobody named: what it finds expired is told replicas key by key
};

struct Keys {
  int first = 0, last = 0, step = 0;
};

// One execution of one command.
struct Call {
  Engine& engine;
  Session& session;
  Out& out;
  const CommandSpec& spec;
  Args argv;
  std::int64_t now;  // ms, wall clock; stands still inside scripts and transactions

  std::string_view arg(std::size_t i) const { return argv[i]; }
  std::size_t argc() const { return argv.size(); }
  bool option(std::size_t i, std::string_view name) const { return equals_ignoring_case(argv[i], name); }
  Keyspace& db();

  // What replicas and the append-only file are told in place of the command, if the keyspace changed.
  bool replaced = false;
  bool propagate_nothing = false;
  void propagate_instead(Args effect);
  void propagate_instead(std::initializer_list<std::string_view> effect) {
    propagate_instead(Args(effect.begin(), effect.size()));
  }
};

using Handler = void (*)(Call&);

struct CommandSpec {
  std::string_view name;  // lower case; "client|id" for a subcommand
  Handler handler;
  int arity;  // as Redis: the name counts, negative: at least
  std::uint32_t flags;
  Keys keys = {};
  bool arity_ok(std::size_t argc) const {
    return arity >= 0 ? argc == static_cast<std::size_t>(arity) : argc >= static_cast<std::size_t>(-arity);
  }
};

class CommandTable {
 public:
  static const CommandTable& instance();

  // The command that argv names, a subcommand if it has some. nullptr: none; `container` then says whether
  // the first word alone is known.
  const CommandSpec* find(Args argv, const CommandSpec*& container) const;
  const CommandSpec* find(std::string_view lower_name) const;
  const std::vector<CommandSpec>& all() const { return specs_; }

 private:
  CommandTable();
  static std::uint32_t hash_of(std::uint32_t before, char lower);
  const CommandSpec* look_up(std::string_view lower_name, std::uint32_t hash) const;

  std::vector<CommandSpec> specs_;
  std::vector<const CommandSpec*> slots_;  // open addressing; the size is a power of two
};

using Specs = std::vector<CommandSpec>;
void add_string_commands(Specs& specs);
void add_key_commands(Specs& specs);
void add_scan_commands(Specs& specs);
void add_sort_commands(Specs& specs);
void add_hash_commands(Specs& specs);
void add_list_commands(Specs& specs);
void add_set_commands(Specs& specs);
void add_sorted_set_commands(Specs& specs);
void add_script_commands(Specs& specs);
void add_transaction_commands(Specs& specs);
void add_pubsub_commands(Specs& specs);
void add_connection_commands(Specs& specs);
void add_server_commands(Specs& specs);
void add_replication_commands(Specs& specs);
void add_cluster_commands(Specs& specs);
void add_migration_commands(Specs& specs);

// --- what most handlers need ------------------------------------------------------------------------------
inline constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kSyntax = "ERR syntax error";
inline constexpr std::string_view kNotInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kNotFloat = "ERR value is not a valid float";
inline constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";
inline constexpr std::string_view kNoSuchKey = "ERR no such key";
inline constexpr std::string_view kOutOfRangeValue = "ERR value is out of range";
inline constexpr std::string_view kOutOfRange = "ERR index out of range";

// Reads an integer argument, or answers kNotInteger (or `complaint`).
bool integer_arg(Call& call, std::size_t i, std::int64_t& value, std::string_view complaint = kNotInteger);
// An int of C, with Redis' complaint where the number is longer; false: answered.
bool int_arg(Call& call, std::size_t i, std::int64_t& value, std::string_view complaint = {});
// The cursor of a scan, read as strtoul() does: "-1" is the highest; false: answered.
bool cursor_arg(Call& call, std::size_t i, std::uint64_t& cursor);
// The count of SRANDMEMBER and its like; false: answered. Below zero so many are drawn with repetition, at
// most kMostDrawn (Redis answers until it has no memory left).
inline constexpr std::int64_t kMostDrawn = 1 << 24;
bool draw_count_arg(Call& call, std::size_t i, std::int64_t& count);
bool database_arg(Call& call, std::size_t i, std::int64_t& db);  // the number of a database; false: answered
bool real_arg(Call& call, std::size_t i, double& value, std::string_view complaint = kNotFloat);

// The entry of a key for reading or writing: nullptr when absent or expired. Lookups for writing delete what
// has expired, on a primary.
Entry* find_key(Call& call, std::string_view key, bool for_write);
// The same for reading, without a trace in OBJECT IDLETIME.
Entry* peek_key(Call& call, std::string_view key);

// The same, typed. `wrong`: the key holds another type, and that has been answered.
template <class T>
struct Found {
  Entry* entry = nullptr;
  T* value = nullptr;
  bool wrong = false;
  explicit operator bool() const { return value != nullptr; }
};
template <class T>
Found<T> find_value(Call& call, std::string_view key, bool for_write);
// Makes an empty one where the key is absent.
template <class T>
Found<T> find_or_make(Call& call, std::string_view key);

Entry& put(Call& call, std::string_view key, Value value);            // replaces value and drops the expiry
void erase_key(Call& call, Entry& entry);                             // counts, and wakes WATCHers
void changed(Call& call, std::string_view key, std::int64_t by = 1);  // dirty, and wakes WATCHers

// "limit offset count", ranges: start and stop of an index range over `size`. False: empty.
bool clamp_range(std::int64_t& start, std::int64_t& stop, std::size_t size);

}  // namespace holdfast::sim::embedded
