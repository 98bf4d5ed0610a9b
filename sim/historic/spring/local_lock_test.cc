// The local lock of Spring's lock objects: it excludes, it is unfair, and no wake-up is lost.
#include "sim/historic/spring/local_lock.h"

#include "lib/testing/scene.h"
#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;
using Entry = LocalLock::Entry;

class LocalLockTest : public PortsTest {};
HF_ON_ALL_PORTS(LocalLockTest);

TEST_P(LocalLockTest, OneAtATimeAndEverybodyGetsIt) {
  run([](Fixture& fixture) {
    LocalLock lock(fixture.runtime);
    int inside = 0, most = 0, entries = 0;
    std::vector<Task> tasks;
    for (int i = 0; i < 8; ++i) {
      tasks.push_back(fixture.runtime.spawn("client", [&] {
        for (int round = 0; round < 50; ++round) {
          ASSERT_EQ(lock.enter(kNever, {}), Entry::granted);
          most = std::max(most, ++inside);
          ++entries;
          fixture.runtime.sleep_for(10us);
          --inside;
          lock.leave();
        }
      }));
    }
    for (Task& task : tasks) task.join();
    EXPECT_EQ(most, 1);
    EXPECT_EQ(entries, 400);
    EXPECT_EQ(lock.waiting(), 0u);
  });
}

TEST_P(LocalLockTest, AWaitEndsAtItsDeadlineOrByAStop) {
  run([](Fixture& fixture) {
    LocalLock lock(fixture.runtime);
    ASSERT_EQ(lock.enter(kNever, {}), Entry::granted);
    std::stop_source stop;
    fixture.runtime
        .spawn("client",
               [&] {
                 EXPECT_EQ(lock.enter(fixture.runtime.now(), {}), Entry::timed_out);
                 EXPECT_EQ(lock.enter(fixture.runtime.now() + 20ms, {}), Entry::timed_out);
               })
        .join();
    Task waiter = fixture.runtime.spawn(
        "client", [&] { EXPECT_EQ(lock.enter(kNever, stop.get_token()), Entry::stopped); });
    while (lock.waiting() == 0) fixture.runtime.sleep_for(1ms);
    stop.request_stop();
    waiter.join();
    lock.leave();
    EXPECT_EQ(lock.enter(kNever, stop.get_token()), Entry::stopped) << "free, but interrupted on entry";
    EXPECT_EQ(lock.enter(fixture.runtime.now(), {}), Entry::granted);
    lock.leave();
  });
}

// The woken waiter is stopped before it runs: the next one is woken instead.
TEST(LocalLock, AWakeUpIsPassedOn) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    LocalLock lock(fixture.runtime);
    ASSERT_EQ(lock.enter(kNever, {}), Entry::granted);
    std::stop_source stop;
    Task first = fixture.runtime.spawn(
        "client", [&] { EXPECT_EQ(lock.enter(kNever, stop.get_token()), Entry::stopped); });
    while (lock.waiting() < 1) fixture.runtime.sleep_for(1ms);
    Task second = fixture.runtime.spawn("client", [&] {
      EXPECT_EQ(lock.enter(kNever, {}), Entry::granted);
      lock.leave();
    });
    while (lock.waiting() < 2) fixture.runtime.sleep_for(1ms);
    lock.leave();
    stop.request_stop();
    first.join();
    second.join();
  });
}

TEST(LocalLock, WhoReleasesAndAsksAtOnceIsThereFirst) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    LocalLock lock(fixture.runtime);
    std::string order;
    ASSERT_EQ(lock.enter(kNever, {}), Entry::granted);
    Task waiter = fixture.runtime.spawn("client", [&] {
      ASSERT_EQ(lock.enter(kNever, {}), Entry::granted);
      order += "waiter ";
      lock.leave();
    });
    while (lock.waiting() == 0) fixture.runtime.sleep_for(1ms);
    lock.leave();
    ASSERT_EQ(lock.enter(kNever, {}), Entry::granted);
    order += "holder ";
    lock.leave();
    waiter.join();
    EXPECT_EQ(order, "holder waiter ");
  });
}

}  // namespace
}  // namespace holdfast::historic
