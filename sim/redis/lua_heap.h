// LuaHeap: memory of one Lua state. Scripts make and drop many small tables and strings; those come from
// lists of free blocks, by size, and go back there. What is large goes to malloc.
//
// Small blocks lie in an arena whose first address is a multiple of 4 GiB, and are given out in an order that
// depends on the requests alone. So the lower 32 bits of the address of a small block are the same in every
// run. That fixes the order of pairs() over keys that are objects: Lua 5.1 hashes the lower 32 bits of an
// address (ltable.c, hashpointer; llimits.h, IntPoint), and every table, function and thread is a small
// block (at most kLargest bytes: a function with 60 upvalues). serial() is that number. The alternative, a
// sort of the keys in pairs(), would have to invent an order and would change what next() costs.
//
// A state that is ready to run scripts is kept as an image of the arena, so that the next server begins with
// the same bytes (lua_state.h). What is large lies in the arena, too, until the image is taken.
//
// A script has at most kMostBytes; beyond that Lua raises "not enough memory". What the server itself asks of
// the state, outside the script's protected call, has a reserve: there an error would end the program.
//
// Not thread-safe, like the Lua state that it serves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::sim::embedded {

class LuaHeap {
 public:
  static constexpr std::size_t kMostBytes = 448 * 1024 * 1024, kReserveBytes = 64 * 1024 * 1024;

  LuaHeap();  // throws std::bad_alloc
  ~LuaHeap();
  LuaHeap(const LuaHeap&) = delete;
  LuaHeap& operator=(const LuaHeap&) = delete;

  // lua_Alloc with a LuaHeap as its user data (Lua 5.1 reference manual, section 3.7).
  static void* allocate(void* heap, void* block, std::size_t old_bytes, std::size_t new_bytes);

  // The same number in every run, and another one for each small block that is in use.
  static std::uint32_t serial(const void* block) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(block));
  }
  // Keeps what is in the heap now. Once.
  void keep_image();
  // As at keep_image(): blocks that were given out since are gone, those of then are as they were.
  void restore_image() noexcept;

  void protect_reserve(bool on) { limit_ = on ? kMostBytes : kMostBytes + kReserveBytes; }
  std::size_t in_use() const { return in_use_; }
  // Bytes given out so far, what was given back included: a measure of work.
  std::uint64_t given_out() const { return given_out_; }

 private:
  static constexpr std::size_t kGrain = 16, kLargest = 512, kStepBytes = 128 * 1024;
  struct Free {
    Free* next;
  };
  using FreeLists = std::array<Free*, kLargest / kGrain>;
  // Before a block of malloc.
  struct alignas(16) Large {
    Large *next, *previous;
  };
  struct Image {
    std::vector<std::byte> bytes;  // of the arena, from its beginning
    FreeLists free;
    std::size_t in_use;
    std::uint64_t given_out;
  };
  static constexpr std::size_t kArenaAlign = std::size_t{1} << 32, kArenaBytes = std::size_t{1} << 30;
  // A script that asks for more than this and does not get it has an error of its own, as on a real server.
  // Nobody has to make room for it.
  static constexpr std::size_t kHuge = 16u << 20;
  // More than this of an arena is not kept from one server to the next.
  static constexpr std::size_t kMostKept = 8 * kStepBytes;
  static std::size_t list_of(std::size_t bytes) { return (bytes - 1) / kGrain; }
  bool in_arena(const void* block) const { return block >= arena_ && block < arena_ + used_; }

  void* take(std::size_t bytes);
  void* take_from_arena(std::size_t bytes);
  void* take_large(std::size_t bytes);
  void* resize_large(void* block, std::size_t bytes);
  void give_back(void* block, std::size_t bytes) noexcept;
  void unmap_from(std::size_t usable) noexcept;

  FreeLists free_{};
  Large* large_ = nullptr;  // blocks of malloc, the newest first
  Image image_{};
  std::byte* arena_ = nullptr;
  std::size_t used_ = 0, usable_ = 0;  // of the arena: given out once; mapped
  std::size_t in_use_ = 0;             // bytes, large blocks included
  std::size_t limit_ = kMostBytes + kReserveBytes;
  std::uint64_t given_out_ = 0;
};

}  // namespace holdfast::sim::embedded
