// Engine, second part: what happens after and between commands: output for others, blocked clients, time, the
// disk.
#include <algorithm>
#include <array>
#include <utility>

#include "sim/redis/cluster/cluster.h"
#include "sim/redis/engine.h"
#include "sim/redis/script_engine.h"
#include "sim/redis/snapshot.h"

namespace holdfast::sim::embedded {

void Engine::push(Session& to) {
  if (to.listed_for_output || to.transport == nullptr) return;
  to.listed_for_output = true;
  with_output_.push_back(to.id);
}

void Engine::finish_batch() {
  write_append_only();
  if (in_batch_) return;
  in_batch_ = true;
  const auto output = [this] { return !with_output_.empty() && !holds_output(); };
  while (output() || !unblocked_.empty() || !to_close_.empty()) {
    std::vector<std::uint64_t>& ids = handed_out_;
    ids.clear();
    ids.swap(unblocked_);
    for (const std::uint64_t id : ids) {
      Session* session = session_by_id(id);
      if (session == nullptr || session->blocked != Blocked::no) continue;
      push(*session);
      process(*session);
    }
    ids.clear();
    if (output()) ids.swap(with_output_);
    for (const std::uint64_t id : ids) {
      Session* session = session_by_id(id);
      if (session == nullptr) continue;
      session->listed_for_output = false;
      if (session->transport != nullptr) session->transport->output_ready();
    }
    ids.clear();
    ids.swap(to_close_);
    for (const std::uint64_t id : ids) {
      Session* session = session_by_id(id);
      if (session != nullptr && session->transport != nullptr) session->transport->close();
    }
  }
  in_batch_ = false;
  write_append_only();
  if (on_ticks_needed && needs_ticks()) on_ticks_needed();
}

// --- blocked clients -----------------------------------------------------------------------------------

void Engine::block(Session& session, Blocked why, std::int64_t until_mono_ms) {
  session.blocked = why;
  session.blocked_until_ms = until_mono_ms;
  session.blocked_order = next_block_++;
  blocked_.emplace(session.blocked_order, session.id);
}

void Engine::unblock(Session& session) {
  if (session.blocked == Blocked::no) return;
  session.blocked = Blocked::no;
  blocked_.erase(session.blocked_order);
  unblocked_.push_back(session.id);
}

void Engine::answer_waits() {
  std::vector<Session*> done;
  for (const auto& [order, id] : blocked_) {
    Session* session = session_by_id(id);
    if (session != nullptr && session->blocked == Blocked::by_wait &&
        replication_.acknowledged(session->wait_offset) >= session->wait_replicas) {
      done.push_back(session);
    }
  }
  for (Session* session : done) {
    answer_wait(*session);
    unblock(*session);
  }
}

// It is counted now: a command that waits has not been called yet.
void Engine::answer_wait(Session& session) {
  ++stats_of(*CommandTable::instance().find("wait")).calls;
  session.out.integer(replication_.acknowledged(session.wait_offset));
}

void Engine::answer_timed_out(Session& session) {
  if (session.blocked == Blocked::by_wait) answer_wait(session);
  if (session.blocked == Blocked::on_keys) {
    ++stats_of(*CommandTable::instance().find(session.blocked_argv.front())).calls;
    session.out.nil_array();
  }
}

void Engine::end_blocking_when_due() {
  if (blocked_.empty()) return;
  const std::int64_t now = mono_ms();
  std::vector<Session*> due;
  std::vector<std::pair<Session*, std::string>> elsewhere;  // whose keys this node has no more
  for (const auto& [order, id] : blocked_) {
    Session* session = session_by_id(id);
    if (session == nullptr) continue;
    if (cluster_ != nullptr && session->blocked == Blocked::on_keys) {
      std::string refused =
          cluster_->refuse_blocked(*session, *CommandTable::instance().find(session->blocked_argv.front()));
      if (!refused.empty()) {
        elsewhere.emplace_back(session, std::move(refused));
        continue;
      }
    }
    const bool pause_over = session->blocked == Blocked::by_pause && paused_until_ms_ <= now;
    if (pause_over || (session->blocked_until_ms != 0 && session->blocked_until_ms <= now))
      due.push_back(session);
  }
  for (Session* session : due) {
    answer_timed_out(*session);
    unblock(*session);
  }
  for (const auto& [session, refused] : elsewhere) {
    session->out.error(refused);
    unblock(*session);
  }
}

void Engine::signal_key(int db, std::string_view key) {
  if (!blocked_.empty()) ready_keys_.emplace_back(db, key);
}

void Engine::signal_waiting(int db) {
  for (const auto& [order, id] : blocked_) {
    const Session* session = session_by_id(id);
    if (session == nullptr || session->blocked != Blocked::on_keys || session->db != db) continue;
    for (const std::string& key : session->waited_for()) {
      if (dbs_[static_cast<std::size_t>(db)].find(key) != nullptr) signal_key(db, key);
    }
  }
}

// Runs the commands that wait for these keys again, longest waiting first. Those that still find nothing
// stay.
void Engine::serve_waiting() {
  while (!ready_keys_.empty()) {
    const auto [db, key] = ready_keys_.front();
    ready_keys_.erase(ready_keys_.begin());
    std::vector<std::uint64_t> ids;
    for (const auto& [order, id] : blocked_) ids.push_back(id);
    for (const std::uint64_t id : ids) {
      Session* session = session_by_id(id);
      if (session == nullptr || session->blocked != Blocked::on_keys || session->db != db) continue;
      const auto keys = session->waited_for();
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
      const CommandSpec& waiting = *CommandTable::instance().find(session->blocked_argv.front());
      const Entry* entry = dbs_[static_cast<std::size_t>(db)].find(key);
      if (entry == nullptr) break;
      const bool fits = waiting.name.starts_with("bz")
                            ? std::holds_alternative<std::unique_ptr<SortedSet>>(entry->value)
                            : std::holds_alternative<std::unique_ptr<List>>(entry->value);
      if (!fits) continue;
      const std::vector<std::string> kept = session->waiting_command(key);
      const std::vector<std::string_view> argv(kept.begin(), kept.end());
      Out scratch;
      scratch.protocol = session->out.protocol;
      call(*session, waiting, argv, scratch);  // answers, unless it has to go on waiting
      if (!scratch.bytes.empty()) {
        ++stats_of(waiting).calls;
        session->out.raw(scratch.bytes);
        unblock(*session);
      }
    }
  }
}

void Engine::pause_clients(Pause why, std::int64_t until_mono_ms, bool all) {
  update_pauses();
  PauseOf& pause = pauses_[static_cast<std::size_t>(why)];
  pause.until_ms = std::max(pause.until_ms, until_mono_ms);
  pause.all = pause.all || all;
  update_pauses();
}

void Engine::unpause_clients(Pause why) {
  pauses_[static_cast<std::size_t>(why)] = {};
  update_pauses();
  end_blocking_when_due();
}

void Engine::update_pauses() {
  const std::int64_t now = mono_ms();
  paused_until_ms_ = 0;
  paused_all_ = false;
  for (PauseOf& pause : pauses_) {
    if (pause.until_ms <= now) pause = {};
    paused_until_ms_ = std::max(paused_until_ms_, pause.until_ms);
    paused_all_ = paused_all_ || pause.all;
  }
}

// --- the end -------------------------------------------------------------------------------------------

void Engine::shut_down(Session& session, bool save, bool now) {
  ending_ = {.under_way = true, .save = save, .until_ms = mono_ms() + config_.shutdown_timeout_s * 1000};
  if (now) ending_.until_ms = 0;
  if (ending_.until_ms > mono_ms() && !replication_.replicas_have_all())
    pause_clients(Pause::during_shutdown, kUntilTold, false);
  session.close_after_reply = ending_.until_ms <= mono_ms() || replication_.replicas_have_all();
  if (!session.close_after_reply) block(session, Blocked::by_shutdown, 0);
  finish_shutdown_when_due();
}

bool Engine::abort_shutdown() {
  if (!std::exchange(ending_, {}).under_way) return false;
  unpause_clients(Pause::during_shutdown);
  for (const auto& [id, session] : sessions_) {
    if (session->blocked != Blocked::by_shutdown) continue;
    session->out.error("ERR Errors trying to SHUTDOWN. Check logs.");
    unblock(*session);
  }
  return true;
}

void Engine::finish_shutdown_when_due() {
  if (!ending_.under_way || shutdown_) return;
  if (mono_ms() < ending_.until_ms && !replication_.replicas_have_all()) return;
  if (ending_.save) save();
  if (append_only_) {
    write_append_only();
    disk_->written.synced(disk_->appended.size());
  }
  shutdown_ = true;  // without a reply: the server ends with that connection
  for (const auto& [id, session] : sessions_) {
    if (session->blocked == Blocked::by_shutdown) close_later(*session);
  }
}

void Engine::die() {
  shutdown_ = true;
  for (const auto& [id, session] : sessions_) {
    session->out.bytes.clear();
    close_later(*session);
  }
}

// --- the witness ---------------------------------------------------------------------------------------

void Engine::set_witness(KeyspaceWitness* witness) {
  witness_ = witness;
  scripts_->set_witness(dynamic_cast<ScriptWitness*>(witness));
  tell_loaded();
}

void Engine::tell_loaded() {
  reloaded_ = false;
  touched_.clear();
  if (witness_ != nullptr) witness_->loaded(*this);
}

void Engine::tell_touched(KeyspaceWitness::Cause cause) {
  if (reloaded_) return tell_loaded();
  if (touched_.empty()) return;
  std::vector<std::string> keys;
  keys.swap(touched_);
  for (const std::string& key : keys) witness_->changed(*this, key, cause);
}

// --- time ----------------------------------------------------------------------------------------------

bool Engine::needs_ticks() const {
  if (!blocked_.empty() || replication_.replica_count() > 0 || paused_until_ms_ != 0) {
    return true;
  }
  if (!config_.save_points.empty() && dirty_ != dirty_at_save_) return true;
  if (append_only_ && config_.append_fsync == Fsync::everysec &&
      disk_->written.synced() < disk_->appended.size()) {
    return true;
  }
  if (!unwritten_.empty()) return true;
  if (replication_.is_replica()) return false;  // its primary tells what expired
  return std::any_of(dbs_.begin(), dbs_.end(), [](const Keyspace& db) { return db.with_ttl() > 0; });
}

void Engine::tick() {
  if (script_paused() || transferring()) return;
  const std::int64_t now = mono_ms();
  update_pauses();
  end_blocking_when_due();
  replication_.advance_failover();
  finish_shutdown_when_due();
  expire_actively();
  write_append_only();
  sync_append_only(false);
  if (now >= next_second_ms_) {
    next_second_ms_ = now + 1000;
    replication_.tick();
    check_save_points();
  }
  finish_batch();
}

// --- memory --------------------------------------------------------------------------------------------

std::int64_t Engine::used_memory() {
  if (used_memory_at_ == dirty_) return used_memory_;
  used_memory_at_ = dirty_;
  std::size_t bytes = 1'000'000;
  for (const Keyspace& db : dbs_) bytes += db.bytes();
  return used_memory_ = static_cast<std::int64_t>(bytes);
}

// --- the disk ------------------------------------------------------------------------------------------

void Engine::save() {
  if (disk_ != nullptr) {
    disk_->snapshot = write_snapshot(dbs_);
    disk_->snapshot_place = replication_.place();
  }
  dirty_at_save_ = dirty_;
  last_save_s_ = wall_ms() / 1000;
}

void Engine::write_append_only() {
  if (unwritten_.empty() || !append_only_ || shutdown_) return;
  // A write would wait for the sync of another thread: it is put off, for two seconds at most.
  constexpr std::int64_t kMostPostponedMs = 2000;
  if (config_.append_fsync == Fsync::everysec && syncs_in_background()) {
    if (postponed_ms_ == 0) postponed_ms_ = mono_ms();
    if (mono_ms() - postponed_ms_ < kMostPostponedMs) return;
  }
  postponed_ms_ = 0;
  append_failed_ = disk_->full;
  if (disk_->full) return config_.append_fsync == Fsync::always ? die() : void();
  disk_->appended += unwritten_;
  unwritten_.clear();
  sync_append_only(true);
}

// `everysec`: once in each second of the wall clock (aof.c, flushAppendOnlyFile), so that a first write after
// a quiet second is synced at once, and the next one not before the second is over, nor while a sync goes on.
// `always`: the server stands still while it syncs.
void Engine::sync_append_only(bool grown) {
  if (!append_only_) return;
  if (syncs_bytes_ > 0 && !syncs_in_background()) disk_->written.synced(std::exchange(syncs_bytes_, 0));
  const std::size_t size = disk_->appended.size();
  if (grown) disk_->written.saw(runtime_.now(), size);
  if (config_.append_fsync == Fsync::no || disk_->written.synced() == size) return;
  if (config_.append_fsync == Fsync::everysec) {
    const std::int64_t now_s = wall_ms() / 1000;
    if (now_s <= last_fsync_s_ || syncs_in_background()) return;
    last_fsync_s_ = now_s;
    if (disk_->sync_delay > Duration::zero()) {
      synced_at_ = runtime_.now() + disk_->sync_delay;
      syncs_bytes_ = size;
      return;
    }
  } else if (disk_->sync_delay > Duration::zero()) {
    still_until_ = std::max(still_until_, runtime_.now()) + disk_->sync_delay;
  }
  disk_->written.synced(size);
}

MonotonicTime Engine::next_look_at_disk() const {
  return std::min(still_until_, runtime_.now() + std::chrono::milliseconds(10));
}

void Engine::disk_is_quicker() {
  const MonotonicTime latest = runtime_.now() + disk_->sync_delay;
  still_until_ = std::min(still_until_, latest);
  synced_at_ = std::min(synced_at_, latest);
}

void Engine::check_save_points() {
  const std::int64_t changes = dirty_ - dirty_at_save_;
  const std::int64_t age = wall_ms() / 1000 - last_save_s_;
  for (const SavePoint& point : config_.save_points) {
    if (changes >= point.changes && age > point.seconds) return save();
  }
}

void Engine::set_append_only(bool on) {
  append_only_ = on && disk_ != nullptr;
  append_db_ = -1;
  if (disk_ == nullptr) return;
  disk_->has_append_only = on;
  disk_->base = on ? write_snapshot(dbs_) : "";
  disk_->appended.clear();
  disk_->written = WriteBack();
  unwritten_.clear();
  append_failed_ = false;
  syncs_bytes_ = 0;
  last_fsync_s_ = wall_ms() / 1000;
}

void Engine::load(PersistenceMode mode) {
  const bool append_only = mode != PersistenceMode::none && mode != PersistenceMode::rdb;
  const std::string& dump = append_only ? disk_->base : disk_->snapshot;
  if (!dump.empty()) read_snapshot(dump, dbs_, append_only ? 0 : wall_ms(), nullptr, &expired_in_dump_);
  if (!append_only) loaded_place_ = disk_->snapshot_place;
  if (append_only) replay_append_only();
  dirty_ = 0;
}

void Engine::begin_replication(const Endpoint& primary) {
  replication_.begin(std::exchange(loaded_place_, std::nullopt), primary);
  for (const auto& [db, key] : std::exchange(expired_in_dump_, {})) {  // replicas that go on have them
    std::string request;
    append_request(request, std::array<std::string_view, 2>{"DEL", key});
    replication_.feed(db, request);
  }
}

bool Engine::reload_append_only() {
  if (disk_ == nullptr || !append_only_) return false;
  write_append_only();
  const std::int64_t dirty = dirty_;
  for (int db = 0; db < kDatabases; ++db) {
    touch_all_watchers(db);
    dbs_[static_cast<std::size_t>(db)].clear();
  }
  if (!disk_->base.empty()) read_snapshot(disk_->base, dbs_, 0);
  replay_append_only();
  dirty_ = dirty;
  used_memory_at_ = -1;
  reloaded_ = true;
  return true;
}

void Engine::replay_append_only() {
  loading_ = true;
  Session replay;
  replay.fake = true;
  std::size_t pos = 0;
  std::vector<std::string_view> argv;
  while (replay.parser.parse(disk_->appended, pos, argv) == RequestParser::Status::complete) {
    if (!argv.empty()) run_request(replay, argv);
    replay.out.bytes.clear();
  }
  loading_ = false;
}

}  // namespace holdfast::sim::embedded
