// Guarded calls: keys, results, exceptions, timeouts, and what becomes of a call whose lock is lost.
#include "lib/lock/api/guarded.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>

#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::Peer<ReentrantLocks>;

struct Scene {
  Scene(Fixture& stand_in, const LockOptions& options)
      : fixture(stand_in),
        peer(fixture, options),
        other(fixture, {.lease = 600s}),
        registry(peer.locks, {}) {}
  bool held(std::string_view key) { return other.ask({"EXISTS", key}).integer == 1; }
  Fixture& fixture;
  Peer peer, other;
  Registry registry;
};

class GuardedTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const LockOptions& options, const std::function<void(Scene&)>& body) {
    testing::with_fixture(GetParam(), [&](Fixture& fixture) {
      Scene scene(fixture, options);
      body(scene);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, GuardedTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(GuardedTest, RunsUnderTheLock) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto twice = guarded(scene.registry, {.key = "stock-lock"}, [&](long id) {
      EXPECT_TRUE(scene.held("stock-lock"));
      return 2 * id;
    });
    EXPECT_EQ(twice(21), 42);
    EXPECT_FALSE(scene.held("stock-lock"));
    static_assert(std::same_as<decltype(twice(1)), long>);
  });
}

TEST_P(GuardedTest, ResultsOfEveryKindPassThrough) {
  run({.lease = 60s}, [](Scene& scene) {
    int stock = 7;
    bool ran = false;
    const GuardedOptions options{.key = "k"};
    const auto nothing = guarded(scene.registry, options, [&] { ran = true; });
    static_assert(std::is_void_v<decltype(nothing())>);
    nothing();
    EXPECT_TRUE(ran);
    const auto reference = guarded(scene.registry, options, [&]() -> int& { return stock; });
    static_assert(std::same_as<decltype(reference()), int&>);
    EXPECT_EQ(&reference(), &stock);
    const auto constant = guarded(scene.registry, options, [&]() -> const int& { return stock; });
    EXPECT_EQ(&constant(), &stock);
    const auto unique =
        guarded(scene.registry, options, [](int value) { return std::make_unique<int>(value); });
    EXPECT_EQ(*unique(5), 5);
    auto kept = std::make_unique<int>(9);
    const auto moved =
        guarded(scene.registry, options, [&]() -> std::unique_ptr<int>&& { return std::move(kept); });
    static_assert(std::same_as<decltype(moved()), std::unique_ptr<int>&&>);
    EXPECT_EQ(*std::unique_ptr<int>(moved()), 9);
    EXPECT_FALSE(scene.held("k"));
  });
}

TEST_P(GuardedTest, ArgumentsAreForwarded) {
  run({.lease = 60s}, [](Scene& scene) {
    const GuardedOptions options{.key = "k"};
    int changed = 1;
    guarded(scene.registry, options, [](int& value) { value = 2; })(changed);
    EXPECT_EQ(changed, 2);
    const auto take = guarded(scene.registry, options, [](std::unique_ptr<int> value) { return *value; });
    EXPECT_EQ(take(std::make_unique<int>(3)), 3);
    struct Shop {
      std::int64_t left = 5;
      std::int64_t sell(int count) { return left -= count; }
    } shop;
    EXPECT_EQ(guarded(scene.registry, options, &Shop::sell)(shop, 2), 3);
    // What takes anything is given what it was called with, and no token before it.
    const auto count = guarded(scene.registry, options, [](const auto&... all) { return sizeof...(all); });
    EXPECT_EQ(count(1, 2, 3), 3u);
  });
}

TEST_P(GuardedTest, TheKeyComesFromTheArguments) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto key_of = [](long id, const std::string&) { return std::to_string(id); };
    const auto deduct = guarded(scene.registry, {.key = "stock"}, key_of, [&](long id, std::string text) {
      EXPECT_TRUE(scene.held("stock:" + std::to_string(id)));
      EXPECT_FALSE(scene.held("stock"));
      return text;
    });
    EXPECT_EQ(deduct(42, std::string("moved")), "moved");  // the key is made before the arguments go
    const auto held = scene.other.locks.obtain("stock:1");
    held->lock();
    const auto impatient = guarded(
        scene.registry, {.key = "stock", .wait = 300ms}, [](long id) { return std::to_string(id); },
        [](long id) { return id; });
    EXPECT_EQ(impatient(2), 2);
    EXPECT_THROW(impatient(1), WaitTimeout);
    held->unlock();
  });
}

TEST_P(GuardedTest, WaitsSoLongAndNoLonger) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto held = scene.other.locks.obtain("k");
    held->lock();
    int ran = 0;
    const MonotonicTime start = scene.fixture.runtime.now();
    try {
      guarded(scene.registry, {.key = "k", .wait = 300ms}, [&] { ++ran; })();
      ADD_FAILURE() << "ran";
    } catch (const WaitTimeout& error) {
      EXPECT_EQ(error.key(), "k");
      EXPECT_NE(std::string(error.what()).find("300 ms"), std::string::npos) << error.what();
    }
    EXPECT_GE(scene.fixture.runtime.now() - start, 300ms);
    EXPECT_THROW(guarded(scene.registry, {.key = "k", .wait = 0s}, [&] { ++ran; })(), WaitTimeout);
    EXPECT_EQ(ran, 0);
    EXPECT_THROW(guarded(scene.registry, {.key = "k", .wait = -1ns}, [&] { ++ran; }), std::invalid_argument);
    EXPECT_THROW(guarded(scene.registry, {.key = ""}, [&] { ++ran; })(), std::invalid_argument);
    held->unlock();
    guarded(scene.registry, {.key = "k", .wait = 0s}, [&] { ++ran; })();
    EXPECT_EQ(ran, 1);
  });
}

TEST_P(GuardedTest, ExceptionsPassAndReleaseTheLock) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto fails =
        guarded(scene.registry, {.key = "k"}, []() -> int { throw std::out_of_range("sold out"); });
    EXPECT_THROW(fails(), std::out_of_range);
    EXPECT_FALSE(scene.held("k"));
    // Lost or not: the function's own exception says more.
    const auto both = guarded(scene.registry, {.key = "k"}, [&] {
      scene.other.ask({"DEL", "k"});
      throw std::out_of_range("sold out");
    });
    EXPECT_THROW(both(), std::out_of_range);
    EXPECT_TRUE(scene.other.locks.obtain("k")->try_lock());
  });
}

TEST_P(GuardedTest, ALostLockIsToldInPlaceOfTheResult) {
  run({.lease = 60s}, [](Scene& scene) {
    bool ran = false;
    const auto lost = guarded(scene.registry, {.key = "k"}, [&] {
      scene.other.ask({"DEL", "k"});
      ran = true;
      return 42;
    });
    EXPECT_THROW(lost(), LockLost);
    EXPECT_TRUE(ran);
    const auto silent = guarded(scene.registry, {.key = "k"}, [&] { scene.other.ask({"DEL", "k"}); });
    EXPECT_THROW(silent(), LockLost);
    EXPECT_EQ(guarded(scene.registry, {.key = "k"}, [] { return 1; })(), 1);  // and then it works again
  });
}

// The token fires when a renewal finds the record gone.
TEST_P(GuardedTest, TheTokenTellsTheLoss) {
  run({.lease = 900ms}, [](Scene& scene) {
    Runtime& runtime = scene.fixture.runtime;
    const auto job = guarded(scene.registry, {.key = "k"}, [&](std::stop_token lost, int steps) {
      EXPECT_FALSE(lost.stop_requested());
      scene.other.ask({"DEL", "k"});
      while (!lost.stop_requested()) runtime.sleep_for(5ms);
      return steps;
    });
    EXPECT_THROW(job(3), LockLost);
  });
}

// So does the end of the last renewal that is allowed: a call that takes too long is cancelled.
TEST_P(GuardedTest, MaxRenewalsCancelACall) {
  run({.lease = 600ms, .max_renewals = 2}, [](Scene& scene) {
    Runtime& runtime = scene.fixture.runtime;
    const auto job = guarded(scene.registry, {.key = "k"}, [&](std::stop_token lost) {
      while (!lost.stop_requested()) runtime.sleep_for(5ms);
    });
    const MonotonicTime start = runtime.now();
    EXPECT_THROW(job(), LockLost);
    EXPECT_LE(scene.peer.observer.count(Kind::renewed), 2u);
    if (GetParam() == Where::embedded) {
      EXPECT_EQ(scene.peer.observer.count(Kind::renewed), 2u);
      EXPECT_GE(runtime.now() - start, 900ms);  // two thirds of a lease, and a whole one
      EXPECT_LE(runtime.now() - start, 1100ms);
    }
  });
}

TEST_P(GuardedTest, CallsExcludeEachOther) {
  run({.lease = 60s}, [](Scene& scene) {
    Registry elsewhere(scene.other.locks, {});
    std::atomic<int> inside = 0, calls = 0;
    const auto body = [&] {
      EXPECT_EQ(++inside, 1);
      scene.fixture.runtime.yield();
      --inside;
      ++calls;
    };
    const auto here = guarded(scene.registry, {.key = "k", .wait = 300s}, body);
    const auto there = guarded(elsewhere, {.key = "k", .wait = 300s}, body);
    {
      std::list<Task> tasks;
      for (int i = 0; i < 6; ++i) {
        tasks.push_back(scene.fixture.runtime.spawn("client", [&, i] {
          for (int round = 0; round < 5; ++round) i % 2 == 0 ? here() : there();
        }));
      }
    }
    EXPECT_EQ(calls, 30);
  });
}

TEST_P(GuardedTest, Nested) {
  run({.lease = 60s}, [](Scene& scene) {
    const auto inner = guarded(scene.registry, {.key = "k"}, [] { return 1; });
    const auto outer =
        guarded(scene.registry, {.key = "k"}, [&] { return inner() + (scene.held("k") ? 1 : 0); });
    EXPECT_EQ(outer(), 2);
    EXPECT_FALSE(scene.held("k"));
    // By a lock that is not reentrant it is a timeout at once, not a deadlock.
    testing::Peer<NonReentrantLocks> strict(scene.fixture, {.lease = 60s});
    Registry registry(strict.locks, {});
    const auto again = guarded(registry, {.key = "k", .wait = 30s}, [] {});
    EXPECT_THROW(guarded(registry, {.key = "k"}, [&] { again(); })(), WaitTimeout);
    EXPECT_FALSE(scene.held("k"));
  });
}

}  // namespace
}  // namespace holdfast
