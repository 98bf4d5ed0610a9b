// Golden stories: what a new user sees first. When the look changes on purpose: read the story that the
// failed test prints, and if it is good copy it into checker/testdata.
#include "checker/story/story.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "checker/story/text_layout.h"
#include "checker/testing/script_history.h"
#include "lib/testing/folders.h"

namespace holdfast::checker {
namespace {

using holdfast::checker::testing::history_of;

std::string golden(const std::string& name) {
  std::ifstream file(holdfast::testing::source_path("checker/testdata/" + name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_story(const std::string& told, const std::string& name) {
  EXPECT_EQ(told, golden(name)) << "checker/testdata/" << name << " should now read:\n" << told;
}

const char* const kFailover = R"(
  0       nemesis info   fault   lag value=1 error=replication-lag
  10      c1/0 invoke acquire stock:42 owner=c1:0
  11      c2/0 invoke acquire stock:42 owner=c2:0
  12.4    c1/0 ok     acquire stock:42 owner=c1:0 id=c1-1 node=r1 valid=5010
  13      c1/0 invoke read    stock id=c1-1 owner=c1:0
  13.5    c1/0 ok     read    stock id=c1-1 owner=c1:0 value=10
  14.9    nemesis info fault  kill-primary id=kill-primary#1 value=1 error=crash
  14.9    nemesis info effect kill-primary id=kill-primary#1 mode=crashed node=r1
  114.9   nemesis info fault  promote id=promote#1 value=1 mode=at-once error=promote
  114.9   nemesis info effect promote id=promote#1 mode=promoted node=r2
  131.2   c2/0 ok     acquire stock:42 owner=c2:0 id=c2-1 node=r2 valid=5128
  132     c2/0 invoke read    stock id=c2-1 owner=c2:0
  132.5   c2/0 ok     read    stock id=c2-1 owner=c2:0 value=10
  390     c1/0 invoke write   stock id=c1-1 owner=c1:0 value=9
  390.5   c1/0 ok     write   stock id=c1-1 owner=c1:0 value=9
  391     c1/0 ok     sell    stock id=c1-1 owner=c1:0
  402.118 c1/0 invoke release stock:42 id=c1-1 owner=c1:0
  403     c1/0 fail   release stock:42 id=c1-1 owner=c1:0 error=lost
  501     c2/0 invoke write   stock id=c2-1 owner=c2:0 value=9
  501.5   c2/0 ok     write   stock id=c2-1 owner=c2:0 value=9
  502     c2/0 ok     sell    stock id=c2-1 owner=c2:0
  510     c2/0 invoke release stock:42 id=c2-1 owner=c2:0
  511     c2/0 ok     release stock:42 id=c2-1 owner=c2:0
  6000    nemesis info fault  lag value=0 error=replication-lag
)";

Witness first_witness(const History& history, std::string_view check, const CheckContext& context = {}) {
  const Verdict verdict = find_check(check)->run(history, context);
  EXPECT_EQ(verdict.outcome, Outcome::violated);
  return verdict.witnesses.empty() ? Witness{} : verdict.witnesses.front();
}

TEST(Story, DoubleGrant) {
  const History history = history_of(kFailover);
  const Witness witness = first_witness(history, "lease-exclusion");
  EXPECT_EQ(witness.kind, "double-grant");
  expect_story(tell_story(history, witness), "story_double_grant.txt");
  expect_story(tell_story(history, witness, {.style = {.width = 80, .unicode = false}}),
               "story_double_grant_ascii.txt");
  const std::string coloured = tell_story(history, witness, {.style = {.color = true}});
  EXPECT_NE(coloured.find("\x1b[1;31mDOUBLE GRANT\x1b[0m"), std::string::npos);
  EXPECT_NE(coloured.find("\x1b[1;36mA c1:0"), std::string::npos);  // each owner in a colour of its own
  EXPECT_NE(coloured.find("\x1b[1;35mB c2:0"), std::string::npos);
  EXPECT_EQ(without_color(coloured), tell_story(history, witness));
}

TEST(Story, Overrun) {
  const History history = history_of(R"(
    0      c1/0 invoke acquire stock:42 owner=c1:0
    1.2    c1/0 ok     acquire stock:42 owner=c1:0 id=c1-1 node=r1 valid=1000
    300    c1/watchdog invoke renew stock:42 id=c1-1
    301    c1/watchdog ok renew stock:42 id=c1-1 valid=1300
    305    nemesis info fault long-gc value=1 error=pause-client
    400    c2/0 invoke acquire stock:42 owner=c2:0
    1302.5 c2/0 ok     acquire stock:42 owner=c2:0 id=c2-1 node=r1 valid=2301
    1500   c2/0 invoke release stock:42 owner=c2:0 id=c2-1
    1501   c2/0 ok release stock:42 owner=c2:0 id=c2-1
    2305   nemesis info fault long-gc value=0 error=pause-client
    2305.1 c1/watchdog ok lost stock:42 id=c1-1 error=expired
    2306   c1/0 invoke release stock:42 owner=c1:0 id=c1-1
    2306.5 c1/0 fail release stock:42 owner=c1:0 id=c1-1 error=lost
  )");
  const Witness witness = first_witness(history, "mutual-exclusion");
  EXPECT_EQ(witness.kind, "overrun");
  expect_story(tell_story(history, witness), "story_overrun.txt");
}

TEST(Story, ForeignRelease) {
  const History history = history_of(R"(
    0   c1/0 invoke acquire k owner=c1:0
    0.3 c1/0 invoke store-grant k id=c1-1 node=r1
    0.6 c1/0 ok store-grant k id=c1-1 node=r1 value=1
    1   c1/0 ok acquire k owner=c1:0 id=c1-1 node=r1 valid=100
    110 c2/0 invoke acquire k owner=c2:0
    111 c2/0 invoke store-grant k id=c2-1 node=r1
    112 c2/0 ok store-grant k id=c2-1 node=r1 value=1
    113 c2/0 ok acquire k owner=c2:0 id=c2-1 node=r1 valid=210
    120 c1/0 invoke release k owner=c1:0 id=c1-1
    121 c1/0 invoke store-remove k id=c1-1 node=r1
    122 c1/0 ok store-remove k id=c1-1 node=r1 value=1
    123 c1/0 ok release k owner=c1:0 id=c1-1
  )");
  expect_story(tell_story(history, first_witness(history, "no-foreign-release")),
               "story_foreign_removal.txt");
}

TEST(Story, AHoldThatWasLeft) {
  const History history = history_of(R"(
    1  c1/0 invoke acquire k owner=c1:0
    2  c1/0 ok acquire k id=a owner=c1:0 valid=31
    3  c1/0 ok leave k id=a owner=c1:0
    20 c1/watchdog ok renew k id=a valid=50
    40 c1/watchdog ok renew k id=a valid=70
    60 c1/watchdog ok renew k id=a valid=90
    80 c2/0 invoke acquire k owner=c2:0
  )");
  const std::string story = tell_story(history, first_witness(history, "no-abandoned-hold"));
  EXPECT_NE(story.find("is done with k, and does not release it"), std::string::npos) << story;
}

TEST(Story, Oversold) {
  const History history = history_of(kFailover);
  CheckContext context;
  context.initial_stock = 1;
  expect_story(tell_story(history, first_witness(history, "oversell", context)), "story_oversold.txt");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Story, IsExactlyAsWideAsAsked) {
  const History history = history_of(kFailover);
  const Witness witness = first_witness(history, "lease-exclusion");
  for (int width = 60; width <= 200; ++width) {
    for (const bool unicode : {true, false}) {
      const std::string told = tell_story(history, witness, {.style = {.width = width, .unicode = unicode}});
      std::size_t widest = 0;
      for (const std::string& line : lines_of(told)) {
        ASSERT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
        widest = std::max(widest, columns_of(line));
      }
      ASSERT_EQ(widest, static_cast<std::size_t>(width)) << told;
      if (!unicode) {
        ASSERT_EQ(printable(told, false).find("\\u{"), std::string::npos) << told;
      }
    }
  }
  // What is asked beyond these bounds is not refused.
  EXPECT_EQ(tell_story(history, witness, {.style = {.width = 10}}),
            tell_story(history, witness, {.style = {.width = 60}}));
  EXPECT_EQ(tell_story(history, witness, {.style = {.width = 1000}}),
            tell_story(history, witness, {.style = {.width = 200}}));
}

TEST(Story, NamesFromOutsideCannotSteerTheTerminalNorBreakThePicture) {
  History history;
  const std::string key = "stock\x1b[2J\n\xe2\x80\xae" + std::string(90, 'k');
  const auto add = [&](std::int64_t ms, EventType type, Function f, const std::string& client) {
    Event event;
    event.time_ns = ms * 1'000'000;
    event.type = type;
    event.f = f;
    event.process = history.intern(client);
    event.owner = event.process;
    event.node = history.intern("a-node-with-a-very-long-name.example.org\x1b[31m");
    event.key = history.intern(key);
    event.id = history.intern(client + "\x07-1");
    if (f == Function::acquire && type == EventType::ok) event.valid_until_ns = 900'000'000;
    history.append(event);
  };
  const std::string long_name = "client-" + std::string(70, 'x') + "\x1b]0;owned\x07";
  add(0, EventType::invoke, Function::acquire, long_name);
  add(1, EventType::ok, Function::acquire, long_name);
  add(2, EventType::invoke, Function::acquire, "c2/0\xff");
  add(3, EventType::ok, Function::acquire, "c2/0\xff");
  const Witness witness = first_witness(history, "lease-exclusion");
  for (const int width : {60, 80, 100, 200}) {
    const std::string told = tell_story(history, witness, {.style = {.width = width}});
    EXPECT_EQ(told.find_first_of("\x1b\x07\xff"), std::string::npos) << told;
    EXPECT_EQ(told.find("\xe2\x80\xae"), std::string::npos) << told;
    for (const std::string& line : lines_of(told)) {
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(Story, SurvivesAnyWitness) {
  const History history = history_of(kFailover);
  Witness witness;
  witness.kind = "odd";
  witness.why = "Nothing to see.";
  EXPECT_EQ(tell_story(history, witness), "ODD\n\nwhy  Nothing to see.\n");
  EXPECT_EQ(tell_story(History(), witness), "ODD\n\nwhy  Nothing to see.\n");
  witness.events = {0};
  EXPECT_NE(tell_story(history, witness, {.style = {.width = 1}, .lines = 1}), "");
  for (std::size_t i = 0; i < history.events().size(); ++i) {
    witness.events = {i};
    witness.from_ns = history.events()[i].time_ns;
    witness.to_ns = std::numeric_limits<std::int64_t>::max();
    EXPECT_NE(tell_story(history, witness), "");
  }
}

}  // namespace
}  // namespace holdfast::checker
