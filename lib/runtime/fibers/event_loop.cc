#include "lib/runtime/fibers/event_loop.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "lib/runtime/check.h"

namespace holdfast::fibers {
namespace {

constexpr std::uint32_t kReads = EPOLLIN | EPOLLRDHUP;
constexpr std::uint32_t kWrites = EPOLLOUT;

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
  if (!scheduler.next_timer(time, sequence)) return;
  const std::int64_t until = now();
  while (scheduler.next_timer(time, sequence) && time <= until) scheduler.fire_next_timer();
}

bool EventLoop::advance(Scheduler& scheduler) {
  constexpr std::int64_t kLongestNs = 1'000'000'000;
  std::int64_t time = 0;
  std::uint64_t sequence = 0;
  const bool timer = scheduler.next_timer(time, sequence);
  if (!timer && waiting_ == 0) return false;
  look(scheduler, timer ? std::clamp<std::int64_t>(time - now(), 0, kLongestNs) : kLongestNs, true);
  fire_due(scheduler);
  return true;
}

void EventLoop::poll(Scheduler& scheduler) {
  if (waiting_ > 0) look(scheduler, 0, false);
  fire_due(scheduler);
}

// Arms at least `events`.
bool EventLoop::arm(int fd, Watched& watched, std::uint32_t events) noexcept {
  if (watched.known && (watched.armed & events) == events) return true;
  epoll_event event{};
  event.events = watched.armed | events;
  event.data.fd = fd;
  const bool changed = watched.known && ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0;
  if (!changed && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return false;
  watched.known = true;
  watched.armed = event.events;
  return true;
}

void EventLoop::disarm(int fd, Watched& watched, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = watched.armed & ~events;
  event.data.fd = fd;
  // Errors and hang-ups cannot be masked, so a descriptor that nobody waits for is removed.
  const bool keep = event.events != 0;
  ::epoll_ctl(epoll_, keep ? EPOLL_CTL_MOD : EPOLL_CTL_DEL, fd, &event);
  watched.known = keep;
  watched.armed = event.events;
}

void EventLoop::forget_fd(int fd) noexcept {
  const auto at = static_cast<std::size_t>(fd);
  if (fd < 0 || at >= watched_.size() || !watched_[at].known) return;
  disarm(fd, watched_[at],
         ~0U);  // closing would do it, unless a child process that was just forked holds a copy
}

bool EventLoop::wait_fd(Scheduler& scheduler, const ProcessClock& clock, int fd, FdInterest interest,
                        MonotonicTime deadline) {
  if (fd < 0) return true;
  const auto at = static_cast<std::size_t>(fd);
  if (at >= watched_.size()) watched_.resize(at + 1);
  const bool reads = interest == FdInterest::readable;
  {
    Watched& watched = watched_[at];
    Fiber*& fiber = reads ? watched.reader : watched.writer;
    HF_CHECK(fiber == nullptr, "two tasks wait for the same side of a descriptor");
    if (!arm(fd, watched, reads ? kReads : kWrites)) return true;
    fiber = &scheduler.current();
    (reads ? watched.read_ready : watched.write_ready) = false;
  }
  ++waiting_;
  scheduler.suspend(reads ? "a readable descriptor" : "a writable descriptor", clock, deadline);
  --waiting_;
  Watched& watched = watched_[at];  // may have moved
  (reads ? watched.reader : watched.writer) = nullptr;
  return std::exchange(reads ? watched.read_ready : watched.write_ready, false);
}

void EventLoop::look(Scheduler& scheduler, std::int64_t timeout_ns, bool idle) {
  std::array<epoll_event, 256> events;
  const int size = static_cast<int>(events.size());
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  int count = ::epoll_pwait2(epoll_, events.data(), size, &timeout, nullptr);
  // Linux before 5.11 does not know it, and a sandbox may forbid it: whole milliseconds, rounded up.
  if (count < 0 && errno != EINTR) {
    count = ::epoll_wait(epoll_, events.data(), size, static_cast<int>((timeout_ns + 999'999) / 1'000'000));
  }
  for (int i = 0; i < count; ++i) {
    const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    Watched& watched = watched_[static_cast<std::size_t>(fd)];
    const bool broken = (what & (EPOLLERR | EPOLLHUP)) != 0;
    std::uint32_t unwanted = 0;
    if (broken || (what & kReads) != 0) {
      if (watched.reader == nullptr || watched.read_ready) {
        unwanted |= kReads;
      } else {
        watched.read_ready = true;
        scheduler.wake(*watched.reader);
      }
    }
    if (broken || (what & kWrites) != 0) {
      if (watched.writer == nullptr || watched.write_ready) {
        unwanted |= kWrites;
      } else {
        watched.write_ready = true;
        scheduler.wake(*watched.writer);
      }
    }
    // Not while other tasks run: the waiting task may only not have had its turn yet.
    if (idle && (watched.armed & unwanted) != 0) disarm(fd, watched, unwanted);
  }
}

}  // namespace holdfast::fibers
