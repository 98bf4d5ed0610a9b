#include "sim/comparators/foreign_lock.h"

#include <fmt/format.h>

#include <utility>

namespace holdfast::sim {

bool ForeignLock::acquire(const Question& question) {
  if (mine() != nullptr) fail<WouldDeadlock>("this task holds it already", "", false);
  std::optional<Grant> grant = ask(question);
  if (!grant) return false;
  tell({.kind = LockEvent::Kind::acquired,
        .acquisition = grant->acquisition,
        .node = grant->node,
        .valid_until = grant->valid_until,
        .sent_at = grant->sent_at,
        .token = grant->token});
  mine_.emplace(runtime().task_id(), Mine{.grant = std::move(*grant)});
  return true;
}

void ForeignLock::release() {
  const auto found = mine_.find(runtime().task_id());
  if (found == mine_.end()) fail<NotOwner>("this task does not hold it", "", false);
  Mine held = std::move(found->second);
  mine_.erase(found);
  if (held.lost) fail<LockLost>("it was lost: " + held.why, held.grant.node, false);
  give_back(held.grant);
  tell({.kind = LockEvent::Kind::released, .acquisition = held.grant.acquisition, .node = held.grant.node});
}

void ForeignLock::lose(const std::string& acquisition, std::string_view why) {
  Mine* const held = find(acquisition);
  if (held == nullptr || std::exchange(held->lost, true)) return;
  held->why = why;
  tell({.kind = LockEvent::Kind::lost, .acquisition = acquisition, .node = held->grant.node, .reason = why});
  std::stop_source told = held->told;  // who is woken may release it
  told.request_stop();
}

void ForeignLock::renewed(const std::string& acquisition, MonotonicTime sent_at, MonotonicTime valid_until,
                          std::string_view node) {
  Mine* const held = find(acquisition);
  if (held == nullptr || held->lost) return;
  held->grant.valid_until = valid_until;
  tell({.kind = LockEvent::Kind::renewed,
        .acquisition = acquisition,
        .node = node,
        .valid_until = valid_until,
        .sent_at = sent_at});
}

const ForeignLock::Mine* ForeignLock::mine() const {
  const auto found = mine_.find(runtime().task_id());
  return found == mine_.end() ? nullptr : &found->second;
}

ForeignLock::Mine* ForeignLock::find(const std::string& acquisition) {
  for (auto& [task, held] : mine_) {
    if (held.grant.acquisition == acquisition) return &held;
  }
  return nullptr;
}

void ForeignLock::tell(LockEvent event) const {
  if (options_.lock.observer == nullptr) return;
  event.key = key_;
  options_.lock.observer->on_event(event);
}

std::string ForeignLock::new_acquisition(Runtime& runtime) {
  const std::uint64_t high = runtime.random();
  const std::uint64_t low = runtime.random();
  return fmt::format("{:016x}{:016x}", high, low);
}

}  // namespace holdfast::sim
