#include "lib/runtime/fibers/scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>

#include "lib/runtime/check.h"
#include "lib/runtime/fibers/fiber_sync.h"

namespace holdfast::fibers {
namespace {

constexpr std::uint32_t kPicksBetweenPolls = 64;
constexpr std::uint32_t kMostRefusals = 1'000'000;

}  // namespace

void FiberQueue::push(Fiber& fiber) {
  fiber.queue = this;
  fiber.queue_next = nullptr;
  fiber.queue_previous = tail_;
  (tail_ != nullptr ? tail_->queue_next : head_) = &fiber;
  tail_ = &fiber;
  ++size_;
}

Fiber* FiberQueue::pop() {
  Fiber* const first = head_;
  if (first != nullptr) remove(*first);
  return first;
}

void FiberQueue::remove(Fiber& fiber) {
  (fiber.queue_previous != nullptr ? fiber.queue_previous->queue_next : head_) = fiber.queue_next;
  (fiber.queue_next != nullptr ? fiber.queue_next->queue_previous : tail_) = fiber.queue_previous;
  fiber.queue = nullptr;
  --size_;
}

bool FiberParker::park_until(MonotonicTime deadline) {
  Scheduler& scheduler = *owner_.scheduler;
  HF_CHECK(&scheduler.current() == &owner_, "only the task that owns a parker parks in it");
  if (scheduler.cancelled()) return false;
  bool for_no_reason = false;
  if (!owner_.permit || owner_.role->blocked) {
    owner_.wants_permit = true;
    if (owner_.permit) {
      scheduler.yield();
    } else {
      for_no_reason = !scheduler.suspend_rarely("a wake-up", clock_, deadline);
    }
    owner_.wants_permit = false;
    if (scheduler.cancelled()) return false;
  }
  return std::exchange(owner_.permit, false) || for_no_reason;
}

void FiberParker::unpark() noexcept { owner_.scheduler->unpark(owner_); }

Role& FiberGroup::role(std::string_view role_name) {
  for (Role& role : roles) {
    if (role.name == role_name) return role;
  }
  return roles.emplace_back(Role{std::string(role_name), 0, pauses > 0});
}

Scheduler::Scheduler(Driver& driver, std::size_t stack_bytes, Steering* steering)
    : driver_(driver),
      stack_bytes_(stack_bytes != 0 ? stack_bytes : kDefaultStackBytes),
      steering_(steering),
      main_clock_(MonotonicTime{}, WallTime{}),
      main_group_("(outside)", main_clock_),
      current_(&main_) {
  main_.scheduler = this;
  main_.group = &main_group_;
  main_.role = &main_group_.role("(outside)");
  main_.id = ++last_id_;
  main_.state = Fiber::State::running;
}

Scheduler::~Scheduler() = default;

Fiber* Scheduler::spawn(FiberGroup& group, std::string_view role, std::function<void()> body) {
  if (group.dead) return nullptr;
  if (free_.empty()) {
    auto made = std::make_unique<Fiber>();
    made->slot = timers_.add_slot();
    made->scheduler = this;
    free_.reserve(fibers_.size() + 1);
    free_.push_back(made.get());
    fibers_.push_back(std::move(made));
  }
  Fiber& fiber = *free_.back();
  fiber.context.prepare(stack_bytes_, &Scheduler::enter, &fiber);
  free_.pop_back();
  fiber.group = &group;
  fiber.role = &group.role(role);
  fiber.id = ++last_id_;
  if (steering_ != nullptr) steering_->started(fiber, group);
  fiber.permit = fiber.wants_permit = fiber.timed_out = fiber.armed = false;
  fiber.refusals = 0;
  fiber.priority = 0;
  fiber.waits_for = "its first turn";
  fiber.since = now();
  fiber.body = std::move(body);
  fiber.ended = std::make_shared<bool>(false);
  fiber.group_next = nullptr;
  fiber.group_previous = group.last;
  (group.last != nullptr ? group.last->group_next : group.first) = &fiber;
  group.last = &fiber;
  ++group.live;
  fiber.state = Fiber::State::ready;
  ready_.push(fiber);
  return &fiber;
}

void Scheduler::enter(void* argument) noexcept {
  Fiber& fiber = *static_cast<Fiber*>(argument);
  Scheduler& self = *fiber.scheduler;
  self.after_switch();
  self.run_body(fiber);

  FiberGroup& group = *fiber.group;
  (fiber.group_previous != nullptr ? fiber.group_previous->group_next : group.first) = fiber.group_next;
  (fiber.group_next != nullptr ? fiber.group_next->group_previous : group.last) = fiber.group_previous;
  fiber.id = 0;
  fiber.state = Fiber::State::free;
  *fiber.ended = true;
  fiber.ended.reset();
  for (Fiber* joiner : fiber.joiners) self.wake(*joiner);
  fiber.joiners.clear();
  if (--group.live == 0) {
    for (Fiber* killer : group.killers) {
      if (killer->state != Fiber::State::suspended) continue;
      killer->state = Fiber::State::ready;
      self.urgent_.push(*killer);
    }
    group.killers.clear();
  }
  self.ended_ = &fiber;
  Fiber& next = *self.pick();
  self.turn_to(next);
  fiber.context.exit_to(next.context);
}

void Scheduler::run_body(Fiber& fiber) noexcept {
  try {
    if (!fiber.group->dead) fiber.body();
  } catch (const TaskCancelled&) {  // the process is gone
  } catch (const std::exception& error) {
    escaped(fiber, error.what());
  } catch (...) {
    escaped(fiber, "of no known type");
  }
  fiber.body = nullptr;
  fiber.locals.clear();
  fiber.parkers.clear();
}

void Scheduler::escaped(const Fiber& fiber, const char* what) noexcept {
  const std::string told = "task '" + fiber.role->name + "' of process '" + fiber.group->name +
                           "' ended with an exception: " + what;
  if (on_escape_) return on_escape_(told);
  std::fprintf(stderr, "%s\n", told.c_str());
  std::abort();
}

bool Scheduler::refuse() {
  if (std::uncaught_exceptions() == 0) throw TaskCancelled();
  HF_CHECK(++current_->refusals < kMostRefusals,
           "a destructor waits in a loop although its process was killed");
  return true;
}

bool Scheduler::suspend(const char* what, const ProcessClock& clock, MonotonicTime deadline) {
  if (deadline == kNever) {
    suspend(what);
    return true;
  }
  Fiber& self = *current_;
  const std::int64_t moment = clock.moment_of(deadline);
  if (moment <= now()) {
    yield();  // else a loop of waits whose deadlines have passed would starve the other fibers
    return false;
  }
  self.timed_out = self.late = false;
  if (moment != std::numeric_limits<std::int64_t>::max()) {
    self.wake_time = moment;
    self.wake_sequence = next_sequence();
    timers_.arm(self.slot, self.wake_time, self.wake_sequence);
    self.deadline = deadline;
    self.deadline_clock = &clock;
    self.armed = true;
  }
  suspend(what);
  self.armed = false;
  return !self.timed_out;
}

bool Scheduler::suspend_rarely(const char* what, const ProcessClock& clock, MonotonicTime deadline) {
  const std::optional<Duration> early = steering_ != nullptr ? steering_->early() : std::nullopt;
  const MonotonicTime end = early ? clock.monotonic(now()) + *early : deadline;
  if (end >= deadline) {
    suspend(what, clock, deadline);
    return true;
  }
  return suspend(what, clock, end);
}

void Scheduler::suspend(const char* what) {
  Fiber& self = *current_;
  HF_CHECK(&self != &main_, "a call parked on a thread that is no task");
  self.waits_for = what;
  self.since = now();
  self.state = Fiber::State::suspended;
  leave(self);
}

void Scheduler::yield() {
  Fiber& self = *current_;
  HF_CHECK(&self != &main_, "a call parked on a thread that is no task");
  self.priority = 0;  // drawn anew: who yields until others have run must not go first for ever
  self.state = Fiber::State::ready;
  (self.group->dead ? urgent_ : ready_).push(self);
  leave(self);
}

void Scheduler::unpark(Fiber& fiber) noexcept {
  if (steering_ != nullptr) steering_->reach(fiber);
  fiber.permit = true;
  if (fiber.wants_permit) wake(fiber);
}

void Scheduler::wake(Fiber& fiber) noexcept {
  if (steering_ != nullptr) steering_->reach(fiber);
  if (fiber.state != Fiber::State::suspended) return;
  fiber.context.prefetch();
  fiber.armed = false;
  fiber.state = Fiber::State::ready;
  (fiber.group->dead ? urgent_ : ready_).push(fiber);
}

void Scheduler::wake_main() noexcept {
  if (main_.state != Fiber::State::suspended) return;
  main_.state = Fiber::State::ready;
  urgent_.push(main_);
}

void Scheduler::count_turns() {
  if (std::exchange(moment_, now()) != moment_) turns_ = 0;
  turns_ += kPicksBetweenPolls;
}

Fiber* Scheduler::pick() {
  for (;;) {
    if (Fiber* const fiber = urgent_.pop()) return fiber;
    if (++picks_ >= kPicksBetweenPolls) {
      picks_ = 0;
      if (driver_.polls()) driver_.poll(*this);
      count_turns();
      if (stands_still()) return &main_;
    }
    if (gathers()) hold_blocked();
    if (!ready_.empty()) {
      Fiber* const fiber = steering_ != nullptr ? steering_->take(ready_) : ready_.pop();
      if (!fiber->role->blocked) return fiber;
      fiber->state = Fiber::State::held;
      fiber->group->held.push(*fiber);
    } else if (!driver_.advance(*this)) {
      return &main_;
    }
  }
}

// So that nobody chooses among tasks that cannot go on.
void Scheduler::hold_blocked() {
  for (Fiber *fiber = ready_.head(), *next = nullptr; fiber != nullptr; fiber = next) {
    next = fiber->queue_next;
    if (!fiber->role->blocked) continue;
    ready_.remove(*fiber);
    fiber->state = Fiber::State::held;
    fiber->group->held.push(*fiber);
  }
}

// Who is ready stands in the order in which the tasks were started: it does not matter in which order what
// made them ready came up.
bool Scheduler::moment_came() {
  std::vector<Fiber*> ready;
  while (Fiber* const fiber = ready_.pop()) ready.push_back(fiber);
  std::sort(ready.begin(), ready.end(), [](const Fiber* a, const Fiber* b) { return a->id < b->id; });
  for (Fiber* const fiber : ready) ready_.push(*fiber);
  return steering_ == nullptr || steering_->moment(ready_);
}

void Scheduler::turn_to(Fiber& next) {
  current_ = &next;
  next.state = Fiber::State::running;
  if (steering_ != nullptr) steering_->turn(next);
}

void Scheduler::go_to_from(Fiber& self, Fiber& next) {
  turn_to(next);
  if (&next == &self) return;
  self.context.switch_to(next.context);
  after_switch();
}

void Scheduler::after_switch() noexcept {
  if (ended_ == nullptr) return;
  ended_->context.retire();
  free_.push_back(ended_);
  ended_ = nullptr;
}

void Scheduler::update_pauses(FiberGroup& group) {
  if (group.dead) return;
  if (steering_ != nullptr) steering_->reach(group);
  for (Role& role : group.roles) role.blocked = group.pauses > 0 || role.pauses > 0;
  Fiber* next = nullptr;
  for (Fiber* fiber = group.held.head(); fiber != nullptr; fiber = next) {
    next = fiber->queue_next;
    if (fiber->role->blocked) continue;
    group.held.remove(*fiber);
    fiber->state = Fiber::State::ready;
    ready_.push(*fiber);
  }
  for (Fiber* fiber = group.first; fiber != nullptr; fiber = fiber->group_next) {
    if (fiber->waiting_mutex != nullptr && !fiber->role->blocked) fiber->waiting_mutex->waiter_resumed();
  }
}

void Scheduler::kill(FiberGroup& group) {
  HF_CHECK(group.dead, "kill() comes after the mark");
  if (steering_ != nullptr) steering_->reach(group);
  if (current_ == &main_) adopt_thread();
  for (Role& role : group.roles) role.blocked = false;
  for (Fiber* fiber = group.first; fiber != nullptr; fiber = fiber->group_next) {
    if (fiber == current_) continue;
    if (fiber->queue != nullptr) fiber->queue->remove(*fiber);
    fiber->armed = false;
    fiber->state = Fiber::State::ready;
    urgent_.push(*fiber);
  }
  Fiber& self = *current_;
  if (self.group == &group) return;
  while (group.live > 0) {
    self.waits_for = "the end of a killed process";
    self.since = now();
    self.state = Fiber::State::suspended;
    if (group.killers.empty() || group.killers.back() != &self) group.killers.push_back(&self);
    leave(self);
  }
}

void Scheduler::clock_changed(const ProcessClock& clock) {
  for (const auto& fiber : fibers_) {
    if (!fiber->armed || fiber->deadline_clock != &clock) continue;
    fiber->wake_time = clock.moment_of(fiber->deadline);
    timers_.arm(fiber->slot, fiber->wake_time, fiber->wake_sequence);
  }
}

bool Scheduler::run_until(const bool& done) {
  while (!done) {
    main_.state = Fiber::State::suspended;
    leave(main_);
    if (!done) return false;
  }
  return true;
}

bool Scheduler::next_timer(std::int64_t& time, std::uint64_t& sequence) {
  while (!timers_.empty()) {
    const TimerHeap::Entry& top = timers_.top();
    const Fiber& fiber = *fibers_[top.slot];
    if (!fiber.armed || fiber.state != Fiber::State::suspended) {
      timers_.drop_top();
    } else if (top.time != fiber.wake_time || top.sequence != fiber.wake_sequence) {
      timers_.postpone_top(fiber.wake_time, fiber.wake_sequence);
    } else {
      time = top.time;
      sequence = top.sequence;
      return true;
    }
  }
  return false;
}

void Scheduler::fire_next_timer() {
  Fiber& fiber = *fibers_[timers_.top().slot];
  timers_.drop_top();
  if (steering_ != nullptr && !std::exchange(fiber.late, true)) {
    const Duration late = steering_->late(fiber);
    if (late.count() > 0) {
      fiber.wake_time += late.count();
      fiber.wake_sequence = next_sequence();
      timers_.arm(fiber.slot, fiber.wake_time, fiber.wake_sequence);
      return;
    }
  }
  fiber.timed_out = true;
  wake(fiber);
}

}  // namespace holdfast::fibers
