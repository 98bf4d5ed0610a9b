// What is rare: in whose ports, and that nothing is lost by it.
#include "sim/world/rare.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "sim/world/world.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// A world in which what is rare happens in "c1" alone.
std::unique_ptr<World> world_of(const RareOptions& options, std::uint64_t seed = 1) {
  auto world = make_embedded_world({.seed = seed});
  make_rare(*world, options, nullptr, [](std::string_view name) { return name == "c1"; });
  return world;
}

// How many bytes each read of `reader` brings of 1,000 that `writer` writes in one call.
std::vector<std::size_t> pieces(const RareOptions& options, const char* writer, const char* reader,
                                std::uint64_t seed = 1) {
  const auto world = world_of(options, seed);
  std::vector<std::size_t> sizes;
  std::string read, written;
  for (int i = 0; i < 1'000; ++i) written += static_cast<char>('a' + i % 26);
  world->run([&] {
    Process& from = world->add_process(writer);
    Process& to = world->add_process(reader);
    bool done = false;
    const auto listener = to.network().listen({"", 7000});
    to.start("reads", [&] {
      const Connected in = listener->accept(kNever);
      std::array<char, 4096> buffer{};
      for (;;) {
        const IoResult result = in.stream->read(buffer, kNever);
        if (!result.ok()) break;
        sizes.push_back(result.bytes);
        read.append(buffer.data(), result.bytes);
      }
      done = true;
    });
    from.start("writes", [&] {
      const Connected out = from.network().connect({to.address(), 7000}, kNever);
      EXPECT_TRUE(out.stream->write(written, kNever).ok());
      out.stream->finish_writing();
      from.runtime().sleep_for(1s);
    });
    world->harness().runtime().sleep_for(500ms);
    EXPECT_TRUE(done);
  });
  EXPECT_EQ(read, written);
  return sizes;
}

TEST(Rare, ReadsBringAPart) {
  const RareOptions options{.reads_percent = 100};
  EXPECT_GT(pieces(options, "s", "c1").size(), 2u);
  EXPECT_EQ(pieces(options, "c1", "s").size(), 1u) << "whose reads are as usual";
  EXPECT_EQ(pieces(options, "s", "c1", 4), pieces(options, "s", "c1", 4));
  EXPECT_NE(pieces(options, "s", "c1", 4), pieces(options, "s", "c1", 5));
}

TEST(Rare, AConnectionTakesFewBytesAtATime) {
  for (const auto& [from, to] : {std::pair{"s", "c1"}, std::pair{"c1", "s"}}) {
    const std::vector<std::size_t> sizes = pieces({.window = 64}, from, to);
    EXPECT_GE(sizes.size(), 1'000u / 64);
    for (const std::size_t size : sizes) EXPECT_LE(size, 64u);
  }
  EXPECT_EQ(pieces({.window = 64}, "s", "t").size(), 1u);
}

TEST(Rare, WaitsEndEarlyForNoReason) {
  for (const char* const name : {"c1", "s"}) {
    const auto world = world_of({.wakeups_percent = 30});
    int conditions = 0, parks = 0;
    world->run([&] {
      Process& process = world->add_process(name);
      bool done = false;
      process.start("waits", [&] {
        Runtime& runtime = process.runtime();
        Mutex mutex(runtime);
        Condition condition(runtime);
        for (int i = 0; i < 50; ++i) {
          const MonotonicTime deadline = deadline_after(runtime.now(), 1s);
          std::unique_lock lock(mutex);
          if (condition.wait_until(lock, deadline) == std::cv_status::no_timeout) {
            ++conditions;
            EXPECT_LT(runtime.now(), deadline);
          } else {
            EXPECT_GE(runtime.now(), deadline);
          }
          lock.unlock();
          const MonotonicTime later = deadline_after(runtime.now(), 1s);
          if (runtime.parker().park_until(later)) {
            ++parks;
            EXPECT_LT(runtime.now(), later);
          }
        }
        done = true;
      });
      world->harness().runtime().sleep_for(200s);
      EXPECT_TRUE(done);
    });
    const bool rare = std::string_view(name) == "c1";
    EXPECT_EQ(conditions > 5, rare);
    EXPECT_EQ(parks > 5, rare);
    EXPECT_LT(conditions + parks, 60);
  }
}

TEST(Rare, TimersAreLate) {
  const auto world = world_of({.timers = {3ms, 3ms}});
  world->run([&] {
    const auto slept = [&](const char* name) {
      Process& process = world->add_process(name);
      Duration took{};
      process.start("sleeps", [&] {
        const MonotonicTime before = process.runtime().now();
        process.runtime().sleep_for(10ms);
        took = process.runtime().now() - before;
      });
      world->harness().runtime().sleep_for(1s);
      return took;
    };
    EXPECT_EQ(slept("c1"), 13ms);
    EXPECT_EQ(slept("s"), 10ms);
  });
}

// A process that is started again is the same in this.
TEST(Rare, StaysWhenAProcessComesBack) {
  const auto world = world_of({.timers = {3ms, 3ms}});
  world->run([&] {
    world->add_process("c1").crash();
    Process& again = world->add_process("c1");
    Duration took{};
    again.start("sleeps", [&] {
      const MonotonicTime before = again.runtime().now();
      again.runtime().sleep_for(10ms);
      took = again.runtime().now() - before;
    });
    world->harness().runtime().sleep_for(1s);
    EXPECT_EQ(took, 13ms);
  });
}

}  // namespace
}  // namespace holdfast::sim
