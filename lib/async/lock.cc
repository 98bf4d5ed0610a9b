#include "lib/async/lock.h"

#include <stdexcept>

#include "lib/lock/api/errors.h"
#include "lib/lock/api/owner.h"

namespace holdfast::async {

// Kept by the Hold, and by the task that releases it.
struct Hold::State {
  State(std::shared_ptr<LockSource> its_source, Owner its_owner)
      : source(std::move(its_source)), owner(std::move(its_owner)) {}
  const std::shared_ptr<LockSource> source;
  const Owner owner;
  std::string acquisition;
  std::optional<std::uint64_t> token;
  std::stop_token lost;

  Runtime& runtime() const { return source->host()->runtime(); }
};

LockSource::LockSource(std::shared_ptr<Host> host, std::string key,
                       std::function<std::shared_ptr<Lock>()> find)
    : host_(std::move(host)), key_(std::move(key)), find_(std::move(find)) {}

LockSource::~LockSource() {
  struct Kept {
    std::shared_ptr<Lock> lock;
    std::function<std::shared_ptr<Lock>()> find;  // keeps what the lock stands on: goes after it
  };
  const auto kept = std::make_shared<Kept>(Kept{std::move(lock_), std::move(find_)});
  const auto drop = [kept] {
    kept->lock = nullptr;
    kept->find = nullptr;
  };
  if (!host_->post(drop)) host_->call(drop);
}

Lock& LockSource::lock() {
  if (lock_ == nullptr) lock_ = find_();
  return *lock_;
}

Hold::Hold() noexcept = default;
Hold::Hold(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
Hold::Hold(Hold&& other) noexcept : state_(std::move(other.state_)) { other.state_ = nullptr; }
Hold& Hold::operator=(Hold&& other) noexcept {
  if (this != &other) {
    give_back(std::move(state_));
    state_ = std::move(other.state_);
    other.state_ = nullptr;
  }
  return *this;
}
Hold::~Hold() { give_back(std::move(state_)); }

void Hold::give_back(std::shared_ptr<State> state) noexcept {
  if (state == nullptr) return;
  const std::shared_ptr<Host> host = state->source->host();
  host->post([state = std::move(state)] {
    try {
      const ActAs me(state->runtime(), state->owner);
      state->source->lock().unlock();
    } catch (const std::exception&) {  // lost before, and told so
    }
  });
}

const std::string& Hold::key() const noexcept { return state_->source->key(); }
const std::string& Hold::acquisition() const noexcept { return state_->acquisition; }
std::optional<std::uint64_t> Hold::token() const noexcept { return state_->token; }
std::stop_token Hold::lost() const noexcept { return state_->lost; }

bool Hold::is_held() const {
  bool held = false;
  state_->source->host()->call([&] {
    const ActAs me(state_->runtime(), state_->owner);
    held = state_->source->lock().is_held_by_me();
  });
  return held;
}

std::optional<MonotonicTime> Hold::valid_until() const {
  std::optional<MonotonicTime> until;
  state_->source->host()->call([&] {
    const ActAs me(state_->runtime(), state_->owner);
    until = state_->source->lock().valid_until();
  });
  return until;
}

std::shared_ptr<CallOperation<std::function<void()>, void>> Hold::release_operation() && {
  const std::shared_ptr<Host> host = state_->source->host();
  // A Hold until the task begins: an operation that is never started, or dropped, gives it back.
  const auto mine = std::make_shared<Hold>(std::move(*this));
  return std::make_shared<CallOperation<std::function<void()>, void>>(host, [mine] {
    const std::shared_ptr<State> state = std::exchange(mine->state_, nullptr);
    const ActAs me(state->runtime(), state->owner);
    state->source->lock().release();
  });
}

Awaiter<CallOperation<std::function<void()>, void>> Hold::async_release() && {
  return {std::move(*this).release_operation(), {}};
}

Awaiter<CallOperation<std::function<void()>, void>> Hold::async_extend(Duration lease) & {
  return {std::make_shared<CallOperation<std::function<void()>, void>>(state_->source->host(),
                                                                       [state = state_, lease] {
                                                                         const ActAs me(state->runtime(),
                                                                                        state->owner);
                                                                         state->source->lock().extend(lease);
                                                                       }),
          {}};
}

AcquireOperation::AcquireOperation(std::shared_ptr<LockSource> source, std::optional<Duration> wait)
    : Operation(source->host()), source_(std::move(source)), wait_(wait) {}

Hold AcquireOperation::take() {
  rethrow_failure();
  return std::move(hold_);
}

std::optional<Hold> TryOperation::take() {
  Hold hold = AcquireOperation::take();
  if (!hold) return std::nullopt;
  return hold;
}

void AcquireOperation::run(std::stop_token stop) {
  Runtime& runtime = host().runtime();
  auto state = std::make_shared<Hold::State>(source_, Owner(runtime));
  const ActAs me(runtime, state->owner);
  Lock& lock = source_->lock();
  const MonotonicTime deadline = wait_ ? deadline_after(runtime.now(), *wait_) : kNever;
  if (!lock.try_lock_until(deadline, std::move(stop))) return;
  state->acquisition = lock.acquisition();
  state->token = lock.token();
  state->lost = lock.lost();
  hold_ = Hold(std::move(state));
}

void AcquireOperation::discard() noexcept { hold_ = Hold(); }

std::exception_ptr AcquireOperation::stopped() {
  const std::string& key = source_->key();
  return std::make_exception_ptr(Interrupted("lock '" + key + "': the wait was stopped", key, "", false));
}

std::exception_ptr AcquireOperation::refused() {
  const std::string& key = source_->key();
  return std::make_exception_ptr(Unavailable(
      "lock '" + key + "': its loop has ended, or has no memory for one task more", key, "", false));
}

AsyncLock::AsyncLock(std::shared_ptr<Host> host, std::shared_ptr<Lock> lock) {
  const std::string key = lock->key();
  source_ = std::make_shared<LockSource>(std::move(host), key, [lock = std::move(lock)] { return lock; });
}

std::shared_ptr<AcquireOperation> AsyncLock::lock_operation() const {
  return std::make_shared<AcquireOperation>(source_, std::nullopt);
}

std::shared_ptr<TryOperation> AsyncLock::try_operation(Duration wait) const {
  if (wait < Duration::zero()) throw std::invalid_argument("a wait cannot be below zero");
  return std::make_shared<TryOperation>(source_, wait);
}

AsyncLock AsyncLocks::obtain(std::string key) const {
  return AsyncLock(
      std::make_shared<LockSource>(host_, key, [locks = locks_, key] { return locks->obtain(key); }));
}

}  // namespace holdfast::async
