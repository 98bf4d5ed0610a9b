// LuaHeap: memory of one Lua state. Scripts make and drop many small tables and strings; those come from
// lists of free blocks, by size, and go back there. What is large goes to malloc.
//
// Not thread-safe, like the Lua state that it serves.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace holdfast::sim::embedded {

class LuaHeap {
 public:
  LuaHeap() = default;
  LuaHeap(const LuaHeap&) = delete;
  LuaHeap& operator=(const LuaHeap&) = delete;

  // lua_Alloc with a LuaHeap as its user data (Lua 5.1 reference manual, section 3.7).
  static void* allocate(void* heap, void* block, std::size_t old_bytes, std::size_t new_bytes);

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kGrain = 16, kLargest = 512, kSlabBytes = 32 * 1024;
  // A script that asks for more than this and does not get it has an error of its own, as on a real server.
  // Nobody has to make room for it.
  static constexpr std::size_t kHuge = 16u << 20;
  static std::size_t list_of(std::size_t bytes) { return (bytes - 1) / kGrain; }

  void* take(std::size_t bytes);
  void give_back(void* block, std::size_t bytes) noexcept;

  std::array<Free*, kLargest / kGrain> free_{};
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
  std::byte* fresh_ = nullptr;  // the rest of the newest slab
  std::size_t fresh_bytes_ = 0;
};

}  // namespace holdfast::sim::embedded
