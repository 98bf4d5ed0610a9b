// Who goes on of several that can: each strategy, in a world.
#include "sim/world/order.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "sim/world/world.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// Four tasks become ready at one moment, each writes its letter twice, with a yield between.
std::string story(OrderKind kind, std::uint64_t seed) {
  std::string text;
  const auto world = make_embedded_world({.seed = seed, .order = {.kind = kind}});
  world->run([&] {
    Process& process = world->add_process("p");
    for (const char letter : {'a', 'b', 'c', 'd'}) {
      process.start("work", [&text, &process, letter] {
        text += letter;
        process.runtime().yield();
        text += letter;
      });
    }
    world->harness().runtime().sleep_for(1ms);
  });
  return text;
}

std::set<std::string> stories(OrderKind kind) {
  std::set<std::string> all;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) all.insert(story(kind, seed));
  return all;
}

TEST(Order, FirstComeIsAlwaysTheSame) {
  EXPECT_EQ(stories(OrderKind::first_come), std::set<std::string>{"abcdabcd"});
}

TEST(Order, RandomTakesAnybody) {
  const std::set<std::string> all = stories(OrderKind::random);
  EXPECT_GT(all.size(), 250u) << "of 2,520";
}

// Timers that fire, and messages that arrive, at one moment.
std::set<std::string> races(OrderKind kind, bool messages) {
  std::set<std::string> all;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::string text;
    const auto world = make_embedded_world({.seed = seed, .order = {.kind = kind}});
    world->run([&] {
      Process& server = world->add_process("server");
      const std::unique_ptr<Listener> listener = server.network().listen({"", 7});
      const Endpoint at = listener->endpoint();
      for (const char letter : {'a', 'b'}) {
        Process& client = world->add_process(std::string(1, letter));
        if (messages) {
          server.start("serve", [&] {
            const std::unique_ptr<Stream> stream = listener->accept(kNever).stream;
            char got = 0;
            if (stream->read({&got, 1}, kNever).ok()) text += got;
          });
          client.start("work", [&world, &client, letter, at] {
            const std::unique_ptr<Stream> stream = client.network().connect(at, kNever).stream;
            client.runtime().sleep_for(std::chrono::nanoseconds(2'000'000 - world->now_ns()));
            stream->write(std::string(1, letter), kNever);
            client.runtime().sleep_for(1ms);
          });
        } else {
          client.start("work", [&text, &world, &client, letter] {
            client.runtime().sleep_for(std::chrono::nanoseconds(2'000'000 - world->now_ns()));
            text += letter;
          });
        }
        world->harness().runtime().sleep_for(100us);  // they begin, or connect, one after the other
      }
      world->harness().runtime().sleep_for(10ms);
    });
    all.insert(text);
  }
  return all;
}

TEST(Order, InAnInstantWhatIsDueRaces) {
  for (const bool messages : {false, true}) {
    EXPECT_EQ(races(OrderKind::random, messages), std::set<std::string>{"ab"});
    EXPECT_EQ(races(OrderKind::instant, messages), (std::set<std::string>{"ab", "ba"}));
  }
  EXPECT_GT(stories(OrderKind::instant).size(), 250u) << "of 2,520";
}

// The highest goes on, also after a yield if it is the highest again.
TEST(Order, PrioritiesLetTheHighestGoOn) {
  std::set<std::string> whole;
  for (const std::string& text : stories(OrderKind::priorities)) {
    bool turns = true;
    for (std::size_t i = 0; i < text.size(); i += 2) turns = turns && text[i] == text[i + 1];
    if (turns) whole.insert(text);
  }
  EXPECT_GT(whole.size(), 5u) << "of the 24 orders of four tasks";
}

TEST(Order, PrioritiesPutOneDownAtADrawnChoice) {
  // Among the first choices of so short a story a change is rare; many changes make sure of it.
  std::string text;
  std::set<std::string> all;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    text.clear();
    const auto world = make_embedded_world(
        {.seed = seed, .order = {.kind = OrderKind::priorities, .changes = 2, .choices = 4}});
    world->run([&] {
      Process& process = world->add_process("p");
      for (const char letter : {'a', 'b'}) {
        process.start("work", [&text, &process, letter] {
          for (int i = 0; i < 3; ++i) {
            text += letter;
            process.runtime().yield();
          }
        });
      }
      world->harness().runtime().sleep_for(1ms);
    });
    all.insert(text);
  }
  EXPECT_TRUE(all.contains("aaabbb") || all.contains("bbbaaa"));
  EXPECT_GT(all.size(), 2u) << "some were put down half way";
}

TEST(Order, WhoYieldsUntilAnotherHasRunDoesNotGoFirstForEver) {
  for (const OrderKind kind : {OrderKind::random, OrderKind::priorities, OrderKind::partial_order}) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const auto world = make_embedded_world({.seed = seed, .order = {.kind = kind}});
      std::uint64_t turns = 0;
      world->run([&] {
        Process& process = world->add_process("p");
        bool run = false;
        process.start("spins", [&] {
          for (; !run && turns < 10'000; ++turns) process.runtime().yield();
        });
        process.start("works", [&] { run = true; });
        world->harness().runtime().sleep_for(1ms);
      });
      EXPECT_LT(turns, 1'000u) << "seed " << seed;
    }
  }
}

TEST(Order, PartialOrderTakesAnybody) { EXPECT_GT(stories(OrderKind::partial_order).size(), 150u); }

TEST(Order, OneSeedOneStory) {
  for (const OrderKind kind : {OrderKind::random, OrderKind::priorities, OrderKind::partial_order})
    EXPECT_EQ(story(kind, 5), story(kind, 5));
}

}  // namespace
}  // namespace holdfast::sim
