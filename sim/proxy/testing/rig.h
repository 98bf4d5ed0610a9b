// Rig: a fake server behind the proxy and clients in front of it, in either world, for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/world/world.h"

namespace holdfast::sim::testing {

enum class Kind { embedded, real };
std::unique_ptr<World> make_world(Kind kind, std::uint64_t seed = 1);

// Lanes of every link: requests, or replies.
inline LaneFilter only(Direction direction) {
  return [direction](const Link&) {
    return Lanes{.request = direction == Direction::request, .reply = direction == Direction::reply};
  };
}

// What a fake server got, in order.
struct Arrival {
  std::string command;  // arguments joined by blanks; "(end)" and "(reset)" for the end of a connection
  std::int64_t time_ns;
};

// Answers each request with what `answer` says ("" : nothing); by default `+<its last argument>`.
class FakeServer {
 public:
  using Answer = std::function<std::string(const std::vector<std::string_view>& arguments)>;
  FakeServer(World& world, const std::string& name, Answer answer = {});

  Endpoint endpoint() const { return endpoint_; }
  Process& process() { return process_; }
  const std::vector<Arrival>& arrivals() const { return *arrivals_; }
  std::vector<std::string> commands() const;

 private:
  Process& process_;
  Endpoint endpoint_;
  std::shared_ptr<std::vector<Arrival>> arrivals_;
};

// A connection as a client uses it. Reads wait at most `patience`, then return what came with " (silence)".
class Wire {
 public:
  Wire(Process& process, const Endpoint& to);
  IoStatus connected() const { return status_; }
  IoStatus send(std::string_view bytes);
  // Exactly `size` bytes, or what came before " (end)", " (reset)", " (silence)".
  std::string read(std::size_t size);
  std::string read_line(int lines = 1);  // without their ends, joined
  std::string ask(std::string_view line) {
    send(std::string(line) + "\r\n");
    return read_line();
  }
  Stream& stream() { return *stream_; }
  Duration patience = std::chrono::milliseconds(200);

 private:
  Process& process_;
  IoStatus status_;
  std::unique_ptr<Stream> stream_;
  std::string ahead_;
};

// [parks] Runs `body` as a task of `process` and waits for it on a task of the harness.
void on(World& world, Process& process, std::function<void()> body);

// One world with server "r1" behind a proxy and a client process "c1". `body` runs on a task of the harness.
struct Rig {
  World& world;
  Proxy& proxy;
  FakeServer& server;
  Endpoint door;
  Process& client;

  void as_client(std::function<void()> body) { on(world, client, std::move(body)); }
  void sleep(Duration time) { world.harness().runtime().sleep_for(time); }
};
void with_rig(Kind kind, const std::function<void(Rig& rig)>& body, FakeServer::Answer answer = {});

}  // namespace holdfast::sim::testing
