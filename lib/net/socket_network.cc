// A descriptor is closed by the destructor alone: close() and reset() of another task shut it down, which
// wakes the task that waits on it. So they can never hit a descriptor that the system has meanwhile given to
// another connection.
#include "lib/net/socket_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/runtime/check.h"
#include "lib/runtime/process_identity.h"

namespace holdfast {
namespace {

// A socket address of any family.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

bool is_unix(const Endpoint& endpoint) {
  return endpoint.port == 0 && !endpoint.host.empty() && endpoint.host.front() == '/';
}

Address unix_address(const std::string& path) {
  Address address;
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  if (path.size() >= sizeof un.sun_path) return address;
  std::memcpy(un.sun_path, path.c_str(), path.size() + 1);
  std::memcpy(&address.storage, &un, sizeof un);
  address.length = sizeof un;
  return address;
}

// Why a name has no addresses.
struct NoAddress {
  IoStatus status = IoStatus::unreachable;  // there is no such host
  std::string why = {};
};

// Empty when there is no such host, or when that cannot be told now; `why_not` says which.
std::vector<Address> resolve(const std::string& host, std::uint16_t port, bool passive,
                             NoAddress* why_not = nullptr) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found);
  if (error == EAI_AGAIN || error == EAI_MEMORY || error == EAI_SYSTEM) {
    const std::string text =
        error == EAI_SYSTEM ? std::generic_category().message(errno) : gai_strerror(error);
    if (why_not != nullptr) *why_not = {IoStatus::timed_out, "looking up its name (" + text + ")"};
  }
  if (error != 0) return {};
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Address address;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.length = one->ai_addrlen;
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

Endpoint endpoint_of(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.family() == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address.storage, sizeof in);
    inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    return {text, ntohs(in.sin_port)};
  }
  if (address.family() == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address.storage, sizeof in);
    inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    return {text, ntohs(in.sin6_port)};
  }
  if (address.family() == AF_UNIX) {
    sockaddr_un un{};
    std::memcpy(&un, &address.storage, sizeof un);
    return {un.sun_path, 0};
  }
  return {};
}

Address own_address(int fd) {
  Address address;
  address.length = sizeof address.storage;
  getsockname(fd, address.get(), &address.length);
  return address;
}

Address peer_address(int fd) {
  Address address;
  address.length = sizeof address.storage;
  getpeername(fd, address.get(), &address.length);
  return address;
}

IoStatus status_of(int error) {
  switch (error) {
    case ECONNREFUSED:
    case ENOENT: return IoStatus::refused;  // ENOENT: no such unix socket
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
    case EACCES:
    case EPERM:
    case EAFNOSUPPORT: return IoStatus::unreachable;
    case ETIMEDOUT: return IoStatus::timed_out;
    default: return IoStatus::reset;
  }
}

class FileDescriptor {
 public:
  FileDescriptor(Runtime& runtime, int fd) : runtime_(runtime), fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ < 0) return;
    runtime_.forget_fd(fd_);
    ::close(fd_);
  }
  int get() const { return fd_; }
  // To be another's; the runtime may be watching it.
  int release() { return std::exchange(fd_, -1); }

 private:
  Runtime& runtime_;
  int fd_;
};

void set_stream_options(int fd, int family, Duration keep_alive) {
  const int on = 1;
  if (family == AF_UNIX) return;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (keep_alive <= Duration::zero()) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(keep_alive).count();
  const int idle = static_cast<int>(std::clamp<std::int64_t>(seconds, 1, 32767));  // the kernel's limit
  const int between = std::max(idle / 3, 1), probes = 3;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

class SocketStream final : public Stream {
  static constexpr std::uint8_t kUntriedAfterVainTry = 31;

 public:
  SocketStream(Runtime& runtime, int fd, Endpoint local, Endpoint peer)
      : runtime_(runtime), fd_(runtime, fd), local_(std::move(local)), peer_(std::move(peer)) {}

  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    HF_CHECK(!into.empty(), "read into nothing");
    // After a read that left room there is seldom more at once. It is tried all the same as long as it
    // succeeds; a try in vain makes the next ones wait first, which saves a call each.
    bool wait = left_room_ && untried_ > 0;
    if (wait) --untried_;
    for (;;) {
      const bool in_time = !wait || runtime_.wait_fd(fd_.get(), FdInterest::readable, deadline);
      if (closed()) return {IoStatus::closed, 0};
      const ssize_t got = ::recv(fd_.get(), into.data(), into.size(), 0);
      if (got > 0) {
        left_room_ = static_cast<std::size_t>(got) < into.size();
        return {IoStatus::ok, static_cast<std::size_t>(got)};
      }
      if (got == 0) return {closed_.load(std::memory_order_acquire) ? IoStatus::closed : IoStatus::eof, 0};
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return {broken(), 0};
      if (!in_time) return {IoStatus::timed_out, 0};
      if (!wait) untried_ = kUntriedAfterVainTry;
      wait = true;
    }
  }

  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      if (closed()) return {IoStatus::closed, sent};
      const ssize_t put = ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (put >= 0) {
        sent += static_cast<std::size_t>(put);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return {broken(), sent};
      if (!runtime_.wait_fd(fd_.get(), FdInterest::writable, deadline)) return {IoStatus::timed_out, sent};
    }
    return {IoStatus::ok, sent};
  }

  void finish_writing() noexcept override {
    if (!closed()) ::shutdown(fd_.get(), SHUT_WR);
  }

  void close() noexcept override {
    if (closed()) return;
    if (!closed_.exchange(true, std::memory_order_acq_rel)) ::shutdown(fd_.get(), SHUT_RDWR);
  }

  void reset() noexcept override {
    if (closed()) return;
    if (closed_.exchange(true, std::memory_order_acq_rel)) return;
    // A zero linger time makes close() send a reset. Connecting to AF_UNSPEC dissolves the association at
    // once, with a reset as well, and wakes whoever waits (Linux, tcp_disconnect); where it cannot, the
    // destructor's close() does it.
    const linger zero{1, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &zero, sizeof zero);
    sockaddr unspecified{};
    unspecified.sa_family = AF_UNSPEC;
    if (::connect(fd_.get(), &unspecified, sizeof unspecified) != 0) ::shutdown(fd_.get(), SHUT_RDWR);
  }

  Endpoint local() const override { return local_; }
  Endpoint peer() const override { return peer_; }

 private:
  // A fork has the descriptors of its parent: it must not say or end anything on connections that are in use
  // there.
  bool closed() const { return closed_.load(std::memory_order_acquire) || forks_so_far() != made_at_fork_; }
  // Also for ETIMEDOUT, which says that the system gave the connection up, not that a deadline passed.
  IoStatus broken() const {
    return closed_.load(std::memory_order_acquire) ? IoStatus::closed : IoStatus::reset;
  }

  Runtime& runtime_;
  FileDescriptor fd_;
  const std::uint64_t made_at_fork_ = forks_so_far();
  std::atomic<bool> closed_{false};
  bool left_room_ = false;    // the last read did not fill its buffer
  std::uint8_t untried_ = 0;  // so many reads after such a one wait first
  Endpoint local_, peer_;
};

class SocketListener final : public Listener {
 public:
  SocketListener(Runtime& runtime, int fd, Endpoint endpoint, Duration keep_alive)
      : runtime_(runtime), fd_(runtime, fd), endpoint_(std::move(endpoint)), keep_alive_(keep_alive) {}
  ~SocketListener() override {
    if (is_unix(endpoint_)) ::unlink(endpoint_.host.c_str());
  }

  Connected accept(MonotonicTime deadline) override {
    for (;;) {
      if (closed_.load(std::memory_order_acquire)) return {IoStatus::closed, nullptr};
      Address peer;
      peer.length = sizeof peer.storage;
      const int fd = ::accept4(fd_.get(), peer.get(), &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        set_stream_options(fd, peer.family(), keep_alive_);
        return {IoStatus::ok, std::make_unique<SocketStream>(runtime_, fd, endpoint_of(own_address(fd)),
                                                             endpoint_of(peer))};
      }
      if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
      if (closed_.load(std::memory_order_acquire)) return {IoStatus::closed, nullptr};
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        // Out of descriptors: some may come free; do not spin meanwhile.
        const MonotonicTime retry = deadline_after(runtime_.now(), std::chrono::milliseconds(10));
        if (retry >= deadline) return {IoStatus::timed_out, nullptr};
        runtime_.sleep_until(retry);
        continue;
      }
      if (errno != EAGAIN && errno != EWOULDBLOCK) return {IoStatus::closed, nullptr};
      if (!runtime_.wait_fd(fd_.get(), FdInterest::readable, deadline)) return {IoStatus::timed_out, nullptr};
    }
  }

  Endpoint endpoint() const override { return endpoint_; }

  void close() noexcept override {
    if (!closed_.exchange(true, std::memory_order_acq_rel)) ::shutdown(fd_.get(), SHUT_RDWR);
  }

 private:
  Runtime& runtime_;
  FileDescriptor fd_;
  std::atomic<bool> closed_{false};
  Endpoint endpoint_;
  const Duration keep_alive_;
};

// Binds a socket that is about to connect to the address `source` ("": the system's choice). False: not
// possible.
bool bind_source(int fd, int family, const std::string& source) {
  if (source.empty() || family == AF_UNIX) return true;
  const int on = 1;  // the port is chosen at connect, when the other end is known: more connections fit
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  for (const Address& address : resolve(source, 0, false)) {
    if (address.family() == family) return ::bind(fd, address.get(), address.length) == 0;
  }
  return true;  // no source of that family is wanted
}

IoStatus connect_one(Runtime& runtime, int fd, const Address& to, MonotonicTime deadline) {
  for (;;) {
    if (::connect(fd, to.get(), to.length) == 0) return IoStatus::ok;
    int error = errno;
    if (error == EAGAIN && to.family() == AF_UNIX) {
      // The listener's queue is full, and nothing tells when it has room again (connect(2)).
      const MonotonicTime retry = deadline_after(runtime.now(), std::chrono::milliseconds(1));
      if (retry >= deadline) return IoStatus::timed_out;
      runtime.sleep_until(retry);
      continue;
    }
    if (error == EINPROGRESS || error == EINTR) {
      if (!runtime.wait_fd(fd, FdInterest::writable, deadline)) return IoStatus::timed_out;
      socklen_t length = sizeof error;
      if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    }
    return error == 0 ? IoStatus::ok : status_of(error);
  }
}

[[noreturn]] void fail_to_listen(const Endpoint& at, int error) {
  throw std::system_error(error, std::generic_category(), "cannot listen at " + at.to_string());
}

}  // namespace

SocketNetwork::SocketNetwork(Runtime& runtime, SocketNetworkOptions options)
    : runtime_(runtime), options_(std::move(options)) {}

Connected SocketNetwork::connect(const Endpoint& to, MonotonicTime deadline) {
  if (options_.connector) {
    errno = 0;
    FileDescriptor fd(runtime_, options_.connector(to, deadline));
    if (fd.get() < 0) return {status_of(errno), nullptr, "the application made no connection"};
    ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
    ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
    const Address address = own_address(fd.get());
    set_stream_options(fd.get(), address.family(), options_.keep_alive);
    const Endpoint here = endpoint_of(address);
    return {IoStatus::ok, std::make_unique<SocketStream>(runtime_, fd.release(), here, to)};
  }
  NoAddress last;
  const std::vector<Address> addresses =
      is_unix(to) ? std::vector<Address>{unix_address(to.host)} : resolve(to.host, to.port, false, &last);
  NoAddress passing;  // if one may answer later it is not "nobody listens", whatever the others say
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Address& address = addresses[i];
    if (last.status == IoStatus::timed_out) passing = last;
    last = {};
    IoStatus& status = last.status;
    if (address.length == 0) continue;
    FileDescriptor fd(runtime_, ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd.get() < 0) {
      // Of another kind of address there may be sockets; and some may come free.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        status = IoStatus::timed_out;
      last.why = "for want of a socket (" + std::generic_category().message(errno) + ")";
      continue;
    }
    set_stream_options(fd.get(), address.family(), options_.keep_alive);
    if (!bind_source(fd.get(), address.family(), options_.source_address)) {
      status = IoStatus::unreachable;
      continue;
    }
    // One that is silent leaves as much time to each of the others.
    const MonotonicTime now = runtime_.now();
    const auto left = static_cast<Duration::rep>(addresses.size() - i);
    status = connect_one(runtime_, fd.get(), address, left > 1 ? now + (deadline - now) / left : deadline);
    if (status == IoStatus::timed_out && runtime_.now() >= deadline) break;
    if (status != IoStatus::ok) continue;
    const Endpoint here = endpoint_of(own_address(fd.get()));
    // Whoever connects to 0.0.0.0 reaches an address of this machine: ask.
    const Endpoint there = is_unix(to) ? to : endpoint_of(peer_address(fd.get()));
    if (here == there) {
      // A port of the range from which the system chooses, and it chose that very port: the socket has
      // connected to itself (simultaneous open). Nobody listens there.
      status = IoStatus::refused;
      continue;
    }
    return {IoStatus::ok, std::make_unique<SocketStream>(runtime_, fd.release(), here, there)};
  }
  if (passing.status != IoStatus::timed_out) passing = last;
  return {passing.status, nullptr, passing.why};
}

std::unique_ptr<Listener> SocketNetwork::listen(const Endpoint& at) {
  Endpoint wanted = at;
  if (wanted.host.empty()) wanted.host = options_.source_address;
  const std::vector<Address> addresses = is_unix(wanted) ? std::vector<Address>{unix_address(wanted.host)}
                                                         : resolve(wanted.host, wanted.port, true);
  int error = EADDRNOTAVAIL;
  for (const Address& address : addresses) {
    if (address.length == 0) continue;
    FileDescriptor fd(runtime_, ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd.get() < 0) fail_to_listen(wanted, errno);
    const int on = 1;
    if (address.family() != AF_UNIX) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd.get(), address.get(), address.length) != 0 || ::listen(fd.get(), options_.backlog) != 0) {
      error = errno;
      continue;
    }
    const Endpoint bound = is_unix(wanted) ? wanted : endpoint_of(own_address(fd.get()));
    if (options_.on_listening) options_.on_listening(fd.get());
    return std::make_unique<SocketListener>(runtime_, fd.release(), bound, options_.keep_alive);
  }
  fail_to_listen(wanted, error);
}

}  // namespace holdfast
