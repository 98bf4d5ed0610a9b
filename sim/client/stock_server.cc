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
  const auto first = take_number(request);
  const bool shows_token = verb == "PUT" || (verb == "GET" && first);
  if (shows_token && first) {
    if (*first < newest_) return "STALE " + std::to_string(newest_);
    newest_ = *first;
  }
  if (verb == "GET") return std::to_string(units_);
  if (verb == "SET" && first) {
    units_ = *first;
    return "OK";
  }
  const auto second = take_number(request);
  if (verb == "PUT" && first && second) {
    units_ = *second;
    return "OK";
  }
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

StockClient::Outcome StockClient::read(std::int64_t& units, std::optional<std::int64_t> token) {
  bool sent = false;
  const auto line = ask(token ? "GET " + std::to_string(*token) : "GET", sent);
  if (!line) return Outcome::unknown;
  if (line->starts_with("STALE")) return Outcome::stale;
  std::string_view text = *line;
  const auto number = take_number(text);
  HF_CHECK(number.has_value(), "the stock answers with a number");
  units = *number;
  return Outcome::ok;
}

StockClient::Outcome StockClient::change(const std::string& request) {
  bool sent = false;
  const auto line = ask(request, sent);
  if (!line) return sent ? Outcome::unknown : Outcome::failed;
  if (*line == "OK") return Outcome::ok;
  if (line->starts_with("STALE")) return Outcome::stale;
  HF_CHECK(line->starts_with("CONFLICT"), "the stock knows our requests");
  return Outcome::conflict;
}

StockClient::Outcome StockClient::write(std::int64_t units) { return change("SET " + std::to_string(units)); }

StockClient::Outcome StockClient::write_with_token(std::int64_t units, std::int64_t token) {
  return change("PUT " + std::to_string(token) + " " + std::to_string(units));
}

StockClient::Outcome StockClient::compare_and_set(std::int64_t expected, std::int64_t units) {
  return change("CAS " + std::to_string(expected) + " " + std::to_string(units));
}

}  // namespace holdfast::sim
