#include "sim/redis/engine.h"

#include <algorithm>
#include <chrono>

#include "lib/runtime/check.h"
#include "sim/redis/cluster/cluster.h"
#include "sim/redis/script_engine.h"
#include "sim/redis/snapshot.h"

namespace holdfast::sim::embedded {

void reset_transaction(Engine& engine, Session& session);  // cmd_transactions.cc

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

Engine::Engine(Runtime& runtime, PersistenceMode mode, Disk* disk, std::uint16_t port)
    : runtime_(runtime), disk_(disk), port_(port), dbs_(kDatabases), replication_(*this) {
  started_ms_ = mono_ms();
  frozen_now_ = wall_ms();
  for (Keyspace& keys : dbs_) keys.set_clock(&frozen_now_);
  run_id_ = random_hex(runtime_);
  replication_.new_id();
  scripts_ = std::make_unique<ScriptEngine>(*this);
  last_save_s_ = wall_ms() / 1000;
  if (disk_ != nullptr) load(mode);
  if (mode == PersistenceMode::rdb) {
    config_.set("save", "3600 1 300 100 60 10000");
  } else if (mode != PersistenceMode::none && disk_ != nullptr) {
    config_.set("appendonly", "yes");
    config_.set("appendfsync", mode == PersistenceMode::aof_always ? "always"
                               : mode == PersistenceMode::aof_no   ? "no"
                                                                   : "everysec");
    last_fsync_s_ = wall_ms() / 1000;
    append_only_ = true;
    disk_->has_append_only = true;
  }
}

Engine::~Engine() { abandon_script(); }

std::int64_t Engine::wall_us() const {
  return duration_cast<microseconds>(runtime_.wall_now().time_since_epoch()).count();
}
std::int64_t Engine::wall_ms() const {
  return duration_cast<milliseconds>(runtime_.wall_now().time_since_epoch()).count();
}
std::int64_t Engine::mono_ms() const {
  return duration_cast<milliseconds>(runtime_.now().time_since_epoch()).count();
}

// --- sessions ------------------------------------------------------------------------------------------

std::shared_ptr<Session> Engine::open_session(Transport* transport, std::string peer, std::string local) {
  auto session = std::make_shared<Session>();
  session->id = next_session_++;
  session->transport = transport;
  session->peer = std::move(peer);
  session->local = std::move(local);
  session->authenticated = config_.password.empty();
  session->opened_ms = session->active_ms = mono_ms();
  ++stats_.connections;
  sessions_.emplace(session->id, session);
  return session;
}

Session* Engine::session_by_id(std::uint64_t id) {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : it->second.get();
}

void Engine::close_session(Session& session) {
  session.closed = true;
  unwatch_all(session);
  pubsub_.forget(session);
  replication_.forget(session);
  if (session.blocked != Blocked::no) blocked_.erase(session.blocked_order);
  const auto keep = sessions_.find(session.id);
  if (keep != sessions_.end()) sessions_.erase(keep);
}

void Engine::close_later(Session& session) {
  session.closed = true;
  to_close_.push_back(session.id);
}

void Engine::process(Session& session) {
  if (((script_paused() && !busy_) || transferring()) && session.blocked == Blocked::no)
    block(session, Blocked::by_script, 0);
  while (session.blocked == Blocked::no && !session.closed && !session.close_after_reply) {
    std::size_t next = session.in_pos;
    const auto status = session.parser.parse(session.in, next, argv_);
    if (status == RequestParser::Status::incomplete) break;
    if (status == RequestParser::Status::error) {
      session.out.error(session.parser.error_text());
      session.close_after_reply = true;
      break;
    }
    const std::size_t start = session.in_pos;
    session.in_pos = next;
    if (argv_.empty()) continue;
    run_request(session, argv_);
    if (session.blocked == Blocked::by_pause) session.in_pos = start;  // parsed again after the pause
  }
  if (session.in_pos == session.in.size()) {
    session.in.clear();
    session.in_pos = 0;
  } else if (session.in_pos > 0 && session.in_pos * 2 > session.in.size()) {
    session.in.erase(0, session.in_pos);
    session.in_pos = 0;
    session.parser.input_moved();
  }
  finish_batch();
}

void Engine::execute(Session& session, Args argv) {
  run_request(session, argv);
  finish_batch();
}

// What a replica that serves no stale data still does without its primary (Redis: the flag `stale`).
static bool answers_without_primary(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "auth",      "client",       "cluster",  "command",     "config",       "debug",
      "discard",   "echo",         "exec",     "failover",    "hello",        "info",
      "multi",     "psubscribe",   "publish",  "pubsub",      "punsubscribe", "quit",
      "readonly",  "readwrite",    "replconf", "replicaof",   "reset",        "role",
      "script",    "select",       "shutdown", "slaveof",     "spublish",     "ssubscribe",
      "subscribe", "sunsubscribe", "time",     "unsubscribe", "unwatch",      "watch"};
  name = name.substr(0, name.find('|'));
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// What a server still does while it loads its data (Redis: the flag `loading`).
static bool answers_while_loading(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "auth",       "client",     "command",      "config",   "debug",       "discard",  "echo",
      "exec",       "hello",      "info",         "lastsave", "latency",     "monitor",  "multi",
      "publish",    "psubscribe", "punsubscribe", "pubsub",   "quit",        "readonly", "readwrite",
      "replconf",   "reset",      "role",         "select",   "shutdown",    "slowlog",  "spublish",
      "ssubscribe", "subscribe",  "sunsubscribe", "time",     "unsubscribe", "unwatch",  "watch"};
  name = name.substr(0, name.find('|'));
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void Engine::run_request(Session& session, Args argv) {
  session.active_ms = mono_ms();
  ++stats_.commands;
  const std::size_t before = session.out.bytes.size();
  if (answer_instead && answer_instead(session, argv)) return end_reply(session, before);
  const CommandSpec* container = nullptr;
  const CommandSpec* spec = CommandTable::instance().find(argv, container);
  if (spec == nullptr) {
    if (container != nullptr) {
      reject(
          session,
          nullptr, "ERR unknown subcommand '" + std::string(argv[1].substr(0, 128)) + "'. Try " + [&] {
            std::string upper(container->name);
            for (char& ch : upper) ch = static_cast<char>(ch >= 'a' && ch <= 'z' ? ch - 32 : ch);
            return upper;
          }() + " HELP.");
    } else {
      std::string text =
          "ERR unknown command '" + std::string(argv[0].substr(0, 128)) + "', with args beginning with: ";
      std::size_t listed = 0;
      for (std::size_t i = 1; i < argv.size() && listed < 128; ++i) {
        const std::string_view shown = argv[i].substr(0, 128 - listed);
        text += "'" + std::string(shown) + "' ";
        listed += shown.size() + 3;
      }
      reject(session, nullptr, text);
    }
  } else if (!spec->arity_ok(argv.size()) || (spec->handler == nullptr && argv.size() < 2)) {
    reject(session, spec, "ERR wrong number of arguments for '" + std::string(spec->name) + "' command");
  } else if (std::uint32_t flags = 0; admit(session, *spec, argv, flags)) {
    session.last_command = spec->name;
    if (session.in_multi && (spec->flags & kInMulti) == 0) {
      session.queue.add(*spec, argv);
      session.queued_flags |=
          flags | (answers_without_primary(spec->name) ? 0u : std::uint32_t{kNeedsPrimary});
      session.out.raw("+QUEUED\r\n");
    } else if (((spec->flags | (session.in_multi ? session.queued_flags : 0)) & kRunsScripts) == 0) {
      call(session, *spec, argv, session.out);
      end_call(session);
    } else if (run_scripted(session, *spec, argv)) {
      end_call(session);
    } else {
      return;  // continue_script() does the rest
    }
  }
  if (session.asking && !session.in_multi && (spec == nullptr || spec->name != "asking"))
    session.asking = false;
  end_reply(session, before, spec != nullptr && spec->name.ends_with("subscribe"));
}

void Engine::end_call(Session& session) {
  session.last_write_offset = replication_.offset();
  if (!ready_keys_.empty() && !script_paused()) serve_waiting();
}

void Engine::end_reply(Session& session, std::size_t before, bool pushed) {
  if (session.reply_mode != ReplyMode::on) {
    if (session.reply_mode != ReplyMode::skip_next && !pushed) session.out.bytes.resize(before);
    if (session.reply_mode == ReplyMode::skip_this) session.reply_mode = ReplyMode::on;
    if (session.reply_mode == ReplyMode::skip_next) session.reply_mode = ReplyMode::skip_this;
  }
}

CommandStats& Engine::stats_of(const CommandSpec& spec) {
  const std::vector<CommandSpec>& all = CommandTable::instance().all();
  if (stats_.by_command.empty()) stats_.by_command.resize(all.size());
  return stats_.by_command[static_cast<std::size_t>(&spec - all.data())];
}

void Engine::count_error(std::string_view error) {
  ++stats_.errors;
  const std::string_view code = error.substr(0, error.find(' '));
  const auto known = stats_.errors_by_code.find(code);
  ++(known != stats_.errors_by_code.end() ? known->second : stats_.errors_by_code[std::string(code)]);
}

void Engine::reject(Session& session, const CommandSpec* spec, std::string_view error) {
  count_error(error);
  if (spec != nullptr) ++stats_of(*spec).rejected;
  if (spec == nullptr || spec->name != "exec") {
    if (session.in_multi) session.abort_exec = true;
    return session.out.error(error);
  }
  if (error.starts_with("ERR ")) error.remove_prefix(4);
  session.out.error("EXECABORT Transaction discarded because of: " + std::string(error));
  reset_transaction(*this, session);
}

static constexpr std::string_view kDiskFull =
    "MISCONF Errors writing to the AOF file: No space left on device";

std::string_view Engine::refuse_write(const Session& session) const {
  if (session.from_primary || session.fake) return {};
  if (replication_.is_replica()) {
    return config_.replica_read_only ? "READONLY You can't write against a read only replica." : "";
  }
  if (append_failed_) return kDiskFull;
  if (config_.min_replicas_to_write > 0 && config_.min_replicas_max_lag_s > 0 &&
      replication_.good_replicas() < config_.min_replicas_to_write) {
    return "NOREPLICAS Not enough good replicas to write.";
  }
  return {};
}

bool Engine::admit(Session& session, const CommandSpec& spec, Args argv, std::uint32_t& flags) {
  flags = spec.name.starts_with("eval") ? scripts_->command_flags(spec, argv) : spec.flags;
  const bool is_exec = spec.name == "exec";
  const bool writes = (flags & kWrite) != 0 || (is_exec && (session.queued_flags & kWrite) != 0);
  const bool may_replicate = (flags & (kWrite | kMayReplicate)) != 0 ||
                             (is_exec && (session.queued_flags & (kWrite | kMayReplicate)) != 0);
  if (!session.authenticated && (spec.flags & kNoAuth) == 0) {
    reject(session, &spec, "NOAUTH Authentication required.");
    return false;
  }
  if (session.in_multi && (spec.flags & kNoMulti) != 0) {
    reject(session, &spec, "ERR Command not allowed inside a transaction");
    return false;
  }
  if (cluster_ != nullptr && !session.from_primary && !session.fake) {
    const std::string refused = cluster_->refuse(session, spec, argv, writes);
    if (!refused.empty() && is_exec) {
      count_error(refused);
      ++stats_of(spec).rejected;
      session.out.error(refused);
      reset_transaction(*this, session);
      return false;
    }
    if (!refused.empty()) {
      reject(session, &spec, refused);
      return false;
    }
  }
  out_of_memory_ = config_.max_memory_bytes > 0 && !session.fake && !replication_.is_replica() &&
                   paused_until_ms_ <= mono_ms() && used_memory() > config_.max_memory_bytes;
  if (out_of_memory_) {
    const bool grows = (flags & kDenyOom) != 0 || (is_exec && (session.queued_flags & kDenyOom) != 0);
    const bool ends_transaction =
        is_exec || spec.name == "discard" || spec.name == "quit" || spec.name == "reset";
    if (grows || (session.in_multi && !ends_transaction)) {
      reject(session, &spec, kOutOfMemory);
      return false;
    }
  }
  if (append_failed_ && spec.name == "ping" && !session.from_primary) {
    reject(session, &spec, kDiskFull);
    return false;
  }
  if (writes) {
    const std::string_view refused = refuse_write(session);
    if (!refused.empty()) {
      reject(session, &spec, refused);
      return false;
    }
  }
  if (session.out.protocol == 2 && session.subscriptions() + session.shard_channels.size() > 0 &&
      (spec.flags & kInPubSub) == 0) {
    reject(session, &spec,
           "ERR Can't execute '" + lower(spec.name) +
               "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context");
    return false;
  }
  if (!config_.replica_serve_stale_data && replication_.is_replica() && !session.from_primary &&
      replication_.link_state() != LinkState::connected &&
      (!answers_without_primary(spec.name) || (is_exec && (session.queued_flags & kNeedsPrimary) != 0))) {
    reject(session, &spec,
           "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.");
    return false;
  }
  if (loads_ && !session.fake && !answers_while_loading(spec.name)) {
    reject(session, &spec, "LOADING Redis is loading the dataset in memory");
    return false;
  }
  if (busy_ && (spec.flags & kAllowBusy) == 0 && !session.from_primary) {
    reject(session, &spec,
           "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.");
    return false;
  }
  if (paused_until_ms_ > mono_ms() && session.replica == ReplicaState::none && !session.from_primary &&
      (spec.flags & kWhilePaused) == 0 && (paused_all_ || may_replicate)) {
    block(session, Blocked::by_pause, 0);
    return false;
  }
  return true;
}

void Engine::call(Session& session, const CommandSpec& spec, Args argv, Out& out) {
  if (depth_++ == 0) {
    frozen_us_ = wall_us();
    frozen_now_ = frozen_us_ / 1000;
  }
  Call c{*this, session, out, spec, argv, frozen_now_};
  error_counted_ = false;
  const std::int64_t dirty_before = dirty_;
  const std::size_t instead_before = instead_ends_.size();
  const std::size_t reply_at = out.bytes.size();
  spec.handler(c);
  if (!loading_ && (session.blocked == Blocked::no || session.blocked == Blocked::by_script)) {
    CommandStats& stats = stats_of(spec);
    ++stats.calls;
    if (session.blocked == Blocked::no && out.bytes.size() > reply_at && out.bytes[reply_at] == '-') {
      ++stats.failed;
      if (&out == &session.out && !session.fake && !std::exchange(error_counted_, false))
        count_error(std::string_view(out.bytes).substr(reply_at + 1));
    }
  }
  if (dirty_ != dirty_before && propagating() && !c.propagate_nothing) {
    if (!c.replaced) {
      note_effect(session.db, argv, propagate_replicas_, propagate_disk_);
    } else {
      note_replacements(session.db, instead_before);
    }
  }
  instead_ends_.resize(instead_before);
  instead_bytes_.resize(instead_before == 0 ? 0 : instead_ends_.back());
  if (--depth_ == 0) {
    propagate_replicas_ = propagate_disk_ = true;
    flush_effects((spec.flags & kAnyKeys) != 0);
    tell_touched(session.from_primary ? KeyspaceWitness::Cause::replicated : KeyspaceWitness::Cause::command);
  }
}

// --- effects -------------------------------------------------------------------------------------------

void Engine::set_propagation(bool to_replicas, bool to_disk) {
  propagate_replicas_ = to_replicas;
  propagate_disk_ = to_disk;
}

void Engine::propagate(int db, Args argv) { note_effect(db, argv, propagate_replicas_, propagate_disk_); }
void Engine::propagate_publish(int db, Args argv) { note_effect(db, argv, propagate_replicas_, false); }

void Engine::note_effect(int db, Args argv, bool replicas, bool disk) {
  replicas = replicas && replication_.feeding();
  disk = disk && append_only_;
  if (loading_ || (!replicas && !disk)) return;
  const std::size_t begin = pending_bytes_.size();
  append_request(pending_bytes_, argv);
  effects_.push_back({db, begin, pending_bytes_.size(), replicas, disk});
}

void Engine::note_instead(Args effect) {
  if (!propagating()) return;
  append_request(instead_bytes_, effect);
  instead_ends_.push_back(instead_bytes_.size());
}

void Engine::note_replacements(int db, std::size_t from) {
  const bool replicas = propagate_replicas_ && replication_.feeding(), disk = propagate_disk_ && append_only_;
  if (loading_ || (!replicas && !disk)) return;
  for (std::size_t i = from; i < instead_ends_.size(); ++i) {
    const std::size_t start = i == 0 ? 0 : instead_ends_[i - 1];
    const std::size_t begin = pending_bytes_.size();
    pending_bytes_.append(instead_bytes_, start, instead_ends_[i] - start);
    effects_.push_back({db, begin, pending_bytes_.size(), replicas, disk});
  }
}

void Engine::flush_effects(bool apart) {
  if (effects_.empty()) return;
  if (abandoning_) {
    effects_.clear();
    return pending_bytes_.clear();
  }
  static constexpr std::string_view kMulti = "*1\r\n$5\r\nMULTI\r\n";
  static constexpr std::string_view kExec = "*1\r\n$4\r\nEXEC\r\n";
  const bool transaction = effects_.size() > 1 && !apart;
  const auto to_disk = [&](int db, std::string_view bytes) {
    if (db != append_db_) {
      append_db_ = db;
      const std::string number = std::to_string(db);
      std::string select;
      const std::string_view words[] = {"SELECT", number};
      append_request(select, words);
      unwritten_ += select;
    }
    unwritten_ += bytes;
  };
  const auto both = [&](bool replicas, bool disk, int db, std::string_view bytes) {
    if (replicas) replication_.feed(db, bytes);
    if (disk) to_disk(db, bytes);
  };
  const int first_db = effects_.front().db;
  const bool any_replica =
      std::any_of(effects_.begin(), effects_.end(), [](const Effect& e) { return e.replicas; });
  const bool any_disk = std::any_of(effects_.begin(), effects_.end(), [](const Effect& e) { return e.disk; });
  if (transaction) both(any_replica, any_disk, first_db, kMulti);
  for (std::size_t i = 0; i < effects_.size();) {  // adjacent effects with one destination are sent together
    const Effect& first = effects_[i];
    std::size_t end = first.end;
    for (++i; i < effects_.size() && effects_[i].db == first.db && effects_[i].replicas == first.replicas &&
              effects_[i].disk == first.disk;
         ++i) {
      end = effects_[i].end;
    }
    both(first.replicas, first.disk, first.db,
         std::string_view(pending_bytes_).substr(first.begin, end - first.begin));
  }
  if (transaction) both(any_replica, any_disk, effects_.back().db, kExec);
  effects_.clear();
  pending_bytes_.clear();
  constexpr std::size_t kRewriteFrom = 64u << 20;
  if (append_only_ && disk_->appended.size() > kRewriteFrom &&
      disk_->appended.size() > 2 * disk_->base.size()) {
    set_append_only(true);  // a new base
  }
}

// --- expiry --------------------------------------------------------------------------------------------

Entry* Engine::meet_expired(Session& session, Entry& entry, bool for_write) {
  if (replication_.is_replica()) {  // only the primary's DEL removes it; until then readers do not see it
    static_cast<void>(for_write);
    return session.from_primary ? &entry : nullptr;
  }
  if (session.fake && loading_) return &entry;
  if (paused_until_ms_ > mono_ms()) return nullptr;
  delete_expired(session.db, entry);
  return nullptr;
}

void Engine::delete_expired(int db, Entry& entry) {
  const std::string key = *entry.key;
  dbs_[static_cast<std::size_t>(db)].erase(entry);
  ++stats_.expired_keys;
  used_memory_at_ = -1;
  touch_watchers(db, key);
  const std::string_view words[] = {"DEL", key};
  note_effect(db, words, true, true);
}

void Engine::expire_actively() {
  if (!active_expiry_ || loads_ || replication_.is_replica() || paused_until_ms_ > mono_ms()) return;
  const std::int64_t now = wall_ms();
  for (int db = 0; db < kDatabases; ++db) {
    if (dbs_[static_cast<std::size_t>(db)].with_ttl() == 0) continue;
    for (Entry* entry : dbs_[static_cast<std::size_t>(db)].expired(now)) {
      delete_expired(db, *entry);
      flush_effects();  // each on its own, no transaction
      tell_touched(KeyspaceWitness::Cause::expired);
    }
  }
}

void Engine::flush_db(int index) {
  touch_all_watchers(index);
  add_dirty(static_cast<std::int64_t>(db(index).size()));
  db(index).clear();
  reloaded_ = true;
}

}  // namespace holdfast::sim::embedded
