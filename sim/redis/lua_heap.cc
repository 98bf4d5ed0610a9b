#include "sim/redis/lua_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lib/runtime/retry_allocation.h"

// The leak sanitizer looks for pointers in what malloc gave out, not in what is mapped: blocks of malloc that
// only the arena knows of would be leaks to it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOLDFAST_LSAN 1
#endif
#endif
#if defined(HOLDFAST_LSAN) || defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_register_root_region(begin, bytes) static_cast<void>(0)
#define __lsan_unregister_root_region(begin, bytes) static_cast<void>(0)
#endif

namespace holdfast::sim::embedded {

namespace {

// Maps a step of the arena exactly there, or nothing.
bool map_at(std::byte* where, std::size_t bytes) {
  void* const got = ::mmap(where, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == where) {
    __lsan_register_root_region(where, bytes);
    return true;
  }
  if (got != MAP_FAILED) ::munmap(got, bytes);
  return false;
}

}  // namespace

LuaHeap::LuaHeap() {
  // The system puts mappings side by side, downwards; 64 GiB below them is room that it will not need.
  // Valgrind begins with low addresses and goes upwards: there it is above them.
  constexpr std::uintptr_t kFrom = 16, kMostTries = 4096;
  void* const somewhere = retry_allocation([]() -> void* {
    void* const got = ::mmap(nullptr, kStepBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return got == MAP_FAILED ? nullptr : got;
  });
  if (somewhere == nullptr) throw std::bad_alloc();
  ::munmap(somewhere, kStepBytes);
  const std::uintptr_t there = reinterpret_cast<std::uintptr_t>(somewhere) / kArenaAlign;
  const bool downwards = there > kFrom;
  for (std::uintptr_t i = kFrom; i < kFrom + kMostTries && arena_ == nullptr; ++i) {
    if (downwards && i >= there) break;
    auto* const where = reinterpret_cast<std::byte*>((downwards ? there - i : there + i) * kArenaAlign);
    if (map_at(where, kStepBytes)) arena_ = where;
  }
  if (arena_ == nullptr) throw std::bad_alloc();
  usable_ = kStepBytes;
}

LuaHeap::~LuaHeap() {
  for (std::size_t step = 0; step < usable_; step += kStepBytes) {
    __lsan_unregister_root_region(arena_ + step, kStepBytes);
  }
  ::munmap(arena_, usable_);
}

void* LuaHeap::take(std::size_t bytes) {
  if (in_use_ + bytes > limit_) return nullptr;
  given_out_ += bytes;
  if (bytes > kLargest) {
    void* const block =
        bytes > kHuge ? std::malloc(bytes) : retry_allocation([&] { return std::malloc(bytes); });
    if (block != nullptr) in_use_ += bytes;
    return block;
  }
  const std::size_t rounded = (list_of(bytes) + 1) * kGrain;
  Free*& list = free_[list_of(bytes)];
  if (list != nullptr) {
    Free* const block = list;
    list = block->next;
    in_use_ += bytes;
    return block;
  }
  if (used_ + rounded > usable_) {  // what is given out does not depend on the size of a step
    if (usable_ + kStepBytes > kArenaBytes || !map_at(arena_ + usable_, kStepBytes)) return nullptr;
    usable_ += kStepBytes;
  }
  void* const block = arena_ + used_;
  used_ += rounded;
  in_use_ += bytes;
  return block;
}

void LuaHeap::give_back(void* block, std::size_t bytes) noexcept {
  in_use_ -= bytes;
  if (bytes > kLargest) return std::free(block);
  free_[list_of(bytes)] = new (block) Free{free_[list_of(bytes)]};
}

void* LuaHeap::allocate(void* heap, void* block, std::size_t old_bytes, std::size_t new_bytes) {
  LuaHeap& self = *static_cast<LuaHeap*>(heap);
  if (new_bytes == 0) {
    if (old_bytes > 0) self.give_back(block, old_bytes);
    return nullptr;
  }
  if (old_bytes == 0) return self.take(new_bytes);
  if (old_bytes > kLargest && new_bytes > kLargest) {
    if (new_bytes > old_bytes && self.in_use_ - old_bytes + new_bytes > self.limit_) return nullptr;
    void* const moved = new_bytes > kHuge ? std::realloc(block, new_bytes)
                                          : retry_allocation([&] { return std::realloc(block, new_bytes); });
    if (moved == nullptr) return nullptr;
    self.in_use_ += new_bytes - old_bytes;
    self.given_out_ += new_bytes;
    return moved;
  }
  if (old_bytes <= kLargest && new_bytes <= kLargest && list_of(old_bytes) == list_of(new_bytes)) {
    self.in_use_ += new_bytes - old_bytes;
    return block;
  }
  void* const moved = self.take(new_bytes);
  if (moved == nullptr) {
    if (new_bytes > old_bytes) return nullptr;
    self.in_use_ -= old_bytes - new_bytes;
    return block;  // Lua relies on shrinking not to fail
  }
  std::memcpy(moved, block, std::min(old_bytes, new_bytes));
  self.give_back(block, old_bytes);
  return moved;
}

}  // namespace holdfast::sim::embedded
