#include "sim/redis/write_back.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

MonotonicTime at(Duration time) { return MonotonicTime(1000s + time); }

TEST(WriteBack, WhatWasSyncedIsThere) {
  WriteBack file(5);
  EXPECT_EQ(file.length(at(0s), 5), 5u);
  file.saw(at(0s), 50);
  EXPECT_EQ(file.length(at(29s), 50), 5u);
  file.synced(40);
  EXPECT_EQ(file.length(at(29s), 50), 40u);
  file.synced(30);
  EXPECT_EQ(file.length(at(29s), 50), 40u) << "an older sync takes nothing back";
}

TEST(WriteBack, TheKernelWritesWhatIsOld) {
  WriteBack file;
  file.saw(at(0ms), 10);
  file.saw(at(500ms), 20);
  file.saw(at(1500ms), 30);
  file.saw(at(10s), 40);
  EXPECT_EQ(file.length(at(29999ms), 40), 0u);
  EXPECT_EQ(file.length(at(30s), 40), 10u);
  EXPECT_EQ(file.length(at(31s), 40), 10u) << "the second append is taken to be as young as the third";
  EXPECT_EQ(file.length(at(31500ms), 40), 30u);
  EXPECT_EQ(file.length(at(40s), 40), 40u) << "the last one too, although nothing came after it";
}

TEST(WriteBack, ALongRunKeepsLittleAndLosesAtMostASecondMore) {
  WriteBack file;
  for (int i = 1; i <= 100'000; ++i) file.saw(at(i * 1ms), static_cast<std::size_t>(i));
  const std::size_t left = file.length(at(100s), 100'000);
  EXPECT_LE(left, 70'000u);
  EXPECT_GE(left, 69'000u);
}

}  // namespace
}  // namespace holdfast::sim
