// Session: one connection to PostgreSQL by libpq, which never blocks the thread: a task of its own reads, and
// who asks parks until the answer is there. So the end of the connection is noticed while nobody asks, too.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"

struct pg_conn;
struct pg_result;

namespace holdfast::sim::postgresql {

// A statement without an answer, or with an error for an answer.
class Error : public std::runtime_error {
 public:
  Error(const std::string& what, std::string state, bool may_have_executed)
      : std::runtime_error(what), state_(std::move(state)), may_have_executed_(may_have_executed) {}
  const std::string& state() const {
    return state_;
  }  // SQLSTATE, such as "55P03"; "": the server said nothing
  bool may_have_executed() const { return may_have_executed_; }

 private:
  std::string state_;
  bool may_have_executed_;
};

using Row = std::vector<std::string>;  // a null is ""
struct Answer {
  std::vector<Row> rows;
  std::int64_t affected = 0;  // INSERT, UPDATE, DELETE
  MonotonicTime sent_at{};    // before the statement was sent
};

struct SessionOptions {
  std::vector<redis::Node> nodes;  // the first of them that can be connected, and is as wanted, is taken
  std::string application;
  bool takes_writes = true;                            // whom it is connected to; false: any
  Duration connect_timeout = std::chrono::seconds(1);  // of each node
};

class Session {
 public:
  // [parks] One round over the nodes. Throws Error: none of them.
  static std::shared_ptr<Session> connect(Runtime& runtime, const SessionOptions& options);
  ~Session();  // [parks] The server sees the end of the connection
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // [parks] One statement, with $1, $2, ... in it. REQUIRES: no other is under way. Throws Error. At the
  // deadline, and on a stop request, the connection is broken off: nobody knows what comes.
  Answer ask(const char* statement, const std::vector<std::string>& arguments, MonotonicTime deadline,
             const std::stop_token& stop = {});

  bool alive() const { return alive_; }
  const std::string& node() const { return node_; }
  // For its user: the first time that `what` is noted of this session.
  bool note(const std::string& what) { return noted_.insert(what).second; }
  // Called once, on a task of this session, when the connection is found to have ended; not by break_off().
  void when_it_ends(std::function<void(const std::string& why)> what) { ended_ = std::move(what); }
  void break_off() noexcept;  // alive() no more; the server sees the end

 private:
  Session(Runtime& runtime, std::string node) : runtime_(runtime), node_(std::move(node)) {}
  void connect_to(const redis::Node& node, const SessionOptions& options);
  bool wait(bool readable, MonotonicTime deadline);  // [parks]
  void watch_socket();
  void forget_socket() noexcept;
  void read();  // [parks] as long as it lives
  void take_results();
  void over(const std::string& why);

  Runtime& runtime_;
  const std::string node_;
  pg_conn* connection_ = nullptr;
  int socket_ = -1;  // a duplicate of the connection's: libpq closes its own when it likes
  bool alive_ = false, asked_ = false;
  std::string why_;  // it ended
  std::set<std::string> noted_;
  std::function<void(const std::string&)> ended_;
  std::optional<Answer> answer_;  // of what was asked
  std::optional<Error> error_;
  bool done_ = false;
  Parker* asking_ = nullptr;
  Task reader_;
};

}  // namespace holdfast::sim::postgresql
