// What bench_proxy drives: a proxy on a thread of its own, and a load on the sockets in front of it.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/proxy/proxy.h"
#include "sim/world/world.h"
#include "tools/bench/histogram.h"
#include "tools/microbench/bare_relay.h"

namespace holdfast::bench {

// The proxy in a real world, on a thread of its own.
class ProxyThread {
 public:
  // `prepare` adds rules and watchers, on that thread.
  ProxyThread(const Endpoint& upstream, const std::function<void(sim::Proxy&)>& prepare) {
    stop_ = checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
    std::promise<Endpoint> promise;
    std::future<Endpoint> made = promise.get_future();
    thread_ = std::thread([upstream, prepare, stop = stop_, promise = std::move(promise)]() mutable {
      const std::unique_ptr<sim::World> world = sim::make_real_world({});
      world->run([&] {
        sim::Proxy proxy(*world);
        if (prepare) prepare(proxy);
        promise.set_value(proxy.expose("r1", upstream));
        world->harness().runtime().wait_fd(stop, FdInterest::readable, kNever);
      });
    });
    endpoint_ = made.get();
  }
  ProxyThread(const ProxyThread&) = delete;
  ProxyThread& operator=(const ProxyThread&) = delete;
  ~ProxyThread() {
    ::eventfd_write(stop_, 1);
    thread_.join();
    ::close(stop_);
  }

  Endpoint endpoint() const { return endpoint_; }
  std::thread& thread() { return thread_; }

 private:
  int stop_ = -1;
  Endpoint endpoint_;
  std::thread thread_;
};

struct LoadOutcome {
  double seconds = 0, cpu_seconds = 0;      // of the clock; of the relay's or the proxy's thread
  std::uint64_t operations = 0, bytes = 0;  // both directions, client's side
  tools::Histogram latency;                 // ns, from sending a batch to its last reply
};

// Connections that send the SET of an acquire, `pipeline` of them at a time, and wait for the replies (5
// bytes each: +OK or nil). One thread, level-triggered epoll.
class SocketLoad {
 public:
  SocketLoad(const Endpoint& to, int connections, int pipeline) : replies_bytes_(5 * pipeline) {
    epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    for (int i = 0; i < connections; ++i) {
      const std::string key = "lock:" + std::to_string(i);
      const std::string once =
          "*6\r\n$3\r\nSET\r\n$" + std::to_string(key.size()) + "\r\n" + key +
          "\r\n$38\r\n01234567-89ab-cdef-0123-456789abcdef:1\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n";
      Connection& made = connections_.emplace_back();
      for (int n = 0; n < pipeline; ++n) made.batch += once;
      made.fd = connect_to(to);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = connections_.size() - 1;
      checked(::epoll_ctl(epoll_, EPOLL_CTL_ADD, made.fd, &event), "epoll_ctl");
    }
  }
  SocketLoad(const SocketLoad&) = delete;
  SocketLoad& operator=(const SocketLoad&) = delete;
  ~SocketLoad() {
    for (const Connection& one : connections_) ::close(one.fd);
    ::close(epoll_);
  }

  // Runs for `length` and until what is under way is answered. Throws std::runtime_error when a reply is not
  // as expected.
  LoadOutcome run(std::chrono::nanoseconds length) {
    using Clock = std::chrono::steady_clock;
    LoadOutcome outcome;
    const Clock::time_point start = Clock::now();
    Clock::time_point now = start;
    for (Connection& one : connections_) send(one, now);
    std::size_t busy = connections_.size();
    std::array<epoll_event, 256> events;
    std::array<char, 4096> buffer;
    while (busy > 0) {
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 5000);
      if (count == 0) throw std::runtime_error("no reply within 5 s");
      for (int i = 0; i < count; ++i) {
        Connection& one = connections_[events[static_cast<std::size_t>(i)].data.u64];
        const ssize_t got = ::recv(one.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got <= 0 && errno != EAGAIN) throw std::runtime_error("the connection ended");
        if (got <= 0) continue;
        if (one.answered % 5 == 0 && buffer[0] != '+' && buffer[0] != '$') {
          throw std::runtime_error("the server said " +
                                   std::string(buffer.data(), static_cast<std::size_t>(got)));
        }
        one.answered += static_cast<int>(got);
        if (one.answered < replies_bytes_) continue;
        now = Clock::now();
        outcome.latency.record((now - one.sent).count());
        outcome.operations += static_cast<std::uint64_t>(replies_bytes_ / 5);
        outcome.bytes += one.batch.size() + static_cast<std::uint64_t>(replies_bytes_);
        if (now - start < length) {
          send(one, now);
        } else {
          --busy;
        }
      }
    }
    outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return outcome;
  }

 private:
  struct Connection {
    int fd = -1;
    std::string batch;
    int answered = 0;  // bytes
    std::chrono::steady_clock::time_point sent{};
  };

  static void send(Connection& one, std::chrono::steady_clock::time_point now) {
    one.answered = 0;
    one.sent = now;
    if (!send_all(one.fd, one.batch)) throw std::runtime_error("the connection ended");
  }

  const int replies_bytes_;  // of a batch
  int epoll_ = -1;
  std::vector<Connection> connections_;
};

}  // namespace holdfast::bench
