#include "reentrant_lock.h"

#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "../redis/error.h"
#include "late_release.h"
#include "lease.h"
#include "lock_error_from.h"
#include "reentrant_scripts.h"
#include "uuid.h"
#include "wakeup.h"
#include "watchdog.h"

namespace holdfast {
namespace {

// Expires with the calling task.
std::weak_ptr<const void> life_of_task(Runtime& runtime) {
  static const char key = 0;
  std::any& slot = runtime.task_local_slot(&key);
  if (!slot.has_value()) slot = std::make_shared<const char>();
  return std::any_cast<const std::shared_ptr<const char>&>(slot);
}

Duration checked_lease(Duration lease) {
  if (lease < std::chrono::milliseconds(10) || lease % std::chrono::milliseconds(1) != Duration::zero()) {
    throw std::invalid_argument("a lease must be at least 10 ms, in whole milliseconds");
  }
  return lease;
}

std::string milliseconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

struct ReentrantLock::Space {
  Space(redis::Client& client_in, LockOptions options_in)
      : client(client_in),
        runtime(client_in.runtime()),
        options(std::move(options_in)),
        lease_ms(milliseconds(checked_lease(options.lease))),
        uuid(random_uuid(runtime)),
        late_release(client_in),
        watchdog(client_in, late_release, options.lease, options.observer) {}

  std::string next_owner() {
    const std::string number = std::to_string(next_number++);
    std::string owner;
    owner.reserve(uuid.size() + 1 + number.size());
    return owner.append(uuid).append(1, ':').append(number);
  }
  void tell(const LockEvent& event) const {
    if (options.observer != nullptr) options.observer->on_event(event);
  }

  redis::Client& client;
  Runtime& runtime;
  const LockOptions options;
  const std::string lease_ms;
  const std::string uuid;
  std::atomic<std::uint64_t> next_number{1};
  LateRelease late_release;
  Watchdog watchdog;  // after late_release, which it uses until its end
};

struct ReentrantLock::Patience {
  bool wait = true;  // false: one answer is enough
  MonotonicTime deadline = kNever;
  std::stop_token stop = {};
};

// Asks Redis until it grants. Whatever ends the attempt without a grant passes the local turn on, and undoes
// what may have been done unseen.
class ReentrantLock::Attempt {
 public:
  Attempt(ReentrantLock& lock, const Patience& patience)
      : lock_(lock),
        space_(*lock.space_),
        patience_(patience),
        hold_(std::make_shared<Hold>()),
        wakeup_(space_.runtime) {
    hold_->key = lock_.key_;
    hold_->owner = space_.next_owner();
  }

  ~Attempt() {
    if (granted_) return;
    subscription_.reset();
    if (unseen_) {
      try {
        space_.late_release.add(key(), hold_->owner, space_.runtime.now() + space_.options.lease);
      } catch (const TaskCancelled&) {
      }
    }
    lock_.turn_->pass();
  }

  bool run() {
    for (;;) {
      if (patience_.stop.stop_requested()) throw_interrupted();
      wakeup_.clear();
      const MonotonicTime asked_at = space_.runtime.now();
      try {
        const redis::Answer answer = ask(asked_at);
        const auto& items = answer.reply.items;
        if (items.size() != 2) throw Rejected(odd_answer(), key(), std::string(answer.node), true);
        if (items[0].integer == 1) {
          unseen_ = true;
          if (accept(answer)) return true;
          const redis::Error late(redis::Error::Kind::timed_out, std::string(answer.node), "EVALSHA", "",
                                  true, "the grant was answered only after its lease had run out");
          give_up_or_pause(late, asked_at, Duration::zero());
        } else {
          failing_since_.reset();
          if (!wait(answer, Duration(std::chrono::milliseconds(items[1].integer)))) return false;
        }
      } catch (const redis::Error& error) {
        unseen_ = unseen_ || error.may_have_executed();
        if (!worth_another_attempt(error)) throw_lock_error(error, key(), unseen_);
        give_up_or_pause(error, asked_at, space_.client.options().backoff_min);
      }
    }
  }

 private:
  redis::Answer ask(MonotonicTime now) {
    const std::array<std::string_view, 1> keys{key()};
    const std::array<std::string_view, 2> args{hold_->owner, space_.lease_ms};
    const MonotonicTime deadline =
        std::min(patience_.deadline, deadline_after(now, space_.client.options().command_timeout));
    return space_.client.eval(kReentrantAcquire, keys, args, {.deadline = deadline});
  }

  bool accept(const redis::Answer& answer) {
    const MonotonicTime valid_until = lease_end(answer.sent_at, space_.options.lease);
    if (space_.runtime.now() >= valid_until) return false;
    hold_->node = answer.node;
    hold_->renew = space_.options.renew;
    hold_->turn = lock_.turn_;
    hold_->task = life_of_task(space_.runtime);
    hold_->valid_until_ns = valid_until.time_since_epoch().count();
    subscription_.reset();
    lock_.accept(hold_, answer.sent_at);
    granted_ = true;  // from here on the turn belongs to the hold
    return true;
  }

  // Returns when it is time to ask again; false: out of patience.
  bool wait(const redis::Answer& refusal, Duration holder_left) {
    Runtime& runtime = space_.runtime;
    if (!patience_.wait || runtime.now() >= patience_.deadline) return false;
    if (!waiting_) {
      waiting_ = true;
      space_.tell({.kind = LockEvent::Kind::waiting,
                   .key = key(),
                   .acquisition = hold_->owner,
                   .node = refusal.node});
    }
    // A record without a lease (nobody of ours makes one) can only end by a message, or be looked at again.
    if (holder_left < Duration::zero()) holder_left = space_.options.lease;
    // Redis drops a key when its clock has passed the end, in whole milliseconds: hence one more.
    const MonotonicTime recheck = deadline_after(runtime.now(), holder_left + std::chrono::milliseconds(1));
    if (!subscription_) {
      subscription_ = space_.client.subscribe(
          lock_.channel_, [this](std::string_view) { wakeup_.signal(); }, [this] { wakeup_.signal(); });
    }
    wakeup_.wait_until(std::min(recheck, patience_.deadline), patience_.stop);
    if (patience_.stop.stop_requested()) throw_interrupted();
    return runtime.now() < patience_.deadline;
  }

  // No server answered. lock() bears that for the client's command timeout, the others until their deadline.
  void give_up_or_pause(const redis::Error& error, MonotonicTime asked_at, Duration pause) {
    Runtime& runtime = space_.runtime;
    if (!failing_since_) failing_since_ = asked_at;
    const MonotonicTime give_up =
        patience_.deadline == kNever
            ? deadline_after(*failing_since_, space_.client.options().command_timeout)
            : patience_.deadline;
    if (runtime.now() >= give_up) throw_lock_error(error, key(), unseen_);
    wakeup_.wait_until(std::min(give_up, deadline_after(runtime.now(), pause)), patience_.stop);
  }

  [[noreturn]] void throw_interrupted() const {
    throw Interrupted("lock '" + key() + "': the wait was stopped", key(), "", unseen_);
  }
  std::string odd_answer() const {
    return "lock '" + key() + "': the acquire script gave an answer of an unknown form";
  }

  const std::string& key() const { return *lock_.key_; }

  ReentrantLock& lock_;
  Space& space_;
  const Patience& patience_;
  const std::shared_ptr<Hold> hold_;  // what it will be
  Wakeup wakeup_;
  std::unique_ptr<redis::Subscription> subscription_;
  std::optional<MonotonicTime> failing_since_;
  bool waiting_ = false, granted_ = false;
  bool unseen_ = false;  // a request may have been granted without our being told
};

ReentrantLock::ReentrantLock(std::shared_ptr<Space> space, std::string key)
    : space_(std::move(space)),
      key_(std::make_shared<const std::string>(std::move(key))),
      channel_(reentrant_channel(*key_)),
      turn_(std::make_shared<Turnstile>(space_->runtime, space_->options.max_waiters)),
      mutex_(space_->runtime) {}

ReentrantLock::~ReentrantLock() {
  try {
    for (const Mine& mine : mine_) {
      if (!mine.hold->is_lost) space_->watchdog.unwatch(*mine.hold);
    }
  } catch (const TaskCancelled&) {
  }
}

Runtime& ReentrantLock::runtime() const noexcept { return space_->runtime; }

void ReentrantLock::lock() { acquire({}); }

bool ReentrantLock::try_lock() {
  const Duration timeout = space_->client.options().command_timeout;
  return acquire({.wait = false, .deadline = deadline_after(runtime().now(), timeout)});
}

bool ReentrantLock::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  if (deadline <= runtime().now()) return try_lock();
  return acquire({.wait = true, .deadline = deadline, .stop = std::move(stop)});
}

bool ReentrantLock::acquire(const Patience& patience) {
  if (reenter()) return true;
  if (!patience.wait) {
    if (!turn_->try_enter()) return false;
  } else {
    switch (turn_->enter(patience.deadline, patience.stop)) {
      case Turnstile::Entry::granted: break;
      case Turnstile::Entry::timed_out: return false;
      case Turnstile::Entry::stopped:
        throw Interrupted("lock '" + *key_ + "': the wait was stopped", *key_, "", false);
      case Turnstile::Entry::full:
        throw Unavailable("lock '" + *key_ + "': " + std::to_string(space_->options.max_waiters) +
                              " tasks of this process wait for it already (LockOptions::max_waiters)",
                          *key_, "", false);
    }
  }
  return Attempt(*this, patience).run();
}

bool ReentrantLock::reenter() {
  const std::shared_ptr<Hold> hold = my_hold();
  if (!hold) return false;
  if (!space_->watchdog.check(*hold)) {
    throw LockLost("lock '" + *key_ + "': the hold was lost; release it before you acquire again", *key_,
                   std::string(hold->node), false);
  }
  const std::scoped_lock guard(mutex_);
  ++mine()->depth;
  return true;
}

void ReentrantLock::accept(const std::shared_ptr<Hold>& hold, MonotonicTime sent_at) {
  {
    const std::scoped_lock guard(mutex_);
    if (mine_.size() >= 64) {  // holds that were lost and whose tasks ended without an unlock
      std::erase_if(mine_, [](const Mine& mine) { return mine.hold->task.expired(); });
    }
    mine_.push_back({runtime().task_id(), hold, 1});
  }
  space_->watchdog.watch(hold, sent_at);
  space_->tell({.kind = LockEvent::Kind::acquired,
                .key = *key_,
                .acquisition = hold->owner,
                .node = hold->node,
                .valid_until = hold->valid_until(),
                .sent_at = sent_at});
}

void ReentrantLock::unlock() {
  std::shared_ptr<Hold> hold;
  {
    const std::scoped_lock guard(mutex_);
    Mine* const found = mine();
    if (found == nullptr) {
      throw NotOwner("lock '" + *key_ + "': the calling task does not hold it", *key_, "", false);
    }
    if (--found->depth > 0) return;
    hold = std::move(found->hold);
    if (found != &mine_.back()) *found = std::move(mine_.back());
    mine_.pop_back();
  }
  if (!space_->watchdog.unwatch(*hold)) {
    throw LockLost(
        "lock '" + *key_ + "': the hold was lost before its release; what it protects may have changed",
        *key_, std::string(hold->node), false);
  }
  struct PassTurn {
    Turnstile& turn;
    ~PassTurn() { turn.pass(); }
  } pass_turn{*turn_};
  release(*hold);
}

void ReentrantLock::release(Hold& hold) {
  Runtime& runtime = space_->runtime;
  const std::array<std::string_view, 2> keys{*key_, channel_};
  const std::array<std::string_view, 1> args{hold.owner};
  const MonotonicTime give_up = deadline_after(runtime.now(), space_->client.options().command_timeout);
  bool unseen = false;  // an earlier try may have removed it
  for (;;) {
    try {
      const redis::Answer answer = space_->client.eval(kReentrantRelease, keys, args, {.deadline = give_up});
      if (answer.reply.integer == 1 || unseen) {
        space_->tell({.kind = LockEvent::Kind::released,
                      .key = *key_,
                      .acquisition = hold.owner,
                      .node = answer.node});
        return;
      }
      space_->watchdog.lost_at_release(hold, "the server no longer held it for this owner at its release");
      throw LockLost(
          "lock '" + *key_ + "': node " + std::string(answer.node) +
              " no longer held it for this owner at its release; what it protects may have changed",
          *key_, std::string(answer.node), false);
    } catch (const redis::Error& error) {
      unseen = unseen || error.may_have_executed();
      if (!worth_another_attempt(error) || runtime.now() >= give_up) {
        space_->late_release.add(*key_, hold.owner, runtime.now() + space_->options.lease);
        throw_lock_error(error, *key_, unseen);
      }
      runtime.sleep_until(
          std::min(give_up, deadline_after(runtime.now(), space_->client.options().backoff_min)));
    }
  }
}

const ReentrantLock::Mine* ReentrantLock::mine() const {
  const TaskId me = space_->runtime.task_id();
  const auto found =
      std::find_if(mine_.begin(), mine_.end(), [&](const Mine& mine) { return mine.task == me; });
  return found == mine_.end() ? nullptr : &*found;
}

std::shared_ptr<Hold> ReentrantLock::my_hold() const {
  const std::scoped_lock guard(mutex_);
  const Mine* const found = mine();
  return found == nullptr ? nullptr : found->hold;
}

bool ReentrantLock::is_held_by_me() const {
  const std::shared_ptr<Hold> hold = my_hold();
  return hold && !hold->is_lost && runtime().now() < hold->valid_until();
}

int ReentrantLock::hold_count() const {
  const std::scoped_lock guard(mutex_);
  const Mine* const found = mine();
  return found == nullptr ? 0 : found->depth;
}

std::optional<MonotonicTime> ReentrantLock::valid_until() const {
  const std::shared_ptr<Hold> hold = my_hold();
  return hold ? std::optional(hold->valid_until()) : std::nullopt;
}

std::string ReentrantLock::acquisition() const {
  const std::shared_ptr<Hold> hold = my_hold();
  return hold ? hold->owner : std::string();
}

std::stop_token ReentrantLock::lost() const {
  const std::shared_ptr<Hold> hold = my_hold();
  return hold ? space_->watchdog.lost_token(*hold) : std::stop_token();
}

ReentrantLocks::ReentrantLocks(redis::Client& client, LockOptions options)
    : space_(std::make_shared<ReentrantLock::Space>(client, std::move(options))), mutex_(client.runtime()) {}

ReentrantLocks::~ReentrantLocks() = default;

std::shared_ptr<ReentrantLock> ReentrantLocks::obtain(const std::string& key) {
  const std::scoped_lock guard(mutex_);
  std::weak_ptr<ReentrantLock>& entry = locks_[key];
  std::shared_ptr<ReentrantLock> lock = entry.lock();
  if (!lock) {
    lock = std::make_shared<ReentrantLock>(space_, key);
    entry = lock;
  }
  if (locks_.size() >= sweep_at_) {
    std::erase_if(locks_, [](const auto& known) { return known.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * locks_.size());
  }
  return lock;
}

}  // namespace holdfast
