// AsyncLock: any lock of the library for callers that do not wait on a thread.
//
//   holdfast::async::LoopClient redis("redis://localhost:6379");              // loop_client.h
//   const auto locks = redis.locks<holdfast::FencedLocks>(holdfast::LockOptions{.lease = 10s});
//   const holdfast::async::AsyncLock stock = locks.obtain("stock:42");
//   holdfast::async::Hold hold = co_await stock.async_lock(stop);
//
// An acquire is the lock's own blocking code on a task of the loop: what the lock promises holds for it.
// Each acquire is a holder of its own: who awaits a second one of the same key while it has a Hold waits for
// itself. A coroutine goes on where executor.h says.
//
// Nothing gets lost: what is granted to a coroutine that is gone, or whose executor drops it, is given back.
//
// A stop request ends a wait at once with Interrupted, whatever the server does; what may have been granted
// meanwhile is given back behind it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "lib/async/awaiter.h"
#include "lib/async/call.h"
#include "lib/async/hold.h"
#include "lib/async/loop.h"
#include "lib/lock/api/locks.h"

namespace holdfast::async {

// Where an AsyncLock has its lock from. What it keeps is used and destroyed by tasks of the host.
class LockSource {
 public:
  // `find` is called by a task of the host, at the first acquire.
  LockSource(std::shared_ptr<Host> host, std::string key, std::function<std::shared_ptr<Lock>()> find);
  ~LockSource();
  LockSource(const LockSource&) = delete;
  LockSource& operator=(const LockSource&) = delete;
  const std::shared_ptr<Host>& host() const noexcept { return host_; }  // where it is used
  const std::string& key() const noexcept { return key_; }              // of the lock
  Lock& lock();                                                         // [parks] by a task of the host

 private:
  const std::shared_ptr<Host> host_;
  const std::string key_;
  std::function<std::shared_ptr<Lock>()> find_;
  std::shared_ptr<Lock> lock_;
};

// One acquire.
class AcquireOperation : public Operation {
 public:
  // kNever: waits without bound. One that has passed: asks once.
  AcquireOperation(std::shared_ptr<LockSource> source, std::optional<Duration> wait);
  // Empty: not granted in time.
  Hold take();

 private:
  void run(std::stop_token stop) override;
  void discard() noexcept override;
  std::exception_ptr stopped() override;
  std::exception_ptr refused() override;
  const std::shared_ptr<LockSource> source_;
  const std::optional<Duration> wait_;
  Hold hold_;
};

// One that may end without a grant.
class TryOperation final : public AcquireOperation {
 public:
  using AcquireOperation::AcquireOperation;
  // nullopt: not granted in time.
  std::optional<Hold> take();
};

// Copies are the same lock. Thread safety: any thread.
class AsyncLock {
 public:
  // `lock` lives on `host`: it is used by its tasks alone, and so is what it stands on (Loop::make()).
  AsyncLock(std::shared_ptr<Host> host, std::shared_ptr<Lock> lock);
  // The lock of `source`.
  explicit AsyncLock(std::shared_ptr<LockSource> source) : source_(std::move(source)) {}

  const std::string& key() const noexcept { return source_->key(); }  // of the lock

  // co_await gives a Hold, or throws LockError, as Lock::lock_interruptibly().
  [[nodiscard]] Awaiter<AcquireOperation> async_lock(std::stop_token stop = {}) const {
    return {lock_operation(), std::move(stop)};
  }
  // co_await gives a Hold; nullopt: not granted within `wait`, which begins when it is awaited. Zero: one
  // question. As Lock::try_lock_until(). Throws std::invalid_argument for a wait below zero.
  [[nodiscard]] Awaiter<TryOperation> async_try_lock_for(Duration wait, std::stop_token stop = {}) const {
    return {try_operation(wait), std::move(stop)};
  }

  // The same as operations, for other forms of waiting (asio.h).
  std::shared_ptr<AcquireOperation> lock_operation() const;
  std::shared_ptr<TryOperation> try_operation(Duration wait) const;  // as async_try_lock_for()

 private:
  std::shared_ptr<LockSource> source_;
};

// The locks of one kind on one loop. Copies are the same. Thread safety: any thread.
class AsyncLocks {
 public:
  // `locks` live on `host`: made by Loop::make(), say.
  AsyncLocks(std::shared_ptr<Host> host, std::shared_ptr<Locks> locks)
      : host_(std::move(host)), locks_(std::move(locks)) {}
  // Does not wait. An impossible key is told by the first acquire (std::invalid_argument).
  [[nodiscard]] AsyncLock obtain(std::string key) const;

 private:
  std::shared_ptr<Host> host_;
  std::shared_ptr<Locks> locks_;
};

}  // namespace holdfast::async
