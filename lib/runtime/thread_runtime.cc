#include "lib/runtime/thread_runtime.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "lib/runtime/check.h"
#include "lib/runtime/process_identity.h"
#include "lib/runtime/yield_budget.h"

namespace holdfast {
namespace {

std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The condition variables of the standard library wait on CLOCK_MONOTONIC, which stands still in a suspend; a
// long wait is therefore cut into pieces, after each of which the runtime's own clock is asked again.
constexpr Duration kLongestWait = std::chrono::seconds(10);

// One futex word, so that a wake-up of a running thread costs no system call, and one of a sleeping thread
// just one. unpark() touches the parker last with its exchange: its owner may be gone when the kernel is
// asked to wake.
class ThreadParker final : public Parker {
 public:
  explicit ThreadParker(const Runtime& runtime) : runtime_(runtime) {}

  bool park_until(MonotonicTime deadline) override {
    if (word_.exchange(kEmpty, std::memory_order_acquire) == kPermit) return true;
    MonotonicTime now = runtime_.now();
    if (now < deadline && budget_.worth_a_try()) now = yield_awhile(now, deadline);
    for (;; now = runtime_.now()) {
      if (now >= deadline || word_.load(std::memory_order_relaxed) == kPermit) {
        return word_.exchange(kEmpty, std::memory_order_acquire) == kPermit;
      }
      std::int32_t expected = kEmpty;
      if (word_.compare_exchange_strong(expected, kAsleep, std::memory_order_acquire)) {
        const std::int64_t ns = std::min(kLongestWait, Duration(deadline - now)).count();
        const timespec wait{ns / 1'000'000'000, ns % 1'000'000'000};
        syscall(SYS_futex, reinterpret_cast<std::int32_t*>(&word_), FUTEX_WAIT_PRIVATE, kAsleep, &wait,
                nullptr, 0);
      }
      if (word_.exchange(kEmpty, std::memory_order_acquire) == kPermit) return true;
    }
  }

  void unpark() noexcept override {
    std::int32_t* const address = reinterpret_cast<std::int32_t*>(&word_);
    if (word_.exchange(kPermit, std::memory_order_release) == kAsleep) {
      syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }

 private:
  // Lets others run until the permit comes, a few times at most (YieldBudget says why). Returns the time.
  MonotonicTime yield_awhile(MonotonicTime now, MonotonicTime deadline) {
    bool came = false, slow = false;
    for (int i = 0; i < YieldBudget::kYields && !came && !slow && now < deadline; ++i) {
      std::this_thread::yield();
      const MonotonicTime later = runtime_.now();
      slow = later - now >= YieldBudget::kSlow;
      now = later;
      came = word_.load(std::memory_order_relaxed) == kPermit;
    }
    budget_.tried(came, slow);
    return now;
  }

  static constexpr std::int32_t kEmpty = 0, kPermit = 1, kAsleep = 2;
  static_assert(sizeof(std::atomic<std::int32_t>) == sizeof(std::int32_t));
  const Runtime& runtime_;
  std::atomic<std::int32_t> word_{kEmpty};
  YieldBudget budget_;  // the owner's
};

// A runtime for what lives as long as its thread, whichever ThreadRuntime object it goes through.
const ThreadRuntime& clock_source() {
  static const ThreadRuntime runtime;
  return runtime;
}

struct ThreadState {
  TaskId id;
  ThreadParker parker{clock_source()};
  std::map<const void*, std::any> slots;  // looked up only
  std::array<std::uint64_t, 32> random{};
  std::size_t random_left = 0;
  std::uint64_t random_drawn_at = 0;  // forks_so_far(): a child does not use what its parent drew

  ThreadState() {
    static std::atomic<TaskId> next{1};
    id = next.fetch_add(1, std::memory_order_relaxed);
  }
};

ThreadState& state() {
  thread_local ThreadState state;
  return state;
}

// What a fork has left behind of a thread, a mutex or a condition can be neither waited for nor destroyed.
class MadeIn {
 public:
  bool another() const { return forks_so_far() != forks_; }  // this process is a fork of that one

 private:
  std::uint64_t forks_ = forks_so_far();
};

class ThreadTask final : public Task::Impl {
 public:
  ThreadTask(std::string role, std::function<void()> body)
      : finished_(std::make_shared<std::atomic<bool>>(false)),
        thread_([finished = finished_, role = std::move(role), body = std::move(body)] {
          pthread_setname_np(pthread_self(), role.substr(0, 15).c_str());  // the kernel keeps 15 characters
          try {
            body();
          } catch (const TaskCancelled&) {
          }
          finished->store(true, std::memory_order_release);
        }) {}
  ~ThreadTask() override {
    if (thread_.joinable()) join();
  }
  void join() override {
    if (made_in_.another()) {
      new std::thread(std::move(thread_));  // of the parent's: here nothing runs that could be waited for
    } else if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();  // it is about to end by itself
    } else {
      thread_.join();
    }
  }
  bool finished() const noexcept override { return finished_->load(std::memory_order_acquire); }

 private:
  std::shared_ptr<std::atomic<bool>> finished_;
  const MadeIn made_in_;
  std::thread thread_;
};

class ThreadMutex final : public Runtime::MutexImpl {
 public:
  void lock() override {
    if (made_in.another()) {
      static_cast<void>(mutex.try_lock());  // its owner may be a thread that does not exist here
    } else {
      mutex.lock();
    }
  }
  bool try_lock() override { return mutex.try_lock(); }
  void unlock() noexcept override { mutex.unlock(); }
  const MadeIn made_in;
  std::mutex mutex;
};

class ThreadCondition final : public Runtime::ConditionImpl {
 public:
  ~ThreadCondition() override {
    if (made_in_.another()) static_cast<void>(condition_.release());  // the parent's threads wait for it
  }
  std::cv_status wait_until(Runtime::MutexImpl& held, MonotonicTime deadline) override {
    std::unique_lock lock(static_cast<ThreadMutex&>(held).mutex, std::adopt_lock);
    const MonotonicTime now = clock_source().now();
    if (now >= deadline) {
      lock.release();
      return std::cv_status::timeout;
    }
    condition_->wait_for(
        lock, std::min(kLongestWait, Duration(deadline - now)));  // an early return is spurious: allowed
    lock.release();
    return clock_source().now() >= deadline ? std::cv_status::timeout : std::cv_status::no_timeout;
  }
  void notify_one() noexcept override { condition_->notify_one(); }
  void notify_all() noexcept override { condition_->notify_all(); }

 private:
  const MadeIn made_in_;
  std::unique_ptr<std::condition_variable> condition_ = std::make_unique<std::condition_variable>();
};

}  // namespace

MonotonicTime ThreadRuntime::now() const noexcept {
  return MonotonicTime(Duration(read_clock(CLOCK_BOOTTIME)));
}

WallTime ThreadRuntime::wall_now() const noexcept { return WallTime(Duration(read_clock(CLOCK_REALTIME))); }

Task ThreadRuntime::spawn(std::string_view role, std::function<void()> body) {
  return Task(std::make_unique<ThreadTask>(std::string(role), std::move(body)));
}

TaskId ThreadRuntime::task_id() const noexcept { return state().id; }

Parker& ThreadRuntime::parker() noexcept { return state().parker; }

std::any& ThreadRuntime::task_local_slot(const void* key) { return state().slots[key]; }

void ThreadRuntime::sleep_until(MonotonicTime deadline) {
  for (MonotonicTime t = now(); t < deadline; t = now()) {
    std::this_thread::sleep_for(std::min(kLongestWait, Duration(deadline - t)));
  }
}

void ThreadRuntime::yield() { std::this_thread::yield(); }

// Process and time go in as well: copies of a whole machine may share the state of the kernel's generator.
std::uint64_t ThreadRuntime::random() {
  ThreadState& mine = state();
  const std::uint64_t forks = forks_so_far();
  if (mine.random_left == 0 || mine.random_drawn_at != forks) {
    std::size_t have = 0;
    while (have < sizeof mine.random) {
      char* into = reinterpret_cast<char*>(mine.random.data()) + have;
      const ssize_t got = getrandom(into, sizeof mine.random - have, 0);
      HF_CHECK(got >= 0 || errno == EINTR, "getrandom() cannot fail once the system has booted");
      if (got > 0) have += static_cast<std::size_t>(got);
    }
    std::uint64_t place_and_time = static_cast<std::uint64_t>(getpid()) << 32;
    place_and_time ^= static_cast<std::uint64_t>(read_clock(CLOCK_REALTIME)) * 0x9e3779b97f4a7c15;
    place_and_time ^= static_cast<std::uint64_t>(read_clock(CLOCK_BOOTTIME)) * 0xbf58476d1ce4e5b9;
    for (std::uint64_t& word : mine.random) {
      place_and_time = place_and_time * 6364136223846793005 + 1442695040888963407;
      word ^= place_and_time;
    }
    mine.random_left = mine.random.size();
    mine.random_drawn_at = forks;
  }
  return std::exchange(mine.random[--mine.random_left], 0);  // who copies the memory finds no used one
}

void ThreadRuntime::renew_randomness() noexcept {
  state().random.fill(0);
  state().random_left = 0;
}

bool ThreadRuntime::wait_fd(int fd, FdInterest interest, MonotonicTime deadline) {
  pollfd poll{fd, static_cast<short>(interest == FdInterest::readable ? POLLIN : POLLOUT), 0};
  for (;;) {
    const MonotonicTime t = now();
    const Duration left = deadline > t ? std::min(kLongestWait, Duration(deadline - t)) : Duration{};
    const std::int64_t ns = left.count();
    const timespec wait{ns / 1'000'000'000, ns % 1'000'000'000};
    const int ready = ppoll(&poll, 1, &wait, nullptr);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the next call on the descriptor tells
    if (now() >= deadline) return false;
  }
}

std::unique_ptr<Runtime::MutexImpl> ThreadRuntime::make_mutex() { return std::make_unique<ThreadMutex>(); }

std::unique_ptr<Runtime::ConditionImpl> ThreadRuntime::make_condition() {
  return std::make_unique<ThreadCondition>();
}

}  // namespace holdfast
