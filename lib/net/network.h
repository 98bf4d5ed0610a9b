// Port Network: byte streams between processes.
//
// Two implementations: non-blocking sockets on top of Runtime::wait_fd (threads and event loop alike),
// and simulated links (embedded world). Whether a call succeeded is a value, never an exception; in a
// killed process the parking calls throw TaskCancelled like every other port call.
//
// Thread safety: one task may read a stream while another writes it; close() and reset() may be called by
// any task at any time and end both with IoStatus::closed. Nothing else may overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/runtime/time.h"

namespace holdfast {

// Where to connect to or listen at: a host (name or address) and a TCP port, or, with port 0 and a host that
// begins with '/', the path of a unix socket.
struct Endpoint {
  std::string host;        // name, address, or path
  std::uint16_t port = 0;  // 0: `host` is a path

  std::string to_string() const;  // "host:port", "[v6]:port", "unix:/path"
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

// How a call on a stream, a listener or the network ended.
enum class IoStatus {
  ok,           // as wanted
  eof,          // the peer finished writing
  timed_out,    // the deadline passed first; for a write some bytes may have gone
  refused,      // nobody listens there
  unreachable,  // no such host or no route
  reset,        // the peer (or the network) broke the connection off
  closed,       // this side closed it
  untrusted,    // the other side is not who it should be, or does not take this side for that (TLS)
};
// In words, for errors.
std::string_view to_string(IoStatus status);
// The same with what Connected::why or Stream::trouble() adds.
std::string describe(IoStatus status, std::string_view more);

// What a read or a write came to.
struct IoResult {
  IoStatus status = IoStatus::ok;  // how it ended
  std::size_t bytes = 0;  // read: at least 1 when ok. write: how many were handed over, whatever the status
  bool ok() const { return status == IoStatus::ok; }  // it ended as wanted
};

// One end of a connection.
class Stream {
 public:
  virtual ~Stream() = default;  // closes

  // [parks] Waits for at least one byte. REQUIRES: `into` is not empty.
  virtual IoResult read(std::span<char> into, MonotonicTime deadline) = 0;
  // [parks] Hands all bytes over, in order, or says why not.
  virtual IoResult write(std::string_view bytes, MonotonicTime deadline) = 0;

  virtual void finish_writing() noexcept = 0;  // the peer reads eof after the bytes written so far
  virtual void close() noexcept = 0;           // orderly; idempotent
  virtual void reset() noexcept = 0;           // the peer sees `reset`, and loses what it has not read

  virtual Endpoint local() const = 0;  // of this end
  virtual Endpoint peer() const = 0;   // of the other end

  // [parks] More about why the last call failed, for people; "": there is no more to say.
  virtual std::string trouble() const { return {}; }
};

// What an attempt to connect, or to accept, came to.
struct Connected {
  IoStatus status = IoStatus::ok;  // how it ended
  std::unique_ptr<Stream> stream;  // set exactly when status is ok
  std::string why = {};            // more about why not, for people; "": there is no more to say
};

// Where others can connect to.
class Listener {
 public:
  virtual ~Listener() = default;                         // closes
  virtual Connected accept(MonotonicTime deadline) = 0;  // [parks] ok, timed_out or closed
  virtual Endpoint endpoint() const = 0;                 // with the port that was chosen
  virtual void close() noexcept = 0;                     // a waiting accept returns `closed`; idempotent
};

class Network {
 public:
  virtual ~Network() = default;
  // [parks] Connects to `to`, or says why not.
  virtual Connected connect(const Endpoint& to, MonotonicTime deadline) = 0;
  // Port 0: any free one. Throws std::system_error when the endpoint cannot be bound.
  virtual std::unique_ptr<Listener> listen(const Endpoint& at) = 0;
};

}  // namespace holdfast
