// Scheduler: which fiber runs next.
//
// Fibers that can run stand in one queue, first in, first out unless the Steering takes another one;
// timers fire in the order of (time, sequence number). A fiber that suspends picks its successor itself and
// jumps straight to it, so a wake-up costs one switch. The driver decides where time comes from and what else
// can wake a fiber: an event loop (event_loop.h), or the virtual time of the harness.
//
// Fibers belong to groups, one group a process: an application has one, a world of the harness has many. A
// paused fiber that could run is kept aside. The fibers of a killed group go through a queue of their own
// that is served first, so that nothing else happens between kill() and the end of their unwinding.
//
// One thread: whoever calls run_until().
#pragma once

#include <any>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/runtime/fibers/fiber.h"
#include "lib/runtime/fibers/process_clock.h"
#include "lib/runtime/fibers/timer_heap.h"
#include "lib/runtime/runtime.h"

namespace holdfast::fibers {

class FiberMutex;
class Scheduler;
struct Fiber;
struct FiberGroup;

// An intrusive queue of fibers; a fiber is in at most one.
class FiberQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  std::size_t size() const { return size_; }
  Fiber* head() const { return head_; }
  void push(Fiber& fiber);
  Fiber* pop();  // nullptr when empty
  void remove(Fiber& fiber);

 private:
  Fiber* head_ = nullptr;
  Fiber* tail_ = nullptr;
  std::size_t size_ = 0;
};

class FiberParker final : public Parker {
 public:
  FiberParker(Fiber& owner, const ProcessClock& clock) : owner_(owner), clock_(clock) {}
  bool park_until(MonotonicTime deadline) override;
  void unpark() noexcept override;
  const ProcessClock& clock() const { return clock_; }

 private:
  Fiber& owner_;
  const ProcessClock& clock_;
};

// What a Steering knows of the party to which a task belongs.
struct Party {};

struct Role {
  std::string name;
  std::uint32_t pauses = 0;
  bool blocked = false;  // by pauses of the role or of the whole group
};

struct Fiber {
  enum class State : std::uint8_t { free, ready, running, suspended, held };

  FiberContext context;
  Scheduler* scheduler = nullptr;
  FiberGroup* group = nullptr;
  Role* role = nullptr;
  TaskId id = 0;  // 0: no task at present
  State state = State::free;
  bool permit = false;        // unpark() was called
  bool wants_permit = false;  // suspended in park_until()
  bool timed_out = false;
  bool armed = false;
  bool late = false;           // its deadline has passed, and it is to be told later
  std::uint32_t slot = 0;      // in the timer heap
  std::uint64_t priority = 0;  // the steering's; 0: none yet
  Party* party = nullptr;      // the steering's; null: none
  std::uint64_t number = 0;    // the steering's: among the tasks of its party so far
  std::int64_t wake_time = 0;
  std::uint64_t wake_sequence = 0;
  const ProcessClock* deadline_clock = nullptr;
  MonotonicTime deadline{};
  FiberQueue* queue = nullptr;
  Fiber *queue_next = nullptr, *queue_previous = nullptr;
  Fiber *group_next = nullptr, *group_previous = nullptr;
  FiberMutex* waiting_mutex = nullptr;
  const char* waits_for = "";
  std::int64_t since = 0;
  std::uint32_t refusals = 0;   // parking calls that returned at once since the process was killed
  std::shared_ptr<bool> ended;  // shared with its handle
  std::vector<Fiber*> joiners;
  std::function<void()> body;
  std::list<std::pair<const void*, std::any>> locals;
  std::list<FiberParker> parkers;  // one for each clock on which it has parked
};

// The tasks of one process.
struct FiberGroup {
  FiberGroup(std::string group_name, const ProcessClock& its_clock)
      : name(std::move(group_name)), clock(its_clock) {}
  Role& role(std::string_view role_name);

  std::string name;
  const ProcessClock& clock;
  bool dead = false;
  std::uint32_t pauses = 0;
  std::deque<Role> roles;                   // addresses are stable
  Fiber *first = nullptr, *last = nullptr;  // in the order in which they were started
  std::size_t live = 0;                     // fibers not yet ended
  FiberQueue held;
  std::vector<Fiber*> killers;  // wait until live is 0
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::int64_t now() const noexcept = 0;  // nanoseconds since it was made
  // Called when no fiber can run. Makes at least one ready; false: nothing will ever happen again.
  virtual bool advance(Scheduler& scheduler) = 0;
  // Called now and then while fibers run, if polls() is true.
  virtual bool polls() const noexcept = 0;
  virtual void poll(Scheduler& scheduler) = 0;
};

// What somebody adds who steers and watches the tasks: a world of the harness. An application has none.
class Steering {
 public:
  // Which of those that can run goes on: it is taken out of the queue. REQUIRES: the queue is not empty.
  virtual Fiber* take(FiberQueue& ready) { return ready.pop(); }
  virtual void turn(Fiber&) {}                                 // it goes on
  virtual void started(Fiber&, FiberGroup&) {}                 // it was made, and may go on soon
  virtual void reach(Fiber&) {}                                // the running task does something to it
  virtual void reach(FiberGroup&) {}                           // and to all of a process
  virtual bool moment(FiberQueue& /*ready*/) { return true; }  // moment_came(). False: the run ends here
  // A wait of the running task ends for no reason, so much later at the latest. nullopt: as usual.
  virtual std::optional<Duration> early() { return std::nullopt; }
  virtual Duration late(Fiber&) { return {}; }  // how much later than its deadline that one is told

 protected:
  ~Steering() = default;
};

class Scheduler {
 public:
  // `stack_bytes` of each task; 0: kDefaultStackBytes. `steering` outlives it; null: none.
  explicit Scheduler(Driver& driver, std::size_t stack_bytes = 0, Steering* steering = nullptr);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();

  std::int64_t now() const noexcept { return driver_.now(); }
  Fiber& current() noexcept { return *current_; }
  std::uint64_t next_sequence() noexcept { return ++sequence_; }

  // nullptr, and `body` is dropped, when the group is dead.
  Fiber* spawn(FiberGroup& group, std::string_view role, std::function<void()> body);

  // --- waiting: called by the running fiber ----------------------------------------------------------
  // Every parking call asks before and after it waits: throws TaskCancelled when the process of the running
  // fiber was killed; true when it was and the fiber is unwinding (the call must return at once).
  bool cancelled() { return current_->group->dead && refuse(); }
  // Suspends until wake() or the deadline on `clock`; false at the deadline. Also returns (true) when the
  // fiber's group is killed. `what` names the wait in the list of waiting tasks.
  bool suspend(const char* what, const ProcessClock& clock, MonotonicTime deadline);
  void suspend(const char* what);
  // The same for waits that may end for no reason (Steering::early()): false, it did. Whether the deadline
  // passed it does not say.
  bool suspend_rarely(const char* what, const ProcessClock& clock, MonotonicTime deadline);
  void yield();

  // Lets a suspended fiber go on; nothing for any other.
  void wake(Fiber& fiber) noexcept;
  // Of its parker.
  void unpark(Fiber& fiber) noexcept;

  // --- groups ----------------------------------------------------------------------------------------
  // Call it after the pauses of `group` or of one of its roles changed.
  void update_pauses(FiberGroup& group);
  // REQUIRES: group.dead was just set. Unwinds all its fibers, except the running one, before it returns; if
  // the running fiber is one of them, they unwind when it does.
  void kill(FiberGroup& group);
  // Call it after `clock` changed: deadlines on it are at other moments now.
  void clock_changed(const ProcessClock& clock);

  // --- for the thread that runs the tasks --------------------------------------------------------------
  // REQUIRES, for all that runs tasks: the calling thread is the one that adopted last.
  void adopt_thread() noexcept { main_.context.adopt_thread(); }
  // Runs fibers until `done`, which a fiber sets before it calls wake_main(); only that fiber still runs
  // until it suspends or ends. False: nothing left to run, or time stands still.
  bool run_until(const bool& done);
  // Tasks went on so often at one moment that they will for ever: in virtual time only.
  bool stands_still() const { return turns_ >= most_turns_; }
  void most_turns_at_a_moment(std::uint64_t most) { most_turns_ = most; }
  void wake_main() noexcept;
  // `told` hears of each task that ended by an exception, in words. Without it that ends the program.
  void on_escape(std::function<void(std::string what)> told) { on_escape_ = std::move(told); }

  // --- for drivers -------------------------------------------------------------------------------------
  // All that is due at one moment comes up before a fiber runs (gather()). Then the driver calls
  // moment_came(), which says whether the run goes on.
  bool gathers() const { return gathers_; }
  bool moment_came();
  bool anything_ready() const { return !ready_.empty() || !urgent_.empty(); }
  // The next timer in order; false when there is none.
  bool next_timer(std::int64_t& time, std::uint64_t& sequence);
  // Its fiber may be late (Steering::late()): then it goes on at a later timer. REQUIRES: next_timer()
  // returned true just now.
  void fire_next_timer();

 protected:
  // Of the thread that runs the tasks: no process.
  const FiberGroup& outside() const { return main_group_; }
  void gather(bool on) { gathers_ = on; }  // before any task is started

 private:
  static void enter(void* fiber) noexcept;
  void run_body(Fiber& fiber) noexcept;
  void escaped(const Fiber& fiber, const char* what) noexcept;
  bool refuse();
  Fiber* pick();
  void hold_blocked();
  void count_turns();
  void leave(Fiber& self) { go_to_from(self, *pick()); }
  void go_to_from(Fiber& self, Fiber& next);
  void turn_to(Fiber& next);
  void after_switch() noexcept;

  Driver& driver_;
  const std::size_t stack_bytes_;
  Steering* const steering_;
  ProcessClock main_clock_;
  FiberGroup main_group_;
  Fiber main_;
  Fiber* current_;
  Fiber* ended_ = nullptr;  // its stack is left, but not yet retired
  FiberQueue urgent_, ready_;
  bool gathers_ = false;
  TimerHeap timers_;
  std::uint64_t sequence_ = 0;
  TaskId last_id_ = 0;
  std::uint32_t picks_ = 0;
  std::int64_t moment_ = -1;  // of the last turns that were counted
  std::uint64_t turns_ = 0, most_turns_ = std::numeric_limits<std::uint64_t>::max();  // at that moment
  std::vector<std::unique_ptr<Fiber>> fibers_;                                        // by slot
  std::vector<Fiber*> free_;
  std::function<void(std::string what)> on_escape_;
};

}  // namespace holdfast::fibers
