// Loop: one thread on which thousands of acquires wait at once. Each is a fiber, an ordinary task of the
// library in plain blocking code, on an event loop of its own (epoll); waiting costs a few KiB and no thread.
//
//   holdfast::async::Loop loop;                                  // a thread of its own
//   holdfast::async::Loop loop({.own_thread = false});           // runs while somebody is in run()
//
// What lives on the loop (clients, locks) is used and destroyed by its tasks alone: make() sees to that,
// LoopClient (loop_client.h) for a client and its locks. Other threads come in by post() and call().
//
// A task that blocks its thread (a sleep of the system, a mutex of the standard, a name that is looked up)
// stops all tasks of the loop, and then nobody renews what they hold.
//
// The end. stop() and the destructor tell all that wait (Interrupted), wait until posted work is done, and
// end the thread. What is still held then is left to its lease.
//
// Thread safety: every member may be called from any thread. After fork() the child must not use the parent's
// loop; it may destroy it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "lib/async/host.h"
#include "lib/net/network.h"
#include "lib/runtime/runtime.h"

namespace holdfast::async {

// How a loop runs.
struct LoopOptions {
  bool own_thread = true;       // false: it runs while a thread of the application's is in Loop::run()
  std::size_t stack_bytes = 0;  // of each task, most of it never touched; 0: 64 KiB
};

class Loop {
 public:
  // Throws std::system_error where the system gives no thread or no epoll.
  explicit Loop(LoopOptions options = {});
  ~Loop();  // stop(). REQUIRES: not called by a task of the loop
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // The ports of its tasks. Other threads may read the clocks, nothing else.
  Runtime& runtime() noexcept;
  Network& network() noexcept;  // sockets; names are looked up on threads of their own
  // As a Host, for what may outlive this object.
  const std::shared_ptr<Host>& host() const noexcept { return host_; }

  // Runs `work` on a task of its own, later; what it throws ends the program. False: the loop has ended.
  // Then, and where no task can be made for want of memory, `work` is dropped: it is destroyed unrun.
  bool post(std::function<void()> work) noexcept { return host_->post(std::move(work)); }

  // Runs `work` on a task and returns what it returns, or throws what it throws. The calling thread waits; a
  // task of the loop runs it at once. Where nobody runs the loop, the calling thread does meanwhile.
  template <class Work>
  std::invoke_result_t<Work&> call(Work&& work) {
    using Result = std::invoke_result_t<Work&>;
    if constexpr (std::is_void_v<Result>) {
      host_->call([&work] { work(); });
    } else {
      std::optional<Result> result;
      host_->call([&work, &result] { result.emplace(work()); });
      return std::move(*result);
    }
  }

  // An object that lives on the loop: made and destroyed by tasks of it, whoever drops the last pointer. It
  // is a pointer to `Thing`, made of `arguments`.
  template <class Thing, class... Arguments>
  [[nodiscard]] std::shared_ptr<Thing> make(Arguments&&... arguments) {
    return call([&]() -> std::shared_ptr<Thing> {
      return {new Thing(std::forward<Arguments>(arguments)...),
              [host = host_](Thing* thing) { host->call([thing] { delete thing; }); }};
    });
  }

  // Runs the loop on the calling thread until stop(). REQUIRES: LoopOptions::own_thread is false.
  void run();
  // From now on nothing is posted any more, and what waits comes to its end. Returns when that is so, unless
  // a task of the loop calls it: then at once.
  void stop();

 private:
  class Core;
  struct Thread;
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<Host> host_;  // the same
  const std::unique_ptr<Thread> thread_;
};

}  // namespace holdfast::async
