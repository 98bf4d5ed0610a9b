// The examples of lib/README.md: they compile as they stand there, and run against a real server (Redlock,
// which wants three, in redlock_test.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <sstream>

#include "lib/lock/api/async_lock.h"
#include "lib/lock/api/guard.h"
#include "lib/lock/api/guarded.h"
#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/observers/lock_log.h"
#include "lib/lock/observers/lock_metrics.h"
#include "lib/lock/observers/observers.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/redlock/redlock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/net/socket_network.h"
#include "lib/redis/url.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/fixture.h"
#include "lib/testing/folders.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;

// What the examples do under their locks.
int done = 0;
std::function<void()> while_selling;  // what happens meanwhile
void sell() {
  ++done;
  if (while_selling) while_selling();
}
void print() { ++done; }
void write_account(std::uint64_t token) { done += token > 0 ? 1 : 0; }
void read_prices() { ++done; }
void write_prices() { ++done; }
void pay() { ++done; }
void send_to_checkout(const std::string& id) { done += id.empty() ? 0 : 1; }
void transfer() { ++done; }
void lead(const std::stop_token& lost) { done += lost.stop_possible() ? 1 : 0; }
void ship() { ++done; }
long deduct_from_stock(const std::stop_token&, long item) {
  ++done;
  return item;
}

// --- the examples -----------------------------------------------------------------------------------------
// clang-format off

[[maybe_unused]] void connecting() {
  holdfast::ThreadRuntime runtime;
  holdfast::SocketNetwork network(runtime);
  holdfast::redis::Client client(runtime, network, holdfast::redis::options_from_url("redis://127.0.0.1:6379"));
}

void reentrant(redis::Client& client) {
  holdfast::ReentrantLocks locks(client, {.lease = 30s});
  const auto lock = locks.obtain("stock:42");
  holdfast::Guard guard(*lock);                      // or std::scoped_lock, which tells of no loss
  const std::stop_callback stop(lock->lost(), [] { /* somebody else may be inside now: come to an end */ });
  if (lock->is_held_by_me()) sell();                 // no round trip; a pause after the question goes unseen: `fenced`
  guard.release();                                   // throws LockLost when the work may have been done next to others
}

void with_a_guard_of_the_standard(redis::Client& client) {
  holdfast::ReentrantLocks locks(client, {.lease = 30s});
  const auto lock = locks.obtain("stock:42");
  const std::scoped_lock hold(*lock);                // the standard's guards never throw, and never tell of a loss
  sell();
}

// The first example of the project's README, with a client of its own.
void example_of_the_project(redis::Client& redis) {
holdfast::ReentrantLocks locks(redis, {.lease = std::chrono::seconds(10)});

const auto lock = locks.obtain("stock:42");
holdfast::Guard guard(*lock);  // waits; or lock->try_lock(), lock->try_lock_for(5s, stop_token)
// ... the work ...
sell();
guard.release();               // throws LockLost if the lock was lost meanwhile
}

void fair(redis::Client& client, std::stop_token stop_token) {
  holdfast::FairLocks fair(client, {.lease = 10s});
  const auto turn = fair.obtain("printer");
  if (turn->try_lock_for(5s, stop_token)) {          // false: not within 5 s; Interrupted: stop_token was triggered
    print();
    turn->unlock();
  }
}

void fenced(redis::Client& client) {
  holdfast::FencedLocks fenced(client, {.lease = 10s});
  const auto fence = fenced.obtain("account:7");
  holdfast::Guard guard(*fence);
  write_account(*fence->token());                    // UPDATE ... WHERE last_token <= :token
  guard.release();
}

void read_write(redis::Client& client) {
  holdfast::ReadWriteLocks tables(client, {.lock = {.lease = 10s}, .fair = true});
  const auto table = tables.obtain("prices");
  {
    const std::shared_lock reading(*table);          // with others
    read_prices();
  }
  table->lock();                                     // alone
  write_prices();
  table->downgrade();                                // reads on, without a moment in which another one writes
  table->unlock_shared();
}

void semaphore(redis::Client& client) {
  holdfast::Semaphores semaphores(client, {.lock = {.lease = 30s}, .permits = 5});
  const auto gateway = semaphores.obtain("payment-gateway");
  gateway->acquire(2);                               // both or none
  pay();
  gateway->release();
}

void permits(redis::Client& client) {
  holdfast::PermitSemaphore seats(client, "seats", {.lock = {.lease = 60s}, .permits = 40});
  if (const auto seat = seats.try_acquire_for(2s)) {
    send_to_checkout(seat->id);                      // there: seats.extend(id), and seats.release(id) in the end
  }
}

void latch(redis::Client& client) {
  holdfast::CountDownLatch parts(client, "import:2026-11");
  parts.set(8);                                      // the coordinator, once
  parts.count_down();                                // each of the eight, when it is done
  parts.await();                                     // whoever waits for them
}

void multi(ReentrantLocks& locks) {
  const auto from = locks.obtain("account:1"), to = locks.obtain("account:2");
  holdfast::MultiLock both({from, to});
  holdfast::Guard guard(both);
  transfer();
  guard.release();
}

[[maybe_unused]] void redlock(redis::Client& server_a, redis::Client& server_b, redis::Client& server_c) {
  holdfast::Redlocks redlocks({&server_a, &server_b, &server_c}, {.lock = {.lease = 10s}, .node_timeout = 100ms});
  const auto leader = redlocks.obtain("leader");
  if (leader->try_lock()) lead(leader->lost());
}

void a_registry(ReentrantLocks& locks) {
  holdfast::Registry registry(locks, {.prefix = "shop", .capacity = 10'000});
  const auto deduct = holdfast::guarded(
      registry, {.key = "stock", .wait = 5s}, [](long item) { return std::to_string(item); },
      [](std::stop_token lost, long item) { return deduct_from_stock(lost, item); });
  const long left = deduct(42);                      // under the lock "shop:stock:42"; WaitTimeout, LockLost
  (void)left;
}

void owner(Runtime& runtime, const std::shared_ptr<Lock>& lock) {
  const holdfast::Owner order(runtime);
  const auto pending = holdfast::acquire_async(lock, order, runtime.now() + 5s);
  if (pending.wait()) {                              // on whatever thread
    const holdfast::ActAs me(runtime, order);
    ship();
    lock->unlock();
  }
}

void metrics_and_log(Runtime& runtime, redis::Client& client) {
  const auto resource_of = [](std::string_view key) { return std::string(key.substr(0, key.find(':'))); };
  holdfast::LockMetrics metrics(runtime, {.label = "resource", .label_of = resource_of});
  holdfast::LockLog log(runtime, [](auto, std::string_view line) { std::clog << line << '\n'; });
  holdfast::Observers observers({metrics.of("reentrant"), &log});
  holdfast::ReentrantLocks locks(client, {.lease = 30s, .observer = &observers});
  metrics.add_client("main", client);                // GET /metrics answers metrics.text()
  {
    const auto lock = locks.obtain("stock:42");
    holdfast::Guard guard(*lock);
  }
  const std::string text = metrics.text();
  const std::string grant = R"(holdfast_lock_grants_total{lock_kind="reentrant",lock_mode="",resource="stock"} 1)";
  EXPECT_NE(text.find(grant), std::string::npos) << text;
}

// clang-format on

TEST(LibReadme, ExamplesRun) {
  testing::with_fixture(testing::Where::threads, [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    done = 0;
    reentrant(client);
    fair(client, {});
    read_write(client);
    semaphore(client);
    permits(client);
    {
      CountDownLatch parts(client, "import:2026-11");
      Task seven = fixture.runtime.spawn("client", [&] {  // of the eight parts
        for (int part = 0; part < 7;) part += parts.count_down().has_value() ? 1 : 0;
      });
      latch(client);
    }
    fenced(client);
    ReentrantLocks locks(client, {.lease = 30s});
    multi(locks);
    a_registry(locks);
    owner(fixture.runtime, locks.obtain("order"));
    metrics_and_log(fixture.runtime, client);
    EXPECT_EQ(done, 10);
  });
}

// The lock is lost while the first example works under it: the example says so, and the program goes on.
class LibReadmeLoss : public ::testing::TestWithParam<testing::Where> {};
INSTANTIATE_TEST_SUITE_P(Ports, LibReadmeLoss, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(LibReadmeLoss, TheServerForgetsTheLock) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    while_selling = [&] { client.call({"FLUSHALL"}); };
    EXPECT_THROW(reentrant(client), LockLost);
    EXPECT_THROW(example_of_the_project(client), LockLost);
    EXPECT_NO_THROW(with_a_guard_of_the_standard(client));
    while_selling = nullptr;
  });
}

class LibReadmePause : public ::testing::TestWithParam<testing::Where> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LibReadmePause);  // without the harness
INSTANTIATE_TEST_SUITE_P(Worlds, LibReadmePause, ::testing::ValuesIn(testing::worlds()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(LibReadmePause, TheProcessSleepsPastItsLease) {
  if (GetParam() != testing::Where::embedded) return;  // 30 s on real time
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    testing::OtherProcess& shop = fixture.add_process("shop");
    bool working = false, over = false, told = false;
    shop.start("client", [&] {
      redis::Client client(shop.runtime(), shop.network(), fixture.options());
      while_selling = [&] {
        working = true;
        shop.runtime().sleep_for(1ms);
      };
      EXPECT_NO_THROW(with_a_guard_of_the_standard(client));
      working = false;
      try {
        reentrant(client);
      } catch (const LockLost&) {
        told = true;
      }
      over = true;
    });
    const auto pause = [&] {
      while (!working) fixture.runtime.sleep_for(100us);
      shop.pause();
      fixture.runtime.sleep_for(31s);
      working = false;
      shop.resume();
    };
    pause();
    pause();
    while (!over) fixture.runtime.sleep_for(1ms);
    while_selling = nullptr;
    EXPECT_TRUE(told);
  });
}

TEST(LibReadme, ExamplesAreTheseHere) {
  const auto read = [](const std::string& path) {
    std::ifstream file(holdfast::testing::source_path(path));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string here = read("lib/lock/api/readme_test.cc");
  std::istringstream readme(read("lib/README.md"));
  std::string line;
  bool code = false;
  std::size_t at = here.find("--- the examples"), lines = 0;
  while (std::getline(readme, line)) {
    if (line.starts_with("```")) {
      code = line == "```cpp";
    } else if (code && !line.empty()) {
      at = here.find("\n  " + line + "\n", at);
      ASSERT_NE(at, std::string::npos) << line;
      ++lines;
    }
  }
  EXPECT_GT(lines, 60u);

  // The first example of the project's README, from its locks on.
  const std::string readme_of_all = read("README.md");
  const std::size_t begin = readme_of_all.find("holdfast::ReentrantLocks locks(redis");
  ASSERT_NE(begin, std::string::npos);
  std::istringstream example(readme_of_all.substr(begin, readme_of_all.find("```", begin) - begin));
  at = here.find("void example_of_the_project");
  while (std::getline(example, line)) {
    if (line.empty()) continue;
    at = here.find("\n" + line + "\n", at);
    ASSERT_NE(at, std::string::npos) << line;
  }
}

}  // namespace
}  // namespace holdfast
