// What is special about sockets; what every network promises is in network_conformance_test.cc.
#include "lib/net/socket_network.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/runtime/thread_runtime.h"

namespace {

// What the resolver says of some names. An error, or addresses one after the other; of these a family that no
// system has, where `strange`.
struct Said {
  int error = 0;
  std::vector<holdfast::Endpoint> addresses = {};
  bool strange = false;  // the first one
};
std::map<std::string, Said>& said() {
  static std::map<std::string, Said> names;
  return names;
}

}  // namespace

// In the place of the system's, for this test program.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const auto scripted = name == nullptr ? said().end() : said().find(name);
  if (scripted == said().end()) return system(name, service, hints, found);
  if (scripted->second.error != 0) return scripted->second.error;
  addrinfo** end = found;
  for (const holdfast::Endpoint& at : scripted->second.addresses) {
    const int error = system(at.host.c_str(), std::to_string(at.port).c_str(), hints, end);
    if (error != 0) return error;
    end = &(*end)->ai_next;
  }
  if (scripted->second.strange) (*found)->ai_addr->sa_family = 250;
  return 0;
}

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class Sockets : public testing::Test {
 protected:
  MonotonicTime soon() const { return runtime.now() + 30s; }

  // A connection of `from` to a listener of `network`; {connecting end, accepted end}.
  std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> connect(SocketNetwork& from,
                                                                      const Endpoint& at) {
    const auto listener = network.listen(at);
    Connected out = from.connect(listener->endpoint(), soon());
    EXPECT_EQ(out.status, IoStatus::ok);
    Connected in = listener->accept(soon());
    EXPECT_EQ(in.status, IoStatus::ok);
    return {std::move(out.stream), std::move(in.stream)};
  }

  std::string read(Stream& stream) {
    char buffer[100];
    const IoResult got = stream.read(buffer, soon());
    return got.ok() ? std::string(buffer, got.bytes) : std::string(to_string(got.status));
  }

  ThreadRuntime runtime;
  SocketNetwork network{runtime};
};

// A folder for unix sockets, short enough for their paths.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "holdfast-net.XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST_F(Sockets, ConnectionsComeFromTheSourceAddress) {
  SocketNetwork from_its_own(runtime, {.source_address = "127.7.8.9"});
  const auto [here, there] = connect(from_its_own, {"127.0.0.1", 0});
  EXPECT_EQ(here->local().host, "127.7.8.9");
  EXPECT_EQ(there->peer(), here->local());
  EXPECT_EQ(here->peer().host, "127.0.0.1");
}

TEST_F(Sockets, AnEmptyHostListensAtTheSourceAddress) {
  SocketNetwork own(runtime, {.source_address = "127.7.8.9"});
  const auto listener = own.listen({"", 0});
  EXPECT_EQ(listener->endpoint().host, "127.7.8.9");
  EXPECT_EQ(network.connect(listener->endpoint(), soon()).status, IoStatus::ok);
  const Endpoint elsewhere{"127.0.0.1", listener->endpoint().port};
  EXPECT_NE(network.connect(elsewhere, soon()).status, IoStatus::ok);
}

// The application goes another way to a name that no resolver knows.
TEST_F(Sockets, AnApplicationMayMakeTheConnections) {
  const auto listener = network.listen({"127.0.0.1", 0});
  Endpoint asked;
  SocketNetwork own(runtime, {.connector = [&](const Endpoint& to, MonotonicTime) {
                      asked = to;
                      if (to.port == 2) {
                        errno = ECONNREFUSED;
                        return -1;
                      }
                      const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
                      sockaddr_in at{};
                      at.sin_family = AF_INET;
                      at.sin_port = htons(listener->endpoint().port);
                      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
                      EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
                      return fd;
                    }});
  const Connected out = own.connect({"behind.a.tunnel", 1}, soon());
  ASSERT_EQ(out.status, IoStatus::ok);
  EXPECT_EQ(asked, (Endpoint{"behind.a.tunnel", 1}));
  EXPECT_EQ(out.stream->peer(), asked);
  const Connected in = listener->accept(soon());
  EXPECT_EQ(out.stream->local(), in.stream->peer());
  EXPECT_TRUE(out.stream->write("hello", soon()).ok());
  EXPECT_EQ(read(*in.stream), "hello");
  // The descriptor was a blocking one: a read that nobody answers ends all the same.
  char buffer[1];
  EXPECT_EQ(out.stream->read(buffer, runtime.now() + 1ms).status, IoStatus::timed_out);
  const Connected none = own.connect({"behind.a.tunnel", 2}, soon());
  EXPECT_EQ(none.status, IoStatus::refused);
  EXPECT_NE(none.why, "");
}

TEST_F(Sockets, AForeignSourceAddressIsUnreachable) {
  SocketNetwork foreign(runtime, {.source_address = "192.0.2.1"});  // reserved for documentation: not ours
  const auto listener = network.listen({"127.0.0.1", 0});
  EXPECT_EQ(foreign.connect(listener->endpoint(), soon()).status, IoStatus::unreachable);
  EXPECT_THROW(foreign.listen({"", 0}), std::system_error);
}

TEST_F(Sockets, HostNamesAreResolved) {
  addrinfo* known = nullptr;
  if (::getaddrinfo("localhost", nullptr, nullptr, &known) != 0) {
    GTEST_SKIP() << "this machine does not know the name localhost (no /etc/hosts)";
  }
  ::freeaddrinfo(known);
  const auto listener = network.listen({"localhost", 0});
  EXPECT_EQ(network.connect({"localhost", listener->endpoint().port}, soon()).status, IoStatus::ok);
  EXPECT_EQ(network.connect({"no-such-host.invalid", 1}, soon()).status, IoStatus::unreachable);
}

// To tell an application that it has a wrong address, for good, needs better reasons.
TEST_F(Sockets, WhatMayPassIsNoWrongAddress) {
  said() = {{"wrong", {.error = EAI_NONAME}}, {"later", {.error = EAI_AGAIN}}};
  EXPECT_EQ(network.connect({"wrong", 1}, soon()).status, IoStatus::unreachable);
  const Connected later = network.connect({"later", 1}, soon());
  EXPECT_EQ(later.status, IoStatus::timed_out);
  EXPECT_NE(later.why.find("looking up its name"), std::string::npos) << later.why;
  said().clear();

  const auto listener = network.listen({"127.0.0.1", 0});
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Connected full = network.connect(listener->endpoint(), soon());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(full.status, IoStatus::timed_out);
  EXPECT_NE(full.why.find("for want of a socket"), std::string::npos) << full.why;
  EXPECT_EQ(network.connect(listener->endpoint(), soon()).status, IoStatus::ok);
}

TEST_F(Sockets, AnAddressOfAnUnknownKindIsPassedOver) {
  const auto listener = network.listen({"127.0.0.1", 0});
  said() = {{"two", {.addresses = {{"127.0.0.2", 1}, listener->endpoint()}, .strange = true}},
            {"one", {.addresses = {{"127.0.0.2", 1}}, .strange = true}}};
  EXPECT_EQ(network.connect({"two", 1}, soon()).status, IoStatus::ok);
  EXPECT_EQ(network.connect({"one", 1}, soon()).status, IoStatus::unreachable);
  said().clear();
}

// The first address swallows what is sent there: its listener's queue is full.
TEST_F(Sockets, ASilentAddressLeavesTimeForTheNext) {
  SocketNetwork narrow(runtime, {.backlog = 1});
  const auto silent = narrow.listen({"127.0.0.1", 0}), good = network.listen({"127.0.0.1", 0});
  std::vector<std::unique_ptr<Stream>> queued;
  for (IoStatus status = IoStatus::ok; status == IoStatus::ok && queued.size() < 100;) {
    Connected one = network.connect(silent->endpoint(), runtime.now() + 20ms);
    status = one.status;
    queued.push_back(std::move(one.stream));
  }
  said() = {{"two", {.addresses = {silent->endpoint(), good->endpoint()}}}};
  const Connected two = network.connect({"two", 1}, runtime.now() + 400ms);
  said() = {{"none", {.addresses = {silent->endpoint(), {"127.0.0.1", 1}}}}};
  EXPECT_EQ(network.connect({"none", 1}, runtime.now() + 100ms).status, IoStatus::timed_out)
      << "though the second one refuses";
  said().clear();
  ASSERT_EQ(two.status, IoStatus::ok);
  EXPECT_EQ(two.stream->peer(), good->endpoint());
}

TEST_F(Sockets, UnixSockets) {
  const Folder folder;
  const Endpoint at{folder / "socket", 0};
  EXPECT_EQ(network.connect(at, soon()).status, IoStatus::refused);  // no such file
  {
    const auto [here, there] = connect(network, at);
    here->write("hello", soon());
    EXPECT_EQ(read(*there), "hello");
    EXPECT_EQ(here->peer(), at);
    here->close();
    EXPECT_EQ(read(*there), to_string(IoStatus::eof));
  }
  EXPECT_FALSE(std::filesystem::exists(at.host));  // taken away with its listener
  EXPECT_THROW(network.listen({folder / std::string(200, 'x'), 0}),
               std::system_error);  // longer than sun_path
  EXPECT_NE(network.connect({folder / std::string(200, 'x'), 0}, soon()).status, IoStatus::ok);
}

// connect(2) of a non-blocking unix socket says EAGAIN then, and the socket counts as writable all the same.
TEST_F(Sockets, AFullQueueOfAUnixListenerIsWaitedFor) {
  const Folder folder;
  SocketNetwork narrow(runtime, {.backlog = 1});
  const auto listener = narrow.listen({folder / "socket", 0});
  std::vector<std::unique_ptr<Stream>> queued;
  for (;;) {
    Connected one = network.connect(listener->endpoint(), runtime.now() + 20ms);
    if (one.status == IoStatus::timed_out) break;
    ASSERT_EQ(one.status, IoStatus::ok);
    ASSERT_LT(queued.size(), 100u);
    queued.push_back(std::move(one.stream));
  }
  const Task acceptor = runtime.spawn("acceptor", [&] {
    for (std::size_t i = 0; i <= queued.size(); ++i) EXPECT_EQ(listener->accept(soon()).status, IoStatus::ok);
  });
  EXPECT_EQ(network.connect(listener->endpoint(), soon()).status, IoStatus::ok);
}

// A TCP listener whose queue is full drops what comes.
TEST_F(Sockets, ConnectHasADeadline) {
  SocketNetwork narrow(runtime, {.backlog = 1});
  const auto listener = narrow.listen({"127.0.0.1", 0});
  std::vector<std::unique_ptr<Stream>> queued;
  IoStatus status = IoStatus::ok;
  while (status == IoStatus::ok && queued.size() < 100) {
    Connected one = network.connect(listener->endpoint(), runtime.now() + 20ms);
    status = one.status;
    queued.push_back(std::move(one.stream));
  }
  EXPECT_EQ(status, IoStatus::timed_out);
}

// Whoever tries again and again to reach a port that nobody listens at is given that very port by the system
// one day, and would talk to itself.
TEST_F(Sockets, NobodyConnectsToItself) {
  int low = 0, high = 0;
  if (FILE* range = std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "r")) {
    if (std::fscanf(range, "%d %d", &low, &high) != 2) low = high = 0;
    std::fclose(range);
  }
  // An address of our own, so that few ports are taken; the system walks through the range in steps.
  SocketNetwork own(runtime, {.source_address = "127.91.92.93"});
  const Endpoint target{"127.91.92.93", static_cast<std::uint16_t>(low == 0 ? 40000 : low + 2)};
  int tried = 0;
  for (; tried < high - low; ++tried) {
    const Connected out = own.connect(target, soon());
    ASSERT_EQ(out.status, IoStatus::refused) << "after " << tried << " others";
  }
}

TEST_F(Sockets, ABrokenConnectionRaisesNoSignal) {
  const auto [here, there] = connect(network, {"127.0.0.1", 0});
  there->reset();
  IoResult result;
  for (int i = 0; i < 3; ++i) result = here->write("x", soon());
  EXPECT_EQ(result.status, IoStatus::reset);
}

// The descriptor whose ends are those of `stream`; -1: none.
int descriptor_of(const Stream& stream) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    sockaddr_in here{}, there{};
    socklen_t length = sizeof here;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&here), &length) != 0 || here.sin_family != AF_INET)
      continue;
    length = sizeof there;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&there), &length) != 0) continue;
    if (ntohs(here.sin_port) == stream.local().port && ntohs(there.sin_port) == stream.peer().port) return fd;
  }
  return -1;
}

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

// Both ends are probed, from the time that the options say on, and three times; none of that on unix sockets.
TEST_F(Sockets, KeepAlive) {
  const int system_idle = [] {
    int seconds = 7200;
    if (FILE* setting = std::fopen("/proc/sys/net/ipv4/tcp_keepalive_time", "r")) {
      if (std::fscanf(setting, "%d", &seconds) != 1) seconds = 7200;
      std::fclose(setting);
    }
    return seconds;
  }();
  struct Case {
    Duration wanted;
    int idle, between;  // in seconds; between: 0, the system's
  };
  for (const Case& expected :
       {Case{SocketNetworkOptions{}.keep_alive, 15, 5}, Case{60s, 60, 20}, Case{2s, 2, 1}, Case{10ms, 1, 1},
        Case{24h, 32767, 10922}, Case{0s, system_idle, 0}}) {
    SocketNetwork probing(runtime, {.keep_alive = expected.wanted});
    const auto listener = probing.listen({"127.0.0.1", 0});
    const Connected out = probing.connect(listener->endpoint(), soon());
    const Connected in = listener->accept(soon());
    ASSERT_EQ(in.status, IoStatus::ok);
    for (const Stream* const end : {out.stream.get(), in.stream.get()}) {
      const int fd = descriptor_of(*end);
      ASSERT_GE(fd, 0);
      EXPECT_EQ(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1) << expected.idle;
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), expected.idle);
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
      if (expected.between == 0) continue;
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), expected.between);
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    }
  }
}

TEST_F(Sockets, DescriptorsAreNotInherited) {
  const auto listener = network.listen({"127.0.0.1", 0});
  const auto out = network.connect(listener->endpoint(), soon());
  const auto in = listener->accept(soon());
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    struct stat about {};
    if (fd <= 2 || fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode)) continue;
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || address.sin_family != AF_INET)
      continue;
    ++sockets;
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  }
  EXPECT_GE(sockets, 3);
}

}  // namespace
}  // namespace holdfast
