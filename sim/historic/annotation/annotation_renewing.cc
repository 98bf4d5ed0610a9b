#include "sim/historic/annotation/annotation_renewing.h"

#include <algorithm>
#include <mutex>

#include "lib/lock/waiting/wakeup.h"
#include "lib/redis/error.h"

namespace holdfast::historic {
namespace {

constexpr Duration kFirstRound = std::chrono::seconds(1), kBetweenRounds = std::chrono::seconds(2);
constexpr int kMaxRenewals = 3;

}  // namespace

// --- RenewalScheduler ----------------------------------------------------------------------------------

RenewalScheduler::RenewalScheduler(redis::Client& client, LockObserver* observer)
    : client_(client), observer_(observer), mutex_(client.runtime()) {
  task_ = client_.runtime().spawn("watchdog", [this] { run(); });
}

RenewalScheduler::~RenewalScheduler() { closing_.request_stop(); }

void RenewalScheduler::run() {
  Runtime& runtime = client_.runtime();
  const std::stop_token closing = closing_.get_token();
  Wakeup wakeup(runtime);
  for (MonotonicTime next = runtime.now() + kFirstRound;; next += kBetweenRounds) {
    wakeup.wait_until(next, closing);
    if (closing.stop_requested()) return;
    round();
  }
}

void RenewalScheduler::round() {
  std::vector<Entry> copy;
  {
    const std::scoped_lock guard(mutex_);
    copy = list_;
  }
  for (const Entry& entry : copy) {
    try {
      look_at(entry);
    } catch (const redis::Error&) {  // logged; the others are looked at all the same
    }
  }
}

void RenewalScheduler::look_at(const Entry& entry) {
  const RenewTask& task = entry.task;
  if (client_.call({"EXISTS", task.store_key}, {.background = true}).reply.integer == 0) {
    drop(entry.number);
    return;
  }
  if (task.count >= task.maximum) {
    tell(
        {.kind = LockEvent::Kind::lost, .reason = "renewed as often as it may be: its thread is interrupted"},
        task);
    std::optional<std::stop_source> flag;
    {
      const std::scoped_lock guard(mutex_);
      flag = flags_[task.business_thread];
    }
    flag->request_stop();
    drop(entry.number);
    return;
  }
  const auto elapsed =
      std::chrono::floor<std::chrono::seconds>(client_.runtime().wall_now() - task.latest_renewal);
  if (elapsed.count() < task.expiry_s / 3 * 2) return;
  tell({.kind = LockEvent::Kind::renewing}, task);
  const redis::Answer answer =
      client_.call({"EXPIRE", task.store_key, std::to_string(task.expiry_s)}, {.background = true});
  renewed(entry.number);
  if (answer.reply.integer == 0) return;
  tell({.kind = LockEvent::Kind::renewed,
        .node = answer.node,
        .valid_until = answer.sent_at + std::chrono::seconds(task.expiry_s),
        .sent_at = answer.sent_at},
       task);
}

void RenewalScheduler::add(RenewTask task) {
  const std::scoped_lock guard(mutex_);
  list_.push_back({next_number_++, std::move(task)});
}

void RenewalScheduler::drop(std::uint64_t number) {
  const std::scoped_lock guard(mutex_);
  std::erase_if(list_, [&](const Entry& entry) { return entry.number == number; });
}

void RenewalScheduler::renewed(std::uint64_t number) {
  const std::scoped_lock guard(mutex_);
  for (Entry& entry : list_) {
    if (entry.number != number) continue;
    ++entry.task.count;
    entry.task.latest_renewal = client_.runtime().wall_now();
  }
}

std::size_t RenewalScheduler::tasks() const {
  const std::scoped_lock guard(mutex_);
  return list_.size();
}

std::stop_token RenewalScheduler::interrupt_flag() {
  const std::scoped_lock guard(mutex_);
  return flags_[client_.runtime().task_id()].get_token();
}

void RenewalScheduler::clear_interrupt() {
  const std::scoped_lock guard(mutex_);
  std::stop_source& flag = flags_[client_.runtime().task_id()];
  if (flag.stop_requested()) flag = std::stop_source();
}

void RenewalScheduler::tell(LockEvent event, const RenewTask& task) {
  if (observer_ == nullptr) return;
  event.key = task.key;
  event.acquisition = task.acquisition;
  observer_->on_event(event);
}

// --- AnnotationRenewingLock ----------------------------------------------------------------------------

AnnotationRenewingLock::AnnotationRenewingLock(redis::Client& client, RenewalScheduler& scheduler,
                                               const AnnotationOptions& options, std::string key,
                                               std::optional<int> max_renewals)
    : AnnotationLock(client, options, std::move(key)),
      scheduler_(scheduler),
      max_renewals_(max_renewals.value_or(kMaxRenewals)) {}

void AnnotationRenewingLock::granted(const Granted& grant) {
  scheduler_.add({.key = key_,
                  .store_key = store_key_,
                  .acquisition = grant.acquisition,
                  .expiry_s = std::chrono::ceil<std::chrono::seconds>(options_.lease).count(),
                  .latest_renewal = runtime().wall_now(),
                  .maximum = max_renewals_,
                  .business_thread = runtime().task_id()});
}

void AnnotationRenewingLock::sleep_between_attempts() {
  const std::stop_token flag = scheduler_.interrupt_flag();
  Wakeup(runtime()).wait_until(runtime().now() + kPollEvery, flag);
  if (!flag.stop_requested()) return;
  scheduler_.clear_interrupt();
  throw Interrupted("lock '" + key_ + "': the thread was interrupted", key_, "", false);
}

void AnnotationRenewingLock::release() {
  struct Clear {
    RenewalScheduler& scheduler;
    ~Clear() {
      try {
        scheduler.clear_interrupt();
      } catch (const TaskCancelled&) {
      }
    }
  } clear{scheduler_};
  AnnotationLock::release();
}

bool AnnotationRenewingLock::is_held_by_me() const {
  return AnnotationLock::is_held_by_me() && !scheduler_.interrupt_flag().stop_requested();
}

std::stop_token AnnotationRenewingLock::lost() const {
  return AnnotationLock::is_held_by_me() ? scheduler_.interrupt_flag() : std::stop_token();
}

}  // namespace holdfast::historic
