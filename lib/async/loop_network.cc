#include "lib/async/loop_network.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::async {
namespace {

bool is_name(const Endpoint& to) {
  if (to.host.empty() || to.port == 0) return false;  // a path, or this machine
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, to.host.c_str(), address.data()) != 1 &&
         ::inet_pton(AF_INET6, to.host.c_str(), address.data()) != 1 && !to.host.starts_with('/');
}

// Shared with the thread, which may outlast who asked.
struct LookUp {
  explicit LookUp(std::string its_name) : name(std::move(its_name)), done(::eventfd(0, EFD_CLOEXEC)) {}
  ~LookUp() {
    if (done >= 0) ::close(done);
  }
  const std::string name;
  const int done;
  std::vector<std::string> found;  // once `ready`
  std::exception_ptr problem;      // likewise
  std::atomic<bool> ready = false;
};

// nullopt: not until the deadline.
std::optional<std::vector<std::string>> look_up(Runtime& runtime, Resolver resolver, const std::string& name,
                                                MonotonicTime deadline) {
  const auto asked = std::make_shared<LookUp>(name);
  try {
    if (asked->done < 0) return resolver(name);
    std::thread([asked, resolver] {
      try {
        asked->found = resolver(asked->name);
      } catch (const std::exception&) {
        asked->problem = std::current_exception();
      }
      asked->ready.store(true, std::memory_order_release);
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = ::write(asked->done, &one, sizeof one);
    }).detach();
  } catch (const std::system_error&) {  // no thread: then here
    return resolver(name);
  }
  struct Forget {
    Runtime& runtime;
    int fd;
    ~Forget() { runtime.forget_fd(fd); }
  } forget{runtime, asked->done};
  while (!asked->ready.load(std::memory_order_acquire)) {
    if (!runtime.wait_fd(asked->done, FdInterest::readable, deadline)) return std::nullopt;
  }
  if (asked->problem) std::rethrow_exception(asked->problem);
  return asked->found;
}

}  // namespace

std::vector<std::string> system_resolver(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (error == EAI_AGAIN || error == EAI_MEMORY || error == EAI_SYSTEM)
    throw std::runtime_error("looking up its name (" + std::string(::gai_strerror(error)) + ")");
  if (error != 0) return {};
  std::vector<std::string> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) ==
        0)
      addresses.emplace_back(text.data());
  }
  ::freeaddrinfo(found);
  return addresses;
}

Connected LoopNetwork::connect(const Endpoint& to, MonotonicTime deadline) {
  if (!is_name(to)) return sockets_.connect(to, deadline);
  std::optional<std::vector<std::string>> addresses;
  try {
    addresses = look_up(runtime_, resolver_, to.host, deadline);
  } catch (const std::exception& not_now) {
    return {IoStatus::timed_out, nullptr, not_now.what()};
  }
  if (!addresses) return {IoStatus::timed_out, nullptr};
  Connected last{IoStatus::unreachable, nullptr}, passing;  // if one may answer later, so may the name
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    // One that is silent leaves as much time to each of the others.
    const MonotonicTime now = runtime_.now();
    const auto left = static_cast<Duration::rep>(addresses->size() - i);
    last = sockets_.connect({(*addresses)[i], to.port}, left > 1 ? now + (deadline - now) / left : deadline);
    if (last.status == IoStatus::ok || runtime_.now() >= deadline) return last;
    if (last.status == IoStatus::timed_out) passing = std::move(last);
  }
  return passing.status == IoStatus::timed_out ? std::move(passing) : std::move(last);
}

}  // namespace holdfast::async
