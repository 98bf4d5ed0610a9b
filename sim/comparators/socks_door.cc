#include "sim/comparators/socks_door.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "lib/net/socket_network.h"
#include "lib/runtime/check.h"

namespace holdfast::sim {
namespace {

constexpr std::chrono::minutes kPatience{1};  // with who says hello

// RFC 1928.
constexpr unsigned char kVersion = 5, kNoAuthentication = 0, kNoMethod = 0xff, kConnect = 1;
constexpr unsigned char kIpv4 = 1, kName = 3;
enum class Said : unsigned char {
  succeeded = 0,
  failed = 1,
  not_allowed = 2,
  host_unreachable = 4,
  refused = 5,
  command_not_supported = 7,
  address_not_supported = 8,
};

std::string octets(std::initializer_list<unsigned char> values) {
  std::string text;
  for (const unsigned char value : values) text += static_cast<char>(value);
  return text;
}

std::string answer(Said said) {
  return octets({kVersion, static_cast<unsigned char>(said), 0, kIpv4, 0, 0, 0, 0, 0, 0});
}

// [parks] So many bytes; nullopt: they do not come.
std::optional<std::string> read_exactly(Stream& stream, std::size_t count, MonotonicTime deadline) {
  std::string text(count, '\0');
  for (std::size_t have = 0; have < count;) {
    const IoResult got = stream.read(std::span(text).subspan(have), deadline);
    if (!got.ok()) return std::nullopt;
    have += got.bytes;
  }
  return text;
}

unsigned char at(const std::string& text, std::size_t place) {
  return static_cast<unsigned char>(text[place]);
}

// Without a connection, which that one would have to make sense of: by the kernel's list (proc(5)).
bool somebody_listens(const Endpoint& host) {
  in_addr address{};
  HF_CHECK(::inet_pton(AF_INET, host.host.c_str(), &address) == 1, "servers have IPv4 addresses");
  const std::string wanted = fmt::format("{:08X}:{:04X}", address.s_addr, host.port);
  constexpr std::string_view kListens = "0A";
  std::ifstream table("/proc/net/tcp");
  std::string line, number, local, remote, state;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    if (words >> number >> local >> remote >> state && local == wanted && state == kListens) return true;
  }
  return false;
}

struct Way {
  Endpoint to, host;
};

// [parks] Passes on what comes from `from`, and how it ends.
void pump(Stream& from, Stream& to) {
  std::array<char, 16 * 1024> buffer;
  for (;;) {
    const IoResult got = from.read(buffer, kNever);
    if (got.status == IoStatus::eof) return to.finish_writing();
    if (!got.ok() || !to.write({buffer.data(), got.bytes}, kNever).ok()) {
      from.reset();
      return to.reset();
    }
  }
}

}  // namespace

class SocksDoor::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(World& world)
      : harness_(world.harness()),
        network_(harness_.runtime()),
        listener_(harness_.network().listen({harness_.address(), 0})) {}

  void start() {
    harness_.start("socks", [self = shared_from_this()] {
      for (;;) {
        Connected guest = self->listener_->accept(kNever);
        if (guest.status == IoStatus::closed) return;
        if (guest.status != IoStatus::ok) continue;
        self->harness_.start(
            "socks", [self, stream = std::shared_ptr(std::move(guest.stream))] { self->serve(*stream); });
      }
    });
  }
  void stop() {
    listener_->close();
    for (Stream* const stream : streams_) stream->reset();
  }
  void lead(const Endpoint& asked, const Way& way) { leads_[asked] = way; }
  Endpoint endpoint() const { return listener_->endpoint(); }

 private:
  struct Listed {  // as long as it is served
    std::set<Stream*>& streams;
    Stream* const stream;
    Listed(std::set<Stream*>& all, Stream& one) : streams(all), stream(&one) { streams.insert(stream); }
    ~Listed() { streams.erase(stream); }
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;
  };

  void serve(Stream& guest) {
    const Listed mine(streams_, guest);
    const MonotonicTime deadline = deadline_after(harness_.runtime().now(), kPatience);
    const std::optional<Endpoint> asked = greet(guest, deadline);
    if (!asked) return;
    const auto found = leads_.find(*asked);
    if (found == leads_.end()) return refuse(guest, Said::not_allowed, deadline);
    // As long as its first packet is lost: who waits for the answer gives up when it likes.
    Connected host = network_.connect(found->second.to, kNever);
    const bool listens = host.status != IoStatus::ok || somebody_listens(found->second.host);
    if (host.status == IoStatus::refused || !listens) return refuse(guest, Said::refused, deadline);
    if (host.status != IoStatus::ok) return refuse(guest, Said::host_unreachable, deadline);
    const Listed its(streams_, *host.stream);
    if (!guest.write(answer(Said::succeeded), deadline).ok()) return host.stream->reset();
    Task back = harness_.runtime().spawn("socks", [&] { pump(*host.stream, guest); });
    pump(guest, *host.stream);
    back.join();
  }

  // [parks] What is asked for; nullopt: nothing that could be done, and that was said.
  static std::optional<Endpoint> greet(Stream& guest, MonotonicTime deadline) {
    const auto hello = read_exactly(guest, 2, deadline);
    if (!hello || at(*hello, 0) != kVersion) return guest.reset(), std::nullopt;
    const auto methods = read_exactly(guest, at(*hello, 1), deadline);
    if (!methods) return std::nullopt;
    const bool open = methods->find(static_cast<char>(kNoAuthentication)) != std::string::npos;
    const bool told = guest.write(octets({kVersion, open ? kNoAuthentication : kNoMethod}), deadline).ok();
    if (!told || !open) return std::nullopt;
    const auto request = read_exactly(guest, 4, deadline);
    if (!request || at(*request, 0) != kVersion) return guest.reset(), std::nullopt;
    if (at(*request, 1) != kConnect)
      return refuse(guest, Said::command_not_supported, deadline), std::nullopt;
    Endpoint asked;
    if (at(*request, 3) == kIpv4) {
      const auto host = read_exactly(guest, 4, deadline);
      if (!host) return std::nullopt;
      for (std::size_t i = 0; i < 4; ++i) asked.host += (i == 0 ? "" : ".") + std::to_string(at(*host, i));
    } else if (at(*request, 3) == kName) {
      const auto length = read_exactly(guest, 1, deadline);
      const auto host = length ? read_exactly(guest, at(*length, 0), deadline) : std::nullopt;
      if (!host) return std::nullopt;
      asked.host = *host;
    } else {
      return refuse(guest, Said::address_not_supported, deadline), std::nullopt;
    }
    const auto port = read_exactly(guest, 2, deadline);
    if (!port) return std::nullopt;
    asked.port = static_cast<std::uint16_t>(at(*port, 0) << 8 | at(*port, 1));
    return asked;
  }
  static void refuse(Stream& guest, Said said, MonotonicTime deadline) {
    if (guest.write(answer(said), deadline).ok()) guest.close();
  }

  Process& harness_;
  SocketNetwork network_;  // its connections come from where the kernel has them come from
  const std::unique_ptr<Listener> listener_;
  std::map<Endpoint, Way> leads_;
  std::set<Stream*> streams_;
};

SocksDoor::SocksDoor(World& world) : impl_(std::make_shared<Impl>(world)) { impl_->start(); }
SocksDoor::~SocksDoor() { impl_->stop(); }
void SocksDoor::lead(const Endpoint& asked, const Endpoint& to, const Endpoint& host) {
  impl_->lead(asked, {.to = to, .host = host});
}
Endpoint SocksDoor::endpoint() const { return impl_->endpoint(); }

}  // namespace holdfast::sim
