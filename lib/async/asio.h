// The locks of async/lock.h for Boost.Asio: with any completion token. The only header that needs Boost.Asio.
//
//   Hold hold = co_await async_lock(stock, boost::asio::use_awaitable);
//   std::future<Hold> future = async_lock(stock, boost::asio::use_future);
//   async_lock(stock, [](std::exception_ptr failure, Hold hold) { ... });
//
// A handler is called on its associated executor, which has work until then; one that has none (a plain
// callback, use_future) on a task of the loop, whose thread it must not block. Its associated cancellation
// slot (cancellation_type terminal, partial or total) ends a wait at once with Interrupted. A handler that is
// destroyed uncalled, because its io_context went, gives back what it was to get. An io_context outlives the
// loop, or all that was started for it has ended: the loop posts to it.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/system_executor.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lib/async/call.h"
#include "lib/async/hold.h"
#include "lib/async/lock.h"
#include "lib/async/operation.h"

namespace holdfast::async {

// Carries the end of an operation of that kind to a handler. Of Asio's form; applications need it not.
template <class Kind, class Handler>
class AsioReceiver final : public Operation::Receiver {
  using Executor = boost::asio::associated_executor_t<Handler>;
  static constexpr bool kOnLoop = std::is_same_v<Executor, boost::asio::system_executor>;
  static auto tracked(const Handler& handler) {
    return boost::asio::prefer(boost::asio::get_associated_executor(handler),
                               boost::asio::execution::outstanding_work.tracked);
  }

 public:
  // Of that handler.
  explicit AsioReceiver(Handler handler) : executor_(tracked(handler)), handler_(std::move(handler)) {}

  // Calls it, where it wants to be called.
  void ended(const std::shared_ptr<Operation>& operation, bool here) noexcept override {
    auto call = [handler = std::move(handler_), outcome = outcome_of(*operation)]() mutable {
      auto slot = boost::asio::get_associated_cancellation_slot(handler);
      if (slot.is_connected()) slot.clear();
      std::apply(std::move(handler), std::move(outcome));
    };
    if constexpr (!kOnLoop) {
      boost::asio::post(executor_, std::move(call));
    } else if (here) {
      call();
    } else {
      operation->host().post([shared = std::make_shared<decltype(call)>(std::move(call))] { (*shared)(); });
    }
  }

 private:
  static auto outcome_of(Operation& operation) {
    auto& kind = static_cast<Kind&>(operation);
    if constexpr (std::is_void_v<decltype(kind.take())>) {
      try {
        kind.take();
        return std::tuple<std::exception_ptr>(nullptr);
      } catch (...) {
        return std::tuple<std::exception_ptr>(std::current_exception());
      }
    } else {
      using Outcome = std::tuple<std::exception_ptr, decltype(kind.take())>;
      try {
        return Outcome(nullptr, kind.take());
      } catch (...) {
        return Outcome(std::current_exception(), decltype(kind.take())());
      }
    }
  }

  decltype(tracked(std::declval<const Handler&>())) executor_;
  Handler handler_;
};

// Starts it, and lets the handler's cancellation slot end it. As AsioReceiver.
template <class Kind, class Handler>
void start_for_asio(const std::shared_ptr<Kind>& operation, Handler handler) {
  auto slot = boost::asio::get_associated_cancellation_slot(handler);
  if (slot.is_connected()) {
    slot.assign([weak = std::weak_ptr<Operation>(operation)](boost::asio::cancellation_type type) {
      using Type = boost::asio::cancellation_type;
      const bool meant = (type & (Type::terminal | Type::partial | Type::total)) != Type::none;
      if (const auto alive = weak.lock(); alive && meant) alive->cancel();
    });
  }
  operation->start(std::make_unique<AsioReceiver<Kind, Handler>>(std::move(handler)), {});
}

// As AsyncLock::async_lock(). Completes with (std::exception_ptr, Hold).
template <class Token>
auto async_lock(AsyncLock lock, Token&& token) {
  return boost::asio::async_initiate<Token, void(std::exception_ptr, Hold)>(
      [lock = std::move(lock)](auto handler) { start_for_asio(lock.lock_operation(), std::move(handler)); },
      token);
}

// As AsyncLock::async_try_lock_for(). Completes with (std::exception_ptr, std::optional<Hold>).
template <class Token>
auto async_try_lock_for(AsyncLock lock, Duration wait, Token&& token) {
  return boost::asio::async_initiate<Token, void(std::exception_ptr, std::optional<Hold>)>(
      [lock = std::move(lock), wait](auto handler) {
        start_for_asio(lock.try_operation(wait), std::move(handler));
      },
      token);
}

// As Hold::async_release(). Completes with (std::exception_ptr).
template <class Token>
auto async_release(Hold hold, Token&& token) {
  return boost::asio::async_initiate<Token, void(std::exception_ptr)>(
      [hold = std::move(hold)](auto handler) mutable {
        start_for_asio(std::move(hold).release_operation(), std::move(handler));
      },
      token);
}

// As async_call() of call.h. Completes with (std::exception_ptr, what `work` returns), without the second
// where that is nothing; else it must have a default.
template <class Work, class Token>
auto async_call(std::shared_ptr<Host> host, Work work, Token&& token) {
  using Result = std::invoke_result_t<Work&>;
  using Kind = CallOperation<Work, Result>;
  auto initiate = [host = std::move(host), work = std::move(work)](auto handler) mutable {
    start_for_asio(std::make_shared<Kind>(std::move(host), std::move(work)), std::move(handler));
  };
  if constexpr (std::is_void_v<Result>) {
    return boost::asio::async_initiate<Token, void(std::exception_ptr)>(std::move(initiate), token);
  } else {
    return boost::asio::async_initiate<Token, void(std::exception_ptr, Result)>(std::move(initiate), token);
  }
}

}  // namespace holdfast::async
