// Processes of the embedded world: tasks, pauses, crashes, clocks, determinism.
#include "sim/world/world.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/runtime/fibers/fiber.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr bool kSanitized = fibers::kDefaultStackBytes > 64 * 1024;
constexpr int kManyTasks = kSanitized ? 2'000 : 10'000;

std::unique_ptr<World> world_of(std::uint64_t seed = 1) {
  EmbeddedWorldOptions options;
  options.seed = seed;
  return make_embedded_world(options);
}

// Of a process that may have hardly more memory than it has.
[[noreturn]] void take_stacks_until_there_is_none() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (16 << 20);
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  try {
    for (;;) static_cast<void>(fibers::take_stack(fibers::kDefaultStackBytes));
  } catch (const std::bad_alloc& error) {
    std::fputs(error.what(), stderr);
    std::_Exit(0);
  }
}

TEST(World, ATaskTooManyIsToldInASentence) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more than any limit";
  EXPECT_EXIT(take_stacks_until_there_is_none(), testing::ExitedWithCode(0),
              "no stack for one more task.*vm.max_map_count");
}

TEST(World, TimePassesOnlyWhileEverybodyWaits) {
  const auto world = world_of();
  std::vector<std::string> order;
  world->run([&] {
    Runtime& runtime = world->harness().runtime();
    Task slow = runtime.spawn("slow", [&] {
      runtime.sleep_for(2s);
      order.push_back("slow");
    });
    Task fast = runtime.spawn("fast", [&] {
      runtime.sleep_for(1s);
      order.push_back("fast");
    });
    slow.join();
    EXPECT_EQ(world->now_ns(), 2'000'000'000);
  });
  EXPECT_EQ(order, (std::vector<std::string>{"fast", "slow"}));
}

TEST(World, BodyMayThrow) {
  const auto world = world_of();
  EXPECT_THROW(world->run([] { throw std::runtime_error("as planned"); }), std::runtime_error);
}

TEST(World, NothingLeftToRunIsToldWithTheWaiters) {
  const auto world = world_of();
  Process& client = world->add_process("c1");
  client.start("watchdog", [&] { client.runtime().parker().park_until(kNever); });
  try {
    world->run([&] { world->harness().runtime().parker().park_until(kNever); });
    FAIL() << "no exception";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("watchdog in c1"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("main in harness"), std::string::npos) << error.what();
  }
}

// Who only yields waits for nothing: such a run would never end.
TEST(World, TasksThatSpinAreToldByName) {
  for (const bool others_wait : {false, true}) {
    const auto world = make_embedded_world({.most_turns_at_a_moment = 10'000});
    Process& client = world->add_process("c1");
    client.start("spinner", [&] {
      client.runtime().sleep_for(1ms);
      for (;;) client.runtime().yield();
    });
    if (others_wait) client.start("sleeper", [&] { client.runtime().sleep_for(1h); });
    try {
      world->run([&] { world->harness().runtime().sleep_for(1h); });
      FAIL() << "no exception";
    } catch (const std::logic_error& error) {
      EXPECT_NE(std::string(error.what()).find("time stands still"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("spinner in c1"), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find("sleeper"), std::string::npos) << error.what();
    }
  }
}

// In a real process it would be the end of it; the world goes on to its own, and says whose it was.
TEST(World, ATaskThatEndsByAnExceptionIsTold) {
  const auto world = make_embedded_world({});
  Process& client = world->add_process("c1");
  bool unwound = false;
  client.start("watchdog", [&] {
    client.runtime().sleep_for(1ms);
    throw std::runtime_error("out of ideas");
  });
  client.start("sleeper", [&] {
    struct Unwound {
      bool& told;
      ~Unwound() { told = true; }
    } const at_the_end{unwound};
    client.runtime().sleep_for(1h);
  });
  try {
    world->run([&] { world->harness().runtime().sleep_for(2h); });
    FAIL() << "no exception";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "task 'watchdog' of process 'c1' ended with an exception: out of ideas");
  }
  EXPECT_TRUE(unwound);
  EXPECT_LT(world->now_ns(), 1'000'000'000);
}

TEST(World, ManyTurnsAtOneMomentAreFineWhereTimeGoesOn) {
  const auto world = make_embedded_world({.most_turns_at_a_moment = 10'000});
  world->run([&] {
    Runtime& runtime = world->harness().runtime();
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 5'000; ++i) runtime.yield();
      runtime.sleep_for(1ns);
    }
  });
}

TEST(World, ManyTasks) {
  const auto world = world_of();
  int woken = 0;
  world->run([&] {
    std::vector<Task> tasks;
    Runtime& runtime = world->harness().runtime();
    for (int i = 0; i < kManyTasks; ++i) {
      tasks.push_back(runtime.spawn("client", [&, i] {
        for (int round = 0; round < 3; ++round) runtime.sleep_for(1ms + Duration(i % 7));
        ++woken;
      }));
    }
    for (Task& task : tasks) task.join();
  });
  EXPECT_EQ(woken, kManyTasks);
}

TEST(World, CrashUnwindsBeforeItReturns) {
  const auto world = world_of();
  int unwound = 0;
  struct Guard {
    int& count;
    ~Guard() { ++count; }
  };
  world->run([&] {
    Process& victim = world->add_process("c1");
    for (int i = 0; i < 3; ++i) {
      victim.start("client", [&] {
        const Guard guard{unwound};
        victim.runtime().sleep_for(1h);
      });
    }
    world->harness().runtime().sleep_for(1s);
    victim.crash();
    EXPECT_EQ(unwound, 3);
    EXPECT_FALSE(victim.alive());
    EXPECT_EQ(world->now_ns(), 1'000'000'000);
    Process& again = world->add_process("c1");
    EXPECT_EQ(again.address(), victim.address());
    EXPECT_NE(again.runtime().random(), victim.runtime().random());
  });
}

TEST(World, ACrashOfOnesOwnProcessTakesEffectAtTheNextParkingCall) {
  const auto world = world_of();
  bool after_crash = false, after_park = false, neighbour_unwound = false;
  world->run([&] {
    Process& victim = world->add_process("c1");
    victim.start("neighbour", [&] {
      struct Flag {
        bool& flag;
        ~Flag() { flag = true; }
      } const flag{neighbour_unwound};
      victim.runtime().sleep_for(1h);
    });
    victim.start("client", [&] {
      victim.runtime().sleep_for(1ms);
      victim.crash();
      after_crash = true;
      victim.runtime().yield();
      after_park = true;
    });
    world->harness().runtime().sleep_for(1s);
    EXPECT_FALSE(victim.alive());
  });
  EXPECT_TRUE(after_crash);
  EXPECT_FALSE(after_park);
  EXPECT_TRUE(neighbour_unwound);
}

// A guard that talks in its destructor, as a lock that releases itself does.
TEST(World, ParkingCallsReturnAtOnceWhileAKilledTaskUnwinds) {
  const auto world = world_of();
  int returned = 0;
  world->run([&] {
    Process& victim = world->add_process("c1");
    Runtime& runtime = victim.runtime();
    struct Talker {
      Runtime& runtime;
      int& returned;
      ~Talker() {
        runtime.sleep_for(1h);
        runtime.yield();
        EXPECT_FALSE(runtime.parker().park_until(kNever));
        Mutex mutex(runtime);
        Condition condition(runtime);
        std::unique_lock lock(mutex);
        EXPECT_FALSE(condition.wait_until(lock, kNever, [] { return false; }));
        bool ran = false;
        Task late = runtime.spawn("late", [&] { ran = true; });
        late.join();
        EXPECT_FALSE(ran);
        EXPECT_EQ(std::uncaught_exceptions(), 1);
        ++returned;
      }
    };
    for (int i = 0; i < 3; ++i) {
      victim.start("client", [&] {
        const Talker talker{runtime, returned};
        runtime.sleep_for(1h);
      });
    }
    world->harness().runtime().sleep_for(1s);
    victim.crash();
    EXPECT_EQ(returned, 3);
    EXPECT_EQ(world->now_ns(), 1'000'000'000);
  });
}

TEST(World, ATaskThatSwallowsTheEndIsCancelledAgain) {
  const auto world = world_of();
  int cancelled = 0;
  world->run([&] {
    Process& victim = world->add_process("c1");
    victim.start("client", [&] {
      for (int i = 0; i < 3; ++i) {
        try {
          victim.runtime().sleep_for(1h);
        } catch (const TaskCancelled&) {
          ++cancelled;
        }
      }
    });
    world->harness().runtime().yield();
    victim.crash();
    EXPECT_EQ(cancelled, 3);
  });
}

// A recorder of the harness is used by tasks of clients that die.
TEST(World, AMutexOfALivingProcessSurvivesTasksThatAreKilled) {
  const auto world = world_of();
  world->run([&] {
    Runtime& harness = world->harness().runtime();
    Mutex mutex(harness);
    Condition condition(harness);
    Process& holder = world->add_process("holder");
    Process& waiter = world->add_process("waiter");
    Process& sleeper = world->add_process("sleeper");
    sleeper.start("client", [&] {
      std::unique_lock lock(mutex);
      condition.wait(lock);
    });
    holder.start("client", [&] {
      holder.runtime().yield();
      const std::scoped_lock lock(mutex);
      holder.runtime().sleep_for(1h);
    });
    waiter.start("client", [&] {
      waiter.runtime().yield();
      waiter.runtime().yield();
      const std::scoped_lock lock(mutex);
      ADD_FAILURE() << "killed while it waited";
    });
    harness.sleep_for(1s);
    EXPECT_FALSE(mutex.try_lock());
    sleeper.crash();  // must not let go what the holder holds
    EXPECT_FALSE(mutex.try_lock());
    waiter.crash();
    EXPECT_FALSE(mutex.try_lock());
    bool got = false;
    Task next = harness.spawn("next", [&] {
      const std::scoped_lock lock(mutex);
      got = true;
    });
    harness.yield();
    EXPECT_FALSE(got);
    holder.crash();
    next.join();
    EXPECT_TRUE(got);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST(World, APausedRoleIsNotHandedAMutex) {
  const auto world = world_of();
  world->run([&] {
    Process& process = world->add_process("c1");
    Runtime& runtime = process.runtime();
    Mutex mutex(runtime);
    std::vector<std::string> order;
    const auto take = [&](const char* who) {
      const std::scoped_lock lock(mutex);
      order.emplace_back(who);
      runtime.sleep_for(1ms);
    };
    process.start("client", [&] { take("first"); });
    process.start("watchdog", [&] { take("watchdog"); });
    process.start("client", [&] { take("second"); });
    Runtime& harness = world->harness().runtime();
    harness.yield();
    process.pause_role("watchdog");
    harness.sleep_for(1s);
    EXPECT_EQ(order, (std::vector<std::string>{"first", "second"}));
    process.resume_role("watchdog");
    harness.sleep_for(1s);
    EXPECT_EQ(order, (std::vector<std::string>{"first", "second", "watchdog"}));
  });
}

TEST(World, PausesAreCounted) {
  const auto world = world_of();
  world->run([&] {
    Process& process = world->add_process("c1");
    int ticks = 0;
    process.start("watchdog", [&] {
      for (;;) {
        process.runtime().sleep_for(1ms);
        ++ticks;
      }
    });
    Runtime& harness = world->harness().runtime();
    harness.yield();
    process.pause();
    process.pause();
    process.pause_role("watchdog");
    process.resume();
    EXPECT_TRUE(process.paused());
    harness.sleep_for(10ms);
    process.resume();
    EXPECT_FALSE(process.paused());
    harness.sleep_for(10ms);
    EXPECT_EQ(ticks, 0);
    process.resume_role("watchdog");
    harness.sleep_for(1500us);
    EXPECT_EQ(ticks, 2);  // the one that was over long ago, and the next
    process.pause();
    process.crash();  // a paused process dies like any other
    EXPECT_FALSE(process.alive());
  });
}

TEST(World, AChangeOfRateMovesTimersThatAreSet) {
  const auto world = world_of();
  world->run([&] {
    Runtime& harness = world->harness().runtime();
    Process& fast = world->add_process("fast");
    Process& slow = world->add_process("slow");
    std::int64_t fast_woke = 0, slow_woke = 0;
    fast.start("t", [&] {
      fast.runtime().sleep_for(10s);
      fast_woke = world->now_ns();
    });
    slow.start("t", [&] {
      slow.runtime().sleep_for(10s);
      slow_woke = world->now_ns();
    });
    harness.yield();
    fast.set_drift(1'000'000);
    slow.set_drift(-500'000);
    harness.sleep_for(1min);
    EXPECT_EQ(fast_woke, 5'000'000'000);
    EXPECT_EQ(slow_woke, 20'000'000'000);
  });
}

TEST(World, AMachineKeepsItsClocksWhenItsProcessIsStartedAgain) {
  const auto world = world_of();
  world->run([&] {
    Process& first = world->add_process("c1");
    first.step_wall(1h);
    const MonotonicTime up = first.runtime().now();
    const WallTime wall = first.runtime().wall_now();
    EXPECT_EQ(wall - world->harness().runtime().wall_now(), 1h);
    EXPECT_THROW(world->add_process("c1"), std::logic_error);
    first.crash();
    Process& second = world->add_process("c1");
    EXPECT_EQ(second.runtime().now(), up);
    EXPECT_EQ(second.runtime().wall_now(), wall);
    EXPECT_EQ(world->name_at(second.address()), "c1");
    EXPECT_EQ(world->name_at("10.9.9.9"), "");
    EXPECT_EQ(second.world_ns(up), 0);
  });
}

TEST(World, WaitsThatAreOverAlreadyLetOthersRun) {
  const auto world = world_of();
  world->run([&] {
    Runtime& runtime = world->harness().runtime();
    bool other_ran = false;
    const Task other = runtime.spawn("other", [&] { other_ran = true; });
    EXPECT_FALSE(runtime.parker().park_until(runtime.now()));
    EXPECT_TRUE(other_ran);
  });
}

// What a stray address or a static variable does: the same work in another order.
TEST(World, TheTraceTellsTheOrderOfTasks) {
  const auto digest = [](bool swapped) {
    const auto world = world_of();
    world->run([&] {
      Process& process = world->add_process("c1");
      std::vector<Parker*> parked(2);
      for (int i = 0; i < 2; ++i) {
        process.start("client", [&, i] {
          parked[static_cast<std::size_t>(i)] = &process.runtime().parker();
          process.runtime().parker().park_until(kNever);
        });
      }
      world->harness().runtime().yield();
      if (swapped) std::swap(parked[0], parked[1]);
      for (Parker* const parker : parked) parker->unpark();
      world->harness().runtime().yield();
    });
    return world->trace().digest();
  };
  EXPECT_EQ(digest(false), digest(false));
  EXPECT_NE(digest(false), digest(true));
}

TEST(World, TheTraceTellsPausesAndCrashes) {
  const auto digest = [](const std::function<void(Process&)>& act) {
    const auto world = world_of();
    world->run([&] { act(world->add_process("c1")); });
    return world->trace().digest();
  };
  const std::vector<std::uint64_t> digests = {
      digest([](Process&) {}),
      digest([](Process& process) { process.pause(); }),
      digest([](Process& process) { process.pause_role("watchdog"); }),
      digest([](Process& process) { process.crash(); }),
      digest([](Process& process) { process.step_wall(1s); }),
      digest([](Process& process) { process.set_drift(1); }),
  };
  for (std::size_t i = 0; i < digests.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(digests[i], digests[j]) << i << " " << j;
  }
}

TEST(World, StacksAreUsedAgain) {
  std::set<std::uintptr_t> places;
  for (int round = 0; round < 3; ++round) {
    const auto world = world_of();
    world->run([&] {
      Runtime& runtime = world->harness().runtime();
      for (int i = 0; i < 1'000; ++i) {
        Task task = runtime.spawn("short", [&] {
          const volatile int local = i;
          places.insert(reinterpret_cast<std::uintptr_t>(&local) / fibers::kDefaultStackBytes);
        });
        task.join();
      }
    });
  }
  EXPECT_LE(places.size(), 8u);  // not 3,000
}

// Each of many tasks is stopped in handlers and in destructors that run because of an exception.
TEST(World, ExceptionsInFlightBelongToTheirTasks) {
  const auto world = world_of();
  int right = 0;
  world->run([&] {
    Runtime& runtime = world->harness().runtime();
    struct Waits {
      Runtime& runtime;
      Duration time;
      int& right;
      ~Waits() {
        if (std::uncaught_exceptions() == 1) ++right;
        runtime.sleep_for(time);
        if (std::uncaught_exceptions() == 1) ++right;
      }
    };
    std::vector<Task> tasks;
    for (int i = 0; i < 50; ++i) {
      tasks.push_back(runtime.spawn("thrower", [&, i] {
        try {
          const Waits waits{runtime, 1us * (i * 7 % 11), right};
          throw i;
        } catch (int caught) {
          runtime.sleep_for(1us * (i * 5 % 13));
          if (caught == i && std::uncaught_exceptions() == 0) ++right;
          try {
            throw;
          } catch (int again) {
            if (again == i) ++right;
          }
        }
      }));
    }
    for (Task& task : tasks) task.join();
  });
  EXPECT_EQ(right, 200);
}

TEST(World, HandlesOutliveTheWorld) {
  Task task;
  {
    const auto world = world_of();
    world->run([&] {
      task = world->harness().runtime().spawn("late", [&] { world->harness().runtime().sleep_for(1h); });
    });
  }
  EXPECT_TRUE(task.finished());
}

TEST(World, AWorldThatNeverRanEndsCleanly) {
  const auto world = world_of();
  world->add_process("c1").start("client", [] { FAIL() << "never started"; });
}

TEST(Rng, StreamsAreIndependentAndDrawsStayInRange) {
  Rng a = Rng::derive(1, "a"), again = Rng::derive(1, "a"), b = Rng::derive(1, "b"),
      other = Rng::derive(2, "a");
  const std::uint64_t first = a.next();
  EXPECT_EQ(first, again.next());
  EXPECT_NE(first, b.next());
  EXPECT_NE(first, other.next());
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(a.between(5, 8));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{5, 6, 7, 8}));
  EXPECT_EQ(a.between(3, 3), 3u);
  EXPECT_FALSE(a.chance(0, 10));
  EXPECT_TRUE(a.chance(10, 10));
}

TEST(Trace, EveryBitAndTheOrderCount) {
  const auto digest = [](std::vector<std::string> parts) {
    Trace trace;
    for (const std::string& part : parts) trace.add(part);
    return trace.digest();
  };
  EXPECT_NE(digest({"a", "b"}), digest({"b", "a"}));
  EXPECT_NE(digest({"a", ""}), digest({"a"}));
  EXPECT_NE(digest({std::string(40, '\0')}), digest({std::string(41, '\0')}));
  EXPECT_NE(digest({"0123456789abcdef0"}), digest({"0123456789abcdef1"}));
  Trace zero, one;
  zero.add(0);
  one.add(1);
  EXPECT_NE(zero.digest(), one.digest());
}

}  // namespace
}  // namespace holdfast::sim
