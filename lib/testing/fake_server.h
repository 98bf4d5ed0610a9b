// A server with a script instead of a database: a handler that is asked for each command and says, byte for
// byte, what goes back. For tests of the client; runs on any implementation of the ports.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis::testing {

using Command = std::vector<std::string>;

// The server's end of one connection.
class Peer {
 public:
  Peer(Runtime& runtime, std::unique_ptr<Stream> stream, std::size_t number)
      : number_(number), stream_(std::move(stream)), runtime_(runtime) {}

  std::size_t number() const { return number_; }  // 1 for the first connection
  void send(std::string_view bytes);
  void send_in_pieces(std::string_view bytes);  // each byte alone
  void close() { stream_->close(); }
  void reset() { stream_->reset(); }
  Stream& stream() { return *stream_; }

 private:
  const std::size_t number_;
  const std::shared_ptr<Stream> stream_;
  Runtime& runtime_;
};

class FakeServer {
 public:
  using Handler = std::function<void(Peer&, const Command&)>;

  // It answers HELLO and INFO memory by itself, as Redis 7 does, and notes nothing of it; with Greets::no
  // that is the handler's.
  enum class Greets { yes, no };
  FakeServer(Runtime& runtime, Network& network, Handler handler, Endpoint at = {"127.0.0.1", 0},
             Greets greets = Greets::yes);
  ~FakeServer() { stop(); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  Endpoint endpoint() const { return endpoint_; }
  void stop();     // closes everything
  void restart();  // after stop(), at the same endpoint

  // Everything that has come, one text per command: "2 SET k v" from the second connection.
  std::vector<std::string> log();
  // [parks] Until this many commands have come.
  void wait_for(std::size_t commands);
  std::size_t connections() const { return accepted_; }
  // To every connection that is open.
  void broadcast(std::string_view bytes);
  void reset_all();

 private:
  void start();
  void accept_all();
  void serve(const std::shared_ptr<Peer>& peer);

  Runtime& runtime_;
  Network& network_;
  const Handler handler_;
  const Greets greets_;
  Endpoint endpoint_;
  Mutex mutex_;
  Condition changed_;
  std::vector<std::string> log_;
  std::unique_ptr<Listener> listener_;
  std::list<std::shared_ptr<Peer>> peers_;
  std::list<Task> tasks_;
  std::atomic<std::size_t> accepted_ = 0;
  Task acceptor_;
};

// RESP texts.
std::string bulk(std::string_view text);
std::string array(std::initializer_list<std::string> items);
std::string greeting(std::string_view version, std::string_view mode = "standalone");  // to HELLO

}  // namespace holdfast::redis::testing
