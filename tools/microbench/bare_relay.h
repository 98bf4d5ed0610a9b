// BareRelay: what bench_proxy compares the proxy with. A thread that passes bytes on between two sockets:
// level-triggered epoll, descriptors registered once, one recv and one send for each piece. It looks at no
// byte and keeps nothing; a proxy on sockets can hardly cost less.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lib/net/network.h"

namespace holdfast::bench {

inline int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

inline sockaddr_in address_of(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  ::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
  return address;
}

// A connected, blocking socket. Throws std::system_error.
inline int connect_to(const Endpoint& endpoint) {
  const int fd = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  const sockaddr_in address = address_of(endpoint);
  checked(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect");
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

// Sends all bytes on a socket that may be non-blocking. False: the connection is gone.
inline bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN) {
      pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// CPU seconds that a running thread has used.
inline double cpu_seconds_of(std::thread& thread) {
  clockid_t clock{};
  timespec used{};
  if (::pthread_getcpuclockid(thread.native_handle(), &clock) != 0) return 0;
  ::clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

class BareRelay {
 public:
  // Listens on a free loopback port and starts. Throws std::system_error.
  explicit BareRelay(Endpoint upstream) : upstream_(std::move(upstream)) {
    listener_ = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    sockaddr_in address = address_of({"127.0.0.1", 0});
    checked(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
    checked(::listen(listener_, 1024), "listen");
    socklen_t length = sizeof address;
    checked(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), "getsockname");
    endpoint_ = {"127.0.0.1", ntohs(address.sin_port)};
    stop_ = checked(::eventfd(0, EFD_CLOEXEC), "eventfd");
    epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    add(listener_);
    add(stop_);
    thread_ = std::thread([this] { run(); });
  }
  BareRelay(const BareRelay&) = delete;
  BareRelay& operator=(const BareRelay&) = delete;
  ~BareRelay() {
    ::eventfd_write(stop_, 1);
    thread_.join();
    for (std::size_t fd = 0; fd < other_.size(); ++fd) {
      if (other_[fd] >= 0) ::close(static_cast<int>(fd));
    }
    for (const int fd : {listener_, stop_, epoll_}) ::close(fd);
  }

  Endpoint endpoint() const { return endpoint_; }
  std::thread& thread() { return thread_; }

 private:
  void add(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    checked(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
  }

  void pair(int one, int two) {
    if (const auto most = static_cast<std::size_t>(std::max(one, two)); most >= other_.size()) {
      other_.resize(most + 1, -1);
    }
    other_[static_cast<std::size_t>(one)] = two;
    other_[static_cast<std::size_t>(two)] = one;
    add(one);
    add(two);
  }

  void end(int one) {
    int& two = other_[static_cast<std::size_t>(one)];
    other_[static_cast<std::size_t>(two)] = -1;
    ::close(std::exchange(two, -1));
    ::close(one);
  }

  void run() {
    std::array<epoll_event, 256> events;
    std::vector<char> buffer(64 * 1024);
    for (;;) {
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == stop_) return;
        if (fd == listener_) {
          const int guest = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
          const int on = 1;
          if (guest < 0) continue;
          ::setsockopt(guest, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          pair(guest, connect_to(upstream_));
          continue;
        }
        const int to = other_[static_cast<std::size_t>(fd)];
        if (to < 0) continue;  // ended earlier in this batch
        const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got <= 0 || !send_all(to, {buffer.data(), static_cast<std::size_t>(got)})) end(fd);
      }
    }
  }

  Endpoint upstream_, endpoint_;
  int listener_ = -1, stop_ = -1, epoll_ = -1;
  std::vector<int> other_;  // by descriptor: the other end of its connection, -1: none
  std::thread thread_;
};

}  // namespace holdfast::bench
