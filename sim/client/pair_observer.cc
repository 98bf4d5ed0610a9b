#include "sim/client/pair_observer.h"

#include <algorithm>

namespace holdfast::sim {

using Kind = LockEvent::Kind;

bool PairObserver::whole() const {
  const auto& [first, second] = members_;
  return !first.acquisition.empty() && !second.acquisition.empty() && first.task == second.task;
}

MonotonicTime PairObserver::valid_until() const {
  return std::min(members_[0].valid_until, members_[1].valid_until);
}

void PairObserver::on_event(const LockEvent& event) noexcept {
  if (outer_ == nullptr || event.key.size() != key_.size() + 2) return;
  Member& member = members_[event.key.back() == 'a' ? 0 : 1];
  if (event.kind == Kind::acquired) return acquired(member, event);
  if (event.kind == Kind::waiting || event.kind == Kind::queued) return tell(event);
  if (event.acquisition != member.acquisition) return;  // of a hold before
  if (event.valid_until) member.valid_until = *event.valid_until;
  if (event.sent_at) member.sent_at = *event.sent_at;
  switch (event.kind) {
    case Kind::released:
    case Kind::release_failed:
    case Kind::lost: return over(member, event);
    case Kind::renewing: return renewing(member, event);
    case Kind::renewed: member.node = event.node; [[fallthrough]];
    case Kind::renew_failed: return answered(member, event);
    case Kind::extended:
      if (!whole()) return;
      told_until_ = valid_until();
      return tell(event);
    case Kind::acquired:
    case Kind::waiting:
    case Kind::queued:
    case Kind::refused:
    case Kind::acquire_failed: return;  // the workload is told by its call
  }
}

void PairObserver::acquired(Member& member, const LockEvent& event) {
  member = {.acquisition = std::string(event.acquisition),
            .node = std::string(event.node),
            .task = runtime_.task_id(),
            .valid_until = event.valid_until.value_or(MonotonicTime{}),
            .sent_at = event.sent_at.value_or(MonotonicTime{})};
  open_ = false;
  if (!whole()) return;
  told_until_ = valid_until();
  tell(event);
  for (Member& each : members_) {
    if (each.renewing)
      renewing(each, {.kind = Kind::renewing, .node = each.node});  // begun while the other was waited for
  }
}

void PairObserver::over(Member& member, const LockEvent& event) {
  if (whole()) tell(event);
  member = {};
  open_ = false;
}

void PairObserver::renewing(Member& member, const LockEvent& event) {
  member.renewing = true;
  if (!whole() || open_) return;
  open_ = true;
  failed_ = false;
  tell(event);
}

void PairObserver::answered(Member& member, const LockEvent& event) {
  member.renewing = false;
  if (!whole() || !open_) return;
  if (event.kind == Kind::renew_failed && !failed_) {
    failed_ = true;
    failed_node_ = event.node;
    failed_reason_ = event.reason;
  }
  const auto waited_for = std::find_if(std::begin(members_), std::end(members_),
                                       [](const Member& each) { return each.renewing; });
  const bool longer = valid_until() > told_until_;
  if (!longer && waited_for != std::end(members_)) return;
  open_ = false;
  LockEvent told = event;
  told.kind = longer || !failed_ ? Kind::renewed : Kind::renew_failed;
  told.sent_at = std::min(members_[0].sent_at, members_[1].sent_at);
  told.valid_until = told_until_ = std::max(told_until_, valid_until());
  if (told.kind == Kind::renew_failed) {
    told.node = failed_node_;
    told.reason = failed_reason_;
  }
  tell(told);
  if (waited_for != std::end(members_))
    renewing(*waited_for, {.kind = Kind::renewing, .node = waited_for->node});
}

void PairObserver::tell(LockEvent event) {
  event.key = key_;
  event.acquisition = members_[0].acquisition;
  if (event.kind == Kind::acquired || event.kind == Kind::renewed) event.node = members_[0].node;
  if (event.kind == Kind::acquired) {
    event.valid_until = valid_until();
    event.sent_at = std::min(members_[0].sent_at, members_[1].sent_at);
  }
  outer_->on_event(event);
}

}  // namespace holdfast::sim
