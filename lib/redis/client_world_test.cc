// The client in processes that are paused and killed at every moment.
#include <gtest/gtest.h>

#include <atomic>

#include "lib/redis/client.h"
#include "lib/testing/fake_server.h"
#include "sim/world/world.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::array;
using testing::bulk;
using testing::Command;
using testing::FakeServer;
using testing::Peer;

void answer(Peer& peer, const Command& command) {
  if (command[0] == "ROLE") return peer.send(array({bulk("master"), ":0\r\n", "*0\r\n"}));
  if (command[0] == "SUBSCRIBE") return peer.send(array({bulk("subscribe"), bulk(command[1]), ":1\r\n"}));
  if (command[0] == "UNSUBSCRIBE") return peer.send(array({bulk("unsubscribe"), bulk(command[1]), ":0\r\n"}));
  peer.send(bulk(command.back()));
}

ClientOptions options(std::initializer_list<const FakeServer*> servers) {
  ClientOptions options;
  for (const FakeServer* server : servers) options.nodes.push_back({"", server->endpoint()});
  return options;
}

// A watchdog that does not run, at whatever point it was stopped, holds up nobody.
TEST(ClientInAWorld, AStoppedWatchdogHoldsUpNobody) {
  for (int step = 0; step < 60; ++step) {
    const auto world = sim::make_embedded_world({.seed = static_cast<std::uint64_t>(step + 1)});
    world->run([&] {
      sim::Process& harness = world->harness();
      FakeServer server(harness.runtime(), harness.network(), answer, {"server", 1000});
      sim::Process& process = world->add_process("c");
      std::atomic<int> calls = 0, renewals = 0;
      Duration slowest{};
      process.start("main", [&] {
        Runtime& runtime = process.runtime();
        Client client(runtime, process.network(), options({&server}));
        std::vector<Task> tasks;
        for (int w = 0; w < 3; ++w) {
          tasks.push_back(runtime.spawn("watchdog", [&] {
            for (;;) {
              client.call({"ECHO", "renew"}, {.background = true});
              ++renewals;
            }
          }));
        }
        for (int c = 0; c < 2; ++c) {
          tasks.push_back(runtime.spawn("client", [&] {
            for (;;) {
              const MonotonicTime before = runtime.now();
              EXPECT_EQ(client.call({"ECHO", "x"}).reply.text, "x");
              slowest = std::max(slowest, runtime.now() - before);
              ++calls;
              runtime.sleep_for(70us);
            }
          }));
        }
        runtime.sleep_until(kNever);
      });
      harness.runtime().sleep_for(1ms + step * 3us);
      process.pause_role("watchdog");
      harness.runtime().sleep_for(1ms);
      const int before = calls, renewed = renewals;
      harness.runtime().sleep_for(20ms);
      EXPECT_GT(calls, before + 100);
      EXPECT_EQ(renewals, renewed);
      EXPECT_LT(slowest, 1ms);
      process.resume_role("watchdog");
      harness.runtime().sleep_for(1ms);
      EXPECT_GT(renewals, renewed + 5);
      process.crash();
    });
  }
}

// A reply that lies there when a process wakes up past its deadline is taken, not called late; also one that
// takes several reads.
class AfterAPause : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(ClientInAWorld, AfterAPause, ::testing::Values(1, 3000));

TEST_P(AfterAPause, TheReplyThatLiesThereIsTaken) {
  const auto world = sim::make_embedded_world({});
  const std::string text(GetParam(), '2');
  world->run([&] {
    sim::Process& harness = world->harness();
    FakeServer server(harness.runtime(), harness.network(), answer, {"server", 1000});
    sim::Process& process = world->add_process("c");
    bool answered = false;
    process.start("main", [&] {
      Client client(process.runtime(), process.network(), options({&server}));
      client.call({"ECHO", "1"});
      answered = client.call({"ECHO", text}, {.deadline = process.runtime().now() + 1s}).reply.text == text;
    });
    server.wait_for(2);
    process.pause();
    harness.runtime().sleep_for(10s);
    process.resume();
    harness.runtime().sleep_for(10ms);
    EXPECT_TRUE(answered);
    process.crash();
  });
}

// Kills the process at many instants, with a call in each of its states; the next incarnation works.
TEST(ClientInAWorld, KilledAtAnyMoment) {
  for (int step = 0; step < 150; ++step) {
    const auto world = sim::make_embedded_world({.seed = static_cast<std::uint64_t>(step + 1)});
    world->run([&] {
      sim::Process& harness = world->harness();
      FakeServer server(harness.runtime(), harness.network(), answer, {"server", 1000});
      FakeServer other(harness.runtime(), harness.network(), answer, {"server", 1001});
      const auto life = [&](sim::Process& process, int& done) {
        process.start("main", [&] {
          Runtime& runtime = process.runtime();
          Client client(runtime, process.network(), options({&server, &other}));
          std::vector<Task> tasks;
          for (int t = 0; t < 4; ++t) {
            tasks.push_back(runtime.spawn(t == 0 ? "watchdog" : "client", [&, t] {
              for (int i = 0; i < 40; ++i) {
                const auto subscription = client.subscribe(
                    "c", [](std::string_view) {}, [] {});
                client.call({"ECHO", "x"}, {.background = t == 0});
                const std::vector<std::vector<std::string_view>> two = {{"ECHO", "a"}, {"ECHO", "b"}};
                client.call_all(two);
              }
              ++done;
            }));
          }
          // The client dies with this task's stack while others are still in its calls.
          if (step % 2 == 0) runtime.sleep_until(kNever);
        });
      };
      int first = 0, second = 0;
      sim::Process& doomed = world->add_process("c");
      life(doomed, first);
      harness.runtime().sleep_for(step * 7us);
      doomed.crash();
      if (step % 3 == 0) server.reset_all();
      sim::Process& next = world->add_process("c");
      life(next, second);
      harness.runtime().sleep_for(1s);
      EXPECT_EQ(second, 4) << "killed after " << step * 7 << " us";
      next.crash();
    });
  }
}

}  // namespace
}  // namespace holdfast::redis
