#include "sim/watched/ballot.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using Outcome = Ballot::Outcome;

TEST(Ballot, MostMustSayYes) {
  Ballot ballot(3);
  const auto attempt = ballot.asks("r1", 10);
  EXPECT_EQ(ballot.asks("r2", 11), attempt);
  EXPECT_EQ(ballot.asks("r3", 12), attempt);
  EXPECT_EQ(ballot.counts("r1", attempt, Vote::yes), Outcome::open);
  EXPECT_EQ(ballot.counts("r2", attempt, Vote::no), Outcome::open);
  EXPECT_FALSE(ballot.decided());
  EXPECT_EQ(ballot.counts("r3", attempt, Vote::yes), Outcome::yes);
  EXPECT_TRUE(ballot.decided());
  EXPECT_EQ(ballot.asked_first_ns(), 10);
}

TEST(Ballot, ItIsDecidedOnce) {
  Ballot ballot(3);
  const auto attempt = ballot.asks("r1", 0);
  for (const char* const server : {"r2", "r3"}) ballot.asks(server, 0);
  EXPECT_EQ(ballot.counts("r1", attempt, Vote::no), Outcome::open);
  EXPECT_EQ(ballot.counts("r2", attempt, Vote::no), Outcome::no);
  EXPECT_EQ(ballot.counts("r3", attempt, Vote::yes), Outcome::open);
}

// Of an even number half is not enough, and half that says no decides.
TEST(Ballot, HalfIsNoMajority) {
  Ballot ballot(4);
  const auto attempt = ballot.asks("r1", 0);
  for (const char* const server : {"r2", "r3", "r4"}) ballot.asks(server, 0);
  EXPECT_EQ(ballot.counts("r1", attempt, Vote::yes), Outcome::open);
  EXPECT_EQ(ballot.counts("r2", attempt, Vote::yes), Outcome::open);
  EXPECT_EQ(ballot.counts("r3", attempt, Vote::no), Outcome::open);
  EXPECT_EQ(ballot.counts("r4", attempt, Vote::no), Outcome::no);
}

TEST(Ballot, VotesOfAnEarlierAttemptCountForNothing) {
  Ballot ballot(3);
  const auto first = ballot.asks("r1", 0);
  ballot.asks("r2", 0);
  ballot.asks("r3", 0);
  ballot.counts("r1", first, Vote::yes);
  const auto second = ballot.asks("r1", 5);
  EXPECT_NE(second, first);
  EXPECT_EQ(ballot.asked_first_ns(), 5);
  ballot.asks("r2", 5);
  EXPECT_EQ(ballot.counts("r1", second, Vote::no), Outcome::open);
  EXPECT_EQ(ballot.counts("r2", first, Vote::yes), Outcome::open);
  EXPECT_EQ(ballot.counts("r3", first, Vote::yes), Outcome::open);
  EXPECT_EQ(ballot.counts("r2", second, Vote::no), Outcome::no);
}

// A script that the server does not know is sent with its text; a request on a broken connection on another.
TEST(Ballot, WhoIsAskedAgainBecauseItDidNotAnswerIsOfTheSameAttempt) {
  Ballot ballot(3);
  const auto attempt = ballot.asks("r1", 0);
  ballot.takes_back("r1", attempt);
  EXPECT_EQ(ballot.asks("r1", 1), attempt);
  EXPECT_EQ(ballot.asks("r2", 1), attempt);
  EXPECT_EQ(ballot.asks("r2", 2), attempt);
  EXPECT_EQ(ballot.counts("r1", attempt, Vote::yes), Outcome::open);
  EXPECT_EQ(ballot.counts("r2", attempt, Vote::yes), Outcome::yes);
}

TEST(Ballot, AnswersThatNobodyUnderstandsLeaveItUnclear) {
  Ballot ballot(3);
  const auto attempt = ballot.asks("r1", 0);
  for (const char* const server : {"r2", "r3"}) ballot.asks(server, 0);
  EXPECT_EQ(ballot.counts("r1", attempt, Vote::yes), Outcome::open);
  EXPECT_EQ(ballot.counts("r2", attempt, Vote::unclear), Outcome::open);
  EXPECT_EQ(ballot.counts("r3", attempt, Vote::unclear), Outcome::unclear);
}

}  // namespace
}  // namespace holdfast::sim
