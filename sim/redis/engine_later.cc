// Engine, second part: what happens after and between commands: output for others, blocked clients, time, the
// disk.
#include <algorithm>

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
  if (in_batch_) return;
  in_batch_ = true;
  while (!with_output_.empty() || !unblocked_.empty() || !to_close_.empty()) {
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
    ids.swap(with_output_);
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
    session->out.integer(replication_.acknowledged(session->wait_offset));
    unblock(*session);
  }
}

void Engine::answer_timed_out(Session& session) {
  if (session.blocked == Blocked::by_wait)
    session.out.integer(replication_.acknowledged(session.wait_offset));
  if (session.blocked == Blocked::on_keys) session.out.nil_array();
}

void Engine::end_blocking_when_due() {
  if (blocked_.empty()) return;
  const std::int64_t now = mono_ms();
  std::vector<Session*> due;
  for (const auto& [order, id] : blocked_) {
    Session* session = session_by_id(id);
    if (session == nullptr) continue;
    const bool pause_over = session->blocked == Blocked::by_pause && paused_until_ms_ <= now;
    if (pause_over || (session->blocked_until_ms != 0 && session->blocked_until_ms <= now))
      due.push_back(session);
  }
  for (Session* session : due) {
    answer_timed_out(*session);
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

void Engine::pause_clients(std::int64_t until_mono_ms, bool all) {
  if (paused_until_ms_ <= mono_ms()) paused_all_ = false;
  paused_until_ms_ = std::max(paused_until_ms_, until_mono_ms);
  paused_all_ = paused_all_ || all;
}

void Engine::unpause_clients() {
  paused_until_ms_ = 0;
  end_blocking_when_due();
}

// --- the witness ---------------------------------------------------------------------------------------

void Engine::set_witness(KeyspaceWitness* witness) {
  witness_ = witness;
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
  if (replication_.is_replica()) return false;  // its primary tells what expired
  return std::any_of(dbs_.begin(), dbs_.end(), [](const Keyspace& db) { return db.with_ttl() > 0; });
}

void Engine::tick() {
  if (script_paused()) return;
  const std::int64_t now = mono_ms();
  if (paused_until_ms_ != 0 && paused_until_ms_ <= now) unpause_clients();
  end_blocking_when_due();
  expire_actively();
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
  if (disk_ != nullptr) disk_->snapshot = write_snapshot(dbs_);
  dirty_at_save_ = dirty_;
  last_save_s_ = wall_ms() / 1000;
}

// `everysec`: once in each second of the wall clock (aof.c, flushAppendOnlyFile), so that a first write after
// a quiet second is synced at once, and the next one not before the second is over. A sync takes no time
// here.
void Engine::sync_append_only(bool grown) {
  if (!append_only_) return;
  const std::size_t size = disk_->appended.size();
  if (grown) disk_->written.saw(runtime_.now(), size);
  if (config_.append_fsync == Fsync::no || disk_->written.synced() == size) return;
  if (config_.append_fsync == Fsync::everysec) {
    const std::int64_t now_s = wall_ms() / 1000;
    if (now_s <= last_fsync_s_) return;
    last_fsync_s_ = now_s;
  }
  disk_->written.synced(size);
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
  last_fsync_s_ = wall_ms() / 1000;
}

void Engine::load(PersistenceMode mode) {
  const bool append_only = mode != PersistenceMode::none && mode != PersistenceMode::rdb;
  const std::string& dump = append_only ? disk_->base : disk_->snapshot;
  if (!dump.empty()) read_snapshot(dump, dbs_, append_only ? 0 : wall_ms());
  if (append_only) replay_append_only();
  dirty_ = 0;
}

bool Engine::reload_append_only() {
  if (disk_ == nullptr || !append_only_) return false;
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
