// `holdfast check` when a search takes too long: a time limit, a memory limit, Ctrl-C.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "tools/holdfast/follow.h"
#include "tools/holdfast/search_watch.h"
#include "tools/holdfast/testing/run_check.h"

namespace holdfast::tools {
namespace {

using testing::check;
using testing::expect_all;

class StoppedCheck : public ::testing::Test {
 protected:
  // A queue that 60 processes join at one time; the last two grants are of one moment, which shows only after
  // all orders of joining were tried. On key `k`; key `easy` holds.
  std::string endless() {
    std::string text;
    std::uint64_t time = 0;
    const auto event = [&](int process, const char* key, const char* type, const char* f) {
      time += 1000;
      text += "{\"time\":" + std::to_string(time) + ",\"process\":\"" + std::to_string(process) +
              "\",\"type\":\"" + type + "\",\"f\":\"" + f + "\",\"key\":\"" + key + "\"}\n";
    };
    constexpr int kProcesses = 60;
    event(99, "easy", "invoke", "acquire");
    event(99, "easy", "ok", "acquire");
    for (int i = 0; i < kProcesses; ++i) event(i, "k", "invoke", "acquire");
    for (int i = 0; i < kProcesses; ++i) {
      const int process = (i * 37 + 11) % kProcesses;
      event(process, "k", "ok", "acquire");
      if (i == kProcesses - 2) continue;
      event(process, "k", "invoke", "release");
      event(process, "k", "ok", "release");
    }
    const std::string path = folder_.path() + "/endless.jsonl";
    std::ofstream(path) << text;
    return path;
  }
  static constexpr const char* kSearch = "--model fair --check linearizable --engine search ";
  TemporaryFolder folder_;
};

TEST_F(StoppedCheck, ATimeLimitGivesWhatIsKnown) {
  const Ran ran = check(kSearch + std::string("--timeout 300ms ") + endless());
  EXPECT_EQ(ran.exit, 2) << ran.out;
  expect_all(ran, {": unknown", "the search spent its time on key k, after ", "completions have an order",
                   "2 keys, 1 of them hold"});
}

TEST_F(StoppedCheck, AMemoryLimitGivesWhatIsKnown) {
  const Ran ran = check(kSearch + std::string("--memory 3 ") + endless());
  EXPECT_EQ(ran.exit, 2) << ran.out;
  expect_all(ran, {": unknown", "the search spent its memory on key k, after "});
}

// The command is interrupted once it catches the signal, which it does only while it judges. (The shell
// catches it, too, and so does its child until that has become the command.)
TEST_F(StoppedCheck, CtrlCGivesWhatIsKnown) {
  const std::string easy = folder_.path() + "/easy.jsonl";
  std::ofstream(easy) << R"({"time":1,"process":"1","type":"invoke","f":"acquire","key":"k"})"
                      << "\n";
  const std::string first = endless();
  for (const std::string& files : {first, first + " " + easy}) {
    const Ran ran = run_shell(
        "export LC_ALL=C.UTF-8; " + kTool + " check " + kSearch + files +
        " & pid=$!; until grep -q '^holdfast' /proc/$pid/comm && "
        "grep -q 'SigCgt:.*[2367abef]$' /proc/$pid/status; do sleep 0.01; done; kill -INT $pid; wait $pid");
    EXPECT_EQ(ran.exit, 130) << ran.out << ran.err;
    expect_all(ran, {": unknown"});
    if (files == first) {
      expect_all(ran, {"the search was interrupted on key k, after ", "2 keys, 1 of them hold"});
    } else {
      expect_all(ran, {"interrupted; 1 of 2 histories were judged"});
    }
  }
}

TEST_F(StoppedCheck, ATimeIsATime) {
  for (const std::string time : {"30", "0s", "-1s", "soon"}) {
    const Ran ran = check("--timeout " + time + " " + endless());
    EXPECT_EQ(ran.exit, 64);
    expect_all(ran, {"--timeout: `" + time + "` is no time, expected one such as 30s"});
  }
}

TEST(SearchWatch, TellsOfTimeAndOfSignals) {
  SearchWatch::forget_interrupt();
  {
    SearchWatch watch({}, "judging");
    EXPECT_EQ(watch.ask({.settled = 1, .operations = 2, .steps = 3}), nullptr);
    std::raise(SIGINT);
    EXPECT_STREQ(watch.ask({}), "interrupted");
    EXPECT_TRUE(SearchWatch::interrupted());
  }
  SearchWatch::forget_interrupt();
  SearchWatch over(std::chrono::nanoseconds(1), "judging");
  EXPECT_STREQ(over.ask({}), "time");
}

// A history that grows: Ctrl-C comes before its first line was read.
TEST_F(StoppedCheck, WhatIsThereAtCtrlCIsRead) {
  const std::string file = folder_.path() + "/grows.jsonl";
  std::ofstream(file) << R"({"time":1,"process":"1","type":"invoke","f":"acquire","key":"k"})"
                      << "\n"
                      << R"({"time":2,"process":"1","type":"ok","f":"acquire","key":"k"})"
                      << "\n";
  SearchWatch::forget_interrupt();
  {
    const SearchWatch pressed({}, "judging");
    std::raise(SIGINT);
  }
  CheckArguments arguments;
  arguments.files = {file};
  const LoadedHistory loaded = follow_history(file, arguments);
  EXPECT_TRUE(loaded.interrupted);
  EXPECT_EQ(loaded.followed_until, "Ctrl-C");
  EXPECT_EQ(loaded.packed.size(), 2u);
  EXPECT_FALSE(SearchWatch::interrupted()) << "it is judged now";
}

}  // namespace
}  // namespace holdfast::tools
