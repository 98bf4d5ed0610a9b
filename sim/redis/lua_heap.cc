#include "sim/redis/lua_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

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
  while (large_ != nullptr) std::free(std::exchange(large_, large_->next));
  unmap_from(0);
}

void LuaHeap::unmap_from(std::size_t usable) noexcept {
  for (std::size_t step = usable; step < usable_; step += kStepBytes) {
    __lsan_unregister_root_region(arena_ + step, kStepBytes);
  }
  ::munmap(arena_ + usable, usable_ - usable);
  usable_ = usable;
}

void LuaHeap::keep_image() {
  image_ = {.bytes = {arena_, arena_ + used_}, .free = free_, .in_use = in_use_, .given_out = given_out_};
}

void LuaHeap::restore_image() noexcept {
  while (large_ != nullptr) std::free(std::exchange(large_, large_->next));
  if (usable_ > kMostKept) unmap_from(kMostKept);
  std::memcpy(arena_, image_.bytes.data(), image_.bytes.size());
  used_ = image_.bytes.size();
  free_ = image_.free;
  in_use_ = image_.in_use;
  given_out_ = image_.given_out;
  protect_reserve(false);
}

// What is given out does not depend on the size of a step.
void* LuaHeap::take_from_arena(std::size_t bytes) {
  const std::size_t rounded = (list_of(bytes) + 1) * kGrain;
  while (used_ + rounded > usable_) {
    if (usable_ + kStepBytes > kArenaBytes || !map_at(arena_ + usable_, kStepBytes)) return nullptr;
    usable_ += kStepBytes;
  }
  return arena_ + std::exchange(used_, used_ + rounded);
}

void* LuaHeap::take_large(std::size_t bytes) {
  if (image_.bytes.empty()) return take_from_arena(bytes);
  const auto take = [&] { return std::malloc(sizeof(Large) + bytes); };
  void* const taken = bytes > kHuge ? take() : retry_allocation(take);
  if (taken == nullptr) return nullptr;
  auto* const large = new (taken) Large{large_, nullptr};
  if (large_ != nullptr) large_->previous = large;
  large_ = large;
  return large + 1;
}

// REQUIRES: `block` is of malloc.
void* LuaHeap::resize_large(void* block, std::size_t bytes) {
  Large* const before = static_cast<Large*>(block) - 1;
  const auto move = [&] { return std::realloc(before, sizeof(Large) + bytes); };
  auto* const moved = static_cast<Large*>(bytes > kHuge ? move() : retry_allocation(move));
  if (moved == nullptr) return nullptr;
  (moved->previous != nullptr ? moved->previous->next : large_) = moved;
  if (moved->next != nullptr) moved->next->previous = moved;
  return moved + 1;
}

void* LuaHeap::take(std::size_t bytes) {
  if (in_use_ + bytes > limit_) return nullptr;
  given_out_ += bytes;
  void* block = nullptr;
  if (bytes > kLargest) {
    block = take_large(bytes);
  } else if (Free*& list = free_[list_of(bytes)]; list != nullptr) {
    block = list;
    list = list->next;
  } else {
    block = take_from_arena(bytes);
  }
  if (block != nullptr) in_use_ += bytes;
  return block;
}

void LuaHeap::give_back(void* block, std::size_t bytes) noexcept {
  in_use_ -= bytes;
  if (bytes <= kLargest) {
    free_[list_of(bytes)] = new (block) Free{free_[list_of(bytes)]};
  } else if (!in_arena(block)) {  // there it stays until the image is restored
    Large* const large = static_cast<Large*>(block) - 1;
    (large->previous != nullptr ? large->previous->next : large_) = large->next;
    if (large->next != nullptr) large->next->previous = large->previous;
    std::free(large);
  }
}

void* LuaHeap::allocate(void* heap, void* block, std::size_t old_bytes, std::size_t new_bytes) {
  LuaHeap& self = *static_cast<LuaHeap*>(heap);
  if (new_bytes == 0) {
    if (old_bytes > 0) self.give_back(block, old_bytes);
    return nullptr;
  }
  if (old_bytes == 0) return self.take(new_bytes);
  if (old_bytes > kLargest && new_bytes > kLargest && !self.in_arena(block)) {
    if (new_bytes > old_bytes && self.in_use_ - old_bytes + new_bytes > self.limit_) return nullptr;
    void* const moved = self.resize_large(block, new_bytes);
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
