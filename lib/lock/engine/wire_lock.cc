#include "lib/lock/engine/wire_lock.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "lib/lock/engine/checked_options.h"
#include "lib/lock/store/survivor_scripts.h"

namespace holdfast {
namespace {

struct Inside {
  explicit Inside(std::atomic<std::size_t>& count) : count_(count) { ++count_; }
  ~Inside() { --count_; }
  std::atomic<std::size_t>& count_;
};

}  // namespace

WireLock::WireLock(std::shared_ptr<LockContext> context, Wire wire)
    : context_(std::move(context)),
      wire_(std::make_shared<const Wire>(std::move(wire))),
      turn_(wire_->local_queue
                ? std::make_shared<LocalQueue>(context_->runtime, context_->options.max_waiters)
                : nullptr),
      mutex_(context_->runtime) {
  if (context_->options.survivor && !has_guard(*wire_->acquire)) {
    throw std::invalid_argument("lock '" + key() +
                                "': this kind of lock has no form that survives a failover");
  }
}

WireLock::~WireLock() {
  if (context_->forked()) return;  // the holds are the parent's
  try {
    for (const Mine& mine : mine_) {
      if (mine.hold->is_lost || !context_->watchdog.unwatch(*mine.hold)) continue;
      context_->late_release.add(wire_, mine.hold->owner,
                                 mine.hold->gone_by(runtime().now(), context_->options.lease));
    }
  } catch (const std::exception&) {  // left to its lease
  } catch (const TaskCancelled&) {
  }
}

bool WireLock::try_lock_by(MonotonicTime deadline) {
  const Duration timeout = context_->store.options().command_timeout;
  return acquire_within(
      {.wait = false, .deadline = std::min(deadline, deadline_after(runtime().now(), timeout))});
}

bool WireLock::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  if (deadline <= runtime().now()) return try_lock();
  return acquire_within({.wait = true, .deadline = deadline, .stop = std::move(stop)});
}

bool WireLock::try_lock_leased(Duration lease, MonotonicTime deadline, std::stop_token stop) {
  checked_lease(lease, context_->options);
  const bool wait = deadline > runtime().now();
  if (!wait) deadline = deadline_after(runtime().now(), context_->store.options().command_timeout);
  return acquire_within({.wait = wait, .deadline = deadline, .stop = std::move(stop), .lease = lease});
}

bool WireLock::acquire_within(const Patience& patience, int permits) {
  context_->check_process(key());
  if (wire_->reentry != Wire::Reentry::another_hold && mine_count_ != 0) {
    if (const std::shared_ptr<Hold> hold = my_hold()) return reenter(*hold, patience);
  }
  const MonotonicTime came = runtime().now();
  return context_->tell_of_failure(*wire_, came, permits, [&] { return ask_for(came, patience, permits); });
}

bool WireLock::ask_for(MonotonicTime came, const Patience& patience, int permits) {
  const Inside inside(waiting_);
  // Where holds do not exclude each other, another task that asks is no reason to refuse a single try.
  const bool queue = turn_ && (patience.wait || wire_->exclusive);
  if (!enter_queue(queue, patience)) return false;
  const MonotonicTime entered = runtime().now();
  Patience rest = patience;
  rest.contended = contended_ && patience.wait;
  rest.waited_here = patience.deadline != kNever && entered - came >= patience.deadline - entered;
  struct Turn {  // passed on unless the hold keeps it
    LocalQueue* local_queue;
    ~Turn() {
      if (local_queue != nullptr) local_queue->pass();
    }
  } turn{queue ? turn_.get() : nullptr};
  Attempt attempt(*context_, wire_, rest, permits);
  const std::shared_ptr<Hold> hold = attempt.run();
  if (!hold) return false;
  if (wire_->exclusive && turn_) hold->turn = turn_;
  put(hold, attempt.sent_at(), 1, came);
  if (hold->turn) turn.local_queue = nullptr;  // from here on it belongs to the hold
  return true;
}

bool WireLock::enter_queue(bool queue, const Patience& patience) {
  const auto full = [&] {
    return Unavailable("lock '" + key() + "': " + std::to_string(context_->options.max_waiters) +
                           " tasks of this process wait for it already (LockOptions::max_waiters)",
                       key(), "", false);
  };
  if (!queue) {
    if (waiting_ > context_->options.max_waiters) throw full();
    return true;
  }
  if (!patience.wait) return turn_->try_enter();
  switch (turn_->enter(patience.deadline, patience.stop)) {
    case LocalQueue::Entry::granted: return true;
    case LocalQueue::Entry::timed_out: return false;
    case LocalQueue::Entry::stopped:
      throw Interrupted("lock '" + key() + "': the wait was stopped", key(), "", false);
    case LocalQueue::Entry::full: break;
  }
  throw full();
}

bool WireLock::reenter(Hold& hold, const Patience& patience) {
  if (!context_->watchdog.check(hold)) {
    throw LockLost("lock '" + hold.key() + "': the hold was lost; release it before you acquire again",
                   hold.key(), std::string(hold.node), false);
  }
  if (wire_->reentry == Wire::Reentry::refused) {
    if (!patience.wait || patience.deadline != kNever) return false;
    throw WouldDeadlock("lock '" + key() + "': the calling task holds it already, and it is not reentrant",
                        key(), std::string(hold.node), false);
  }
  const std::scoped_lock guard(mutex_);
  ++mine()->depth;
  return true;
}

void WireLock::put(const std::shared_ptr<Hold>& hold, MonotonicTime sent_at, int depth,
                   std::optional<MonotonicTime> asked_at) {
  hold->granted_at = runtime().now();
  bool watched = false;
  try {
    {
      const std::scoped_lock guard(mutex_);
      if (mine_.size() >= 64) {  // holds that were lost and whose tasks ended without an unlock
        std::erase_if(mine_,
                      [](const Mine& mine) { return mine.hold->is_lost && mine.hold->life.expired(); });
      }
      mine_.push_back({current_holder(runtime()), hold, depth});
      mine_count_ = mine_.size();
    }
    watched = context_->watchdog.watch(hold, sent_at);
  } catch (const std::exception&) {  // no memory
    forget(*hold);
    give_back_later(*hold);
    throw;
  }
  if (!watched) give_back_unwatched(*hold);
  context_->tell({.kind = LockEvent::Kind::acquired,
                  .key = key(),
                  .acquisition = hold->owner,
                  .node = hold->node,
                  .valid_until = hold->valid_until(),
                  .sent_at = sent_at,
                  .mode = wire_->mode,
                  .permits = hold->permits,
                  .token = hold->token,
                  .since = asked_at});
}

void WireLock::forget(const Hold& hold) {
  const std::scoped_lock guard(mutex_);
  std::erase_if(mine_, [&](const Mine& mine) { return mine.hold.get() == &hold; });
  mine_count_ = mine_.size();
}

void WireLock::give_back_later(const Hold& hold) {
  context_->late_release.add(wire_, hold.owner, hold.gone_by(runtime().now(), context_->options.lease));
}

// What nobody watches would be lost without notice. Its turn is still the caller's.
void WireLock::give_back_unwatched(const Hold& hold) {
  forget(hold);
  bool unseen = false;
  try {
    context_->insist(key(), *wire_->release, wire_->release_keys, wire_->release_args(hold.owner), unseen);
  } catch (const LockError&) {
    give_back_later(hold);
  }
  throw Unavailable("lock '" + key() +
                        "': it was granted, but no task could be started that renews it (no threads left?); "
                        "it was given back",
                    key(), std::string(hold.node), false);
}

void WireLock::release_by(MonotonicTime deadline) {
  const std::shared_ptr<Hold> hold = take(1);
  if (!hold) return;
  struct PassTurn {
    LocalQueue* turn;
    ~PassTurn() {
      if (turn != nullptr) turn->pass();
    }
  } pass_turn{hold->turn.get()};
  give_back(*hold, deadline);
}

std::shared_ptr<Hold> WireLock::take(int depth) {
  context_->check_process(key());
  std::shared_ptr<Hold> hold;
  {
    const std::scoped_lock guard(mutex_);
    Mine* const found = mine();
    if (found == nullptr) {
      throw NotOwner("lock '" + key() + "': the calling task does not hold it", key(), "", false);
    }
    if ((found->depth -= depth) > 0) return nullptr;
    hold = std::move(found->hold);
    mine_.erase(mine_.begin() + (found - mine_.data()));
    mine_count_ = mine_.size();
  }
  if (!context_->watchdog.unwatch(*hold)) throw lost_error(*hold);
  return hold;
}

LockLost WireLock::lost_error(const Hold& hold) {
  return LockLost(
      "lock '" + hold.key() +
          "': the hold was lost before its release; the integrity of what it protects may have been "
          "compromised",
      hold.key(), std::string(hold.node), false);
}

void WireLock::give_back(Hold& hold, MonotonicTime deadline) {
  redis::Answer answer;
  bool unseen = false;  // an earlier try may have removed it
  try {
    answer = context_->insist(key(), *wire_->release, wire_->release_keys, wire_->release_args(hold.owner),
                              unseen, LockContext::Way::call, deadline);
  } catch (const LockError& error) {
    context_->late_release.add(wire_, hold.owner, hold.gone_by(runtime().now(), context_->options.lease));
    context_->tell({.kind = LockEvent::Kind::release_failed,
                    .key = key(),
                    .acquisition = hold.owner,
                    .node = error.node(),
                    .reason = error.what(),
                    .mode = wire_->mode,
                    .permits = hold.permits,
                    .since = hold.granted_at});
    throw;
  }
  const std::int64_t said = released(answer.reply);
  contended_ = !answer.reply.items.empty();
  if (said < 1 && !unseen) {
    const LockLost error(
        "lock '" + key() + "': node " + std::string(answer.node) +
            " no longer held it for this owner at its release; the integrity of what it protects may "
            "have been compromised",
        key(), std::string(answer.node), false);
    context_->watchdog.lost_at_release(hold, "the server no longer held it for this owner at its release");
    throw error;
  }
  context_->tell({.kind = LockEvent::Kind::released,
                  .key = key(),
                  .acquisition = hold.owner,
                  .node = answer.node,
                  .mode = wire_->mode,
                  .permits = hold.permits,
                  .since = hold.granted_at});
}

bool WireLock::force_unlock() {
  context_->check_process(key());
  if (wire_->force == nullptr) return Lock::force_unlock();
  bool unseen = false;
  return released(context_->insist(key(), *wire_->force, wire_->release_keys, {}, unseen).reply) >= 1 ||
         unseen;
}

// The latest of the caller's holds.
const WireLock::Mine* WireLock::mine() const {
  const HolderId me = current_holder(context_->runtime);
  const auto found =
      std::find_if(mine_.rbegin(), mine_.rend(), [&](const Mine& mine) { return mine.holder == me; });
  return found == mine_.rend() ? nullptr : &*found;
}

std::shared_ptr<Hold> WireLock::my_hold() const {
  const std::scoped_lock guard(mutex_);
  const Mine* const found = mine();
  return found == nullptr ? nullptr : found->hold;
}

bool WireLock::is_held_by_me() const {
  if (context_->forked()) return false;
  const std::shared_ptr<Hold> hold = my_hold();
  return hold && !hold->is_lost && runtime().now() < hold->valid_until();
}

int WireLock::hold_count() const {
  const std::scoped_lock guard(mutex_);
  const HolderId me = current_holder(context_->runtime);
  int count = 0;
  for (const Mine& mine : mine_) count += mine.holder == me ? mine.depth : 0;
  return count;
}

std::optional<MonotonicTime> WireLock::valid_until() const {
  const std::shared_ptr<Hold> hold = my_hold();
  return hold ? std::optional(hold->valid_until()) : std::nullopt;
}

std::string WireLock::acquisition() const {
  const std::shared_ptr<Hold> hold = my_hold();
  return hold ? hold->owner : std::string();
}

std::stop_token WireLock::lost() const {
  const std::shared_ptr<Hold> hold = my_hold();
  return hold ? context_->watchdog.lost_token(*hold) : std::stop_token();
}

std::optional<std::uint64_t> WireLock::token() const {
  const std::shared_ptr<Hold> hold = my_hold();
  return hold ? hold->token : std::nullopt;
}

std::string WireLock::record() const {
  return wire_->counts_permits ? std::string() : context_->store.place() + ' ' + key();
}

bool WireLock::in_use() const {
  const std::scoped_lock guard(mutex_);
  return waiting_ > 0 ||
         std::any_of(mine_.begin(), mine_.end(), [](const Mine& mine) { return !mine.hold->is_lost; });
}

}  // namespace holdfast
