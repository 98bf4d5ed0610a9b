// Host: where the acquires of asynchronous callers run: each on a task of its own, in plain blocking code. A
// Loop (loop.h) is the one of an application. RuntimeHost makes one of any Runtime, which tests use to run
// the same code in virtual time.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string_view>

#include "lib/runtime/runtime.h"

namespace holdfast::async {

class Host {
 public:
  virtual ~Host() = default;
  // Runs `work` on a task of its own, later; what it throws ends the program. False: the host has ended.
  // Where it has ended, or no task can be made for want of memory, `work` is dropped: it is destroyed unrun.
  virtual bool post(std::function<void()> work) noexcept = 0;
  // Runs `word` soon, on no task of its own: it neither parks nor throws. Dropped as post() does.
  virtual void tell(std::function<void()> word) noexcept = 0;
  // [parks; blocks a thread that is no task] Runs `work` on a task, also when the host has ended. What it
  // throws comes out.
  virtual void call(const std::function<void()>& work) = 0;
  // The calling thread runs a task of this host now: `work` of call() would run at once.
  virtual bool is_here() const noexcept = 0;
  virtual Runtime& runtime() noexcept = 0;  // of its tasks
  // Fires when the host ends: what waits then must come to an end.
  virtual std::stop_token ending() const noexcept = 0;
};

// The host whose tasks are those of `runtime`.
class RuntimeHost final : public Host {
 public:
  explicit RuntimeHost(Runtime& runtime);  // it outlives the host
  ~RuntimeHost() override { end(); }       // [parks]
  void end();                              // [parks] ends what waits, and waits for all tasks
  bool post(std::function<void()> work) noexcept override;
  void tell(std::function<void()> word) noexcept override { word(); }
  void call(const std::function<void()>& work) override { work(); }
  bool is_here() const noexcept override { return true; }
  Runtime& runtime() noexcept override { return runtime_; }
  std::stop_token ending() const noexcept override { return ending_.get_token(); }

 private:
  Runtime& runtime_;
  Mutex mutex_;
  std::list<Task> tasks_;
  bool ended_ = false;
  std::stop_source ending_;
};

}  // namespace holdfast::async
