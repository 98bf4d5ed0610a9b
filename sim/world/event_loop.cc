#include "sim/world/event_loop.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "lib/runtime/check.h"

namespace holdfast::sim {
namespace {
std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}
}  // namespace

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), start_ns_(boot_ns()) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

EventLoop::~EventLoop() { ::close(epoll_); }

std::int64_t EventLoop::boot_ns() { return read_clock(CLOCK_BOOTTIME); }
std::int64_t EventLoop::wall_ns() { return read_clock(CLOCK_REALTIME); }
std::int64_t EventLoop::now_ns() const { return boot_ns() - start_ns_; }

bool EventLoop::pass_time(std::int64_t next_ns) {
  if (next_ns == INT64_MAX && waiting_.empty()) return false;
  constexpr std::int64_t kLongestNs = 1'000'000'000;  // signals and such are looked at once a second
  const std::int64_t left = next_ns == INT64_MAX ? kLongestNs : next_ns - now_ns();
  look(std::clamp<std::int64_t>(left, 0, kLongestNs));
  return true;
}

void EventLoop::watch(int fd, const Waiting& waiting) {
  epoll_event event{};
  event.events = EPOLLONESHOT;
  if (waiting.reader != nullptr) event.events |= EPOLLIN | EPOLLRDHUP;
  if (waiting.writer != nullptr) event.events |= EPOLLOUT;
  event.data.fd = fd;
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0) return;
  if (errno == ENOENT && epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) return;
  throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

bool EventLoop::wait_fd(Scheduler& scheduler, int fd, FdInterest interest, std::int64_t deadline_ns) {
  scheduler_ = &scheduler;
  Waiting& waiting = waiting_[fd];
  FiberTask*& place = interest == FdInterest::readable ? waiting.reader : waiting.writer;
  HF_CHECK(place == nullptr, "two tasks wait for the same descriptor");
  place = &scheduler.current();
  watch(fd, waiting);
  struct Leave {
    EventLoop& loop;
    int fd;
    FiberTask*& place;
    ~Leave() {
      place = nullptr;
      const auto found = loop.waiting_.find(fd);
      if (found->second.reader == nullptr && found->second.writer == nullptr) loop.waiting_.erase(found);
    }
  } leave{*this, fd, place};
  return scheduler.wait(deadline_ns);
}

void EventLoop::look(std::int64_t timeout_ns) {
  std::array<epoll_event, 256> events{};
  const int size = static_cast<int>(events.size());
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  int count = epoll_pwait2(epoll_, events.data(), size, &timeout, nullptr);
  if (count < 0 && errno == ENOSYS) {  // Linux before 5.11: whole milliseconds, rounded up
    count = epoll_wait(epoll_, events.data(), size, static_cast<int>((timeout_ns + 999'999) / 1'000'000));
  }
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto found = waiting_.find(event.data.fd);
    if (found == waiting_.end()) continue;  // nobody waits any more
    Waiting waiting = found->second;
    const bool broken = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    if (waiting.reader != nullptr && (broken || (event.events & (EPOLLIN | EPOLLRDHUP)) != 0)) {
      scheduler_->wake(*waiting.reader);
      waiting.reader = nullptr;
    }
    if (waiting.writer != nullptr && (broken || (event.events & EPOLLOUT) != 0)) {
      scheduler_->wake(*waiting.writer);
      waiting.writer = nullptr;
    }
    if (waiting.reader != nullptr || waiting.writer != nullptr)
      watch(event.data.fd, waiting);  // one-shot: again
  }
}

}  // namespace holdfast::sim
