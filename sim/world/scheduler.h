// Scheduler: runs fibers in the order in which they became ready, and timers in the order of their time.
//
// It knows nothing of clocks: a Driver says what time it is and how to get to the next timer (jump there, or
// wait for it and for file descriptors). Processes (process.h) say which fibers may run.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/runtime.h"
#include "sim/world/fiber.h"
#include "sim/world/timers.h"

namespace holdfast::sim {

class ProcessImpl;
class Scheduler;

// A doubly linked list through T::previous and T::next; holds no memory of its own.
template <class T>
class LinkedList {
 public:
  T* first() const { return first_; }
  T* last() const { return last_; }
  bool empty() const { return first_ == nullptr; }
  // Items may be local variables of a waiting task that leave the list before they end (Queued), which g++ 12
  // takes for a dangling pointer.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
  void push_back(T& item) {
    item.previous = last_;
    item.next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = &item;
    last_ = &item;
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  void remove(T& item) {
    (item.previous == nullptr ? first_ : item.previous->next) = item.next;
    (item.next == nullptr ? last_ : item.next->previous) = item.previous;
    item.previous = item.next = nullptr;
  }
  T* pop_front() {
    T* item = first_;
    if (item != nullptr) remove(*item);
    return item;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

// A task: a fiber with an identity. Kept alive by the scheduler until its body is over, and by Task handles.
class FiberTask final : public Timer, public Parker, public std::enable_shared_from_this<FiberTask> {
 public:
  FiberTask(Scheduler& scheduler, ProcessImpl& process, std::string role, std::function<void()> body,
            TaskId id);
  ~FiberTask() override;

  // Parker, of this task
  bool park_until(MonotonicTime deadline) override;
  void unpark() noexcept override;

  // Timer: the deadline of its wait has come.
  void fire() override;

  ProcessImpl& process;
  const std::string role;
  const TaskId id;
  std::map<const void*, std::any> slots;  // looked up only
  enum class State : std::uint8_t { ready, held, running, waiting, done };
  State state = State::ready;
  bool timed_out = false;     // how its last wait ended
  std::int64_t since_ns = 0;  // of its wait
  LinkedList<struct TaskWaiter> joiners;
  FiberTask *previous = nullptr, *next = nullptr;  // in a queue of the scheduler or of its process

 private:
  friend class Scheduler;
  static void enter(void* self);

  Scheduler& scheduler_;
  std::function<void()> body_;
  void* stack_ = nullptr;
  std::unique_ptr<Fiber> fiber_;
  bool permit_ = false, parked_ = false;
};

// Someone in a queue of waiters; on the stack of the waiting task.
struct TaskWaiter {
  FiberTask* task = nullptr;
  bool granted = false;  // what it waited for is its own; out of the queue
  TaskWaiter *previous = nullptr, *next = nullptr;
};

// In a queue as long as it exists and was not granted.
class Queued {
 public:
  Queued(LinkedList<TaskWaiter>& queue, FiberTask& task) : queue_(queue) {
    waiter.task = &task;
    queue.push_back(waiter);
  }
  ~Queued() {
    if (!waiter.granted) queue_.remove(waiter);
  }
  Queued(const Queued&) = delete;
  TaskWaiter waiter;

 private:
  LinkedList<TaskWaiter>& queue_;
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::int64_t now_ns() const = 0;
  // Nothing is ready: lets time pass until the next timer at `next_ns` (INT64_MAX: none) or until something
  // outside made a task ready. False: nothing can ever happen again.
  virtual bool pass_time(std::int64_t next_ns) = 0;
  // Between two rounds of ready tasks: looks outside without waiting.
  virtual void poll() {}
};

class Scheduler {
 public:
  Scheduler(Driver& driver, std::size_t stack_bytes) : driver_(driver), stacks_(stack_bytes) {}
  ~Scheduler();

  std::shared_ptr<FiberTask> spawn(ProcessImpl& process, std::string role, std::function<void()> body);
  // Runs tasks until `done` is true, or until nothing can happen any more (returns false).
  bool run_until(const std::function<bool()>& done);

  FiberTask& current() {
    return *current_;  // REQUIRES: called on a task
  }
  FiberTask* current_or_null() { return current_; }

  // Stops the calling task until wake() or until the world's time `deadline_ns`. True: woken. In a dead
  // process it does not stop: throws TaskCancelled, or returns false while the task is unwinding.
  bool wait(std::int64_t deadline_ns);
  // Stops the calling task until wake(), or until its process dies; in a dead process too, so that nobody
  // takes away what a task that still unwinds is using. For joining.
  void wait_for_end();
  void wake(FiberTask& task);  // no effect unless it waits
  // A task whose process or role was paused or goes on again.
  void release_held(ProcessImpl& process);
  void end_waits(ProcessImpl& process);  // the process died: all its tasks are to unwind
  void yield();

  Timers& timers() { return timers_; }
  std::int64_t now_ns() const { return driver_.now_ns(); }
  // "client in c1 since 12.5 s", one a line: who waits without hope.
  std::string waiting_tasks() const;
  bool any_alive() const { return !tasks_.empty(); }

 private:
  friend class FiberTask;
  void make_ready(FiberTask& task);
  void resume(FiberTask& task);
  void finish(FiberTask& task);
  bool cancelled(FiberTask& task) const;

  Driver& driver_;
  StackPool stacks_;
  Timers timers_;
  Fiber loop_;
  FiberTask* current_ = nullptr;
  LinkedList<FiberTask> ready_;
  std::map<TaskId, std::shared_ptr<FiberTask>> tasks_;  // alive, in the order of creation
  TaskId next_id_ = 1;
};

}  // namespace holdfast::sim
