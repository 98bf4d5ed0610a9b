#include "lib/async/operation.h"

#include "lib/lock/api/errors.h"
#include "lib/runtime/check.h"

namespace holdfast::async {

// The task's hold on its operation. It is destroyed unrun where the host drops it.
struct Operation::Turn {
  explicit Turn(std::shared_ptr<Operation> its_operation) : operation(std::move(its_operation)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (operation != nullptr) operation->end(operation->refused());
  }
  void run() noexcept { std::exchange(operation, nullptr)->work(); }
  std::shared_ptr<Operation> operation;
};

void Operation::Cancel::operator()() const noexcept {
  // The operation may be about to go: its destructor waits for this call to return.
  if (const auto alive = operation->weak_from_this().lock()) alive->cancel();
}

void Operation::start(std::unique_ptr<Receiver> receiver, std::stop_token stop) {
  const auto self = shared_from_this();  // whoever is told may drop the last pointer before this returns
  {
    const std::lock_guard guard(mutex_);
    HF_CHECK(state_ == State::fresh, "an operation starts once");
    state_ = State::waiting;
    receiver_ = std::move(receiver);
  }
  if (stoppable()) {
    if (host_->ending().stop_requested()) return end(refused());
    if (stop.stop_possible()) asked_.emplace(std::move(stop), Cancel{this});
    ending_.emplace(host_->ending(), Cancel{this});
  }
  host_->post([turn = std::make_shared<Turn>(self)] { turn->run(); });
}

void Operation::work() noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (state_ != State::waiting && stoppable()) return;  // it was stopped before it began
  }
  try {
    run(stop_.get_token());
    end(nullptr);
  } catch (const TaskCancelled&) {  // the process is being killed: nobody is left to be told
  } catch (...) {
    end(std::current_exception());
  }
}

void Operation::end(std::exception_ptr failure) noexcept {
  std::unique_ptr<Receiver> told;
  {
    const std::lock_guard guard(mutex_);
    if (state_ == State::waiting) {
      state_ = State::ended;
      failure_ = std::move(failure);
      told = std::move(receiver_);
    }
  }
  if (told != nullptr) {
    told->ended(shared_from_this(), true);
  } else {
    discard();
  }
}

void Operation::cancel() noexcept {
  if (!stoppable()) return;
  std::unique_ptr<Receiver> told;
  {
    const std::lock_guard guard(mutex_);
    if (state_ != State::waiting) return;
    state_ = State::ended;
    failure_ = stopped();
    told = std::move(receiver_);
  }
  request_stop();
  told->ended(shared_from_this(), false);
}

void Operation::abandon() noexcept {
  std::unique_ptr<Receiver> dropped;
  {
    const std::lock_guard guard(mutex_);
    const State before = std::exchange(state_, State::abandoned);
    if (before != State::waiting) {
      if (before == State::ended && !failure_) discard();
      return;
    }
    dropped = std::move(receiver_);
  }
  if (stoppable()) request_stop();
}

// On the host: a stop request wakes its tasks, which other threads must not do.
void Operation::request_stop() noexcept {
  host_->tell([self = shared_from_this()] { self->stop_.request_stop(); });
}

void Operation::rethrow_failure() {
  const std::lock_guard guard(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

std::exception_ptr loop_has_ended() {
  return std::make_exception_ptr(
      Unavailable("the loop has ended, or has no memory for one task more", "", "", false));
}

}  // namespace holdfast::async
