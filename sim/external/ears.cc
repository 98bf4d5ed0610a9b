#include "sim/external/ears.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace holdfast::sim {

Ear::Ear(int fd) : fd_(fd) {}
Ear::~Ear() { ::close(fd_); }

// Until it is empty. Whether there was something, its end included.
bool Ear::drain(const World& world, std::span<char> chunk) {
  std::uint64_t got = 0;
  while (!at_end_ && got < Ears::kFlood) {
    const std::int64_t before = world.now_ns();
    const ssize_t size = ::read(fd_, chunk.data(), chunk.size());
    if (size > 0) {
      fresh_.append(chunk.data(), static_cast<std::size_t>(size));
      got += static_cast<std::uint64_t>(size);
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      at_end_ = true;
      return true;
    } else if (errno == EAGAIN) {
      silent_ns_ = before;
      break;
    }
  }
  bytes_ += got;
  return got > 0;
}

Ears::Ears(World& world, std::function<void()> looked)
    : world_(world), looked_(std::move(looked)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

Ears::~Ears() {
  world_.harness().runtime().forget_fd(epoll_);
  ::close(epoll_);
}

std::shared_ptr<Ear> Ears::open(int fd) {
  auto ear = std::make_shared<Ear>(fd);
  ear->silent_ns_ = ear->not_before_ns_ = world_.now_ns();
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  ears_.push_back(ear);
  return ear;
}

void Ears::close(const std::shared_ptr<Ear>& ear) {
  if (std::erase(ears_, ear) > 0 && !ear->at_end_) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, ear->fd_, nullptr);
}

void Ears::wait() {
  Runtime& runtime = world_.harness().runtime();
  runtime.wait_fd(epoll_, FdInterest::readable, deadline_after(runtime.now(), kTick));
}

void Ears::listen() {
  std::vector<std::int64_t> silent;
  for (const auto& ear : ears_) silent.push_back(ear->silent_ns_);
  std::uint64_t got = 0;
  for (bool any = true; any && got < kFlood;) {
    any = false;
    for (const auto& ear : ears_) {
      if (ear->at_end_) continue;
      const std::uint64_t before = ear->bytes_;
      any |= ear->drain(world_, chunk_);
      got += ear->bytes_ - before;
      if (looked_) looked_();
      if (ear->at_end_) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, ear->fd_, nullptr);
    }
  }
  heard_ns_ = world_.now_ns();
  for (std::size_t i = 0; i < ears_.size(); ++i) ears_[i]->not_before_ns_ = silent[i];
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  ::fcntl(ends[0], F_SETFL, ::fcntl(ends[0], F_GETFL) | O_NONBLOCK);
  return {.read = ends[0], .write = ends[1]};
}

void close_fd(int& fd) noexcept {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace holdfast::sim
