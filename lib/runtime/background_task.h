// BackgroundTask: the one task of an object that works in the background, and only while there is something
// to do (reconnect, renew, give back).
//
// The owner calls start() whenever something is to be done; the body makes a Turn of it, and rests when
// nothing is left. A task that cannot be started (no threads, no memory) disables nothing: the next start()
// tries again. It may be ended from its own body, which then goes on to its end alone: after that the body
// must not touch its owner.
//
// Thread safety: all members but the destructor and join() under the mutex of the owner.
#pragma once

#include <functional>
#include <list>
#include <string>

#include "lib/runtime/runtime.h"

namespace holdfast {

class BackgroundTask {
 public:
  // `role`: as for Runtime::spawn().
  BackgroundTask(Runtime& runtime, std::string role);
  ~BackgroundTask();  // [parks] as join()
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  // Starts `body` unless it runs. False: no task could be started; nothing has changed, the next call tries
  // again.
  [[nodiscard]] bool start(std::function<void()> body) noexcept;
  bool running() const noexcept { return running_; }  // it was started and does not rest yet
  bool is_caller() const noexcept;                    // the calling task is its own
  void wake() noexcept;                               // ends a park of the body, or its next one

  // [parks] Without the mutex: until the body has returned. By the body itself: returns at once.
  void join();

  // The stay of the body at work. Its end, or a cancelled task, leaves the BackgroundTask ready for start().
  class Turn {
   public:
    explicit Turn(BackgroundTask& task);  // by the body
    ~Turn() { rest(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    // Nothing is left to do, and from here on only start() sees to what comes.
    void rest() noexcept;

   private:
    BackgroundTask* task_;
  };

 private:
  Runtime& runtime_;
  const std::string role_;
  bool running_ = false;
  TaskId id_ = 0;             // of the body in its turn
  Parker* parker_ = nullptr;  // likewise
  std::list<Task> tasks_;     // the last one, and those before it that rest but have not ended yet
};

}  // namespace holdfast
