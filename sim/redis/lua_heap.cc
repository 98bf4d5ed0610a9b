#include "sim/redis/lua_heap.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lib/runtime/retry_allocation.h"

namespace holdfast::sim::embedded {

void* LuaHeap::take(std::size_t bytes) {
  if (bytes > kHuge) return std::malloc(bytes);
  if (bytes > kLargest) return retry_allocation([&] { return std::malloc(bytes); });
  Free*& list = free_[list_of(bytes)];
  if (list != nullptr) {
    Free* const block = list;
    list = block->next;
    return block;
  }
  const std::size_t rounded = (list_of(bytes) + 1) * kGrain;
  if (fresh_bytes_ < rounded) {
    try {
      slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(kSlabBytes));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    fresh_ = slabs_.back().get();  // what was left of the last one stays unused
    fresh_bytes_ = kSlabBytes;
  }
  void* const block = fresh_;
  fresh_ += rounded;
  fresh_bytes_ -= rounded;
  return block;
}

void LuaHeap::give_back(void* block, std::size_t bytes) noexcept {
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
  if (old_bytes > kLargest && new_bytes > kHuge) return std::realloc(block, new_bytes);
  if (old_bytes > kLargest && new_bytes > kLargest)
    return retry_allocation([&] { return std::realloc(block, new_bytes); });
  if (old_bytes <= kLargest && new_bytes <= kLargest && list_of(old_bytes) == list_of(new_bytes))
    return block;
  void* const moved = self.take(new_bytes);
  if (moved == nullptr)
    return new_bytes <= old_bytes ? block : nullptr;  // Lua relies on shrinking not to fail
  std::memcpy(moved, block, std::min(old_bytes, new_bytes));
  self.give_back(block, old_bytes);
  return moved;
}

}  // namespace holdfast::sim::embedded
