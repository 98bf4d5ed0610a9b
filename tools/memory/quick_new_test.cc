// A program of its own, for operator new is one for all of a program.
#include "tools/memory/quick_new.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

namespace holdfast::tools {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOwn = false;
#else
constexpr bool kOwn = true;
#endif

struct Block {
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  unsigned char filled = 0;
};

Block take(std::size_t size, unsigned char with) {
  Block block{static_cast<unsigned char*>(::operator new(size)), size, with};
  std::memset(block.bytes, with, size);
  return block;
}

bool intact(const Block& block) {
  return std::all_of(block.bytes, block.bytes + block.size,
                     [&](unsigned char byte) { return byte == block.filled; });
}

void give_back(const Block& block, bool sized) {
  sized ? ::operator delete(block.bytes, block.size) : ::operator delete(block.bytes);
}

// Before keep_small_blocks(), too: what came from malloc() goes back there.
TEST(QuickNew, BlocksAreApartWhateverTheirSizesAndWhoeverFreesThem) {
  std::vector<Block> blocks = {take(24, 7), take(2000, 8)};
  keep_small_blocks();
  std::mt19937_64 draw(1);
  for (int round = 0; round < 40'000; ++round) {
    if (blocks.size() < 2000 || draw() % 2 == 0) {
      blocks.push_back(
          take(draw() % 8 == 0 ? draw() % 5000 : draw() % 200, static_cast<unsigned char>(draw())));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().bytes) % alignof(std::max_align_t), 0u);
    } else {
      std::swap(blocks[draw() % blocks.size()], blocks.back());
      EXPECT_TRUE(intact(blocks.back()));
      give_back(blocks.back(), draw() % 2 == 0);
      blocks.pop_back();
    }
  }
  std::thread([&] {  // by another thread
    for (const Block& block : blocks) {
      EXPECT_TRUE(intact(block));
      give_back(block, true);
    }
  })
      .join();
}

TEST(QuickNew, AFreedBlockIsTheNextOneOfItsSizeAlsoForTheThreadAfter) {
  if (!kOwn) GTEST_SKIP() << "the sanitizers have an operator new of their own";
  keep_small_blocks();
  void* const first = ::operator new(40);
  ::operator delete(first);
  void* const again = ::operator new(33);  // of the same size in steps of 16
  EXPECT_EQ(again, first);
  ::operator delete(again, 33);

  constexpr std::size_t kRare = 1008;
  void* of_thread = nullptr;
  std::thread([&] {
    of_thread = ::operator new(kRare);
    ::operator delete(of_thread);
  }).join();
  void* of_next = nullptr;
  std::thread([&] {
    of_next = ::operator new(kRare);
    ::operator delete(of_next);
  }).join();
  EXPECT_EQ(of_next, of_thread);
}

}  // namespace
}  // namespace holdfast::tools
