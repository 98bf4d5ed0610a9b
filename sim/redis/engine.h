// Engine: one Redis server without its sockets. Sessions put bytes in and take bytes out; commands run one
// after the other, never parking; everything that happens later (expiry, replication, time-outs) happens in
// tick().
//
// Used by RedisServer (server.h), which gives it connections and time, and directly by tests.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/command.h"
#include "sim/redis/config.h"
#include "sim/redis/disk.h"
#include "sim/redis/keyspace_witness.h"
#include "sim/redis/pubsub.h"
#include "sim/redis/replication.h"
#include "sim/redis/session.h"

namespace holdfast::sim::embedded {

class Cluster;
class ScriptEngine;

inline constexpr std::string_view kRedisVersion = "7.0.15";
inline constexpr int kDatabases = 16;

// Of one command, as INFO commandstats says it.
struct CommandStats {
  std::int64_t calls = 0, rejected = 0, failed = 0;
};

struct EngineStats {
  std::vector<CommandStats> by_command;  // in the order of CommandTable::all(); empty: none was called
  std::map<std::string, std::int64_t, std::less<>> errors_by_code;
  std::int64_t keyspace_hits = 0, keyspace_misses = 0;
  std::int64_t connections = 0;
  std::int64_t commands = 0;
  std::int64_t expired_keys = 0;
  std::int64_t sync_full = 0;
  std::int64_t sync_partial_ok = 0;
  std::int64_t sync_partial_err = 0;
  std::int64_t errors = 0;
};

// Keys on their way to another server.
struct Transfer {
  Endpoint to;
  Duration patience{};            // of each step: connecting, writing, each answer
  std::string preface, requests;  // AUTH and SELECT; a RESTORE for each key
  std::size_t prefaces = 0;       // how many answers come before those of `requests`
  std::vector<std::string> keys;
  bool keep = false;  // COPY
  int db = 0;
};

class Engine {
 public:
  // `disk` may be nullptr: nothing is ever written. Loads what the disk holds.
  Engine(Runtime& runtime, PersistenceMode mode, Disk* disk, std::uint16_t port);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- sessions -------------------------------------------------------------------------------------------
  std::shared_ptr<Session> open_session(Transport* transport, std::string peer, std::string local);
  void close_session(Session& session);
  // Executes every whole request of session.in, until it blocks or closes.
  void process(Session& session);
  // One request, already parsed. Same effects and replies.
  void execute(Session& session, Args argv);
  void execute_unbatched(Session& session, Args argv) {
    run_request(session, argv);
  }  // finish_batch() follows
  Session* session_by_id(std::uint64_t id);
  const std::map<std::uint64_t, std::shared_ptr<Session>>& sessions() const { return sessions_; }
  void close_later(Session& session);  // its transport is closed when the command at hand is over

  // --- time -----------------------------------------------------------------------------------------------
  static constexpr std::int64_t kTickMs = 100;
  void tick();               // every 100 ms while needs_ticks()
  bool needs_ticks() const;  // false: nothing is pending, tick() may rest until the next process()
  std::int64_t wall_ms() const;
  std::int64_t wall_us() const;
  std::int64_t frozen_us() const { return frozen_us_; }  // when the command at hand began
  std::int64_t mono_ms() const;

  // --- used by commands --------------------------------------------------------------------------------
  Runtime& runtime() { return runtime_; }
  Keyspace& db(int index) { return dbs_[static_cast<std::size_t>(index)]; }
  Config& config() { return config_; }
  PubSub& pubsub() { return pubsub_; }
  Replication& replication() { return replication_; }
  ScriptEngine& scripts() { return *scripts_; }
  EngineStats& stats() { return stats_; }
  CommandStats& stats_of(const CommandSpec& spec);
  std::uint16_t port() const { return port_; }
  const std::string& run_id() const { return run_id_; }
  std::int64_t started_ms() const { return started_ms_; }
  bool is_replica() const { return replication_.is_replica(); }
  Cluster* cluster() const { return cluster_; }               // of which this is a node; nullptr: of none
  void set_cluster(Cluster* cluster) { cluster_ = cluster; }  // outlives what is executed

  // Runs one command that passed its checks, replies to `out`, and notes what is to be propagated.
  void call(Session& session, const CommandSpec& spec, Args argv, Out& out);
  // Why a write may not run now ("READONLY ...", "NOREPLICAS ..."), or "".
  std::string_view refuse_write(const Session& session) const;

  // An estimate that depends on keys and values alone: 1 MB for the server, and what they hold.
  std::int64_t used_memory();
  // The command at hand began with more memory in use than `maxmemory` allows.
  bool began_out_of_memory() const { return out_of_memory_; }

  Entry* meet_expired(Session& session, Entry& entry, bool for_write);  // a key found past its expiry
  void delete_expired(int db, Entry& entry);
  void add_dirty(std::int64_t by) { dirty_ += by; }
  void watch(Session& session, std::string_view key);
  void unwatch_all(Session& session);
  void touch_watchers(int db, std::string_view key) {
    if (witness_ != nullptr && db == 0) touched_.emplace_back(key);
    if (!watchers_.empty()) touch_watchers_slowly(db, key);
  }
  // All keys of `db` are about to go, and those of `instead` (or none) to come.
  void touch_all_watchers(int db, Keyspace* instead = nullptr);
  bool watched_key_expired(const Session& session);

  bool propagating() const { return replication_.feeding() || append_only_; }
  void note_instead(Args effect);                        // Call::propagate_instead()
  void propagate(int db, Args argv);                     // with the effects of the command at hand
  void propagate_publish(int db, Args argv);             // to replicas only, not into the append-only file
  void set_propagation(bool to_replicas, bool to_disk);  // redis.set_repl, until the script ends

  void push(Session& to);  // to.out was given something that is not the reply of a running command
  void block(Session& session, Blocked why, std::int64_t until_mono_ms);
  void answer_timed_out(Session& session);  // what a blocked command answers when its time is up
  void answer_wait(Session& session);       // the answer of a WAIT that stood still
  void unblock(Session& session);           // its further input runs when the command at hand is over
  void signal_key(int db, std::string_view key);
  void signal_waiting(int db);  // whoever waits for a key that is there now
  // Commands are held back: those that write, or all. Several may ask for it at a time (Redis:
  // pause_purpose).
  enum class Pause : std::uint8_t { by_command, during_shutdown, during_failover };
  static constexpr std::int64_t kUntilTold = INT64_MAX;
  void pause_clients(Pause why, std::int64_t until_mono_ms, bool all);
  void unpause_clients(Pause why);

  void save();                                      // a snapshot to the disk
  void begin_replication(const Endpoint& primary);  // once; with the place of the dump that it has loaded
  bool append_failed() const { return append_failed_; }  // its disk is full
  std::int64_t unsaved_changes() const { return dirty_ - dirty_at_save_; }
  std::int64_t last_save_s() const { return last_save_s_; }
  void set_append_only(bool on);
  void rewrite_append_only() {
    if (append_only_) set_append_only(true);
  }
  bool reload_append_only();  // throws away what the databases hold, and replays. False: there is no file
  // Ends the server at once, or when its replicas have acknowledged everything, for `shutdown-timeout` at
  // most; `session`, who asked, waits for that, and then sees its connection end.
  void shut_down(Session& session, bool save, bool now);
  bool abort_shutdown();  // false: there was none under way
  bool shutdown_requested() const { return shutdown_; }
  // Until then the server stands still, because it waits for its disk: nobody is read or answered.
  MonotonicTime still_until() const { return still_until_; }
  // When to look whether it still does: soon, as the disk may become quicker.
  MonotonicTime next_look_at_disk() const;
  // The sync under way takes no longer than one that begins now.
  void disk_is_quicker();
  void flush_db(int db);
  void delete_keys(int db, std::span<const std::string> keys);  // outside of commands; finish_batch() follows
  // `error`: without the "-" before it.
  void count_error(std::string_view error);
  // The error that the running command answers with is counted already.
  void error_was_counted() { error_counted_ = true; }
  void set_active_expiry(bool on) { active_expiry_ = on; }
  void answer_waits();  // after an acknowledgement
  std::vector<Keyspace>& databases() { return dbs_; }

  // --- a script that takes time (engine_scripts.cc) ----------------------------------------------------
  bool script_paused() const { return job_.kept != nullptr; }
  // What a script sends to others leaves the server when it has ended, or when the server answers that it is
  // busy (Redis: beforeSleep() writes what clients are to get, and is not called before).
  bool holds_output() const { return script_paused() && !busy_; }
  std::int64_t script_rest_ms() const { return job_.rest_ms; }  // how long it stands still
  void continue_script();
  void pass_script_time(std::int64_t ms);  // called by the script itself
  // What the owner does when a script pauses: it calls continue_script() script_rest_ms() later, again and
  // again while script_paused(). Not set: no script pauses, and one that takes too long is killed.
  std::function<void()> on_script_paused;

  // --- MIGRATE (engine_migration.cc) ---------------------------------------------------------------------
  // Has the owner send a transfer, and stands still until it says end_transfer(). False: it has no network.
  bool begin_transfer(Session& session, Transfer transfer);
  bool transferring() const { return moving_.client != nullptr; }
  // `arrived`: of its keys in order, which ones the target took; `reply`: the answer, framed.
  void end_transfer(const std::vector<bool>& arrived, std::string_view reply);
  std::function<void(const Transfer& transfer)> on_transfer;

  // What the owner does when the primary to follow changes (it owns the link).
  std::function<void()> on_primary_changed;
  std::function<void()> on_ticks_needed;

  // Answers (into session.out) what this server is instead of an ordinary one: a Sentinel. False: it is
  // answered as by any server.
  std::function<bool(Session& session, Args argv)> answer_instead;
  // CONFIG REWRITE: keeps whom it follows (host "": nobody). Not set: there is no file.
  std::function<void(const Endpoint& primary)> on_config_rewrite;

  // `witness` (nullptr: none) outlives the engine. It is told at once what was loaded.
  void set_witness(KeyspaceWitness* witness);
  void tell_loaded();                              // whatever stood in the databases before
  void databases_replaced() { reloaded_ = true; }  // by the command at hand
  // While it loads it answers LOADING to most commands, expires nothing and follows nobody. What it has
  // loaded is there at once all the same, and nobody is shown it.
  void set_loads(bool loads) { loads_ = loads; }
  bool loads() const { return loads_; }

  // After everything that ran outside process(): hands out pushed output, wakes unblocked sessions.
  void finish_batch();

 private:
  struct Effect {
    int db;
    std::size_t begin, end;  // of pending_bytes_
    bool replicas, disk;
  };
  struct Job {  // the command that runs scripts
    Session* session = nullptr;
    std::shared_ptr<Session> kept;  // once it has paused
    const CommandSpec* spec = nullptr;
    Args argv;
    std::int64_t started_ms = 0, rest_ms = 0, unpaused_ms = 0;
    std::string reply;  // so far
  };
  void run_request(Session& session, Args argv);
  // False: refused (answered) or put off. `flags`: those of the command with these arguments.
  bool admit(Session& session, const CommandSpec& spec, Args argv, std::uint32_t& flags);
  bool run_scripted(Session& session, const CommandSpec& spec, Args argv);  // false: paused
  void end_call(Session& session);
  // Silences what the client asked to be silent, but for what is `pushed`.
  void end_reply(Session& session, std::size_t begin, bool pushed = false);
  void admit_held_back();
  void abandon_script();
  // Answers with an error; what was queued is lost at EXEC, and at once when EXEC itself is refused.
  void reject(Session& session, const CommandSpec* spec, std::string_view error);
  void note_effect(int db, Args argv, bool replicas, bool disk);
  void note_replacements(int db, std::size_t from);  // instead_ends_[from..]
  // More than one is a transaction, unless `apart`.
  void flush_effects(bool apart = false);
  void tell_touched(KeyspaceWitness::Cause cause);
  void touch_watchers_slowly(int db, std::string_view key);
  void serve_waiting();
  void end_blocking_when_due();
  void update_pauses();
  void finish_shutdown_when_due();
  void expire_actively();
  void load(PersistenceMode mode);
  void replay_append_only();
  void check_save_points();
  // As Redis between commands (aof.c, flushAppendOnlyFile): what was to be appended, and a sync when it is
  // due.
  void write_append_only();
  void sync_append_only(bool grown);
  bool syncs_in_background() const { return runtime_.now() < synced_at_; }
  void die();  // as by exit(): nobody is answered

  Runtime& runtime_;
  Disk* disk_;
  std::optional<StreamPlace> loaded_place_;                   // until begin_replication()
  std::vector<std::pair<int, std::string>> expired_in_dump_;  // the same
  std::uint16_t port_;
  std::vector<Keyspace> dbs_;
  Config config_;
  PubSub pubsub_;
  Replication replication_;
  std::unique_ptr<ScriptEngine> scripts_;
  EngineStats stats_;
  std::string run_id_;
  std::int64_t started_ms_ = 0;

  std::uint64_t next_session_ = 1;
  std::map<std::uint64_t, std::shared_ptr<Session>> sessions_;
  std::vector<std::uint64_t> with_output_, to_close_, unblocked_;
  std::vector<std::uint64_t> handed_out_;           // scratch of finish_batch()
  std::map<std::uint64_t, std::uint64_t> blocked_;  // order of blocking -> session
  std::vector<std::string_view> argv_;

  Cluster* cluster_ = nullptr;
  KeyspaceWitness* witness_ = nullptr;
  std::vector<std::string> touched_;  // keys of database 0 that it was not told of yet
  bool reloaded_ = false;             // the command at hand replaced whole databases

  Job job_;
  bool busy_ = false, abandoning_ = false;
  int depth_ = 0;
  bool out_of_memory_ = false;
  std::int64_t used_memory_ = 0, used_memory_at_ = -1;  // at that `dirty_`
  struct Moving {
    std::shared_ptr<Session> client;  // who asked for it; null: none is under way
    Transfer transfer;
  } moving_;
  bool in_batch_ = false;
  std::uint64_t next_block_ = 1;
  std::int64_t next_second_ms_ = 0;
  std::int64_t frozen_now_ = 0, frozen_us_ = 0;
  std::int64_t dirty_ = 0, dirty_at_save_ = 0;
  std::vector<Effect> effects_;
  std::string pending_bytes_;
  std::string instead_bytes_;  // what running commands propagate in place of themselves, innermost last
  std::vector<std::size_t> instead_ends_;
  bool propagate_replicas_ = true, propagate_disk_ = true;

  std::map<std::pair<int, std::string>, std::vector<std::uint64_t>> watchers_;
  std::vector<std::pair<int, std::string>> ready_keys_;
  struct PauseOf {
    std::int64_t until_ms = 0;  // monotonic; 0: none
    bool all = false;
  };
  std::array<PauseOf, 3> pauses_;     // by Pause
  std::int64_t paused_until_ms_ = 0;  // of all of these
  bool paused_all_ = false;
  bool append_only_ = false;
  bool error_counted_ = false;
  bool active_expiry_ = true;  // DEBUG SET-ACTIVE-EXPIRE
  int append_db_ = -1;
  std::string unwritten_;  // to be appended: between commands, or when the disk can take it again
  bool append_failed_ = false;
  std::int64_t postponed_ms_ = 0;  // since when `unwritten_` waits for a sync; 0: it does not
  MonotonicTime still_until_{};
  MonotonicTime synced_at_{};  // `everysec`: when the sync under way is over
  std::size_t syncs_bytes_ = 0;
  std::int64_t last_fsync_s_ = 0;  // wall clock
  bool loading_ = false;           // it replays its append-only file, without parking
  bool loads_ = false;             // set_loads()
  bool shutdown_ = false;
  struct Shutdown {  // one that waits for replicas
    bool under_way = false, save = false;
    std::int64_t until_ms = 0;
  } ending_;
  std::int64_t last_save_s_ = 0;
};

}  // namespace holdfast::sim::embedded
