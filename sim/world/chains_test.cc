// Priorities of chains: what is later, by how much, and how often somebody is put down.
#include "sim/world/chains.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

struct PutDown {
  std::string chain;
  Duration by;
};

struct Story {
  std::vector<PutDown> down;
  std::vector<Duration> delays;
  std::set<Duration> steady;
};

// Two chains of messages, in turns, and one of timers.
Story story(std::uint64_t seed, const ChainOptions& options = {}) {
  Story told;
  Chains chains(options, Rng::derive(seed, "chains"), [&](std::string_view chain, Duration by) {
    told.down.push_back({std::string(chain), by});
  });
  for (int i = 0; i < 400; ++i) {
    for (const char* const chain : {"a", "b", "timers"}) {
      const std::size_t before = told.down.size();
      const bool timer = std::string_view(chain) == "timers";
      const Duration delay = timer ? chains.timer(chain) : chains.message(chain);
      told.delays.push_back(delay);
      if (told.down.size() == before) {
        told.steady.insert(delay);
        EXPECT_LE(delay, options.steady);
      } else {
        EXPECT_EQ(delay, told.down.back().by);
        EXPECT_EQ(told.down.back().chain, chain);
        EXPECT_GE(delay, options.least);
        EXPECT_LE(delay, timer ? options.timers : options.longest);
      }
    }
  }
  return told;
}

TEST(Chains, AFewArePutDownAndTheOthersGoOn) {
  std::set<std::string> chains;
  std::size_t long_ones = 0, short_ones = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Story told = story(seed);
    EXPECT_GE(told.down.size(), 1u);
    EXPECT_LE(told.down.size(), 4u);
    // A priority of each chain, and another one of each that was put down.
    EXPECT_LE(told.steady.size(), 3 + told.down.size());
    for (const PutDown& one : told.down) {
      chains.insert(one.chain);
      long_ones += one.by > 1s ? 1 : 0;
      short_ones += one.by < 1ms ? 1 : 0;
    }
  }
  EXPECT_EQ(chains.size(), 3u);
  EXPECT_GT(long_ones, 20u);
  EXPECT_GT(short_ones, 50u);
}

TEST(Chains, OneSeedOneStory) {
  EXPECT_EQ(story(7).delays, story(7).delays);
  EXPECT_NE(story(7).delays, story(8).delays);
}

TEST(Chains, ADrawIsAsLikelyInEachOctave) {
  Rng rng(5);
  std::size_t below = 0;
  for (int i = 0; i < 2'000; ++i) {
    const Duration drawn = draw_log_uniform(rng, 10us, 10s);
    ASSERT_GE(drawn, 10us);
    ASSERT_LE(drawn, 10s);
    below += drawn < 10ms ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(below), 1'000.0, 120.0);
  EXPECT_EQ(draw_log_uniform(rng, 3ms, 3ms), 3ms);
}

}  // namespace
}  // namespace holdfast::sim
