// Replication: both sides of it, without the sockets. As a primary it keeps the stream of effects (backlog,
// offsets) and the replicas fed with it; as a replica it applies the bytes of its primary's stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/disk.h"
#include "sim/redis/resp.h"
#include "sim/redis/session.h"

namespace holdfast::sim::embedded {

class Engine;

// 40 hexadecimal digits: run and replication ids.
std::string random_hex(Runtime& runtime);

enum class LinkState : std::uint8_t { connect, connecting, sync, connected };

class Replication {
 public:
  explicit Replication(Engine& engine);

  // --- both roles ---
  bool is_replica() const { return !primary_.host.empty(); }
  const Endpoint& primary() const { return primary_; }
  const std::string& id() const { return id_; }
  const std::string& second_id() const { return second_id_; }
  std::int64_t second_offset() const { return second_offset_; }
  std::int64_t offset() const { return offset_; }
  bool backlog_active() const { return backlog_active_; }
  std::int64_t backlog_first() const { return backlog_first_; }
  std::int64_t backlog_length() const { return static_cast<std::int64_t>(backlog_.size() - backlog_start_); }
  void follow(const Endpoint& primary);  // REPLICAOF host port
  void promote();                        // REPLICAOF NO ONE
  // Before anything else, with what was loaded from a dump; `primary`: whom to follow, host "": nobody.
  void begin(const std::optional<StreamPlace>& place, const Endpoint& primary);
  std::optional<StreamPlace> place() const;  // nothing: no other server could go on from there
  void tick();                               // every second
  void new_id();
  bool replicas_have_all() const;  // they acknowledged everything, or there are none

  // --- FAILOVER: a primary hands over to a replica (replication_failover.cc) ---
  enum class Failover : std::uint8_t { none, waits_for_sync, in_progress };
  struct FailoverOrder {
    Endpoint target;            // as the replica announces itself; host "": whoever has everything first
    std::int64_t until_ms = 0;  // wall clock; 0: for ever
    bool force = false;         // then it hands over all the same
  };
  Failover failover() const { return failover_; }
  bool has_replica(const Endpoint& announced) const;
  // REQUIRES: none is under way; a primary. Writes are held back until it is over.
  void begin_failover(const FailoverOrder& order);
  void advance_failover();  // looks whether its replica has everything, or its time is up
  void abort_failover();
  void target_answered(bool took_over);  // to the link of the old primary, which asked with FAILOVER

  // --- as a primary ---
  bool feeding() const { return backlog_active_ && !is_replica(); }
  void feed(int db, std::string_view request);  // one request in RESP; adds SELECT where needed
  // PSYNC id offset (or SYNC): answers, and makes the session a replica.
  void serve_sync(Session& session, std::string_view id, std::int64_t offset);
  void acknowledge(Session& session, std::int64_t offset);
  void ask_for_acknowledgements();
  std::int64_t acknowledged(std::int64_t offset) const;  // how many online replicas have it
  std::int64_t good_replicas() const { return good_replicas_; }
  void refresh_good_replicas();
  void forget(Session& session);
  std::size_t replica_count() const;
  const std::vector<Session*>& replicas() const { return replicas_; }
  std::int64_t lag_s(const Session& session) const;

  // --- as a replica: called by the link ---
  LinkState link_state() const { return link_state_; }
  void set_link_state(LinkState state);
  std::uint64_t link_generation() const { return generation_; }  // rises when the primary to follow changes
  std::string sync_request() const;  // "PSYNC id offset\r\n" in RESP, with FAILOVER while that is under way
  void full_sync(std::string_view id, std::int64_t offset, std::string_view snapshot);
  void partial_sync(std::string_view new_id);  // "" : the same id
  // Applies whole requests of `stream` from `pos` on, and moves pos behind them.
  void apply(std::string_view stream, std::size_t& pos);
  void send_ack();
  std::string take_link_output();  // acknowledgements to be sent to the primary
  std::int64_t link_down_since_ms() const { return link_down_since_ms_; }
  std::int64_t last_io_ms() const { return last_io_ms_; }

 private:
  void append_backlog(std::string_view bytes);
  void feed_bytes(std::string_view bytes);
  void start_backlog();
  void drop_replicas();
  void reset_link_session(bool keep_db);
  static Endpoint announced_by(const Session& replica);

  Engine& engine_;
  Endpoint primary_;
  std::uint64_t generation_ = 0;
  std::string id_, second_id_;
  std::int64_t second_offset_ = -1;
  std::int64_t offset_ = 0;
  bool in_stream_ = false;  // a replica: id_ and offset_ are of a stream that it was in

  bool backlog_active_ = false;
  std::string backlog_;
  std::size_t backlog_start_ = 0;   // bytes before it were given up
  std::int64_t backlog_first_ = 0;  // offset of its first byte
  std::int64_t no_replicas_since_ms_ = 0;

  std::vector<Session*> replicas_;  // in the order in which they came
  int selected_db_ = -1;
  std::int64_t good_replicas_ = 0;
  std::int64_t ticks_ = 0;

  Failover failover_ = Failover::none;
  FailoverOrder order_;

  LinkState link_state_ = LinkState::connect;
  RequestParser link_parser_;
  std::string unapplied_;  // of a transaction that is not complete yet
  std::shared_ptr<Session> link_session_;
  std::string link_output_;
  std::int64_t link_down_since_ms_ = 0;
  std::int64_t last_io_ms_ = 0;
  std::vector<std::string_view> argv_;
};

}  // namespace holdfast::sim::embedded
