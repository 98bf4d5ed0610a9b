#include "sim/client/line_server.h"

#include <array>
#include <charconv>

namespace holdfast::sim {
namespace {

constexpr std::size_t kMaxLine = 128;

// Takes the first whole line off `buffer`.
std::optional<std::string> take_line(std::string& buffer) {
  const std::size_t end = buffer.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer.substr(0, end);
  buffer.erase(0, end + 1);
  return line;
}

}  // namespace

std::optional<std::int64_t> take_number(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return number;
}

LineServer::LineServer(World& world, const std::string& name) : process_(world.add_process(name)) {
  Runtime& runtime = world.harness().runtime();
  Parker& parker = runtime.parker();
  bool listening = false;
  process_.start(name, [this, &parker, &listening] {
    const std::unique_ptr<Listener> listener = process_.network().listen({process_.address(), 0});
    endpoint_ = listener->endpoint();
    listening = true;
    parker.unpark();
    serve(*listener);
  });
  while (!listening) parker.park_until(kNever);
}

void LineServer::serve(Listener& listener) {
  for (;;) {
    Connected connected = listener.accept(kNever);
    if (connected.status == IoStatus::closed) return;
    if (connected.status != IoStatus::ok) continue;
    const std::shared_ptr<Stream> stream = std::move(connected.stream);
    process_.start(process_.name(), [this, stream] { converse(*stream); });
  }
}

void LineServer::converse(Stream& stream) {
  std::array<char, 256> chunk;
  std::string buffer;
  for (;;) {
    while (const auto line = take_line(buffer)) {
      if (!stream.write(answer(*line) + "\n", kNever).ok()) return;
    }
    if (buffer.size() > kMaxLine) return;
    const IoResult got = stream.read(chunk, kNever);
    if (!got.ok()) return;
    buffer.append(chunk.data(), got.bytes);
  }
}

LineClient::LineClient(Process& process, Endpoint server, Duration timeout)
    : process_(process), server_(std::move(server)), timeout_(timeout) {}

std::optional<std::string> LineClient::ask(const std::string& request, bool& sent) {
  const MonotonicTime deadline = deadline_after(process_.runtime().now(), timeout_);
  sent = false;
  if (!stream_) {
    Connected connected = process_.network().connect(server_, deadline);
    if (connected.status != IoStatus::ok) return std::nullopt;
    stream_ = std::move(connected.stream);
  }
  sent = true;
  std::string buffer;
  if (stream_->write(request + "\n", deadline).ok()) {
    std::array<char, 256> chunk;
    for (;;) {
      if (auto line = take_line(buffer)) return line;
      const IoResult got = stream_->read(chunk, deadline);
      if (!got.ok() || buffer.size() > kMaxLine) break;
      buffer.append(chunk.data(), got.bytes);
    }
  }
  stream_.reset();  // a late answer must not be taken for that of the next request
  return std::nullopt;
}

}  // namespace holdfast::sim
