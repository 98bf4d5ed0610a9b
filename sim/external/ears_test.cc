// What is said in ears.h, against pipes that are written by the book: a line that made another one possible
// is never of a later round.
#include "sim/external/ears.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::sim {
namespace {

void put(int fd, const std::string& text) {
  ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(Ears, LinesOfARoundHaveOneTime) {
  const auto world = make_real_world({});
  world->run([&] {
    Ears ears(*world);
    Pipe a = make_pipe(), b = make_pipe();
    const auto ear_a = ears.open(a.read), ear_b = ears.open(b.read);
    put(a.write, "one\ntwo\n");
    put(b.write, "three\n");
    ears.wait();
    ears.listen();
    EXPECT_EQ(ear_a->take(), "one\ntwo\n");
    EXPECT_EQ(ear_b->take(), "three\n");
    const std::int64_t first = ears.heard_ns();
    ears.listen();
    EXPECT_EQ(ear_a->take(), "");
    EXPECT_GE(ears.heard_ns(), first);
    // Both were seen to be empty after the first round: what comes now was written after that.
    put(a.write, "four\n");
    ears.listen();
    EXPECT_GE(ear_a->not_before_ns(), first);
    EXPECT_LE(ear_a->not_before_ns(), ears.heard_ns());
    close_fd(a.write);
    ears.listen();
    EXPECT_TRUE(ear_a->at_end());
    EXPECT_FALSE(ear_b->at_end());
    EXPECT_EQ(ear_a->bytes(), 13u);
    close_fd(b.write);
  });
}

// Threads hand a token round, and each prints when it has it and before it gives it on: as holders of a lock
// that is never granted twice. By the times of their rounds no two of them ever hold it at once, and
// each line was written after the time before which it says it was not.
TEST(Ears, NobodySeemsToHoldWhatAnotherOneHolds) {
  constexpr int kPrograms = 3, kRounds = 6000, kSilent = 100;
  const auto world = make_real_world({});
  world->run([&] {
    Ears ears(*world);
    std::vector<Pipe> pipes;
    std::vector<std::shared_ptr<Ear>> heard;
    // Many that are silent lie between them, so that a look at all pipes takes its time.
    std::vector<Pipe> silent;
    for (int i = 0; i < kPrograms; ++i) {
      pipes.push_back(make_pipe());
      heard.push_back(ears.open(pipes.back().read));
      for (int j = 0; j < kSilent; ++j) {
        silent.push_back(make_pipe());
        ears.open(silent.back().read);
      }
    }
    std::atomic<int> turn = 0;
    std::vector<std::vector<std::int64_t>> written(kPrograms), not_before(kPrograms);
    std::vector<std::thread> programs;
    for (int me = 0; me < kPrograms; ++me) {
      programs.emplace_back([&, me] {
        for (int round = 0; round < kRounds; ++round) {
          while (turn.load() % kPrograms != me) std::this_thread::yield();
          const auto its = static_cast<std::size_t>(me);
          static_cast<void>(!::write(pipes[its].write, "+\n", 2));
          written[its].push_back(world->now_ns());
          const std::int64_t until = world->now_ns() + 40'000;  // a while, in which pipes are looked at
          while (world->now_ns() < until) {
          }
          static_cast<void>(!::write(pipes[its].write, "-\n", 2));
          turn.fetch_add(1);
        }
        ::close(pipes[static_cast<std::size_t>(me)].write);
      });
    }
    struct Hold {
      std::int64_t from, to;
      std::size_t who;
    };
    std::vector<Hold> holds;
    std::vector<std::int64_t> since(kPrograms, -1);
    std::vector<std::string> rest(kPrograms);
    for (bool more = true; more;) {
      ears.wait();
      ears.listen();
      more = false;
      for (std::size_t i = 0; i < heard.size(); ++i) {
        more |= !heard[i]->at_end();
        rest[i] += heard[i]->take();
        std::size_t end = 0;
        while ((end = rest[i].find('\n')) != std::string::npos) {
          if (rest[i][0] == '+') {
            since[i] = ears.heard_ns();
            not_before[i].push_back(heard[i]->not_before_ns());
          } else {
            holds.push_back({since[i], ears.heard_ns(), i});
          }
          rest[i].erase(0, end + 1);
        }
      }
    }
    for (std::thread& program : programs) program.join();
    for (Pipe& pipe : silent) close_fd(pipe.write);
    ASSERT_EQ(holds.size(), std::size_t{kPrograms} * kRounds);
    for (std::size_t i = 0; i < written.size(); ++i) {
      int too_early = 0;
      for (std::size_t line = 0; line < written[i].size(); ++line)
        too_early += written[i][line] < not_before[i].at(line) ? 1 : 0;
      EXPECT_EQ(too_early, 0) << "written, by program " << i << ", before they could be";
    }
    int conflicts = 0;
    for (std::size_t i = 0; i < holds.size(); ++i) {  // they are in the order of their ends
      for (std::size_t j = i + 1; j < std::min(holds.size(), i + 200); ++j)
        conflicts += holds[i].from < holds[j].to && holds[j].from < holds[i].to ? 1 : 0;
    }
    EXPECT_EQ(conflicts, 0);
  });
}

// Between the looks at two pipes the one gives back what the other is granted then.
TEST(Ears, WhatMadeALinePossibleIsNeverOfALaterRound) {
  const auto world = make_real_world({});
  world->run([&] {
    Pipe a = make_pipe(), b = make_pipe();
    int looks = 0;
    std::int64_t asked_ns = 0;
    Ears ears(*world, [&] {
      if (++looks != 1) return;
      asked_ns = world->now_ns();
      put(a.write, "release\n");
      put(b.write, "granted\n");
    });
    const auto ear_a = ears.open(a.read), ear_b = ears.open(b.read);
    ears.listen();
    EXPECT_EQ(ear_b->take(), "granted\n");
    EXPECT_EQ(ear_a->take(), "release\n");
    EXPECT_LE(ear_a->not_before_ns(), asked_ns);
    EXPECT_LE(ear_b->not_before_ns(), asked_ns);
    close_fd(a.write);
    close_fd(b.write);
  });
}

// Two that truly hold at once for longer than a look at the pipes are seen to.
TEST(Ears, WhoHoldsAtOnceIsSeenTo) {
  const auto world = make_real_world({});
  world->run([&] {
    Ears ears(*world);
    Pipe a = make_pipe(), b = make_pipe();
    const auto ear_a = ears.open(a.read), ear_b = ears.open(b.read);
    const auto heard = [&](int fd, const Ear& ear) {
      const std::uint64_t before = ear.bytes();
      put(fd, "+\n");
      ears.wait();
      ears.listen();
      EXPECT_EQ(ear.bytes(), before + 2);
      return ears.heard_ns();
    };
    const std::int64_t from_a = heard(a.write, *ear_a), from_b = heard(b.write, *ear_b);
    const std::int64_t to_a = heard(a.write, *ear_a), to_b = heard(b.write, *ear_b);
    EXPECT_LT(std::max(from_a, from_b), std::min(to_a, to_b));
    close_fd(a.write);
    close_fd(b.write);
  });
}

}  // namespace
}  // namespace holdfast::sim
