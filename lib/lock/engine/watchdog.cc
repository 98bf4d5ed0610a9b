#include "lib/lock/engine/watchdog.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "lib/lock/engine/lease.h"
#include "lib/redis/error.h"
#include "lib/redis/failure.h"
#include "lib/runtime/check.h"

namespace holdfast {
namespace {

constexpr Duration kPauseUntold = std::chrono::milliseconds(10);
constexpr std::string_view kExpired = "the lease ran out before a renewal was confirmed";
constexpr std::string_view kGone = "the server no longer holds it for this owner";
constexpr std::string_view kTaskEnded = "the task that held it ended without releasing it";

// In the place in which it stands at another moment. Allocates nothing.
template <class Queue>
void move_in(Queue& queue, const Hold& hold, MonotonicTime from, MonotonicTime to) {
  auto entry = queue.extract({from, hold.number});
  HF_CHECK(!entry.empty(), "a hold stands where it was put");
  entry.key().first = to;
  queue.insert(std::move(entry));
}

}  // namespace

Watchdog::Watchdog(Store& store, LateRelease& late_release, const LockOptions& options)
    : store_(store),
      runtime_(store.runtime()),
      late_release_(late_release),
      options_(options),
      lease_(options.lease),
      mutex_(runtime_),
      changed_(runtime_),
      observer_(store, options.observer),
      task_(runtime_, "watchdog"),
      second_(runtime_, "watchdog") {}

Watchdog::~Watchdog() {
  try {
    {
      const std::scoped_lock guard(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    task_.join();
    second_.join();
    for (std::stop_source& lost : untold_) lost.request_stop();
  } catch (const TaskCancelled&) {
  }
}

bool Watchdog::watch(std::shared_ptr<Hold> hold, MonotonicTime sent_at) {
  const std::scoped_lock guard(mutex_);
  HF_CHECK(hold->number == 0, "a hold is watched once");
  const std::uint64_t number = numbers_ + 1;
  hold->renewal_due = hold->next_renewal = sent_at + lease_ / 3;
  const MonotonicTime end = hold->looked_at_by = hold->valid_until();
  Queue renewals, ends;  // where there is no memory, nothing has happened yet
  if (hold->renew) renewals.emplace(std::pair(hold->next_renewal, number), hold);
  ends.emplace(std::pair(end, number), hold);
  hold->number = numbers_ = number;
  renewals_.merge(renewals);
  ends_.merge(ends);
  stays_until_ = hold->renew ? std::min(hold->next_renewal, end) : end;
  if (wake_for(stays_until_, end)) return true;
  remove(*hold);
  return false;
}

bool Watchdog::wake_for(MonotonicTime first, MonotonicTime end) {
  if (!task_.running()) return task_.start([this] { run(); });
  if (end < renews_until_ && !second_.running()) return second_.start([this] { tell_during_renewal(); });
  if (first < asleep_until_ || end < renews_until_) changed_.notify_all();
  return true;
}

std::shared_ptr<Hold> Watchdog::remove(Hold& hold) {
  if (hold.renew) renewals_.erase({hold.next_renewal, hold.number});
  const std::shared_ptr<Hold> removed = ends_.extract({hold.looked_at_by, hold.number}).mapped();
  hold.number = 0;
  return removed;
}

std::shared_ptr<Hold> Watchdog::remove_lost(Hold& hold) {
  hold.is_lost = true;
  return remove(hold);
}

void Watchdog::look_again_at_end(Hold& hold) {
  const MonotonicTime end = hold.valid_until();
  move_in(ends_, hold, hold.looked_at_by, end);
  hold.looked_at_by = end;
}

void Watchdog::renew_next_at(Hold& hold, MonotonicTime when) {
  move_in(renewals_, hold, hold.next_renewal, when);
  hold.next_renewal = when;
}

void Watchdog::renew_no_more(Hold& hold) {
  renewals_.erase({hold.next_renewal, hold.number});
  hold.renew = false;
}

bool Watchdog::unwatch(Hold& hold) {
  std::shared_ptr<Hold> keep;
  {
    const std::scoped_lock guard(mutex_);
    if (hold.number == 0) return false;  // the watchdog was faster
    keep = remove(hold);
    if (runtime_.now() < hold.valid_until()) return true;
  }
  tell_lost(hold, kExpired);
  return false;
}

bool Watchdog::check(Hold& hold) {
  std::shared_ptr<Hold> keep;
  {
    const std::scoped_lock guard(mutex_);
    if (hold.number == 0) return !hold.is_lost;
    if (runtime_.now() < hold.valid_until()) return true;
    keep = remove(hold);
  }
  tell_lost(hold, kExpired);
  return false;
}

std::stop_token Watchdog::lost_token(Hold& hold) {
  const std::scoped_lock guard(mutex_);
  if (!hold.lost) {
    hold.lost.emplace();
    if (hold.lost_was_told) hold.lost->request_stop();
  }
  return hold.lost->get_token();
}

void Watchdog::lost_at_release(Hold& hold, std::string_view reason) {
  hold.is_lost = true;
  if (options_.observer != nullptr) options_.observer->on_event(loss(hold, reason));
  fire(hold);
}

LockEvent Watchdog::loss(const Hold& hold, std::string_view reason) {
  return {.kind = LockEvent::Kind::lost,
          .key = hold.key(),
          .acquisition = hold.owner,
          .node = hold.node,
          .valid_until = hold.valid_until(),
          .reason = reason,
          .mode = hold.wire->mode,
          .permits = hold.permits,
          .since = hold.granted_at};
}

// Callbacks of lost() are the application's: they may take long, ask for the lock again, or destroy it.
void Watchdog::fire(Hold& hold) {
  {
    const std::scoped_lock guard(mutex_);
    hold.lost_was_told = true;
    if (!hold.lost) return;
    untold_.push_back(*hold.lost);
  }
  tell_untold();
}

void Watchdog::tidy_after_loss(Hold& hold) {
  const MonotonicTime now = runtime_.now(), gone_by = hold.gone_by(now, lease_);
  if (hold.renewal_unanswered || gone_by > now + lease_) late_release_.add(hold.wire, hold.owner, gone_by);
  if (hold.turn) hold.turn->pass();
}

void Watchdog::tell_lost(Hold& hold, std::string_view reason) {
  hold.is_lost = true;
  if (options_.observer != nullptr) options_.observer->on_event(loss(hold, reason));
  tidy_after_loss(hold);
  fire(hold);  // in the end: a callback may destroy the watchdog
}

void Watchdog::tell_lost_outside(Hold& hold, std::string_view reason) {
  hold.is_lost = true;
  observer_.tell(loss(hold, reason));
  tidy_after_loss(hold);
  fire(hold);
}

void Watchdog::tell_untold() {
  std::vector<std::stop_source> losses;
  {
    const std::scoped_lock guard(mutex_);
    losses.swap(untold_);
  }
  std::erase_if(losses, [this](const std::stop_source& lost) {
    return store_.run_callback([lost]() mutable { lost.request_stop(); });
  });
  if (losses.empty()) return;  // and the watchdog may be gone
  const std::scoped_lock guard(mutex_);
  untold_.insert(untold_.end(), losses.begin(), losses.end());
  if (closing_) return;
  changed_.notify_all();
  if (!task_.running()) static_cast<void>(task_.start([this] { run(); }));  // or the next hold starts it
}

void Watchdog::run() {
  std::unique_lock guard(mutex_);
  BackgroundTask::Turn turn(task_);
  while (!closing_) {
    const MonotonicTime now = runtime_.now();
    if (ends_.empty() && untold_.empty() && now >= stays_until_) break;
    if (!untold_.empty()) {
      guard.unlock();
      tell_untold();
      guard.lock();
    }
    if (const Holds expired = take_expired(now); !expired.empty()) {
      guard.unlock();
      tell_expired(expired, now);
      guard.lock();
    } else if (const Holds batch = due(now); !batch.empty()) {
      guard.unlock();
      renew(batch);
      guard.lock();
      renews_until_ = MonotonicTime::min();
      if (second_.running()) changed_.notify_all();
    } else {
      asleep_until_ = next_wake();
      changed_.wait_until(guard, asleep_until_);
      asleep_until_ = MonotonicTime::min();
    }
  }
  turn.rest();
}

void Watchdog::tell_during_renewal() {
  std::unique_lock guard(mutex_);
  BackgroundTask::Turn turn(second_);
  while (!closing_ && renews_until_ != MonotonicTime::min()) {
    const MonotonicTime now = runtime_.now();
    if (const Holds expired = take_expired(now); !expired.empty()) {
      guard.unlock();
      tell_expired(expired, now);
      guard.lock();
    } else {
      const MonotonicTime first = std::min(renews_until_, first_end());
      if (first == renews_until_) break;
      changed_.wait_until(guard, first);
    }
  }
  turn.rest();
}

void Watchdog::tell_expired(const Holds& expired, MonotonicTime now) {
  for (const auto& hold : expired) {
    tell_lost_outside(*hold, now >= hold->valid_until() ? kExpired : kTaskEnded);
  }
}

Watchdog::Holds Watchdog::take_expired(MonotonicTime now) {
  Holds expired;
  while (first_end() <= now) expired.push_back(remove_lost(*ends_.begin()->second));
  // Of those whose tasks have ended only as many as can be renewed next: the others' turn comes.
  Holds abandoned;
  std::size_t looked_at = 0;
  for (const auto& [when, hold] : renewals_) {
    if (when.first > now || looked_at++ == kBatch) break;
    if (hold->life.expired()) abandoned.push_back(hold);
  }
  for (const auto& hold : abandoned) expired.push_back(remove_lost(*hold));
  return expired;
}

// What is due, the first of it; and when something is, also what would be due soon after, to save calls.
Watchdog::Holds Watchdog::due(MonotonicTime now) const {
  Holds batch;
  if (renewals_.empty() || renewals_.begin()->first.first > now) return batch;
  std::size_t looked_at = 0;
  for (const auto& [when, hold] : renewals_) {
    if (when.first > now + lease_ / 30 || looked_at++ == kBatch) break;
    if (!hold->life.expired()) batch.push_back(hold);
  }
  return batch;
}

MonotonicTime Watchdog::first_end() {
  while (!ends_.empty()) {
    const auto& [when, hold] = *ends_.begin();
    if (hold->valid_until() == when.first) return when.first;
    look_again_at_end(*hold);
  }
  return kNever;
}

MonotonicTime Watchdog::next_wake() {
  MonotonicTime wake = ends_.empty() ? stays_until_ : first_end();
  if (!untold_.empty()) wake = std::min(wake, deadline_after(runtime_.now(), kPauseUntold));
  if (!renewals_.empty()) wake = std::min(wake, renewals_.begin()->first.first);
  return wake;
}

void Watchdog::renew(Holds holds) {
  // No longer than until the next loss must be told, and short enough for another try within the lease.
  MonotonicTime deadline = runtime_.now() + std::min(store_.options().command_timeout, lease_ / 3);
  {
    const std::scoped_lock guard(mutex_);
    // Not those that went since they were due. Who took a lost one away has looked at its flag, too: what is
    // lengthened now would be given back by nobody.
    std::erase_if(holds, [](const auto& hold) { return hold->number == 0; });
    if (holds.empty()) return;
    deadline = std::min(deadline, first_end());
    for (const auto& hold : holds) hold->renewal_unanswered = true;
    renews_until_ = deadline;
  }
  const std::string lease_ms = milliseconds_text(lease_);
  std::vector<std::string_view> keys, args{lease_ms};
  for (const auto& hold : holds) {
    for (const std::string& key : hold->wire->renew_keys) keys.push_back(key);
    args.push_back(hold->owner);
    observer_.tell({.kind = LockEvent::Kind::renewing,
                    .key = hold->key(),
                    .acquisition = hold->owner,
                    .node = hold->node,
                    .mode = hold->wire->mode,
                    .permits = hold->permits,
                    .since = hold->renewal_due});
  }

  std::optional<Store::Renewal> renewal;
  try {
    renewal =
        store_.renew(*holds.front()->wire->renew, keys, args, {.deadline = deadline, .background = true});
  } catch (const redis::Error& error) {
    renewal_failed(holds, error.node(), error.what());
    return;
  }
  const Store::Renewal& answer = *renewal;
  if (answer.reply.items.size() != holds.size()) {
    renewal_failed(holds, answer.node, "the renewal script gave an answer of an unknown form");
    return;
  }

  const MonotonicTime extended = lease_end(answer.sent_at, lease_, options_);
  struct Told {
    std::shared_ptr<Hold> hold;
    std::string_view node;
    MonotonicTime due = {};
    std::string why = {};
  };
  std::vector<Told> renewed, failed;
  Holds refused;
  {
    const std::scoped_lock guard(mutex_);
    const MonotonicTime now = runtime_.now();
    for (std::size_t i = 0; i < holds.size(); ++i) {
      Hold& hold = *holds[i];
      const redis::Reply& reply = answer.reply.items[i];
      if (hold.number == 0) continue;  // released or lost meanwhile
      if (reply.type != redis::Reply::Type::integer) {
        failed.push_back({holds[i], answer.node_of(i), {}, redis::legible(reply.text)});
      } else if (reply.integer == 0) {
        remove_lost(hold);
        refused.push_back(holds[i]);
      } else if (now >= hold.valid_until()) {
        continue;  // came too late: the hold ended, its record did not
      } else {
        raise(hold.valid_until_ns, extended);
        look_again_at_end(hold);
        renewed.push_back({holds[i], answer.node_of(i), hold.renewal_due, {}});
        hold.renewal_due = answer.sent_at + lease_ / 3;
        renew_next_at(hold, hold.renewal_due);
        hold.renewal_unanswered = false;
        if (hold.renewals_left > 0 && --hold.renewals_left == 0) renew_no_more(hold);
      }
    }
  }
  for (const Told& one : renewed) {
    const Hold& hold = *one.hold;
    observer_.tell({.kind = LockEvent::Kind::renewed,
                    .key = hold.key(),
                    .acquisition = hold.owner,
                    .node = one.node,
                    .valid_until = hold.valid_until(),
                    .sent_at = answer.sent_at,
                    .mode = hold.wire->mode,
                    .permits = hold.permits,
                    .since = one.due});
  }
  for (const auto& hold : refused) tell_lost_outside(*hold, kGone);
  for (const Told& one : failed) renewal_failed({one.hold}, one.node, one.why);
}

void Watchdog::renewal_failed(const Holds& holds, std::string_view node, std::string_view why) {
  // The client has backed off already before it reports "unavailable"; this keeps instant errors apart.
  const Duration pause = std::clamp(lease_ / 30, Duration(std::chrono::milliseconds(1)),
                                    Duration(std::chrono::milliseconds(500)));
  {
    const std::scoped_lock guard(mutex_);
    for (const auto& hold : holds) {
      if (hold->number != 0) renew_next_at(*hold, runtime_.now() + pause);
    }
  }
  for (const auto& hold : holds) {
    observer_.tell({.kind = LockEvent::Kind::renew_failed,
                    .key = hold->key(),
                    .acquisition = hold->owner,
                    .node = node,
                    .valid_until = hold->valid_until(),
                    .reason = why,
                    .mode = hold->wire->mode,
                    .permits = hold->permits,
                    .since = hold->renewal_due});
  }
}

}  // namespace holdfast
