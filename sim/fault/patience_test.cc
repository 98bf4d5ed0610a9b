// How long a fault asks a server that does not take its command: ask_patiently().
#include <gtest/gtest.h>

#include <stdexcept>

#include "sim/fault/support.h"
#include "sim/fault/testing/bench.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Bench;
using testing::Kind;
using testing::Rig;
using testing::with_rig;

// A server with an administrator who asks it; time is virtual.
struct Asked {
  explicit Asked(Rig& rig)
      : harness(rig.world.harness().runtime()), bench(rig), node(*bench.cluster.nodes().front()) {}
  bool patiently(const std::function<void()>& what) {
    began = harness.now();
    return ask_patiently(bench.targets, node, [&] {
      ++times;
      what();
    });
  }
  Duration took() const { return harness.now() - began; }

  Runtime& harness;
  Bench bench;
  ClusterNode& node;
  MonotonicTime began{};
  int times = 0;
};

[[noreturn]] void lose_the_connection() { throw std::runtime_error("the connection broke"); }
[[noreturn]] void refuse(const char* answer) { throw NodeRefuses("node r1 does not obey", answer); }

TEST(Patience, AServerThatIsBusyIsAskedUntilItIsNot) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Asked asked(rig);
    EXPECT_TRUE(asked.patiently([&] {
      if (asked.took() < 20s) refuse(asked.took() < 10s ? "BUSY a script" : "LOADING the dataset");
    }));
    EXPECT_GE(asked.took(), 20s);
  });
}

TEST(Patience, ARefusalForGoodIsToldAtOnce) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Asked asked(rig);
    EXPECT_THROW(asked.patiently([] { refuse("ERR unknown command"); }), NodeRefuses);
    EXPECT_EQ(asked.times, 1);
  });
}

// As a server does that stands still for its disk and then throws out its clients.
TEST(Patience, AConnectionThatBreaksLateIsNoReasonToGiveUp) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Asked asked(rig);
    EXPECT_TRUE(asked.patiently([&] {
      if (asked.times > 3) return;
      asked.harness.sleep_for(2s);
      lose_the_connection();
    }));
    EXPECT_EQ(asked.times, 4);
  });
}

TEST(Patience, ManyConnectionsThatBreakWithinASecondAreNone) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Asked asked(rig);
    EXPECT_TRUE(asked.patiently([&] {
      if (asked.took() < 900ms) lose_the_connection();
    }));
    EXPECT_GT(asked.times, 100);
  });
}

TEST(Patience, ASecondOfBrokenConnectionsIsTheEnd) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Asked asked(rig);
    EXPECT_THROW(asked.patiently(lose_the_connection), std::runtime_error);
    EXPECT_GT(asked.took(), 1s);
    EXPECT_LT(asked.took(), 1100ms);
  });
}

// One that is paused while it starts does not listen yet.
TEST(Patience, WhoStandsStillIsWaitedFor) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Asked asked(rig);
    ++asked.node.in_force(kPaused);
    EXPECT_TRUE(asked.patiently([&] {
      if (asked.took() < 10s) lose_the_connection();
      asked.node.in_force(kPaused) = 0;
    }));
    EXPECT_GE(asked.took(), 10s);
    EXPECT_THROW(asked.patiently([] { lose_the_connection(); }), std::runtime_error) << "now it goes on";
  });
}

TEST(Patience, AnAnswerBeginsItAnew) {
  with_rig(Kind::embedded, [](Rig& rig) {
    Asked asked(rig);
    EXPECT_TRUE(asked.patiently([&] {
      if (asked.took() > 2s) return;
      if (asked.times % 500 == 0) refuse("BUSY a script");
      lose_the_connection();
    }));
  });
}

TEST(Patience, WhoDiesIsNotAskedAgain) {
  with_rig(Kind::embedded, [](Rig& rig) {
    for (const bool restarts : {false, true}) {
      Asked asked(rig);
      EXPECT_FALSE(asked.patiently([&] {
        asked.node.crash();
        if (restarts) asked.node.restart(true);
        lose_the_connection();
      }));
      EXPECT_EQ(asked.times, 1);
    }
  });
}

}  // namespace
}  // namespace holdfast::sim
