// ServerConnection: the harness' own plain connection to one server, past the proxy: one command, one reply.
// It keeps the replies' bytes as they came, so that two servers can be compared byte for byte.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/net/network.h"
#include "lib/redis/reply.h"

namespace holdfast {

// Reads the reply at the beginning of `bytes`. Returns its length, 0 when it is not there as a whole yet.
// Throws std::runtime_error when it is not RESP. `*-1` becomes nil like `$-1`; what RESP3 adds becomes the
// nearest kind: sets, pushes and maps arrays (of keys and values in turn), doubles and big numbers texts,
// booleans integers.
std::size_t parse_reply(std::string_view bytes, redis::Reply* into);

// A command in RESP.
std::string format_command(std::span<const std::string> arguments);

class ServerConnection {
 public:
  // [parks] Throws std::runtime_error when nobody answers there.
  ServerConnection(Network& network, const Endpoint& to, MonotonicTime deadline);

  // [parks] Throw std::runtime_error when the connection breaks or the deadline passes.
  void send(std::string_view bytes, MonotonicTime deadline);
  redis::Reply call(std::span<const std::string> command, MonotonicTime deadline);
  redis::Reply call(std::initializer_list<std::string> command, MonotonicTime deadline) {
    return call(std::span(command.begin(), command.size()), deadline);
  }

  // [parks] The bytes of the next reply or push; nothing when the deadline passes first. Throws
  // std::runtime_error when the connection has ended ("eof", "reset") and nothing is left to read.
  std::optional<std::string> read_raw(MonotonicTime deadline);
  // [parks] The next `count` bytes, whatever they are; as read_raw().
  std::optional<std::string> read_bytes(std::size_t count, MonotonicTime deadline);
  // [parks] Up to and including the next "\r\n"; as read_raw().
  std::optional<std::string> read_line(MonotonicTime deadline);

  void close() { stream_->close(); }

 private:
  bool read_more(MonotonicTime deadline);  // false at the deadline
  std::string take(std::size_t count);

  std::unique_ptr<Stream> stream_;
  std::string buffer_;
};

}  // namespace holdfast
