#include "sim/world/process.h"

#include <deque>
#include <exception>

#include "lib/runtime/check.h"

namespace holdfast::sim {
namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t kMillion = 1'000'000;

class FiberTaskHandle final : public Task::Impl {
 public:
  FiberTaskHandle(Scheduler& scheduler, std::shared_ptr<FiberTask> task)
      : scheduler_(scheduler), task_(std::move(task)) {}
  void join() override {
    FiberTask* self = scheduler_.current_or_null();
    if (self == nullptr) return;  // after the world's end: all tasks are over
    while (task_->state != FiberTask::State::done) {
      Queued queued(task_->joiners, *self);
      scheduler_.wait_for_end();
    }
    if (self->process.dead() && std::uncaught_exceptions() == 0) throw TaskCancelled();
  }
  bool finished() const noexcept override { return task_->state == FiberTask::State::done; }

 private:
  Scheduler& scheduler_;
  std::shared_ptr<FiberTask> task_;
};

// Handed over from owner to the first waiter. In a dead process it excludes nobody any more.
class FiberMutex final : public Runtime::MutexImpl {
 public:
  explicit FiberMutex(ProcessImpl& process) : process_(process) {}

  void lock() override {
    Scheduler& scheduler = process_.scheduler();
    FiberTask* self = scheduler.current_or_null();
    if (self == nullptr || process_.dead()) {
      if (self != nullptr && self->process.dead() && std::uncaught_exceptions() == 0) throw TaskCancelled();
      return;
    }
    HF_CHECK(owner_ != self, "a mutex is not reentrant");
    if (owner_ == nullptr) {
      owner_ = self;
      return;
    }
    Queued queued(waiters_, *self);
    while (!queued.waiter.granted) {
      scheduler.wait(INT64_MAX);
      if (process_.dead()) return;  // unwinding
    }
  }

  bool try_lock() override {
    FiberTask* self = process_.scheduler().current_or_null();
    if (self == nullptr || process_.dead()) return true;
    if (owner_ != nullptr) return false;
    owner_ = self;
    return true;
  }

  void unlock() noexcept override {
    if (process_.dead() || process_.scheduler().current_or_null() == nullptr) return;
    owner_ = nullptr;
    if (TaskWaiter* waiter = waiters_.pop_front()) {
      waiter->granted = true;
      owner_ = waiter->task;
      process_.scheduler().wake(*waiter->task);
    }
  }

 private:
  ProcessImpl& process_;
  FiberTask* owner_ = nullptr;
  LinkedList<TaskWaiter> waiters_;
};

class FiberCondition final : public Runtime::ConditionImpl {
 public:
  explicit FiberCondition(ProcessImpl& process) : process_(process) {}

  std::cv_status wait_until(Runtime::MutexImpl& held, MonotonicTime deadline) override {
    Scheduler& scheduler = process_.scheduler();
    const std::int64_t deadline_ns = process_.to_world(deadline);
    bool notified = false;
    {
      Queued queued(waiters_, scheduler.current());
      held.unlock();
      while (!queued.waiter.granted && scheduler.wait(deadline_ns)) {
      }
      notified = queued.waiter.granted;
    }
    held.lock();
    return notified ? std::cv_status::no_timeout : std::cv_status::timeout;
  }

  void notify_one() noexcept override {
    if (TaskWaiter* waiter = waiters_.pop_front()) {
      waiter->granted = true;
      process_.scheduler().wake(*waiter->task);
    }
  }
  void notify_all() noexcept override {
    while (!waiters_.empty()) notify_one();
  }

 private:
  ProcessImpl& process_;
  LinkedList<TaskWaiter> waiters_;
};

}  // namespace

ProcessImpl::ProcessImpl(Scheduler& scheduler, ProcessSetup setup)
    : scheduler_(scheduler),
      setup_(std::move(setup)),
      base_monotonic_ns_(setup_.monotonic_origin_ns),
      wall_offset_ns_(setup_.wall_origin_ns - setup_.monotonic_origin_ns) {}

ProcessImpl::~ProcessImpl() = default;

void ProcessImpl::start(std::string_view role, std::function<void()> body) {
  HF_CHECK(!dead_, "a task for a dead process");
  scheduler_.spawn(*this, std::string(role), std::move(body));
}

void ProcessImpl::pause() { ++pauses_; }

void ProcessImpl::resume() {
  HF_CHECK(pauses_ > 0, "resumed more often than paused");
  if (--pauses_ == 0) scheduler_.release_held(*this);
}

void ProcessImpl::pause_role(std::string_view role) { ++paused_roles_[std::string(role)]; }

void ProcessImpl::resume_role(std::string_view role) {
  const auto found = paused_roles_.find(role);
  HF_CHECK(found != paused_roles_.end(), "resumed more often than paused");
  if (--found->second > 0) return;
  paused_roles_.erase(found);
  scheduler_.release_held(*this);
}

void ProcessImpl::crash() {
  if (dead_) return;
  dead_ = true;
  if (setup_.on_crash) setup_.on_crash(*this);
  scheduler_.end_waits(*this);
}

void ProcessImpl::step_wall(Duration by) { wall_offset_ns_ += by.count(); }

void ProcessImpl::set_drift(std::int64_t ppm) {
  HF_CHECK(setup_.may_drift, "clocks of the real world cannot be made to drift");
  base_monotonic_ns_ = monotonic_ns();
  base_world_ns_ = scheduler_.now_ns();
  ppm_ = ppm;
}

std::int64_t ProcessImpl::monotonic_ns() const {
  const std::int64_t passed = scheduler_.now_ns() - base_world_ns_;
  if (ppm_ == 0) return base_monotonic_ns_ + passed;
  return base_monotonic_ns_ + static_cast<std::int64_t>(Wide{passed} * (kMillion + ppm_) / kMillion);
}

std::int64_t ProcessImpl::to_world(MonotonicTime time) const {
  if (time == kNever) return INT64_MAX;
  const std::int64_t shown = time.time_since_epoch().count();
  const Wide ahead = Wide{shown} - base_monotonic_ns_;
  Wide world = base_world_ns_ + ahead;
  if (ppm_ != 0) {
    // Rounded up: at that moment the clock has reached `time`.
    const Wide rate = kMillion + ppm_;
    const Wide scaled = ahead * kMillion;
    world = base_world_ns_ + (scaled >= 0 ? (scaled + rate - 1) / rate : scaled / rate);
  }
  if (world >= INT64_MAX) return INT64_MAX;
  if (world <= INT64_MIN) return INT64_MIN + 1;
  return static_cast<std::int64_t>(world);
}

MonotonicTime ProcessImpl::now() const noexcept { return MonotonicTime(Duration(monotonic_ns())); }

WallTime ProcessImpl::wall_now() const noexcept {
  return WallTime(Duration(monotonic_ns() + wall_offset_ns_));
}

Task ProcessImpl::spawn(std::string_view role, std::function<void()> body) {
  if (dead_) {
    if (std::uncaught_exceptions() == 0) throw TaskCancelled();
    return Task();
  }
  return Task(std::make_unique<FiberTaskHandle>(scheduler_,
                                                scheduler_.spawn(*this, std::string(role), std::move(body))));
}

TaskId ProcessImpl::task_id() const noexcept {
  const FiberTask* task = scheduler_.current_or_null();
  return task == nullptr ? TaskId{UINT64_MAX} : task->id;
}

Parker& ProcessImpl::parker() noexcept { return scheduler_.current(); }

std::any& ProcessImpl::task_local_slot(const void* key) { return scheduler_.current().slots[key]; }

void ProcessImpl::sleep_until(MonotonicTime deadline) {
  const std::int64_t deadline_ns = to_world(deadline);
  while (scheduler_.wait(deadline_ns)) {
  }
}

void ProcessImpl::yield() { scheduler_.yield(); }

bool ProcessImpl::wait_fd(int fd, FdInterest interest, MonotonicTime deadline) {
  HF_CHECK(setup_.wait_fd != nullptr, "the embedded world has no file descriptors");
  return setup_.wait_fd(fd, interest, to_world(deadline));
}

std::unique_ptr<Runtime::MutexImpl> ProcessImpl::make_mutex() { return std::make_unique<FiberMutex>(*this); }

std::unique_ptr<Runtime::ConditionImpl> ProcessImpl::make_condition() {
  return std::make_unique<FiberCondition>(*this);
}

}  // namespace holdfast::sim
