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

std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), start_ns_(boot_ns()) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

EventLoop::~EventLoop() { ::close(epoll_); }

std::int64_t EventLoop::boot_ns() noexcept { return read_clock(CLOCK_BOOTTIME); }
std::int64_t EventLoop::wall_ns() noexcept { return read_clock(CLOCK_REALTIME); }
std::int64_t EventLoop::now() const noexcept { return boot_ns() - start_ns_; }

void EventLoop::fire_due(Scheduler& scheduler) {
  std::int64_t time = 0;
  std::uint64_t sequence = 0;
  const std::int64_t until = now();
  while (scheduler.next_timer(time, sequence) && time <= until) scheduler.fire_next_timer();
}

bool EventLoop::advance(Scheduler& scheduler) {
  constexpr std::int64_t kLongestNs = 1'000'000'000;
  std::int64_t time = 0;
  std::uint64_t sequence = 0;
  const bool timer = scheduler.next_timer(time, sequence);
  if (!timer && waiting_.empty()) return false;
  look(scheduler, timer ? std::clamp<std::int64_t>(time - now(), 0, kLongestNs) : kLongestNs);
  fire_due(scheduler);
  return true;
}

void EventLoop::poll(Scheduler& scheduler) {
  if (!waiting_.empty()) look(scheduler, 0);
  fire_due(scheduler);
}

bool EventLoop::watch(int fd, const Waiting& waiting) noexcept {
  epoll_event event{};
  event.events = EPOLLONESHOT;
  if (waiting.reader != nullptr && !waiting.read_ready) event.events |= EPOLLIN | EPOLLRDHUP;
  if (waiting.writer != nullptr && !waiting.write_ready) event.events |= EPOLLOUT;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0) return true;
  return errno == ENOENT && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool EventLoop::wait_fd(Scheduler& scheduler, const ProcessClock& clock, int fd, FdInterest interest,
                        MonotonicTime deadline) {
  const bool reads = interest == FdInterest::readable;
  const auto place = waiting_.try_emplace(fd).first;  // stays while somebody waits
  Waiting& waiting = place->second;
  Fiber*& fiber = reads ? waiting.reader : waiting.writer;
  bool& ready = reads ? waiting.read_ready : waiting.write_ready;
  HF_CHECK(fiber == nullptr, "two tasks wait for the same side of a descriptor");
  fiber = &scheduler.current();
  ready = false;
  if (watch(fd, waiting)) {
    scheduler.suspend(reads ? "a readable descriptor" : "a writable descriptor", clock, deadline);
  } else {
    ready = true;
  }
  const bool was_ready = ready;
  fiber = nullptr;
  ready = false;
  if (waiting.reader == nullptr && waiting.writer == nullptr) waiting_.erase(place);
  return was_ready;
}

void EventLoop::look(Scheduler& scheduler, std::int64_t timeout_ns) {
  std::array<epoll_event, 256> events;
  const int size = static_cast<int>(events.size());
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  int count = ::epoll_pwait2(epoll_, events.data(), size, &timeout, nullptr);
  if (count < 0 && errno == ENOSYS) {  // Linux before 5.11: whole milliseconds, rounded up
    count = ::epoll_wait(epoll_, events.data(), size, static_cast<int>((timeout_ns + 999'999) / 1'000'000));
  }
  for (int i = 0; i < count; ++i) {
    const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    const auto found = waiting_.find(fd);
    if (found == waiting_.end()) continue;  // nobody waits any more
    Waiting& waiting = found->second;
    const bool broken = (what & (EPOLLERR | EPOLLHUP)) != 0;
    if (waiting.reader != nullptr && (broken || (what & (EPOLLIN | EPOLLRDHUP)) != 0)) {
      waiting.read_ready = true;
      scheduler.wake(*waiting.reader);
    }
    if (waiting.writer != nullptr && (broken || (what & EPOLLOUT) != 0)) {
      waiting.write_ready = true;
      scheduler.wake(*waiting.writer);
    }
    const bool reader_waits = waiting.reader != nullptr && !waiting.read_ready;
    const bool writer_waits = waiting.writer != nullptr && !waiting.write_ready;
    if (reader_waits || writer_waits) watch(fd, waiting);  // one shot: again
  }
}

}  // namespace holdfast::sim
