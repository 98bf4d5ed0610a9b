#include "lib/async/loop.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "lib/async/loop_network.h"
#include "lib/runtime/check.h"
#include "lib/runtime/fibers/event_loop.h"
#include "lib/runtime/fibers/fiber_runtime.h"
#include "lib/runtime/fibers/scheduler.h"
#include "lib/runtime/process_identity.h"
#include "lib/runtime/thread_runtime.h"

namespace holdfast::async {
namespace {

using fibers::EventLoop;

fibers::ProcessClock clock_of(const EventLoop& events) {
  const std::int64_t now = events.now();
  return {MonotonicTime(Duration(EventLoop::boot_ns() - now)),
          WallTime(Duration(EventLoop::wall_ns() - now))};
}

class LoopRuntime final : public fibers::FiberRuntime {
 public:
  using FiberRuntime::FiberRuntime;
  WallTime wall_now() const noexcept override {
    return WallTime(Duration(EventLoop::wall_ns()));
  }  // it may step
  Task spawn(std::string_view role, std::function<void()> body) override {
    return fibers::FiberRuntime::spawn(role, std::move(body));
  }
  std::uint64_t random() override { return system_.random(); }
  void renew_randomness() noexcept override { system_.renew_randomness(); }

 private:
  ThreadRuntime system_;  // for its random numbers alone
};

int make_eventfd() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return fd;
}

}  // namespace

// Anybody may run it, one thread at a time: its own thread, one in run(), or one that waits in call() while
// nobody else does. It lives as long as anything that was made on it.
class Loop::Core final : public Host {
 public:
  // `own_thread`: one is to come, by run_own().
  Core(std::size_t stack_bytes, bool own_thread)
      : clock_(clock_of(events_)),
        scheduler_(events_, stack_bytes),
        group_("application", clock_),
        runtime_(scheduler_, group_, &events_),
        network_(runtime_),
        wakeup_(make_eventfd()),
        driven_(own_thread) {
    scheduler_.spawn(group_, "mailbox", [this] { take_mail(); });
  }
  ~Core() override {
    if (forks_so_far() == made_at_fork_) {
      scheduler_.adopt_thread();
      group_.dead = true;
      scheduler_.kill(group_);  // the mailbox, and what background tasks there still are
    }
    ::close(wakeup_);
  }

  Network& network() noexcept { return network_; }
  bool forked() const noexcept { return forks_so_far() != made_at_fork_; }

  bool post(std::function<void()> work) noexcept override { return put({.work = std::move(work)}); }
  void tell(std::function<void()> word) noexcept override {
    if (is_here()) return word();
    put({.word = std::move(word)});
  }

  void call(const std::function<void()>& work) override {
    if (is_here()) return work();
    HF_CHECK(!forked(), "a loop of the parent is used in its child");
    Call mine{&work};
    std::unique_lock guard(mutex_);
    mail_.push_back({.call = &mine});
    notify();
    while (!mine.done) {
      if (driven_) {
        changed_.wait(guard);
      } else {
        drive(guard, mine.done);
      }
    }
    guard.unlock();
    if (mine.thrown) std::rethrow_exception(mine.thrown);
  }

  bool is_here() const noexcept override { return here == this; }
  Runtime& runtime() noexcept override { return runtime_; }
  std::stop_token ending() const noexcept override { return ending_.get_token(); }

  // Until stop().
  void run_own() {
    {
      const std::lock_guard guard(mutex_);
      driven_ = false;
    }
    run();
  }
  void run() {
    std::unique_lock guard(mutex_);
    while (!stopped_) {
      if (driven_) {
        changed_.wait(guard);
      } else {
        drive(guard, stopped_);
      }
    }
  }

  // By a task of the loop: closes it, later.
  void close() {
    if (std::exchange(closing_, true)) return;
    scheduler_.spawn(group_, "closer", [this] {
      ending_.request_stop();
      for (;;) {
        while (posted_ > 0) {  // posted work may post more
          waits_for_posted_ = &runtime_.parker();
          waits_for_posted_->park_until(kNever);
        }
        waits_for_posted_ = nullptr;
        {
          const std::lock_guard guard(mutex_);
          closed_ = mail_.empty();
        }
        if (closed_) break;
        runtime_.yield();
      }
      finish(stopped_);
    });
  }

 private:
  struct Call {
    const std::function<void()>* work;
    std::exception_ptr thrown = nullptr;
    bool done = false;  // under the mutex
  };
  struct Mail {  // one of them
    std::function<void()> work = nullptr, word = nullptr;
    Call* call = nullptr;
  };

  bool put(Mail mail) noexcept {
    if (forked()) return false;
    if (is_here() && !closed_) {
      start(std::move(mail));
      return true;
    }
    try {
      const std::lock_guard guard(mutex_);
      if (closed_) return false;
      mail_.push_back(std::move(mail));
      notify();
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  // Under the mutex.
  void notify() noexcept {
    if (std::exchange(notified_, true)) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wakeup_, &one, sizeof one);  // it holds 2^64 - 2 of them
  }

  // The task that starts what others post.
  void take_mail() {
    std::vector<Mail> mail;
    for (;;) {
      if (!runtime_.wait_fd(wakeup_, FdInterest::readable, kNever)) continue;
      {
        const std::lock_guard guard(mutex_);
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t got = ::read(wakeup_, &count, sizeof count);
        notified_ = false;
        mail.swap(mail_);
      }
      for (Mail& one : mail) start(std::move(one));
      mail.clear();
    }
  }

  void start(Mail mail) noexcept {
    if (mail.word) {
      mail.word();
    } else if (mail.call != nullptr) {
      start(*mail.call);
    } else {
      try {
        scheduler_.spawn(group_, "async", [this, work = std::move(mail.work)]() mutable {
          work();
          work = nullptr;  // what it holds goes before anybody takes it for done
          if (--posted_ == 0 && waits_for_posted_ != nullptr) waits_for_posted_->unpark();
        });
        ++posted_;
      } catch (const std::bad_alloc&) {  // no memory, or no more mappings: dropped
      }
    }
  }

  void start(Call& call) noexcept {
    try {
      scheduler_.spawn(group_, "caller", [this, &call] {
        try {
          (*call.work)();
        } catch (const TaskCancelled&) {
          throw;
        } catch (...) {
          call.thrown = std::current_exception();
        }
        finish(call.done);
      });
    } catch (const std::bad_alloc&) {
      call.thrown = std::current_exception();
      finish(call.done);
    }
  }

  // `flag` is what some thread waits for.
  void finish(bool& flag) {
    const std::lock_guard guard(mutex_);
    flag = true;
    changed_.notify_all();
    if (awaited_ == &flag) scheduler_.wake_main();
  }

  // Runs tasks on the calling thread until `flag`. `guard` is locked outside.
  void drive(std::unique_lock<std::mutex>& guard, const bool& flag) {
    driven_ = true;
    awaited_ = &flag;
    guard.unlock();
    const Core* const before = std::exchange(here, this);
    scheduler_.adopt_thread();
    HF_CHECK(scheduler_.run_until(flag), "the mailbox waits for ever");
    here = before;
    guard.lock();
    driven_ = false;
    awaited_ = nullptr;
    changed_.notify_all();
  }

  static thread_local const Core* here;  // whose tasks the calling thread runs

  const std::uint64_t made_at_fork_ = forks_so_far();
  EventLoop events_;
  fibers::ProcessClock clock_;
  fibers::Scheduler scheduler_;
  fibers::FiberGroup group_;
  LoopRuntime runtime_;
  LoopNetwork network_;
  const int wakeup_;
  std::stop_source ending_;

  // Of the tasks.
  std::size_t posted_ = 0;  // posted work that has not ended
  Parker* waits_for_posted_ = nullptr;
  bool closing_ = false;
  std::atomic<bool> closed_ = false;  // nothing is posted any more; set under the mutex

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Mail> mail_;
  bool notified_ = false;  // the mailbox has been told
  bool stopped_ = false;
  bool driven_;                    // by some thread
  const bool* awaited_ = nullptr;  // by that thread
};

thread_local const Loop::Core* Loop::Core::here = nullptr;

struct Loop::Thread {
  std::thread thread;
};

Loop::Loop(LoopOptions options)
    : core_(std::make_shared<Core>(options.stack_bytes, options.own_thread)),
      host_(core_),
      thread_(std::make_unique<Thread>()) {
  if (!options.own_thread) return;
  thread_->thread = std::thread([core = core_] {
    pthread_setname_np(pthread_self(), "holdfast-loop");
    core->run_own();
  });
}

Loop::~Loop() {
  if (core_->forked()) {  // the thread is the parent's, and what it was doing stands still
    new std::thread(std::move(thread_->thread));
    new std::shared_ptr<Core>(core_);
    return;
  }
  HF_CHECK(!core_->is_here(), "a loop is destroyed by a task of its own");
  stop();
  if (thread_->thread.joinable()) thread_->thread.join();
}

Runtime& Loop::runtime() noexcept { return core_->runtime(); }
Network& Loop::network() noexcept { return core_->network(); }

void Loop::run() {
  HF_CHECK(!thread_->thread.joinable(), "run() is for loops without a thread of their own");
  core_->run();
}

void Loop::stop() {
  core_->call([this] { core_->close(); });
  if (!core_->is_here()) core_->run();  // until it has stopped, whoever runs it
}

}  // namespace holdfast::async
