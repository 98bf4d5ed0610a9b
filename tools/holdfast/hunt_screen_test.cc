// The live screen of a hunt: what stands on it, and that it fits.
#include "tools/holdfast/hunt_screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "checker/story/text_layout.h"

namespace holdfast::tools {
namespace {

sim::HuntState a_hunt() {
  sim::HuntState state;
  state.runs = 12'345;
  state.virtual_ns = 7'200'000'000'000;
  state.grants = 1'234'567;
  state.features = 4'321;
  state.corpus = 99;
  state.singletons = 1'234;
  for (int i = 0; i < 12; ++i) {
    sim::Find find;
    find.failure = {.check = "check-" + std::to_string(i), .kind = "broken", .shape = "", .why = "because"};
    find.run = static_cast<std::uint64_t>(100 * i);
    find.count = static_cast<std::uint64_t>(20 - i);
    state.finds[find.failure.name()] = find;
  }
  return state;
}

std::string shown(const sim::HuntState& state, int width, std::size_t rows, bool unicode = true) {
  CoverageOverTime coverage;
  for (std::uint64_t runs = 64; runs <= state.runs; runs += 64) coverage.add(runs, 100 + runs / 100);
  std::string story;
  for (int i = 0; i < 30; ++i) story += "line " + std::to_string(i) + " " + std::string(150, 'x') + "\n";
  return screen_of({.state = state,
                    .title = "hunt fair, seed 1",
                    .limit = "of 20000",
                    .seconds = 61,
                    .runs_a_second = 202.4,
                    .coverage = coverage,
                    .story = story},
                   {.width = width, .unicode = unicode, .color = false}, rows);
}

TEST(HuntScreen, TellsHowItGoesAndWhatWasFound) {
  const std::string text = shown(a_hunt(), 100, 40);
  for (const char* const part :
       {"hunt fair, seed 1", "12,345 of 20000, 202/s, 1m 01s", "2.0 virtual hours, 1,234,567 grants",
        "4,321 features, at most 0.100 new ones in the next run, corpus 99",
        "20 runs: check-0/broken, first in run 0", "and 4 more", "The newest, of run 1,100: check-11/broken",
        "line 0 xx"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_LT(text.find("check-0/"), text.find("check-1/")) << "the most frequent first";
}

TEST(HuntScreen, NothingFoundIsSaidSo) {
  sim::HuntState state = a_hunt();
  state.finds.clear();
  const std::string text = shown(state, 80, 24);
  EXPECT_NE(text.find("violations  none"), std::string::npos) << text;
  EXPECT_EQ(text.find("newest"), std::string::npos);
}

TEST(HuntScreen, FitsIntoTheTerminal) {
  for (const int width : {20, 59, 80, 132, 200}) {
    for (const std::size_t rows : {4, 10, 24, 60}) {
      for (const bool unicode : {true, false}) {
        const std::string text = shown(a_hunt(), width, rows, unicode);
        EXPECT_LE(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), rows);
        for (std::size_t begin = 0; begin < text.size();) {
          const std::size_t end = text.find('\n', begin);
          EXPECT_LT(checker::columns_of(text.substr(begin, end - begin)), static_cast<std::size_t>(width));
          begin = end + 1;
        }
        if (!unicode) {
          EXPECT_TRUE(
              std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) > 0; }));
        }
      }
    }
  }
}

TEST(HuntScreen, WhatSteersATerminalIsShownAsItIs) {
  sim::HuntState state = a_hunt();
  state.finds.clear();
  sim::Find find;
  find.failure = {.check = "x\x1b[2J", .kind = "", .shape = "", .why = ""};
  state.finds["x"] = find;
  EXPECT_EQ(shown(state, 100, 24).find('\x1b'), std::string::npos);
}

TEST(HuntScreen, CoverageOverTimeIsWhatWasNewInEachPart) {
  CoverageOverTime coverage;
  EXPECT_EQ(coverage.bars(8, true), "");
  coverage.add(100, 800);
  coverage.add(200, 800);
  coverage.add(400, 1'000);
  EXPECT_EQ(coverage.bars(4, true), "█ ▁▁");
  EXPECT_EQ(coverage.bars(4, false), "# ..");
  // However long it is: a few hundred points, from the first to the last.
  CoverageOverTime longer;
  for (std::uint64_t runs = 1; runs <= 100'000; ++runs) longer.add(runs, runs);
  EXPECT_EQ(longer.runs(), 100'000u);
  EXPECT_EQ(longer.bars(4, false), "####");
}

TEST(HuntScreen, ElsewhereItIsOneLine) {
  const std::string line = line_of(a_hunt(), 61);
  EXPECT_EQ(line,
            "12345 runs, 202/s, 2.0 virtual hours, 4321 features, corpus 99, 12 finds in 174 runs · "
            "check-11/broken");
}

}  // namespace
}  // namespace holdfast::tools
