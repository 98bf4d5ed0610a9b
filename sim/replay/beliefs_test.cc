// Beliefs: what a client believes after each event of a history.
#include <gtest/gtest.h>

#include <string>

#include "checker/testing/script_history.h"
#include "sim/replay/beliefs.h"

namespace holdfast::sim {
namespace {

// The last belief of each thread: "c1/0: holding k c1-1 until 500".
class Told {
 public:
  explicit Told(const std::string& script) : history_(checker::testing::history_of(script)) {
    Beliefs beliefs(history_, replay_);
    for (std::size_t i = 0; i < history_.events().size(); ++i)
      beliefs.take(i, history_.events()[i].time_ns - history_.events()[0].time_ns);
  }
  const Replay& replay() const { return replay_; }
  std::string of(const std::string& thread) const {
    static constexpr const char* kStates[] = {"asking", "queued", "holding", "releasing", "lost", "unsure"};
    std::string text = "nothing told";
    for (const Replay::Belief& belief : replay_.beliefs) {
      if (replay_.threads[belief.thread] != thread) continue;
      text = belief.dead ? "dead" : "";
      if (!belief.doing.empty()) text += "[" + belief.doing + "]";
      for (const Replay::Claim& claim : belief.claims) {
        text += (text.empty() ? "" : ", ") + std::string(kStates[static_cast<std::size_t>(claim.state)]) +
                " " + claim.key;
        if (!claim.id.empty()) text += " " + claim.id;
        if (claim.until_ns) text += " until " + std::to_string(*claim.until_ns / 1'000'000);
      }
    }
    return text;
  }

 private:
  checker::History history_;
  Replay replay_;
};

constexpr const char* kGranted = R"(
    0   c1/0 invoke acquire k owner=c1:0
    5   c1/0 ok acquire k owner=c1:0 id=c1-1 node=r1 valid=500
)";

std::string after(const std::string& events, const std::string& thread = "c1/0") {
  return Told(kGranted + events).of(thread);
}

TEST(Beliefs, OfAHoldFromItsGrantToItsEnd) {
  EXPECT_EQ(after(""), "holding k c1-1 until 500");
  EXPECT_EQ(after("10 c1/watchdog invoke renew k id=c1-1\n11 c1/watchdog ok renew k id=c1-1 valid=600"),
            "holding k c1-1 until 600");
  EXPECT_EQ(after("10 c1/watchdog invoke renew k id=c1-1\n11 c1/watchdog info renew k id=c1-1"),
            "holding k c1-1 until 500");
  EXPECT_EQ(after("20 c1/watchdog ok lost k id=c1-1"), "lost k c1-1 until 500");
  EXPECT_EQ(after("20 c1/0 invoke release k owner=c1:0 id=c1-1"), "releasing k c1-1 until 500");
  EXPECT_EQ(after("20 c1/0 invoke release k owner=c1:0 id=c1-1\n21 c1/0 ok release k owner=c1:0 id=c1-1"),
            "");
  EXPECT_EQ(after("20 c1/0 invoke release k owner=c1:0 id=c1-1\n21 c1/0 info release k owner=c1:0 id=c1-1"),
            "unsure k c1-1 until 500");
  EXPECT_EQ(after("20 c1/0 invoke read stock"), "[reads stock], holding k c1-1 until 500");
  EXPECT_EQ(after("20 c1/0 invoke read stock\n21 c1/0 ok read stock value=9"), "holding k c1-1 until 500");
  EXPECT_EQ(after("20 c1 info crash"), "dead");
  EXPECT_EQ(after("20 c1 info crash\n30 c1/0#1 invoke acquire k owner=c1:0"), "asking k");
}

TEST(Beliefs, OfReentryAndOfSeveralKeys) {
  const std::string again =
      "10 c1/0 invoke acquire k owner=c1:0\n11 c1/0 ok acquire k owner=c1:0 id=c1-1 valid=700\n";
  EXPECT_EQ(after(again), "holding k c1-1 until 700");
  EXPECT_EQ(
      after(again + "20 c1/0 invoke release k owner=c1:0 id=c1-1\n21 c1/0 ok release k owner=c1:0 id=c1-1"),
      "holding k c1-1 until 700");
  EXPECT_EQ(after("10 c1/0 invoke acquire q owner=c1:0\n11 c1/0 ok queue q"),
            "holding k c1-1 until 500, queued q");
  EXPECT_EQ(after("10 c1/0 invoke acquire q owner=c1:0\n11 c1/0 fail acquire q owner=c1:0"),
            "holding k c1-1 until 500");
  EXPECT_EQ(after("10 c1/0 invoke acquire q owner=c1:0\n11 c1/0 info acquire q owner=c1:0"),
            "holding k c1-1 until 500, unsure q");
}

TEST(Beliefs, OfOthersAndOfWhatIsNoClient) {
  const Told told(std::string(kGranted) + R"(
    6   ledger/0 invoke store-grant k id=c2-1 node=r1
    7   c10/0 invoke acquire k owner=c10:0
    8   c2/0 invoke acquire k owner=c2:0
    9   nemesis info fault gc value=1 id=gc#1 error=pause-client
    9   nemesis info effect gc id=gc#1 mode=paused node=c2
    19  nemesis info effect gc id=gc#1 mode=resumed node=c2
  )");
  EXPECT_EQ(told.replay().threads, (std::vector<std::string>{"c1/0", "c2/0", "c10/0"}));
  EXPECT_EQ(told.of("c2/0"), "asking k");
  EXPECT_EQ(told.of("c1/0"), "holding k c1-1 until 500");
  ASSERT_EQ(told.replay().pauses.size(), 2U);
  EXPECT_EQ(told.replay().pauses[0].party, "c2");
  EXPECT_TRUE(told.replay().pauses[0].begins);
  EXPECT_FALSE(told.replay().pauses[1].begins);
  EXPECT_EQ(told.replay().told.size(), 7U) << "what commands did is told by the messages";
}

}  // namespace
}  // namespace holdfast::sim
