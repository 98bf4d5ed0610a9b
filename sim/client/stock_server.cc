#include "sim/client/stock_server.h"

#include <array>
#include <charconv>

#include "lib/runtime/check.h"

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

// The next number of `text`, which it is taken off.
std::optional<std::int64_t> take_number(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return number;
}

}  // namespace

StockServer::StockServer(World& world, std::int64_t units)
    : process_(world.add_process("stock")), units_(units) {
  Runtime& runtime = world.harness().runtime();
  Parker& parker = runtime.parker();
  bool listening = false;
  process_.start("stock", [this, &parker, &listening] {
    const std::unique_ptr<Listener> listener = process_.network().listen({process_.address(), 0});
    endpoint_ = listener->endpoint();
    listening = true;
    parker.unpark();
    serve(*listener);
  });
  while (!listening) parker.park_until(kNever);
}

void StockServer::serve(Listener& listener) {
  for (;;) {
    Connected connected = listener.accept(kNever);
    if (connected.status == IoStatus::closed) return;
    if (connected.status != IoStatus::ok) continue;
    const std::shared_ptr<Stream> stream = std::move(connected.stream);
    process_.start("stock", [this, stream] { converse(*stream); });
  }
}

void StockServer::converse(Stream& stream) {
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

std::string StockServer::answer(std::string_view request) {
  const std::string_view verb = request.substr(0, 3);
  request.remove_prefix(verb.size());
  if (verb == "GET") return std::to_string(units_);
  const auto first = take_number(request);
  if (verb == "SET" && first) {
    units_ = *first;
    return "OK";
  }
  const auto second = take_number(request);
  if (verb == "CAS" && first && second) {
    if (units_ != *first) return "CONFLICT " + std::to_string(units_);
    units_ = *second;
    return "OK";
  }
  return "ERROR unknown request";
}

StockClient::StockClient(Process& process, Endpoint stock, Duration timeout)
    : process_(process), stock_(std::move(stock)), timeout_(timeout) {}

std::optional<std::string> StockClient::ask(const std::string& request, bool& sent) {
  const MonotonicTime deadline = deadline_after(process_.runtime().now(), timeout_);
  sent = false;
  if (!stream_) {
    Connected connected = process_.network().connect(stock_, deadline);
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

std::optional<std::int64_t> StockClient::read() {
  bool sent = false;
  const auto line = ask("GET", sent);
  if (!line) return std::nullopt;
  std::string_view text = *line;
  return take_number(text);
}

StockClient::Outcome StockClient::change(const std::string& request) {
  bool sent = false;
  const auto line = ask(request, sent);
  if (!line) return sent ? Outcome::unknown : Outcome::failed;
  if (*line == "OK") return Outcome::ok;
  HF_CHECK(line->starts_with("CONFLICT"), "the stock knows our requests");
  return Outcome::conflict;
}

StockClient::Outcome StockClient::write(std::int64_t units) { return change("SET " + std::to_string(units)); }

StockClient::Outcome StockClient::compare_and_set(std::int64_t expected, std::int64_t units) {
  return change("CAS " + std::to_string(expected) + " " + std::to_string(units));
}

}  // namespace holdfast::sim
