// Session: one session with ZooKeeper by its single-threaded C client, which a task of its own drives: it
// waits for the socket and lets the client read, write, ping and reconnect. Who asks parks until the answer
// is there. A session outlives its connections; it ends when the servers say that it has expired.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"

struct _zhandle;

namespace holdfast::sim::zookeeper {

// A request without an answer, or with an error for an answer.
class Error : public std::runtime_error {
 public:
  Error(const std::string& what, int code) : std::runtime_error(what), code_(code) {}
  int code() const { return code_; }  // of zookeeper.h: ZNONODE, ...
  // Nobody knows whether it was executed, and the session may live.
  bool unknown() const;

 private:
  int code_;
};

struct Answer {
  std::string path;                // create
  std::int64_t created = 0;        // create, exists: the transaction that made the node ("czxid")
  std::vector<std::string> names;  // children
};

struct SessionOptions {
  std::vector<redis::Node> nodes;  // which are asked in this order
  Duration timeout;                // of silence that it survives; servers have bounds of their own for it
};

class Session {
 public:
  Session(Runtime& runtime, const SessionOptions& options);
  // [parks] As a process that was killed: without a word. Servers wait for its timeout.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Says good-bye: servers end it at once, if it has a connection. alive() no more.
  void close() noexcept;

  // [parks] Until it has a connection. False: not by then, or it is over.
  bool wait_connected(MonotonicTime deadline);

  // [parks] All of them. REQUIRES: one at a time. Throw Error, also at the deadline.
  Answer create(const std::string& path, int mode, MonotonicTime deadline);
  Answer children(const std::string& path, MonotonicTime deadline);
  void remove(const std::string& path, MonotonicTime deadline);
  // nullopt: there is no such node; else changed() says when it goes.
  std::optional<Answer> exists_and_watch(const std::string& path, MonotonicTime deadline);

  // [parks] Until something happens to a node that is watched, or to the session. False: at the deadline or
  // on a stop request.
  bool wait_for_change(MonotonicTime deadline, const std::stop_token& stop);

  bool alive() const { return alive_; }
  // The server that it is connected to, or was.
  const std::string& node() const { return node_; }
  // Called once, on the task of this session, when servers say that it is over; not after close().
  void when_it_ends(std::function<void(const std::string& why)> what) { ended_ = std::move(what); }

 private:
  struct Request {
    Session* session;
    int code = 0;
    bool done = false;
    Answer answer = {};
  };
  struct Callbacks;
  template <class Send>
  Answer ask(const char* what, MonotonicTime deadline, const Send& send);
  void drive();  // [parks] as long as it lives
  void watch_socket(int fd);
  void forget_socket() noexcept;
  void wake();
  void over(const std::string& why);

  Runtime& runtime_;
  const std::vector<redis::Node> nodes_;
  _zhandle* handle_ = nullptr;
  int socket_ = -1;  // a duplicate of the client's
  bool alive_ = true, changed_ = false;
  std::string node_;
  std::function<void(const std::string&)> ended_;
  Parker* waiting_ = nullptr;  // who asks, or waits
  Task driver_;
};

}  // namespace holdfast::sim::zookeeper
