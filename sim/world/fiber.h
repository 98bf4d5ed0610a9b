// Fiber: a stack and the place where it stopped. A thin wrapper over Boost.Context's jump_fcontext.
//
// What stock boost::context::fiber lacks in Debian's build: the annotations that the sanitizers need, and the
// exception state of the C++ runtime, which is kept for each thread: its two words (caught exceptions, number
// of uncaught ones) are saved and restored at every switch, so that a fiber may stop inside a handler or
// while it unwinds.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

namespace holdfast::sim {

// Stacks of one size with a guard page below, used again and again. Not thread safe.
class StackPool {
 public:
  explicit StackPool(std::size_t bytes);  // 0: 64 KiB, 256 KiB under sanitizers
  ~StackPool();                           // REQUIRES: every stack was given back
  StackPool(const StackPool&) = delete;

  void* take();  // the lowest usable address. Throws std::bad_alloc.
  void give_back(void* stack);
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_, guard_;
  std::vector<void*> free_;
  std::size_t in_use_ = 0;
};

// One side of a switch: a fiber, or the thread that runs the scheduler.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber() = default;  // the thread's own side
  // A fiber that will call entry(argument) on the stack at first switch. `entry` must not return: it ends
  // with switch_to(..., true).
  Fiber(void* stack, std::size_t bytes, Entry entry, void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Goes on with `next`; returns when somebody switches back to this side. `for_good`: this side is over.
  // REQUIRES: called on this side.
  void switch_to(Fiber& next, bool for_good = false);

 private:
  static void begin(boost::context::detail::transfer_t transfer);
  void arrived();

  boost::context::detail::fcontext_t context_ = nullptr;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  Fiber* from_ = nullptr;     // who switched to this side last
  void* exceptions_[2] = {};  // of __cxa_get_globals()
  // Only the sanitizers need these.
  [[maybe_unused]] const void* stack_bottom_ = nullptr;
  [[maybe_unused]] std::size_t stack_bytes_ = 0;
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] void* tsan_fiber_ = nullptr;
  [[maybe_unused]] bool own_tsan_fiber_ = false;
};

}  // namespace holdfast::sim
