// Fiber stacks and the switch between them: a thin wrapper over Boost.Context's jump_fcontext.
//
// What the wrapper adds: pooled stacks with a guard page, the annotations that the address and thread
// sanitizers need to follow a switch, and the two words in which the C++ runtime keeps the exceptions of a
// thread. Those two are saved and restored at every switch: otherwise a fiber that suspends in a catch block
// or while unwinding mixes its exceptions with those of the fibers that run meanwhile.
#pragma once

#include <cstddef>

namespace holdfast::fibers {

inline constexpr std::size_t kDefaultStackBytes =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    256 * 1024;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    256 * 1024;
#else
    64 * 1024;
#endif
#else
    64 * 1024;
#endif

// A mapped stack; below it lies a guard that faults: a page, and 64 KiB below a stack of 1 MiB or more, where
// foreign code runs whose frames may be larger than a page. Valgrind is told of it (its manual, "The Client
// Request mechanism"); else it takes every switch for a wild change of the stack pointer.
struct Stack {
  char* bottom = nullptr;  // lowest usable address
  std::size_t bytes = 0;
  unsigned valgrind_id = 0;
};

// Process-wide pool, so that schedulers which follow each other do not map anew. Thread-safe.
Stack take_stack(std::size_t bytes);  // throws std::bad_alloc
void return_stack(Stack stack) noexcept;

// One thread of control. Not movable: switches refer to its address. Everything below runs on one thread.
class FiberContext {
 public:
  FiberContext() = default;
  FiberContext(const FiberContext&) = delete;
  FiberContext& operator=(const FiberContext&) = delete;
  ~FiberContext();

  // Makes this the context of the thread that calls: what begins to run first.
  void adopt_thread() noexcept;
  // The first switch to this context calls `entry(argument)` on a stack of `stack_bytes`. `entry` must never
  // return; it ends with exit_to(). May be called again after retire(); the stack is kept.
  void prepare(std::size_t stack_bytes, void (*entry)(void*) noexcept, void* argument);

  // Suspends the running context, which is `*this`, and continues `to`. Returns when somebody switches back.
  void switch_to(FiberContext& to) noexcept { jump(to, false); }
  // The same, for good: `*this` is not continued any more, and whoever runs next calls retire() on it.
  [[noreturn]] void exit_to(FiberContext& to) noexcept;
  void retire() noexcept;

  // Prefetches the part of the stack on which it is suspended, because it is continued soon. With many fibers
  // that part has left the caches, and each frame on the way back would wait for memory.
  void prefetch() const noexcept {
    const char* const top = static_cast<const char*>(context_);
    for (std::size_t line = 0; line < kPrefetchedBytes; line += 64) __builtin_prefetch(top + line);
  }

 private:
  static constexpr std::size_t kPrefetchedBytes = 1536;

  void jump(FiberContext& to, bool for_good) noexcept;
  void arrived(FiberContext* from) noexcept;

  void* context_ = nullptr;  // fcontext_t
  void (*entry_)(void*) noexcept = nullptr;
  void* argument_ = nullptr;
  void* exceptions_caught_ = nullptr;  // __cxa_eh_globals
  unsigned exceptions_uncaught_ = 0;
  Stack stack_;
  // Only the sanitizers need these.
  [[maybe_unused]] void* asan_fake_stack_ = nullptr;
  [[maybe_unused]] const void* asan_bottom_ = nullptr;
  [[maybe_unused]] std::size_t asan_bytes_ = 0;
  [[maybe_unused]] void* tsan_fiber_ = nullptr;
  bool prepared_ = false;

  friend struct FiberStart;
};

}  // namespace holdfast::fibers
