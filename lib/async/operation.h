// Operation: blocking code that runs on a task of a host for somebody who does not wait on a thread. The
// parts behind co_await (awaiter.h) and behind completion tokens (asio.h); applications need neither
// directly.
//
// start() posts it. Its end is told once: by a task of the host, or by whoever asks it to stop. A stop
// request is answered at once, without waiting for the task, which comes to its end behind it; what the task
// still gets then, and what it got for somebody who is gone, it gives back (discard()).
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "lib/async/host.h"

namespace holdfast::async {

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  // Told when it has ended; at most once, and not after abandon(). `here`: by the operation's own task, which
  // has nothing else to do and may go on with what was waiting.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void ended(const std::shared_ptr<Operation>& operation, bool here) noexcept = 0;
  };

  explicit Operation(std::shared_ptr<Host> host) : host_(std::move(host)) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // REQUIRES: it was not started. The receiver lives until it was told, or until abandon() returned.
  void start(std::unique_ptr<Receiver> receiver, std::stop_token stop);
  // Ends it at once with stopped(), if it has not ended.
  void cancel() noexcept;
  // Nobody takes its result any more: neither the one that is there, nor the one to come.
  void abandon() noexcept;
  // Throws what it threw. Call it once, after the end was told.
  void rethrow_failure();

  Host& host() noexcept { return *host_; }
  const std::shared_ptr<Host>& shared_host() const noexcept { return host_; }

 protected:
  // [parks] On a task of the host. `stop` fires when nobody wants the result any more.
  virtual void run(std::stop_token stop) = 0;
  // What run() got is not wanted. On any thread.
  virtual void discard() noexcept {}
  virtual bool stoppable() const noexcept { return true; }  // cancel() has an effect
  virtual std::exception_ptr stopped() = 0;                 // the error after cancel()
  virtual std::exception_ptr refused() = 0;                 // the error when there was no task for it

 private:
  enum class State : std::uint8_t { fresh, waiting, ended, abandoned };
  struct Turn;
  struct Cancel {
    Operation* operation;
    void operator()() const noexcept;
  };
  void work() noexcept;
  void end(std::exception_ptr failure) noexcept;  // by the task
  void request_stop() noexcept;

  const std::shared_ptr<Host> host_;
  std::mutex mutex_;  // guards what follows
  State state_ = State::fresh;
  std::exception_ptr failure_;
  std::unique_ptr<Receiver> receiver_;
  std::stop_source stop_;                             // of run(); requested on the host alone
  std::optional<std::stop_callback<Cancel>> asked_;   // by the caller. Last: nothing fires into what is gone
  std::optional<std::stop_callback<Cancel>> ending_;  // by the host
};

// What `work` does and returns, as an operation.
template <class Work, class Result>
class CallOperation final : public Operation {
 public:
  CallOperation(std::shared_ptr<Host> host, Work work)
      : Operation(std::move(host)), work_(std::in_place, std::move(work)) {}

  Result take() {
    rethrow_failure();
    if constexpr (!std::is_void_v<Result>) return std::move(*result_);
  }

 private:
  struct Nothing {};
  void run(std::stop_token) override {
    if constexpr (std::is_void_v<Result>) {
      (*work_)();
    } else {
      result_.emplace((*work_)());
    }
    work_.reset();
  }
  void discard() noexcept override { result_.reset(); }
  bool stoppable() const noexcept override { return false; }
  std::exception_ptr stopped() override { return nullptr; }
  std::exception_ptr refused() override;

  std::optional<Work> work_;
  std::optional<std::conditional_t<std::is_void_v<Result>, Nothing, Result>> result_;
};

// The loop has ended, or has no memory for a task.
std::exception_ptr loop_has_ended();

template <class Work, class Result>
std::exception_ptr CallOperation<Work, Result>::refused() {
  return loop_has_ended();
}

}  // namespace holdfast::async
