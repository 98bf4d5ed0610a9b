#include "sim/redis/replication.h"

#include <algorithm>

#include "sim/redis/engine.h"
#include "sim/redis/snapshot.h"

namespace holdfast::sim::embedded {

std::string random_hex(Runtime& runtime) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  while (text.size() < 40) {
    std::uint64_t word = runtime.random();
    for (int i = 0; i < 8; ++i, word >>= 4) text += kDigits[word & 15];
  }
  return text;
}

Replication::Replication(Engine& engine) : engine_(engine), second_id_(40, '0') {}

void Replication::new_id() { id_ = random_hex(engine_.runtime()); }

void Replication::start_backlog() {
  backlog_active_ = true;
  backlog_.clear();
  backlog_start_ = 0;
  backlog_first_ = offset_ + 1;
}

void Replication::append_backlog(std::string_view bytes) {
  backlog_ += bytes;
  offset_ += static_cast<std::int64_t>(bytes.size());
  const auto limit = static_cast<std::size_t>(engine_.config().repl_backlog_bytes);
  const std::size_t held = backlog_.size() - backlog_start_;
  if (held > limit) {
    backlog_start_ += held - limit;
    backlog_first_ += static_cast<std::int64_t>(held - limit);
    if (backlog_start_ > limit) {
      backlog_.erase(0, backlog_start_);
      backlog_start_ = 0;
    }
  }
}

void Replication::feed_bytes(std::string_view bytes) {
  append_backlog(bytes);
  for (Session* replica : replicas_) {
    replica->out.raw(bytes);
    engine_.push(*replica);
  }
}

void Replication::feed(int db, std::string_view request) {
  if (!feeding()) return;
  if (db >= 0 && db != selected_db_) {
    selected_db_ = db;
    const std::string number = std::to_string(db);
    const std::string_view words[] = {"SELECT", number};
    std::string select;
    append_request(select, words);
    feed_bytes(select);
  }
  feed_bytes(request);
}

// --- as a primary --------------------------------------------------------------------------------------

void Replication::serve_sync(Session& session, std::string_view id, std::int64_t offset) {
  const auto join = [&] {
    session.replica = ReplicaState::online;
    session.acked_at_s = engine_.wall_ms() / 1000;
    if (std::find(replicas_.begin(), replicas_.end(), &session) == replicas_.end())
      replicas_.push_back(&session);
    no_replicas_since_ms_ = 0;
    refresh_good_replicas();
  };
  const bool known_id = id == id_ || (id == second_id_ && offset <= second_offset_);
  if (known_id && backlog_active_ && offset >= backlog_first_ &&
      offset <= backlog_first_ + backlog_length()) {
    ++engine_.stats().sync_partial_ok;
    session.out.status("CONTINUE " + id_);
    session.out.raw(std::string_view(backlog_).substr(backlog_start_ +
                                                      static_cast<std::size_t>(offset - backlog_first_)));
    session.acked_offset = offset - 1;
    join();
    return;
  }
  if (id != "?" && !id.empty()) ++engine_.stats().sync_partial_err;
  ++engine_.stats().sync_full;
  if (!backlog_active_) {  // the first replica ever: a new history begins
    new_id();
    second_id_.assign(40, '0');
    second_offset_ = -1;
    start_backlog();
  }
  if (!is_replica()) selected_db_ = -1;
  if (!id.empty()) session.out.status("FULLRESYNC " + id_ + " " + std::to_string(offset_));
  const int stream_db = is_replica() && link_session_ != nullptr ? link_session_->db : -1;
  const std::string snapshot = write_snapshot(engine_.databases(), stream_db);
  session.out.raw("$" + std::to_string(snapshot.size()) + "\r\n");
  session.out.raw(snapshot);
  session.acked_offset = 0;
  join();
}

void Replication::acknowledge(Session& session, std::int64_t offset) {
  session.acked_offset = std::max(session.acked_offset, offset);
  session.acked_at_s = engine_.wall_ms() / 1000;
  engine_.answer_waits();
  advance_failover();
}

void Replication::ask_for_acknowledgements() {
  static constexpr std::string_view kWords[] = {"REPLCONF", "GETACK", "*"};
  std::string request;
  append_request(request, kWords);
  feed(-1, request);
}

std::int64_t Replication::acknowledged(std::int64_t offset) const {
  return std::count_if(replicas_.begin(), replicas_.end(),
                       [&](const Session* replica) { return replica->acked_offset >= offset; });
}

std::int64_t Replication::lag_s(const Session& session) const {
  return engine_.wall_ms() / 1000 - session.acked_at_s;
}

void Replication::refresh_good_replicas() {
  good_replicas_ = std::count_if(replicas_.begin(), replicas_.end(), [&](const Session* replica) {
    return lag_s(*replica) <= engine_.config().min_replicas_max_lag_s;
  });
}

std::size_t Replication::replica_count() const { return replicas_.size(); }

void Replication::forget(Session& session) {
  if (session.replica == ReplicaState::none) return;
  std::erase(replicas_, &session);
  session.replica = ReplicaState::none;
  if (replicas_.empty()) no_replicas_since_ms_ = engine_.wall_ms();
  refresh_good_replicas();
}

void Replication::drop_replicas() {
  const std::vector<Session*> leaving = replicas_;
  for (Session* replica : leaving) {
    forget(*replica);
    engine_.close_later(*replica);
  }
}

// --- change of role ------------------------------------------------------------------------------------

void Replication::follow(const Endpoint& primary) {
  if (primary_ == primary) return;
  const bool was_replica = is_replica();
  in_stream_ |= !was_replica;  // its own
  primary_ = primary;
  ++generation_;
  for (const auto& [id, session] : engine_.sessions()) {
    if (session->blocked == Blocked::by_wait || session->blocked == Blocked::on_keys) {
      session->out.error(
          "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)");
      session->close_after_reply = true;
      engine_.unblock(*session);
      engine_.push(*session);
    }
  }
  // Its replicas stay: they are dropped when it gets another history from its new primary.
  reset_link_session(was_replica);
  link_state_ = LinkState::connect;
  link_down_since_ms_ = engine_.wall_ms();
  if (engine_.on_primary_changed) engine_.on_primary_changed();
}

void Replication::begin(const std::optional<StreamPlace>& place, const Endpoint& primary) {
  if (place && primary.host.empty()) {
    second_id_ = place->id;
    second_offset_ = place->offset + 1;
    offset_ = place->offset;
    start_backlog();
    no_replicas_since_ms_ = engine_.wall_ms();
  } else if (place) {
    id_ = place->id;
    offset_ = place->offset;
  }
  if (primary.host.empty()) return;
  follow(primary);
  in_stream_ = place.has_value();
  if (place) link_session_->db = place->db;
}

std::optional<StreamPlace> Replication::place() const {
  if (is_replica() ? !in_stream_ : !backlog_active_) return std::nullopt;
  const int db = !is_replica() ? selected_db_ : link_session_ != nullptr ? link_session_->db : 0;
  return StreamPlace{id_, offset_, std::max(db, 0)};
}

void Replication::promote() {
  if (!is_replica()) return;
  primary_ = {};
  ++generation_;
  second_id_ = id_;
  second_offset_ = offset_ + 1;
  new_id();
  drop_replicas();
  unapplied_.clear();
  link_session_.reset();
  link_output_.clear();
  selected_db_ = -1;
  no_replicas_since_ms_ = engine_.wall_ms();
  if (engine_.on_primary_changed) engine_.on_primary_changed();
}

void Replication::tick() {
  ++ticks_;
  const std::int64_t now = engine_.wall_ms();
  // It would move the offset that the replica must reach.
  const bool hands_over = failover_ != Failover::none && order_.until_ms != 0;
  if (!is_replica() && !replicas_.empty() && !hands_over &&
      ticks_ % engine_.config().repl_ping_period_s == 0) {
    feed(-1, "*1\r\n$4\r\nPING\r\n");
  }
  const std::vector<Session*> all = replicas_;
  for (Session* replica : all) {
    if (now / 1000 - replica->acked_at_s > engine_.config().repl_timeout_s) engine_.close_later(*replica);
  }
  refresh_good_replicas();
  constexpr std::int64_t kBacklogTtlMs = 3600 * 1000;
  if (!is_replica() && backlog_active_ && replicas_.empty() && now - no_replicas_since_ms_ > kBacklogTtlMs) {
    new_id();
    second_id_.assign(40, '0');
    second_offset_ = -1;
    backlog_active_ = false;
    backlog_.clear();
  }
}

// --- as a replica --------------------------------------------------------------------------------------

void Replication::set_link_state(LinkState state) {
  if (link_state_ == LinkState::connected && state != LinkState::connected) {
    link_down_since_ms_ = engine_.wall_ms();
    reset_link_session(true);
  }
  link_state_ = state;
}

void Replication::reset_link_session(bool keep_db) {
  const int db = keep_db && link_session_ != nullptr ? link_session_->db : 0;
  link_session_ = std::make_shared<Session>();
  link_session_->from_primary = true;
  link_session_->db = db;
  unapplied_.clear();
  link_parser_ = RequestParser();
  link_output_.clear();
}

std::string Replication::sync_request() const {
  const std::string next = std::to_string(offset_ + 1);
  std::vector<std::string_view> words = {"PSYNC", id_, next};
  if (failover_ == Failover::in_progress) words.push_back("FAILOVER");
  std::string request;
  append_request(request, words);
  return request;
}

void Replication::full_sync(std::string_view id, std::int64_t offset, std::string_view snapshot) {
  drop_replicas();
  for (int db = 0; db < kDatabases; ++db) {
    engine_.touch_all_watchers(db);
    engine_.db(db).clear();
  }
  int stream_db = 0;
  read_snapshot(snapshot, engine_.databases(), 0, &stream_db);
  id_ = id;
  second_id_.assign(40, '0');
  second_offset_ = -1;
  offset_ = offset;
  in_stream_ = true;
  start_backlog();
  reset_link_session(false);
  link_session_->db = stream_db;
  link_state_ = LinkState::connected;
  last_io_ms_ = engine_.wall_ms();
  send_ack();
  engine_.rewrite_append_only();
  engine_.tell_loaded();
}

void Replication::partial_sync(std::string_view new_id) {
  if (!new_id.empty() && new_id != id_) {
    second_id_ = id_;
    second_offset_ = offset_ + 1;
    id_ = new_id;
    drop_replicas();
  }
  if (!backlog_active_) start_backlog();
  if (link_session_ == nullptr) reset_link_session(false);
  link_state_ = LinkState::connected;
  last_io_ms_ = engine_.wall_ms();
  send_ack();
}

void Replication::apply(std::string_view stream, std::size_t& pos) {
  if (pos < stream.size()) last_io_ms_ = engine_.wall_ms();
  const std::uint64_t generation = generation_;
  link_parser_.input_moved();
  while (generation == generation_ && link_session_ != nullptr) {
    std::size_t next = pos;
    if (link_parser_.parse(stream, next, argv_) != RequestParser::Status::complete) break;
    const std::shared_ptr<Session> session = link_session_;
    if (!argv_.empty()) engine_.execute_unbatched(*session, argv_);
    session->out.bytes.clear();
    unapplied_ += stream.substr(pos, next - pos);
    pos = next;
    if (generation == generation_ && !session->in_multi) {
      feed_bytes(unapplied_);
      unapplied_.clear();
    }
  }
  engine_.finish_batch();
}

void Replication::send_ack() {
  const std::string offset = std::to_string(offset_);
  const std::string_view words[] = {"REPLCONF", "ACK", offset};
  append_request(link_output_, words);
}

std::string Replication::take_link_output() {
  std::string taken;
  taken.swap(link_output_);
  return taken;
}

}  // namespace holdfast::sim::embedded
