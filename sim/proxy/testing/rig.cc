#include "sim/proxy/testing/rig.h"

#include <array>
#include <utility>

#include "sim/proxy/resp_framer.h"
#include "sim/proxy/resp_parse.h"

namespace holdfast::sim::testing {
namespace {

void serve(World& world, Stream& stream, const FakeServer::Answer& answer, std::vector<Arrival>& arrivals) {
  RespFramer framer(RespFramer::Grammar::requests);
  std::string message;
  std::vector<std::string_view> arguments;
  std::array<char, 4096> buffer;
  for (;;) {
    const IoResult got = stream.read(buffer, kNever);
    if (!got.ok()) {
      arrivals.push_back({got.status == IoStatus::eof ? "(end)" : "(reset)", world.now_ns()});
      return;
    }
    for (std::string_view chunk(buffer.data(), got.bytes); !chunk.empty();) {
      const RespFramer::Step step = framer.scan(chunk);
      message += chunk.substr(0, step.consumed);
      chunk.remove_prefix(step.consumed);
      if (!step.complete) continue;
      parse_request(message, arguments);
      std::string joined;
      for (const std::string_view argument : arguments) (joined += joined.empty() ? "" : " ") += argument;
      arrivals.push_back({joined, world.now_ns()});
      const std::string reply =
          answer ? answer(arguments) : "+" + std::string(arguments.empty() ? "" : arguments.back()) + "\r\n";
      message.clear();
      if (!reply.empty()) stream.write(reply, kNever);
    }
  }
}

}  // namespace

std::unique_ptr<World> make_world(Kind kind, std::uint64_t seed) {
  if (kind == Kind::embedded) return make_embedded_world({.seed = seed});
  return make_real_world({.seed = seed});
}

FakeServer::FakeServer(World& world, const std::string& name, Answer answer)
    : process_(world.add_process(name)), arrivals_(std::make_shared<std::vector<Arrival>>()) {
  auto listener = std::shared_ptr<Listener>(process_.network().listen({process_.address(), 0}));
  endpoint_ = listener->endpoint();
  process_.start("server", [&world, &process = process_, listener, answer, arrivals = arrivals_] {
    for (;;) {
      Connected guest = listener->accept(kNever);
      if (guest.status == IoStatus::closed) return;
      if (guest.status != IoStatus::ok) continue;
      process.start("connection",
                    [&world, answer, arrivals, stream = std::shared_ptr<Stream>(std::move(guest.stream))] {
                      serve(world, *stream, answer, *arrivals);
                    });
    }
  });
}

std::vector<std::string> FakeServer::commands() const {
  std::vector<std::string> commands;
  for (const Arrival& arrival : *arrivals_) commands.push_back(arrival.command);
  return commands;
}

Wire::Wire(Process& process, const Endpoint& to) : process_(process) {
  Connected made =
      process.network().connect(to, deadline_after(process.runtime().now(), std::chrono::seconds(5)));
  status_ = made.status;
  stream_ = std::move(made.stream);
}

IoStatus Wire::send(std::string_view bytes) {
  if (stream_ == nullptr) return status_;
  return stream_->write(bytes, deadline_after(process_.runtime().now(), patience)).status;
}

std::string Wire::read(std::size_t size) {
  if (stream_ == nullptr) return "(" + std::string(to_string(status_)) + ")";
  const MonotonicTime deadline = deadline_after(process_.runtime().now(), patience);
  std::array<char, 4096> buffer;
  while (ahead_.size() < size) {
    const IoResult got = stream_->read(buffer, deadline);
    if (got.ok()) {
      ahead_.append(buffer.data(), got.bytes);
      continue;
    }
    const char* why = got.status == IoStatus::eof         ? "(end)"
                      : got.status == IoStatus::timed_out ? "(silence)"
                                                          : "(reset)";
    const std::string rest = std::exchange(ahead_, {});
    return rest.empty() ? why : rest + " " + why;
  }
  std::string result = ahead_.substr(0, size);
  ahead_.erase(0, size);
  return result;
}

std::string Wire::read_line(int lines) {
  std::string line;
  for (;;) {
    const std::string next = read(1);
    if (next == "\n") {
      if (--lines == 0) return line;
      continue;
    }
    if (next.size() > 1) return line.empty() ? next : line + " " + next;
    if (next != "\r") line += next;
  }
}

void on(World& world, Process& process, std::function<void()> body) {
  Parker& parker = world.harness().runtime().parker();
  bool done = false;
  process.start("client", [&] {
    body();
    done = true;
    parker.unpark();
  });
  while (!done) parker.park_until(kNever);
}

void with_rig(Kind kind, const std::function<void(Rig& rig)>& body, FakeServer::Answer answer) {
  const auto world = make_world(kind);
  world->run([&] {
    Proxy proxy(*world);
    FakeServer server(*world, "r1", std::move(answer));
    Process& client = world->add_process("c1");
    Rig rig{*world, proxy, server, proxy.expose("r1", server.endpoint()), client};
    body(rig);
  });
}

}  // namespace holdfast::sim::testing
