#include "lib/testing/server/server_connection.h"

#include <charconv>
#include <stdexcept>

namespace holdfast {
namespace {

std::int64_t parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::runtime_error("not RESP: number expected, not '" + std::string(text) + "'");
  }
  return value;
}

}  // namespace

std::size_t parse_reply(std::string_view bytes, redis::Reply* into) {
  using Type = redis::Reply::Type;
  const std::size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) return 0;
  const std::size_t line = end + 2;
  const std::string_view rest = bytes.substr(1, end > 0 ? end - 1 : 0);
  redis::Reply reply;
  std::size_t length = line;
  switch (end > 0 ? bytes[0] : '\0') {
    case '+': reply.type = Type::status, reply.text = rest; break;
    case '-': reply.type = Type::error, reply.text = rest; break;
    case ':': reply.type = Type::integer, reply.integer = parse_number(rest); break;
    case '_': break;
    case '|': {  // attributes of the reply that follows
      for (std::int64_t i = 2 * parse_number(rest); i >= 0; --i) {
        const std::size_t taken = parse_reply(bytes.substr(length), &reply);
        if (taken == 0) return 0;
        length += taken;
      }
      break;
    }
    case '#': reply.type = Type::integer, reply.integer = rest == "t" ? 1 : 0; break;
    case ',':
    case '(': reply.type = Type::bulk, reply.text = rest; break;
    case '=':
    case '$': {
      const std::int64_t size = parse_number(rest);
      if (size < 0) break;
      length += static_cast<std::size_t>(size) + 2;
      if (bytes.size() < length) return 0;
      reply.type = Type::bulk, reply.text = bytes.substr(line, static_cast<std::size_t>(size));
      if (bytes[0] == '=') reply.text.erase(0, 4);  // "txt:"
      break;
    }
    case '*':
    case '~':
    case '>':
    case '%': {
      const std::int64_t count = parse_number(rest) * (bytes[0] == '%' ? 2 : 1);
      if (count < 0) break;
      reply.type = Type::array;
      for (std::int64_t i = 0; i < count; ++i) {
        redis::Reply item;
        const std::size_t taken = parse_reply(bytes.substr(length), &item);
        if (taken == 0) return 0;
        length += taken;
        reply.items.push_back(std::move(item));
      }
      break;
    }
    default: throw std::runtime_error("not RESP: '" + std::string(bytes.substr(0, end)) + "'");
  }
  if (into != nullptr) *into = std::move(reply);
  return length;
}

std::string format_command(std::span<const std::string> arguments) {
  std::string bytes = "*" + std::to_string(arguments.size()) + "\r\n";
  for (const std::string& argument : arguments) {
    bytes += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  return bytes;
}

ServerConnection::ServerConnection(Network& network, const Endpoint& to, MonotonicTime deadline) {
  Connected connected = network.connect(to, deadline);
  if (connected.status != IoStatus::ok) {
    throw std::runtime_error("server " + to.to_string() + ": " + std::string(to_string(connected.status)));
  }
  stream_ = std::move(connected.stream);
}

void ServerConnection::send(std::string_view bytes, MonotonicTime deadline) {
  const IoResult result = stream_->write(bytes, deadline);
  if (!result.ok()) throw std::runtime_error("write: " + std::string(to_string(result.status)));
}

redis::Reply ServerConnection::call(std::span<const std::string> command, MonotonicTime deadline) {
  send(format_command(command), deadline);
  const std::optional<std::string> raw = read_raw(deadline);
  if (!raw)
    throw std::runtime_error("no reply to " + (command.empty() ? "nothing" : command[0]) + " in time");
  redis::Reply reply;
  parse_reply(*raw, &reply);
  return reply;
}

std::optional<std::string> ServerConnection::read_raw(MonotonicTime deadline) {
  for (;;) {
    if (const std::size_t length = parse_reply(buffer_, nullptr); length > 0) return take(length);
    if (!read_more(deadline)) return std::nullopt;
  }
}

std::optional<std::string> ServerConnection::read_bytes(std::size_t count, MonotonicTime deadline) {
  while (buffer_.size() < count) {
    if (!read_more(deadline)) return std::nullopt;
  }
  return take(count);
}

std::optional<std::string> ServerConnection::read_line(MonotonicTime deadline) {
  for (;;) {
    if (const std::size_t end = buffer_.find("\r\n"); end != std::string::npos) return take(end + 2);
    if (!read_more(deadline)) return std::nullopt;
  }
}

bool ServerConnection::read_more(MonotonicTime deadline) {
  char chunk[16384];
  const IoResult result = stream_->read(chunk, deadline);
  if (result.status == IoStatus::timed_out) return false;
  if (!result.ok()) throw std::runtime_error(std::string(to_string(result.status)));
  buffer_.append(chunk, result.bytes);
  return true;
}

std::string ServerConnection::take(std::size_t count) {
  std::string taken = buffer_.substr(0, count);
  buffer_.erase(0, count);
  return taken;
}

}  // namespace holdfast
