#include "sim/historic/redisson/redisson_redlock.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "lib/lock/engine/uuid.h"

namespace holdfast::historic {

// --- the servers ---------------------------------------------------------------------------------------

// Told what the members tell, and tells what came of it for the hold: until when a majority of them is good.
class RedissonServers::Majority {
 public:
  Majority(LockObserver* outer, std::size_t servers, Duration lease)
      : outer_(outer), servers_(servers), lease_(lease) {}

  void on_event(std::size_t member, const LockEvent& event) noexcept {
    if (outer_ == nullptr) return;
    if (event.kind == LockEvent::Kind::waiting) return outer_->on_event(event);
    std::optional<MonotonicTime> until = event.valid_until;
    if (event.kind == LockEvent::Kind::acquired && event.sent_at) until = *event.sent_at + lease_;
    if (!until) return;
    std::optional<MonotonicTime> grown;
    {
      const Guard guard(busy_);
      grown = grow(event.key, event.acquisition, member, *until);
    }
    if (!grown || event.kind != LockEvent::Kind::renewed) return;
    LockEvent told = event;
    told.kind = LockEvent::Kind::renewing;
    told.valid_until.reset();
    outer_->on_event(told);
    told.kind = LockEvent::Kind::renewed;
    told.valid_until = grown;
    outer_->on_event(told);
  }

  std::optional<MonotonicTime> good_until(const std::string& key, const std::string& owner) {
    const Guard guard(busy_);
    const auto found = holds_.find(key + "/" + owner);
    return found == holds_.end() ? std::nullopt : std::optional(found->second.majority);
  }

 private:
  // Never held across a call that parks.
  class Guard {
   public:
    explicit Guard(std::atomic_flag& busy) : busy_(busy) {
      while (busy_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Guard() { busy_.clear(std::memory_order_release); }

   private:
    std::atomic_flag& busy_;
  };
  struct Good {
    std::vector<MonotonicTime> members;
    MonotonicTime majority{};
  };

  // Until when a majority is good, where that is later than before.
  std::optional<MonotonicTime> grow(std::string_view key, std::string_view owner, std::size_t member,
                                    MonotonicTime until) {
    Good& good = holds_[std::string(key) + "/" + std::string(owner)];
    good.members.resize(servers_);
    good.members[member] = until;
    std::vector<MonotonicTime> sorted = good.members;
    std::sort(sorted.rbegin(), sorted.rend());
    const MonotonicTime majority = sorted[servers_ / 2];
    if (majority <= good.majority) return std::nullopt;
    return good.majority = majority;
  }

  LockObserver* const outer_;
  const std::size_t servers_;
  const Duration lease_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::map<std::string, Good> holds_;
};

namespace {

template <class Majority>
class MemberObserver final : public LockObserver {
 public:
  MemberObserver(std::shared_ptr<Majority> majority, std::size_t member)
      : majority_(std::move(majority)), member_(member) {}
  bool is_quick() const noexcept override { return true; }
  void on_event(const LockEvent& event) noexcept override { majority_->on_event(member_, event); }

 private:
  const std::shared_ptr<Majority> majority_;
  const std::size_t member_;
};

}  // namespace

RedissonServers::RedissonServers(const std::vector<redis::Client*>& nodes, const LockOptions& options)
    : options_(options) {
  if (nodes.empty()) throw std::invalid_argument("a Redlock needs at least one server");
  majority_ = std::make_shared<Majority>(options.observer, nodes.size(), options.lease);
  const std::string uuid = random_uuid(nodes.front()->runtime());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    members_.push_back(std::make_unique<MemberObserver<Majority>>(majority_, i));
    LockOptions member = options;
    member.observer = members_.back().get();
    servers_.push_back(
        std::make_shared<Redisson>(*nodes[i], member, RedissonRenewals::Persistence::stops_at_failure, uuid));
  }
}

std::optional<MonotonicTime> RedissonServers::good_until(const std::string& key, TaskId thread) const {
  return majority_->good_until(key, owner(thread));
}

// --- the lock ------------------------------------------------------------------------------------------

RedissonRedLock::RedissonRedLock(std::shared_ptr<RedissonServers> servers, std::string key)
    : servers_(std::move(servers)), key_(std::move(key)), mutex_(servers_->all().front()->runtime()) {
  for (const auto& server : servers_->all())
    members_.push_back(std::make_unique<RedissonReentrant>(server, key_));
}

std::optional<Duration> RedissonRedLock::lease() const {
  const LockOptions& options = servers_->options();
  return options.renew ? std::nullopt : std::optional(options.lease);
}

void RedissonRedLock::lock() {
  const std::optional<Duration> given = lease();
  const Duration usual = static_cast<int>(members_.size()) * kWaitPerMember;
  Duration wait = given ? std::max(*given, kLeastWait) : usual;
  if (given && *given > kLeastWait) {
    const Duration low = wait <= usual ? wait / 2 : usual;
    const auto ms = [](Duration time) {
      return static_cast<std::uint64_t>(time / std::chrono::milliseconds(1));
    };
    const std::uint64_t drawn = wait == low ? 0 : runtime().random_between(0, ms(wait - low) - 1);
    wait = low + std::chrono::milliseconds(drawn);
  }
  while (!try_lock(wait, given, {})) {
  }
}

bool RedissonRedLock::try_lock() { return try_lock({}, lease(), {}); }

bool RedissonRedLock::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  const MonotonicTime now = runtime().now();
  if (deadline <= now) return try_lock();
  return try_lock(std::chrono::ceil<std::chrono::milliseconds>(deadline - now), lease(), std::move(stop));
}

// The time that is left is counted as the original counts it: with System.currentTimeMillis().
bool RedissonRedLock::try_lock(std::optional<Duration> wait, std::optional<Duration> lease,
                               std::stop_token stop) {
  const TaskId me = runtime().task_id();
  std::optional<Duration> of_members = lease, left = wait, turn;
  if (lease && wait) of_members = 2 * *wait;
  const Duration share = std::max<Duration>(
      std::chrono::milliseconds(1), wait.value_or(Duration::zero()) / static_cast<int>(members_.size()));
  WallTime time = runtime().wall_now();
  std::size_t failures = may_fail();
  Members held;
  for (std::size_t next = 0; next < members_.size();) {
    const std::size_t member = next++;
    if (left) turn = std::min(share, *left);
    if (take(member, turn, of_members, stop)) {
      held.push_back(member);
    } else if (members_.size() - held.size() == may_fail()) {
      break;
    } else if (failures == 0) {
      unlock_members(held, me);
      if (!wait) return false;
      failures = may_fail();
      held.clear();
      next = 0;
    } else {
      --failures;
    }
    if (!left) continue;
    const WallTime now = runtime().wall_now();
    *left -= now - time;
    time = now;
    if (*left <= Duration::zero()) {
      unlock_members(held, me);
      return false;
    }
  }
  const std::optional<MonotonicTime> good = servers_->good_until(key_, me);
  MonotonicTime sent_at = good ? *good - servers_->options().lease : runtime().now();
  if (lease) {
    sent_at = runtime().now();
    expire(held, *lease);
  }
  granted(sent_at);
  return true;
}

bool RedissonRedLock::take(std::size_t member, std::optional<Duration> wait, std::optional<Duration> lease,
                           std::stop_token& stop) {
  RedissonReentrant& lock = *members_[member];
  try {
    if (lease) return lock.try_lock_with_lease(wait.value_or(Duration::zero()), *lease, stop);
    return wait ? lock.try_lock_until(deadline_after(runtime().now(), *wait), stop) : lock.try_lock();
  } catch (const Interrupted&) {
    stop = {};  // as the flag of a Java thread
  } catch (const LockError& error) {
    if (error.may_have_executed()) unlock_members({member}, runtime().task_id());
  }
  return false;
}

// [parks] Throws what one of them threw, when all are done.
void RedissonRedLock::at_once(const Members& members, const std::function<void(std::size_t member)>& act) {
  std::vector<std::exception_ptr> errors(members.size());
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto one = [&act, &errors, &members, i] {
      try {
        act(members[i]);
      } catch (const LockError&) {
        errors[i] = std::current_exception();
      }
    };
    try {
      tasks.push_back(runtime().spawn("redisson", one));
    } catch (const std::system_error&) {
      one();  // Redisson asks without a thread for each; here it needs one
    }
  }
  for (Task& task : tasks) task.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void RedissonRedLock::unlock_members(const Members& members, TaskId thread) {
  try {
    at_once(members, [this, thread](std::size_t member) { members_[member]->unlock_for(thread); });
  } catch (const LockError&) {
  }
}

void RedissonRedLock::expire(const Members& members, Duration lease) {
  const std::string ms = std::to_string(lease / std::chrono::milliseconds(1));
  at_once(members, [&](std::size_t member) {
    const std::array<std::string_view, 3> command{"PEXPIRE", key_, ms};
    servers_->all()[member]->call(key_, command);
  });
}

void RedissonRedLock::granted(MonotonicTime sent_at) {
  const TaskId me = runtime().task_id();
  bool first = false;
  {
    const std::scoped_lock guard(mutex_);
    first = ++counts_[me] == 1;
  }
  LockObserver* const observer = servers_->options().observer;
  if (!first || observer == nullptr) return;
  const std::string owner = servers_->owner(me);
  observer->on_event(
      {.kind = LockEvent::Kind::acquired, .key = key_, .acquisition = owner, .sent_at = sent_at});
}

void RedissonRedLock::release() {
  const TaskId me = runtime().task_id();
  Members all;
  for (std::size_t i = 0; i < members_.size(); ++i) all.push_back(i);
  unlock_members(all, me);
  const std::scoped_lock guard(mutex_);
  const auto found = counts_.find(me);
  if (found != counts_.end() && --found->second == 0) counts_.erase(found);
}

int RedissonRedLock::hold_count() const {
  const std::scoped_lock guard(mutex_);
  const auto found = counts_.find(runtime().task_id());
  return found == counts_.end() ? 0 : found->second;
}

std::string RedissonRedLock::acquisition() const {
  return is_held_by_me() ? servers_->owner(runtime().task_id()) : std::string();
}

}  // namespace holdfast::historic
