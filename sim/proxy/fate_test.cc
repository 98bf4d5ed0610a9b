// What became of the replies that watchers saw.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sim/proxy/proxy.h"
#include "sim/proxy/testing/rig.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Kind;
using testing::Rig;
using testing::Wire;
using testing::with_rig;
using Strings = std::vector<std::string>;

std::string name_of(Fate fate) {
  return fate == Fate::delivered ? "delivered" : fate == Fate::dropped ? "dropped" : "cut";
}

// "one delivered": the last argument of the request, and what became of its reply.
class Fates {
 public:
  explicit Fates(Proxy& proxy) {
    proxy.watch([this](const Message& message) {
      if (message.direction == Direction::reply) seen_[message.exchange] = message.arguments.back();
    });
    proxy.watch_fates([this](const Link& link, std::uint64_t exchange, Fate fate) {
      EXPECT_EQ(link.from, "c1");
      told.push_back(seen_.at(exchange) + " " + name_of(fate));
    });
  }
  Strings told;

 private:
  std::map<std::uint64_t, std::string> seen_;
};

std::shared_ptr<Rule> on_reply_to(const std::string& word, Action action) {
  NthMessage options;
  options.which = [](const Link&) { return Lanes{.request = false, .reply = true}; };
  options.matches = [word](const Message& message) { return message.arguments.back() == word; };
  options.action = std::move(action);
  return make_nth_message_rule(options);
}

class FateTest : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, FateTest, ::testing::Values(Kind::embedded, Kind::real),
                         [](const auto& info) { return info.param == Kind::embedded ? "embedded" : "real"; });

TEST_P(FateTest, OneByOneAndInOneGo) {
  with_rig(GetParam(), [](Rig& rig) {
    Fates fates(rig.proxy);
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("echo one"), "+one");
      wire.send("echo two\r\necho three\r\necho four\r\n");
      EXPECT_EQ(wire.read_line(3), "+two+three+four");
    });
    EXPECT_EQ(fates.told, (Strings{"one delivered", "two delivered", "three delivered", "four delivered"}));
  });
}

TEST_P(FateTest, WhatEachActionDoes) {
  struct Case {
    const char* name;
    Action action;
    const char* fate;
  };
  const auto other = std::make_shared<const std::string>("+other\r\n");
  const auto slices = std::make_shared<const std::vector<Slice>>(std::vector<Slice>{{2, 0ms}, {3, 1ms}});
  const std::vector<Case> cases = {
      {"drop", {.kind = Action::Kind::drop}, "dropped"},
      {"instead", {.instead = other}, "dropped"},
      {"reset", {.kind = Action::Kind::reset}, "cut"},
      {"half", {.kind = Action::Kind::pass_half_then_reset}, "cut"},
      {"part", {.kind = Action::Kind::pass_part_then_close, .part = 3}, "cut"},
      {"whole", {.kind = Action::Kind::pass_part_then_close, .part = 100}, "delivered"},
      {"delay", {.delay = 5ms}, "delivered"},
      {"slices", {.slices = slices}, "delivered"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    with_rig(GetParam(), [&](Rig& rig) {
      Fates fates(rig.proxy);
      rig.proxy.add_rule(on_reply_to("two", each.action));
      rig.as_client([&] {
        Wire wire(rig.client, rig.door);
        wire.send("echo one\r\necho two\r\n");
        wire.read(100);
      });
      EXPECT_EQ(fates.told, (Strings{"one delivered", std::string("two ") + each.fate}));
    });
  }
}

// It is told when it has been handed over, not when it was seen; and of all that waits when the end comes.
TEST_P(FateTest, WhatIsHeldIsToldWhenItsRuleGoesOrTheConnectionEnds) {
  with_rig(GetParam(), [](Rig& rig) {
    Fates fates(rig.proxy);
    rig.as_client([&] {
      Wire kept(rig.client, rig.door), cut(rig.client, rig.door);
      const RuleId held = rig.proxy.add_rule(on_reply_to("kept", {.kind = Action::Kind::hold}));
      kept.send("echo kept\r\necho behind\r\n");
      EXPECT_EQ(kept.read(1), "(silence)");
      EXPECT_TRUE(fates.told.empty());
      rig.proxy.remove_rule(held);
      kept.patience = 5s;
      EXPECT_EQ(kept.read_line(2), "+kept+behind");
      EXPECT_EQ(fates.told, (Strings{"kept delivered", "behind delivered"}));

      fates.told.clear();
      rig.proxy.add_rule(on_reply_to("never", {.kind = Action::Kind::hold}));
      cut.send("echo never\r\necho neither\r\n");
      EXPECT_EQ(cut.read(1), "(silence)");
      rig.proxy.reset_links([](const Link&) { return true; });
      EXPECT_EQ(fates.told, (Strings{"never cut", "neither cut"}));
    });
  });
}

TEST_P(FateTest, AClientThatHasGoneIsToldNothing) {
  with_rig(GetParam(), [](Rig& rig) {
    Fates fates(rig.proxy);
    const RuleId held = rig.proxy.add_rule(on_reply_to("late", {.kind = Action::Kind::hold}));
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      wire.send("echo late\r\n");
      EXPECT_EQ(wire.read(1), "(silence)");
      wire.stream().finish_writing();
      while (rig.server.commands().back() != "(end)") rig.client.runtime().sleep_for(1ms);
      rig.proxy.remove_rule(held);
      while (fates.told.empty()) rig.client.runtime().sleep_for(1ms);
    });
    EXPECT_EQ(fates.told, (Strings{"late cut"}));
  });
}

}  // namespace
}  // namespace holdfast::sim
