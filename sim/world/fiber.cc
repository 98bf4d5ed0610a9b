#include "sim/world/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "lib/runtime/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define HOLDFAST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOLDFAST_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HOLDFAST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_TSAN 1
#endif
#endif

#ifdef HOLDFAST_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HOLDFAST_TSAN
#include <sanitizer/tsan_interface.h>
#endif

// Itanium C++ ABI, 2.2.2: per thread { __cxa_exception* caughtExceptions; unsigned uncaughtExceptions; }.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace holdfast::sim {

namespace detail = boost::context::detail;

StackPool::StackPool(std::size_t bytes)
    : bytes_(bytes), guard_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
  if (bytes_ == 0) {
#if defined(HOLDFAST_ASAN) || defined(HOLDFAST_TSAN)
    bytes_ = std::size_t{256} * 1024;
#else
    bytes_ = std::size_t{64} * 1024;
#endif
  }
  bytes_ = (bytes_ + guard_ - 1) / guard_ * guard_;
}

StackPool::~StackPool() {
  HF_CHECK(in_use_ == 0, "a fiber outlives its world");
  for (void* stack : free_) munmap(static_cast<char*>(stack) - guard_, bytes_ + guard_);
}

void* StackPool::take() {
  void* stack = nullptr;
  if (!free_.empty()) {
    stack = free_.back();
    free_.pop_back();
  } else {
    void* all = mmap(nullptr, bytes_ + guard_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    mprotect(all, guard_, PROT_NONE);
    stack = static_cast<char*>(all) + guard_;
  }
  ++in_use_;
  return stack;
}

void StackPool::give_back(void* stack) {
  --in_use_;
  free_.push_back(stack);
}

Fiber::Fiber(void* stack, std::size_t bytes, Entry entry, void* argument)
    : entry_(entry), argument_(argument), stack_bottom_(stack), stack_bytes_(bytes) {
  context_ = detail::make_fcontext(static_cast<char*>(stack) + bytes, bytes, &Fiber::begin);
#ifdef HOLDFAST_TSAN
  tsan_fiber_ = __tsan_create_fiber(0);
  own_tsan_fiber_ = true;
#endif
}

Fiber::~Fiber() {
#ifdef HOLDFAST_TSAN
  if (own_tsan_fiber_) __tsan_destroy_fiber(tsan_fiber_);
#endif
}

void Fiber::switch_to(Fiber& next, bool for_good) {
  void* globals = __cxxabiv1::__cxa_get_globals();
  std::memcpy(exceptions_, globals, sizeof exceptions_);
  std::memcpy(globals, next.exceptions_, sizeof exceptions_);
  next.from_ = this;
#ifdef HOLDFAST_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_, next.stack_bottom_, next.stack_bytes_);
#endif
#ifdef HOLDFAST_TSAN
  if (tsan_fiber_ == nullptr) tsan_fiber_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(next.tsan_fiber_, 0);
#endif
  static_cast<void>(for_good);
  const detail::transfer_t back = detail::jump_fcontext(next.context_, &next);
  from_->context_ = back.fctx;
  arrived();
}

void Fiber::arrived() {
#ifdef HOLDFAST_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &from_->stack_bottom_, &from_->stack_bytes_);
#endif
}

void Fiber::begin(detail::transfer_t transfer) {
  auto* self = static_cast<Fiber*>(transfer.data);
  self->from_->context_ = transfer.fctx;
  self->arrived();
  self->entry_(self->argument_);
  HF_CHECK(false, "the entry of a fiber returned");
}

}  // namespace holdfast::sim
