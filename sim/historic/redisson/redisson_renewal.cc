#include "sim/historic/redisson/redisson_renewal.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

namespace holdfast::historic {

RedissonRenewals::RedissonRenewals(Runtime& runtime, Persistence persistence)
    : runtime_(runtime), persistence_(persistence), mutex_(runtime), changed_(runtime) {}

RedissonRenewals::~RedissonRenewals() {
  try {
    close();
  } catch (const TaskCancelled&) {
  }
}

void RedissonRenewals::close() {
  std::list<EntryPtr> ended;
  {
    const std::scoped_lock guard(mutex_);
    closing_ = true;
    for (auto& [name, entry] : entries_) ended_.push_back(std::move(entry));
    entries_.clear();
    ended.swap(ended_);
    changed_.notify_all();
  }
  for (const EntryPtr& entry : ended) entry->task.join();
}

void RedissonRenewals::schedule(const std::string& name, TaskId thread, LeaseMs lease_ms, Renew renew) {
  std::list<EntryPtr> ended;  // destroyed (joined) after the mutex is free again
  const std::scoped_lock guard(mutex_);
  if (closing_) return;
  for (auto at = ended_.begin(); at != ended_.end();) {
    const auto next = std::next(at);
    if ((*at)->task.finished()) ended.splice(ended.end(), ended_, at);
    at = next;
  }
  EntryPtr& entry = entries_[name];
  if (entry) {  // also one whose timer has stopped
    const auto found = std::find_if(entry->threads.begin(), entry->threads.end(),
                                    [&](const auto& known) { return known.first == thread; });
    if (found == entry->threads.end()) {
      entry->threads.emplace_back(thread, 1);
    } else {
      ++found->second;
    }
    return;
  }
  entry = std::make_shared<Entry>();
  entry->name = name;
  entry->lease_ms = std::move(lease_ms);
  entry->renew = std::move(renew);
  entry->threads.emplace_back(thread, 1);
  set_timer(*entry);
  // The entry is kept, in entries_ or in ended_, until its task is joined.
  entry->task = runtime_.spawn("watchdog", [this, kept = entry.get()] { run(*kept); });
}

void RedissonRenewals::cancel(const std::string& name, std::optional<TaskId> thread) {
  const std::scoped_lock guard(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  const EntryPtr entry = found->second;
  if (thread) {
    auto& threads = entry->threads;
    const auto mine = std::find_if(threads.begin(), threads.end(),
                                   [&](const auto& known) { return known.first == *thread; });
    if (mine != threads.end() && --mine->second == 0) threads.erase(mine);
  }
  if (!thread || entry->threads.empty()) drop(entry);
}

void RedissonRenewals::drop(EntryPtr entry) {
  entry->cancelled = true;
  entries_.erase(entry->name);
  ended_.push_back(std::move(entry));
  changed_.notify_all();
}

bool RedissonRenewals::has_entry(const std::string& name) {
  const std::scoped_lock guard(mutex_);
  return entries_.contains(name);
}

void RedissonRenewals::set_timer(Entry& entry) const {
  entry.due = runtime_.now() + std::chrono::milliseconds(entry.lease_ms->load()) / 3;
}

void RedissonRenewals::run(Entry& entry) {
  std::unique_lock guard(mutex_);
  for (;;) {
    if (changed_.wait_until(guard, entry.due, [&] { return closing_ || entry.cancelled; })) return;
    const TaskId thread = entry.threads.front().first;
    guard.unlock();
    const Outcome outcome = entry.renew(entry.name, thread, *entry.lease_ms);
    guard.lock();
    if (closing_ || entry.cancelled) return;
    const bool stops = persistence_ == Persistence::stops_at_failure;
    if (outcome != Outcome::renewed && stops) return;  // the entry stays
    if (outcome == Outcome::gone) return drop(entries_.at(entry.name));
    set_timer(entry);
  }
}

}  // namespace holdfast::historic
