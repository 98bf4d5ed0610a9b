// ScriptStack: a stack of its own for what may recurse deeply (Lua's parser, C functions that call back,
// conversions), and a way to stop in the middle of a script and go on later.
//
// It has 8 MiB, what a process of Linux has by default and so what redis-server has, above a guard of 64 KiB;
// only what is touched takes memory. Lua 5.1 allows 200 nested C calls (LUAI_MAXCCALLS), the largest of which
// has a buffer of 8 KiB on the stack: 2 MiB are the most that this can take, and the rest is for one descent
// of a library function, each of which is bounded where it is installed (lua_guards.cc).
//
// Not thread-safe. The caller may be on any stack, on another one at each call.
#pragma once

#include <exception>
#include <functional>

#include "lib/runtime/fibers/fiber.h"

namespace holdfast::sim::embedded {

class ScriptStack {
 public:
  ScriptStack() = default;
  ScriptStack(const ScriptStack&) = delete;
  ScriptStack& operator=(const ScriptStack&) = delete;
  ~ScriptStack();  // REQUIRES: !paused()

  // Runs `body` on the stack until it returns (true) or calls pause() (false). What it throws comes out here,
  // or out of resume(). REQUIRES: nothing runs on it. Throws std::bad_alloc when no stack can be had.
  bool run(std::function<void()> body);
  bool resume();  // REQUIRES: paused()
  void pause();   // REQUIRES: inside(). Returns when somebody calls resume()
  bool paused() const { return body_ != nullptr && !inside_; }
  bool inside() const { return inside_; }

 private:
  static void enter(void* self) noexcept;
  bool go_on();

  fibers::FiberContext caller_, own_;
  std::function<void()> body_;  // while it runs
  std::exception_ptr thrown_;
  bool prepared_ = false, inside_ = false;
};

}  // namespace holdfast::sim::embedded
