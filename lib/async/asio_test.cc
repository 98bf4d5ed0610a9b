// The locks for Boost.Asio (asio.h): the three usual tokens, cancellation, and handlers that are never
// called.
#include "lib/async/asio.h"

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "lib/async/loop_client.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/net/socket_network.h"
#include "lib/redis/threaded_client.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::async {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

class AsyncAsioTest : public ::testing::Test {
 protected:
  void SetUp() override {
    redis_.start();
    const std::string url = "redis://" + redis_.endpoint().to_string();
    client_ = std::make_unique<LoopClient>(url);
    locks_ = std::make_unique<AsyncLocks>(client_->locks<ReentrantLocks>(LockOptions{.lease = 60s}));
    other_client_ = std::make_unique<redis::ThreadedClient>(url);
    others_ = std::make_unique<ReentrantLocks>(*other_client_, LockOptions{.lease = 60s});
  }

  // A reply on the connection of the acquires comes after theirs.
  void settle() {
    client_->loop().call([&] { client_->client().call({"PING"}); });
  }

  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  const TemporaryFolder folder_;
  RedisProcess redis_{runtime_, network_, {.folder = folder_.path()}};
  std::unique_ptr<LoopClient> client_;
  std::unique_ptr<AsyncLocks> locks_;
  std::unique_ptr<redis::ThreadedClient> other_client_;
  std::unique_ptr<ReentrantLocks> others_;  // of somebody else
};

asio::awaitable<int> hold_each(AsyncLocks locks, int keys, std::thread::id own) {
  int here = 0;
  for (int key = 0; key < keys; ++key) {
    Hold hold = co_await async_lock(locks.obtain("k" + std::to_string(key)), asio::use_awaitable);
    here += std::this_thread::get_id() == own;
    co_await async_release(std::move(hold), asio::use_awaitable);
    here += std::this_thread::get_id() == own;
  }
  co_return here;
}

TEST_F(AsyncAsioTest, AnAwaitableGoesOnOnItsContext) {
  asio::io_context context;
  int here = 0;
  for (int i = 0; i < 10; ++i) {
    asio::co_spawn(context, hold_each(*locks_, 5, std::this_thread::get_id()),
                   [&](const std::exception_ptr& failure, int count) {
                     EXPECT_FALSE(failure);
                     here += count;
                   });
  }
  context.run();  // ends, so there was work while they waited, and there is none now
  EXPECT_EQ(here, 100);
}

TEST_F(AsyncAsioTest, FuturesAndCallbacks) {
  Hold first = async_lock(locks_->obtain("k"), asio::use_future).get();
  EXPECT_TRUE(first);
  EXPECT_FALSE(async_try_lock_for(locks_->obtain("k"), 0s, asio::use_future).get());
  std::promise<Hold> told;
  async_lock(locks_->obtain("k"), [&](const std::exception_ptr& failure, Hold hold) {
    EXPECT_FALSE(failure);
    told.set_value(std::move(hold));
  });
  async_release(std::move(first), asio::use_future).get();
  Hold second = told.get_future().get();
  EXPECT_TRUE(others_->obtain("k")->force_unlock());
  EXPECT_THROW(async_release(std::move(second), asio::use_future).get(), LockLost);
}

TEST_F(AsyncAsioTest, ACancellationSlotEndsAWait) {
  const auto holder = others_->obtain("k");
  holder->lock();
  asio::io_context context;
  asio::cancellation_signal signal;
  std::exception_ptr failure;
  async_lock(locks_->obtain("k"),
             asio::bind_cancellation_slot(
                 signal.slot(), asio::bind_executor(context, [&](std::exception_ptr its_failure, Hold hold) {
                   failure = std::move(its_failure);
                   EXPECT_FALSE(hold);
                 })));
  asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
  context.run();
  ASSERT_TRUE(failure);
  EXPECT_THROW(std::rethrow_exception(failure), Interrupted);
  holder->unlock();
  EXPECT_TRUE(holder->try_lock_for(20s));
}

TEST_F(AsyncAsioTest, ACancelledAwaitableThrowsInterrupted) {
  const auto holder = others_->obtain("k");
  holder->lock();
  asio::io_context context;
  asio::cancellation_signal signal;
  bool interrupted = false;
  asio::co_spawn(
      context,
      [](AsyncLock lock, bool& interrupted) -> asio::awaitable<void> {
        try {
          static_cast<void>(co_await async_lock(lock, asio::use_awaitable));
        } catch (const Interrupted&) {
          interrupted = true;
        }
      }(locks_->obtain("k"), interrupted),
      asio::bind_cancellation_slot(signal.slot(), asio::detached));
  asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
  context.run();
  EXPECT_TRUE(interrupted);
}

TEST_F(AsyncAsioTest, AGrantToAContextThatIsGoneIsGivenBack) {
  const auto holder = others_->obtain("k");
  holder->lock();
  {
    asio::io_context context;
    async_lock(locks_->obtain("k"), asio::bind_executor(context, [](std::exception_ptr, Hold) { FAIL(); }));
    async_lock(locks_->obtain("free"),
               asio::bind_executor(context, [](std::exception_ptr, Hold) { FAIL(); }));
    // The second one is granted, and its handler waits in a context that never runs.
    while (other_client_->client().call({"EXISTS", "free"}).reply.integer == 0) continue;
    settle();
    client_ = nullptr;  // the first one is interrupted; its handler waits there, too
  }
  holder->unlock();
  EXPECT_TRUE(holder->try_lock_for(20s));
}

TEST_F(AsyncAsioTest, AHandlerThatIsDestroyedUncalledGivesTheLockBack) {
  {
    asio::io_context context;
    async_lock(locks_->obtain("k"), asio::bind_executor(context, [](std::exception_ptr, Hold) { FAIL(); }));
    while (other_client_->client().call({"EXISTS", "k"}).reply.integer == 0) continue;
    settle();
  }
  EXPECT_TRUE(others_->obtain("k")->try_lock_for(20s));
}

}  // namespace
}  // namespace holdfast::async
