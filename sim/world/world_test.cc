#include "sim/world/world.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "lib/runtime/process_identity.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<World> embedded(std::uint64_t seed = 1) { return make_embedded_world({.seed = seed}); }

// A server that sends everything back, and clients that talk to it at drawn moments.
std::uint64_t echo_run(std::uint64_t seed, bool planted_nondeterminism = false) {
  auto world = embedded(seed);
  static std::uint64_t runs = 0;  // the plant: something that outlives a run
  ++runs;
  world->run([&] {
    Process& server = world->add_process("server");
    server.start("accept", [&] {
      const auto listener = server.network().listen({"", 7000});
      std::vector<Task> tasks;
      for (;;) {
        auto connected = listener->accept(kNever);
        std::shared_ptr<Stream> stream = std::move(connected.stream);
        tasks.push_back(server.runtime().spawn("echo", [stream] {
          char buffer[256];
          for (;;) {
            const IoResult got = stream->read(buffer, kNever);
            if (!got.ok()) return;
            stream->write({buffer, got.bytes}, kNever);
          }
        }));
      }
    });
    world->harness().runtime().sleep_for(1ms);
    int done = 0;
    for (int i = 1; i <= 5; ++i) {
      Process& client = world->add_process("c" + std::to_string(i));
      client.start("client", [&world, &client, &server, &done, i, planted_nondeterminism] {
        Rng rng = world->rng("client/" + std::to_string(i));
        const auto stream = client.network().connect({server.address(), 7000}, kNever).stream;
        for (int round = 0; round < 20; ++round) {
          client.runtime().sleep_for(Duration(static_cast<std::int64_t>(rng.between(1, 1'000'000))));
          std::string text = "hello " + std::to_string(round);
          if (planted_nondeterminism) text += std::to_string(runs);
          stream->write(text, kNever);
          char buffer[256];
          ASSERT_TRUE(stream->read(buffer, kNever).ok());
        }
        ++done;
      });
    }
    while (done < 5) world->harness().runtime().sleep_for(1ms);
  });
  return world->trace().digest();
}

TEST(World, OneSeedOneTrace) {
  EXPECT_EQ(echo_run(1), echo_run(1));
  EXPECT_NE(echo_run(1), echo_run(2));
  EXPECT_NE(echo_run(1, true), echo_run(1, true));  // the trace would tell
}

class BothWorlds : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<World> world = GetParam() ? make_embedded_world({}) : make_real_world({});
};
INSTANTIATE_TEST_SUITE_P(Worlds, BothWorlds, testing::Bool(),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

TEST_P(BothWorlds, PausedProcessRunsNothingAndItsClocksGoOn) {
  world->run([&] {
    Process& process = world->add_process("c1");
    Runtime& runtime = world->harness().runtime();
    int ticks = 0;
    process.start("ticker", [&] {
      for (;;) {
        process.runtime().sleep_for(1ms);
        ++ticks;
      }
    });
    runtime.sleep_for(20ms);
    EXPECT_GT(ticks, 0);
    process.pause();
    const MonotonicTime before = process.runtime().now();
    const int at_pause = ticks;
    runtime.sleep_for(20ms);
    EXPECT_EQ(ticks, at_pause);
    EXPECT_GE(process.runtime().now() - before, 20ms);
    process.resume();
    runtime.sleep_for(20ms);
    EXPECT_GT(ticks, at_pause);
  });
}

TEST_P(BothWorlds, PausedRoleLeavesTheOthersAlone) {
  world->run([&] {
    Process& process = world->add_process("c1");
    int client = 0, watchdog = 0;
    process.pause_role("watchdog");
    process.start("client", [&] {
      process.runtime().sleep_for(1ms);
      client = 1;
    });
    process.start("watchdog", [&] { watchdog = 1; });  // started while its role is paused
    world->harness().runtime().sleep_for(20ms);
    EXPECT_EQ(client, 1);
    EXPECT_EQ(watchdog, 0);
    process.resume_role("watchdog");
    world->harness().runtime().sleep_for(5ms);
    EXPECT_EQ(watchdog, 1);
  });
}

// An owner that is unwound first must not take away what its task still uses.
TEST_P(BothWorlds, ACrashedOwnerOutlivesItsTasks) {
  world->run([&] {
    Process& victim = world->add_process("c1");
    std::vector<std::string> order;
    struct Say {
      std::vector<std::string>& order;
      const char* what;
      ~Say() { order.emplace_back(what); }
    };
    victim.start("client", [&] {
      Runtime& runtime = victim.runtime();
      const Say owner{order, "owner"};
      Mutex mutex(runtime);
      Condition condition(runtime);
      const Task task = runtime.spawn("watchdog", [&] {
        const Say child{order, "task"};
        std::unique_lock lock(mutex);
        condition.wait(lock);
      });
      runtime.sleep_for(std::chrono::seconds(3600));
    });
    Runtime& runtime = world->harness().runtime();
    runtime.sleep_for(std::chrono::milliseconds(1));
    victim.crash();
    while (order.size() < 2) runtime.sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(order, (std::vector<std::string>{"task", "owner"}));
  });
}

TEST_P(BothWorlds, CrashUnwindsEveryTaskAndBreaksItsConnections) {
  world->run([&] {
    Process& victim = world->add_process("c1");
    Process& peer = world->add_process("c2");
    Runtime& runtime = world->harness().runtime();
    const auto listener = peer.network().listen({"", 0});
    int unwound = 0;
    struct Count {
      int& count;
      ~Count() { ++count; }
    };
    IoStatus seen = IoStatus::ok;
    victim.start("client", [&] {
      Count count{unwound};
      const auto stream = victim.network().connect(listener->endpoint(), kNever).stream;
      stream->write("x", kNever);
      char byte;
      stream->read({&byte, 1}, kNever);
      ADD_FAILURE() << "a dead process reads nothing";
    });
    victim.start("locked", [&] {
      Count count{unwound};
      Mutex mutex(victim.runtime());
      Condition condition(victim.runtime());
      std::unique_lock lock(mutex);
      condition.wait(lock);
      ADD_FAILURE() << "nobody notifies";
    });
    victim.start("handler", [&] {
      Count count{unwound};
      try {
        throw 1;
      } catch (int) {
        victim.runtime().sleep_until(kNever);  // stopped inside a handler
      }
    });
    peer.start("server", [&] {
      const auto stream = listener->accept(kNever).stream;
      char byte;
      stream->read({&byte, 1}, kNever);
      seen = stream->read({&byte, 1}, kNever).status;
    });
    runtime.sleep_for(20ms);
    EXPECT_EQ(unwound, 0);
    victim.crash();
    EXPECT_FALSE(victim.alive());
    runtime.sleep_for(20ms);
    EXPECT_EQ(unwound, 3);
    EXPECT_TRUE(seen == IoStatus::eof || seen == IoStatus::reset) << to_string(seen);

    Process& next = world->add_process("c1");
    EXPECT_EQ(next.address(), victim.address());
    bool ran = false;
    next.start("client", [&] { ran = true; });
    runtime.sleep_for(1ms);
    EXPECT_TRUE(ran);
  });
}

TEST_P(BothWorlds, ExceptionsOfDifferentTasksDoNotMix) {
  world->run([&] {
    Process& process = world->add_process("c1");
    std::vector<std::string> caught;
    for (int i = 0; i < 3; ++i) {
      process.start("thrower", [&, i] {
        try {
          throw std::runtime_error(std::to_string(i));
        } catch (const std::exception&) {
          process.runtime().sleep_for((3 - i) * 2ms);
          try {
            throw;
          } catch (const std::exception& again) {
            caught.emplace_back(again.what());
          }
        }
      });
    }
    world->harness().runtime().sleep_for(30ms);
    EXPECT_EQ(caught, (std::vector<std::string>{"2", "1", "0"}));
  });
}

TEST_P(BothWorlds, TenThousandTasks) {
  world->run([&] {
    Process& process = world->add_process("c1");
    int done = 0;
    for (int i = 0; i < 10'000; ++i) {
      process.start("client", [&] {
        process.runtime().sleep_for(1ms);
        ++done;
      });
    }
    while (done < 10'000) world->harness().runtime().sleep_for(1ms);
  });
}

TEST(World, RealClocksDriftToo) {
  const auto world = make_real_world({});
  world->run([&] {
    Process& process = world->add_process("c1");
    Runtime& harness = world->harness().runtime();
    process.set_drift(1'000'000);  // twice as fast
    EXPECT_EQ(process.drift(), 1'000'000);
    const MonotonicTime start = process.runtime().now();
    const MonotonicTime harness_start = harness.now();
    MonotonicTime woke{};
    process.start("sleeper", [&] {
      process.runtime().sleep_for(100ms);
      woke = harness.now();
    });
    harness.sleep_for(80ms);
    EXPECT_GE(process.runtime().now() - start, 160ms);
    while (woke == MonotonicTime{}) harness.sleep_for(1ms);
    EXPECT_GE(woke - harness_start, 50ms);
    EXPECT_LT(woke - harness_start, process.runtime().now() - start);
  });
}

TEST(World, ClocksStepAndDrift) {
  auto world = embedded();
  world->run([&] {
    Process& process = world->add_process("c1");
    Runtime& runtime = process.runtime();
    Runtime& harness = world->harness().runtime();
    const WallTime wall = runtime.wall_now();
    process.step_wall(-10s);
    EXPECT_EQ(runtime.wall_now(), wall - 10s);
    const MonotonicTime start = runtime.now();
    process.set_drift(10'000);  // 1 % fast
    const std::int64_t world_start = world->now_ns();
    harness.sleep_for(1s);
    EXPECT_EQ(runtime.now() - start, 1010ms);
    EXPECT_EQ(process.world_ns(start + 1010ms), world_start + 1'000'000'000);
    const MonotonicTime deadline = runtime.now() + 101ms;
    process.start("sleeper", [&] { runtime.sleep_until(deadline); });
    harness.sleep_for(1s);
    EXPECT_EQ(process.world_ns(deadline), world_start + 1'100'000'000);
  });
}

TEST(World, NothingLeftToHappenIsAnErrorThatNamesWhoWaits) {
  auto world = embedded();
  try {
    world->run([&] { world->harness().runtime().sleep_until(kNever); });
    FAIL() << "expected an error";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("main in harness"), std::string::npos) << error.what();
  }
}

// What has come for a paused process must not keep the event loop awake.
TEST(World, APausedProcessWithSomethingToReadCostsNothing) {
  auto world = make_real_world({});
  world->run([&] {
    Process& server = world->add_process("server");
    Runtime& runtime = world->harness().runtime();
    const auto listener = server.network().listen({"", 0});
    std::size_t bytes = 0;
    server.start("reader", [&] {
      const auto stream = listener->accept(kNever).stream;
      char buffer[256];
      for (IoResult got = stream->read(buffer, kNever); got.ok(); got = stream->read(buffer, kNever)) {
        bytes += got.bytes;
      }
    });
    const auto stream = world->harness().network().connect(listener->endpoint(), kNever).stream;
    for (int i = 0; i < 5; ++i) {
      stream->write("before", kNever);
      runtime.sleep_for(1ms);
    }
    server.pause();
    stream->write("meanwhile", kNever);
    const std::clock_t start = std::clock();
    runtime.sleep_for(300ms);
    EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC / 10);  // of the CPU
    EXPECT_EQ(bytes, 30u);
    server.resume();
    while (bytes < 39) runtime.sleep_for(1ms);
  });
}

TEST(World, ExceptionsOfTheBodyArePassedOnAfterEverythingEnded) {
  auto world = embedded();
  bool unwound = false;
  struct Flag {
    bool& flag;
    ~Flag() { flag = true; }
  };
  EXPECT_THROW(world->run([&] {
    Process& process = world->add_process("c1");
    process.start("waiter", [&] {
      Flag flag{unwound};
      process.runtime().sleep_until(kNever);
    });
    world->harness().runtime().yield();
    throw std::runtime_error("broken");
  }),
               std::runtime_error);
  EXPECT_TRUE(unwound);
}

// Two children that were forked at one moment, and their parent, would draw one and the same number.
TEST(World, AForkHasTheRandomStateOfItsParentUntilItIsRenewed) {
  for (const bool in_virtual_time : {true, false}) {
    auto world = in_virtual_time ? embedded() : make_real_world({.seed = 1});
    world->run([&] {
      Process& parent = world->add_process("c1");
      static_cast<void>(parent.runtime().random());
      Process& one = world->fork_process(parent, "c1-child-1");
      Process& two = world->fork_process(parent, "c1-child-2");
      const std::uint64_t drawn = parent.runtime().random();
      EXPECT_EQ(one.runtime().random(), drawn);
      EXPECT_EQ(two.runtime().random(), drawn);
      for (Process* process : {&parent, &one, &two}) process->runtime().renew_randomness();
      const std::set<std::uint64_t> apart = {parent.runtime().random(), one.runtime().random(),
                                             two.runtime().random()};
      EXPECT_EQ(apart.size(), 3U);
      EXPECT_NE(one.address(), parent.address());
      EXPECT_NE(one.address(), two.address());
    });
  }
}

// Each task is told in which process it runs, whoever ran before it.
TEST(World, TasksOfAForkKnowThatTheyAreInOne) {
  auto world = embedded();
  const std::uint64_t here = forks_so_far();
  world->run([&] {
    Process& parent = world->add_process("c1");
    Process& child = world->fork_process(parent, "c1-child-1");
    Process& grandchild = world->fork_process(child, "c1-child-1-child-1");
    std::map<std::string, std::set<std::uint64_t>> seen;
    int running = 0;
    for (Process* process : {&parent, &child, &grandchild, &child, &parent}) {
      ++running;
      process->start("client", [&seen, &running, process] {
        for (int i = 0; i < 3; ++i) {
          seen[process->name()].insert(forks_so_far());
          process->runtime().yield();
        }
        process->runtime().spawn("worker", [&] { seen[process->name()].insert(forks_so_far()); }).join();
        --running;
      });
    }
    while (running > 0) world->harness().runtime().yield();
    EXPECT_EQ(seen["c1"], std::set<std::uint64_t>{here});
    EXPECT_EQ(seen["c1-child-1"], std::set<std::uint64_t>{here + 1});
    EXPECT_EQ(seen["c1-child-1-child-1"], std::set<std::uint64_t>{here + 2});
    EXPECT_EQ(forks_so_far(), here) << "the harness forked nothing";
  });
  EXPECT_EQ(forks_so_far(), here);
}

TEST(World, TasksThatAreRefusedCannotBeStarted) {
  auto world = embedded();
  world->run([&] {
    Process& process = world->add_process("c1");
    const auto starts = [&process](std::string_view role) {
      try {
        process.runtime().spawn(role, [] {}).join();
        return true;
      } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::resource_unavailable_try_again);
        return false;
      }
    };
    const std::uint64_t watchdogs =
        process.refuse_tasks([](std::string_view role) { return role == "watchdog"; });
    EXPECT_FALSE(starts("watchdog"));
    EXPECT_TRUE(starts("reader"));
    const std::uint64_t all = process.refuse_tasks([](std::string_view) { return true; });
    process.allow_tasks(watchdogs);
    EXPECT_FALSE(starts("watchdog")) << "the other refusal is still in force";
    EXPECT_FALSE(starts("reader"));
    process.allow_tasks(all);
    EXPECT_TRUE(starts("watchdog"));
  });
}

}  // namespace
}  // namespace holdfast::sim
