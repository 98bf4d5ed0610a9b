#include "sim/world/guarded_network.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>
#include <set>
#include <system_error>
#include <vector>

#include "lib/runtime/check.h"
#include "sim/world/doorway.h"
#include "sim/world/listen_by_number.h"

namespace holdfast::sim {
namespace {

// What comes from these addresses is not seen by the listener, before it is a connection. The filter is one
// of the classic sort, which any user may attach (socket(7), SO_ATTACH_FILTER). Connections that exist keep
// the filter that the listener had when they were made, which lets them pass.
void lose_first_packets(int fd, const std::set<std::string>& addresses) {
  int failed = 0;
  if (addresses.empty()) {
    const int none = 0;
    failed = ::setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof none);
  } else {
    constexpr std::uint32_t kWholePacket = 0xffffffff, kSourceOfIpHeader = 12;
    std::vector<sock_filter> program;
    program.push_back(
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_NET_OFF) + kSourceOfIpHeader));
    for (const std::string& address : addresses) {
      in_addr parsed{};
      HF_CHECK(::inet_pton(AF_INET, address.c_str(), &parsed) == 1,
               "processes of a world have IPv4 addresses");
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(parsed.s_addr), 0, 1));
      program.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, kWholePacket));
    HF_CHECK(program.size() <= BPF_MAXINSNS, "too many addresses for one filter");
    const sock_fprog whole{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
    failed = ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof whole);
  }
  if (failed != 0)
    throw std::system_error(errno, std::generic_category(),
                            "a listener takes no filter: a partition "
                            "cannot lose what connects");
}

}  // namespace

class GuardedStream final : public Stream {
 public:
  GuardedStream(GuardedNetwork& network, std::unique_ptr<Stream> inner)
      : network_(network), inner_(std::move(inner)), number_(network.next_++) {
    network_.streams_.emplace(number_, inner_.get());
  }
  ~GuardedStream() override { network_.streams_.erase(number_); }
  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    if (!network_.may_act()) return {IoStatus::closed, 0};
    return inner_->read(into, deadline);
  }
  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    if (!network_.may_act()) return {IoStatus::closed, 0};
    return inner_->write(bytes, deadline);
  }
  void finish_writing() noexcept override { inner_->finish_writing(); }
  void close() noexcept override { inner_->close(); }
  void reset() noexcept override { inner_->reset(); }
  Endpoint local() const override { return inner_->local(); }
  Endpoint peer() const override { return inner_->peer(); }

 private:
  GuardedNetwork& network_;
  std::unique_ptr<Stream> inner_;
  std::uint64_t number_;
};

class GuardedListener final : public Doorway {
 public:
  GuardedListener(GuardedNetwork& network, std::unique_ptr<Listener> inner, int fd)
      : network_(network), inner_(std::move(inner)), number_(network.next_++), fd_(fd) {
    network_.listeners_.emplace(number_, inner_.get());
  }
  ~GuardedListener() override { network_.listeners_.erase(number_); }
  Connected accept(MonotonicTime deadline) override {
    for (;;) {
      if (!network_.may_act() || closed_) return {IoStatus::closed, nullptr};
      if (refuses_) {
        acceptor_ = &network_.runtime_.parker();
        const bool in_time = acceptor_->park_until(deadline);
        acceptor_ = nullptr;
        if (!in_time && refuses_) return {IoStatus::timed_out, nullptr};
        continue;
      }
      Connected connected = inner_->accept(deadline);
      if (connected.status == IoStatus::closed && refuses_ && !closed_) continue;
      return network_.guard(std::move(connected));
    }
  }
  Endpoint endpoint() const override { return inner_->endpoint(); }
  void close() noexcept override {
    closed_ = true;
    inner_->close();
    if (acceptor_ != nullptr) acceptor_->unpark();
  }

  void screen(Screen screen) override { screen_ = std::move(screen); }
  void screen_changed(const std::vector<std::string>& addresses) override {
    if (closed_ || !screen_ || addresses.empty()) return;
    std::set<std::string> lost;
    bool refuses = true;
    for (const std::string& address : addresses) {
      const Knock knock = screen_(address);
      refuses = refuses && knock == Knock::refuse;
      if (knock == Knock::lose) lost.insert(address);
    }
    if (lost != lost_) {
      lose_first_packets(fd_, lost);
      lost_ = std::move(lost);
    }
    if (refuses != refuses_) refuse(refuses);
  }

 private:
  // A listener that was shut down keeps its address and port, and may listen again.
  void refuse(bool on) {
    refuses_ = on;
    if (on) {
      ::shutdown(fd_, SHUT_RDWR);
      return;
    }
    if (::listen(fd_, SocketNetworkOptions{}.backlog) != 0)
      throw std::system_error(errno, std::generic_category(),
                              "cannot listen again at " + inner_->endpoint().to_string());
    if (acceptor_ != nullptr) acceptor_->unpark();
  }

  GuardedNetwork& network_;
  std::unique_ptr<Listener> inner_;
  std::uint64_t number_;
  const int fd_;
  Screen screen_;
  std::set<std::string> lost_;
  bool refuses_ = false, closed_ = false;
  Parker* acceptor_ = nullptr;  // while it waits for the end of a refusal
};

GuardedNetwork::GuardedNetwork(Scheduler& scheduler, FiberProcess& process)
    : scheduler_(scheduler),
      group_(process.group()),
      runtime_(process.runtime()),
      sockets_(process.runtime(), {.source_address = process.address(),
                                   .on_listening = [this](int fd) { listening_fd_ = fd; }}) {}

Connected GuardedNetwork::guard(Connected connected) {
  if (connected.stream != nullptr) {
    connected.stream = std::make_unique<GuardedStream>(*this, std::move(connected.stream));
    if (group_.dead) connected.stream->close();  // made while the process was killed
  }
  return connected;
}

Connected GuardedNetwork::connect(const Endpoint& to, MonotonicTime deadline) {
  if (!may_act()) return {IoStatus::closed, nullptr};
  return guard(sockets_.connect(to, deadline));
}

std::unique_ptr<Listener> GuardedNetwork::listen(const Endpoint& at) {
  if (!may_act()) {
    throw std::system_error(ENETDOWN, std::generic_category(), "cannot listen at " + at.to_string());
  }
  // A listener that refuses for a while keeps its port only if it asked for it by number.
  auto listener = listen_by_number(sockets_, at);
  return std::make_unique<GuardedListener>(*this, std::move(listener), listening_fd_);
}

void GuardedNetwork::break_off() noexcept {
  for (const auto& [number, stream] : streams_) stream->close();
  for (const auto& [number, listener] : listeners_) listener->close();
}

}  // namespace holdfast::sim
