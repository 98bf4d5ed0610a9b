#include "lib/runtime/fibers/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <mutex>
#include <new>
#include <vector>

#include "lib/runtime/check.h"
#include "lib/runtime/retry_allocation.h"

#if defined(__SANITIZE_ADDRESS__)
#define HOLDFAST_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HOLDFAST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOLDFAST_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HOLDFAST_TSAN 1
#endif
#endif

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(start, end) 0u
#define VALGRIND_STACK_DEREGISTER(id) static_cast<void>(id)
#endif

#ifdef HOLDFAST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HOLDFAST_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace holdfast::fibers {
namespace {

namespace context = boost::context::detail;

// The layout that the Itanium C++ ABI prescribes.
struct ExceptionGlobals {
  void* caught;
  unsigned uncaught;
};

ExceptionGlobals& exception_globals() noexcept {
  return *reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
}

std::size_t page_bytes() noexcept {
  static const std::size_t bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t guard_bytes(std::size_t stack_bytes) noexcept {
  return stack_bytes >= 1024 * 1024 ? 16 * page_bytes() : page_bytes();
}

// Free stacks of the usual size and of one other (1 MiB or more).
struct Pool {
  static constexpr std::size_t kMost = 16384, kMostLarge = 64;
  std::mutex mutex;
  std::vector<Stack> usual, large;
  std::vector<Stack>& of(std::size_t bytes) { return bytes >= 1024 * 1024 ? large : usual; }
};

// Each stack is two mappings, of which the kernel lets a process have so many: 65,530 on most machines.
class NoStack final : public std::bad_alloc {
 public:
  const char* what() const noexcept override {
    return "the kernel maps no stack for one more task: each takes two mappings, of which a process has "
           "vm.max_map_count";
  }
};

Pool& pool() {
  static Pool* const the_pool = new Pool;  // never destroyed: schedulers may end late
  return *the_pool;
}

}  // namespace

Stack take_stack(std::size_t bytes) {
  const std::size_t page = page_bytes();
  bytes = (bytes + page - 1) / page * page;
  {
    Pool& all = pool();
    const std::lock_guard lock(all.mutex);
    std::vector<Stack>& free = all.of(bytes);
    if (!free.empty() && free.back().bytes == bytes) {
      const Stack stack = free.back();
      free.pop_back();
      return stack;
    }
  }
  const std::size_t guard = guard_bytes(bytes);
  void* const mapped = retry_allocation([&]() -> void* {
    void* const got = ::mmap(nullptr, bytes + guard, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    return got == MAP_FAILED ? nullptr : got;
  });
  if (mapped == nullptr) throw NoStack();
  if (::mprotect(mapped, guard, PROT_NONE) != 0) {
    ::munmap(mapped, bytes + guard);
    throw NoStack();
  }
  char* const bottom = static_cast<char*>(mapped) + guard;
  return {bottom, bytes, VALGRIND_STACK_REGISTER(bottom, bottom + bytes)};
}

void return_stack(Stack stack) noexcept {
  if (stack.bottom == nullptr) return;
  {
    Pool& all = pool();
    const std::lock_guard lock(all.mutex);
    std::vector<Stack>& free = all.of(stack.bytes);
    const std::size_t most = &free == &all.usual ? Pool::kMost : Pool::kMostLarge;
    if (free.size() < most && (free.empty() || free.back().bytes == stack.bytes)) {
      try {
        free.push_back(stack);
        return;
      } catch (const std::bad_alloc&) {  // unmapped below
      }
    }
  }
  VALGRIND_STACK_DEREGISTER(stack.valgrind_id);
  const std::size_t guard = guard_bytes(stack.bytes);
  ::munmap(stack.bottom - guard, stack.bytes + guard);
}

FiberContext::~FiberContext() {
  retire();
  return_stack(stack_);
}

void FiberContext::adopt_thread() noexcept {
#ifdef HOLDFAST_TSAN
  tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

struct FiberStart {
  static void enter(context::transfer_t from) noexcept {
    auto* const jump = static_cast<FiberContext**>(from.data);  // {from, to}
    FiberContext* const self = jump[1];
    jump[0]->context_ = from.fctx;
    self->arrived(jump[0]);
    self->entry_(self->argument_);
    HF_CHECK(false, "a fiber's entry returned");
  }
};

void FiberContext::prepare(std::size_t stack_bytes, void (*entry)(void*) noexcept, void* argument) {
  HF_CHECK(!prepared_, "a fiber is prepared again only after it retired");
  if (stack_.bottom == nullptr) stack_ = take_stack(stack_bytes);
  entry_ = entry;
  argument_ = argument;
  exceptions_caught_ = nullptr;
  exceptions_uncaught_ = 0;
  asan_fake_stack_ = nullptr;
  asan_bottom_ = stack_.bottom;
  asan_bytes_ = stack_.bytes;
  context_ = context::make_fcontext(stack_.bottom + stack_.bytes, stack_.bytes, &FiberStart::enter);
#ifdef HOLDFAST_TSAN
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
  prepared_ = true;
}

void FiberContext::arrived(FiberContext* from) noexcept {
#ifdef HOLDFAST_ASAN
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(asan_fake_stack_, &bottom, &bytes);
  from->asan_bottom_ = bottom;
  from->asan_bytes_ = bytes;
#else
  static_cast<void>(from);
#endif
}

// Its frame stays off the second stack that the address sanitizer keeps for a fiber: that one is gone as soon
// as a switch for good has been announced.
__attribute__((no_sanitize("address"))) void FiberContext::jump(FiberContext& to, bool for_good) noexcept {
  ExceptionGlobals& exceptions = exception_globals();
  exceptions_caught_ = exceptions.caught;
  exceptions_uncaught_ = exceptions.uncaught;
  exceptions.caught = to.exceptions_caught_;
  exceptions.uncaught = to.exceptions_uncaught_;
#ifdef HOLDFAST_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &asan_fake_stack_, to.asan_bottom_, to.asan_bytes_);
#else
  static_cast<void>(for_good);
#endif
#ifdef HOLDFAST_TSAN
  __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
  FiberContext* ends[2] = {this, &to};
  const context::transfer_t back = context::jump_fcontext(to.context_, static_cast<void*>(ends));
  FiberContext* const from = *static_cast<FiberContext**>(back.data);
  from->context_ = back.fctx;
  arrived(from);
}

void FiberContext::exit_to(FiberContext& to) noexcept {
  jump(to, true);
  HF_CHECK(false, "a fiber that has ended was continued");
  __builtin_unreachable();
}

void FiberContext::retire() noexcept {
  if (!prepared_) return;
  prepared_ = false;
#ifdef HOLDFAST_ASAN
  __asan_unpoison_memory_region(stack_.bottom, stack_.bytes);
#endif
#ifdef HOLDFAST_TSAN
  __tsan_destroy_fiber(tsan_fiber_);
  tsan_fiber_ = nullptr;
#endif
}

}  // namespace holdfast::fibers
