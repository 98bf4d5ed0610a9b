// What lines mean for the history, put before it one by one.
#include "sim/external/told_client.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sim/external/told_line.h"
#include "sim/world/world.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;

class ToldClientTest : public ::testing::Test {
 protected:
  // Heard at `at`, and its pipe was empty at `not_before`.
  const Event& tell(std::string_view line, std::int64_t at, std::int64_t not_before) {
    told_.tell(parse_told(line), {.at_ns = at, .not_before_ns = not_before}, "n1", events_);
    return recorder_.history().events().back();
  }

  std::unique_ptr<World> world_ = make_embedded_world({.seed = 1});
  Recorder recorder_{*world_};
  WorkloadStats stats_;
  ToldClient told_{recorder_, stats_, "c1", "stock"};
  std::vector<ToldEvent> events_;
};

// Whoever is told late must not be believed to hold for longer.
TEST_F(ToldClientTest, ALeaseBeginsWhenItsLineMayHaveBeenWritten) {
  tell(R"({"type":"invoke","f":"acquire"})", 100, 50);
  EXPECT_EQ(tell(R"({"type":"ok","f":"acquire","valid_for_ms":2})", 5000, 3000).valid_until_ns, 2'003'000);
  tell(R"({"type":"invoke","f":"renew"})", 6000, 5500);
  EXPECT_EQ(tell(R"({"type":"ok","f":"renew","valid_for_ms":3})", 9000, 7000).valid_until_ns, 3'007'000);
}

TEST_F(ToldClientTest, AReleaseNamesTheHoldThatItEnds) {
  tell(R"({"type":"invoke","f":"acquire"})", 100, 50);
  const checker::Symbol id = tell(R"({"type":"ok","f":"acquire"})", 200, 150).id;
  EXPECT_NE(id, 0u);
  EXPECT_TRUE(told_.busy());
  EXPECT_EQ(tell(R"({"type":"invoke","f":"release","thread":1})", 300, 250).id, id) << "of another thread";
  EXPECT_EQ(tell(R"({"type":"ok","f":"release","thread":1})", 400, 350).id, id);
  EXPECT_FALSE(told_.busy());
}

// An operation of unknown outcome may still act: its thread's name is not used again.
TEST_F(ToldClientTest, AThreadOfUnknownOutcomeHasANewName) {
  const checker::Symbol before = tell(R"({"type":"invoke","f":"acquire"})", 100, 50).process;
  tell(R"({"type":"info","f":"acquire"})", 200, 150);
  EXPECT_NE(tell(R"({"type":"invoke","f":"acquire"})", 300, 250).process, before);
}

TEST_F(ToldClientTest, WhatCannotBeIsRefused) {
  EXPECT_THROW(tell(R"({"type":"ok","f":"acquire"})", 100, 50), BadLine);
  tell(R"({"type":"invoke","f":"acquire"})", 100, 50);
  EXPECT_THROW(tell(R"({"type":"invoke","f":"acquire"})", 200, 150), BadLine);
  EXPECT_THROW(tell(R"({"type":"ok","f":"release"})", 200, 150), BadLine);
  EXPECT_THROW(tell(R"({"type":"ok","f":"acquire","key":"another"})", 200, 150), BadLine);
  EXPECT_NO_THROW(tell(R"({"type":"invoke","f":"acquire","thread":1})", 300, 250));
}

}  // namespace
}  // namespace holdfast::sim
