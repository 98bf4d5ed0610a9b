// How Sentinels agree that the primary is down, elect one of them, and how that one fails over.
#include <algorithm>
#include <utility>

#include "sim/redis/engine.h"
#include "sim/redis/sentinel/sentinel.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::int64_t kDesyncMs = 1000;  // so that two do not begin at the same moment
constexpr std::int64_t kTurnMs = 10'000;  // a replica that long on its way counts as turned
constexpr std::int64_t kFreshPings = 5, kFreshInfos = 3;

}  // namespace

// --- opinions and votes ----------------------------------------------------------------------------------

void Sentinel::ask_others(bool at_once) {
  const std::int64_t now = now_ms();
  for (const auto& [id, sentinel] : sentinels_) {
    const std::int64_t ago = now - sentinel->opinion_ms;
    if (ago > options_.periods.ask * 5) {
      sentinel->says_down = false;
      sentinel->voted_for.clear();
    }
    if (!primary_->down || sentinel->unlinked()) continue;
    if (!at_once && ago < options_.periods.ask) continue;
    const bool candidate = state_ != Failover::none;
    sentinel->commands->send(
        {"SENTINEL", "is-master-down-by-addr", primary_->at.host, std::to_string(primary_->at.port),
         std::to_string(memory_.current_epoch), candidate ? std::string_view(memory_.id) : "*"},
        [this, weak = std::weak_ptr(sentinel)](const redis::Reply& reply) {
          if (const InstancePtr of = weak.lock()) heard_opinion(*of, reply);
        });
  }
}

void Sentinel::heard_opinion(Instance& of, const redis::Reply& reply) {
  if (reply.items.size() != 3) return;
  of.opinion_ms = now_ms();
  of.says_down = reply.items[0].integer == 1;
  if (reply.items[1].text == "*") return;
  of.voted_for = reply.items[1].text;
  of.voted_epoch = reply.items[2].integer;
}

// This Sentinel's vote in that epoch: the first who asks has it. "": it has not voted in any.
std::string Sentinel::vote(std::int64_t epoch, const std::string& candidate, std::int64_t* voted_epoch) {
  if (epoch > memory_.current_epoch) {
    memory_.current_epoch = epoch;
    event("+new-epoch", std::to_string(epoch));
  }
  if (memory_.leader_epoch < epoch && memory_.current_epoch <= epoch) {
    leader_ = candidate;
    memory_.leader_epoch = memory_.current_epoch;
    event("+vote-for-leader", leader_ + ' ' + std::to_string(memory_.leader_epoch));
    // Who voted for another does not stand itself for a while.
    if (candidate != memory_.id)
      failover_ms_ = now_ms() + static_cast<std::int64_t>(runtime_.random_between(0, kDesyncMs - 1));
  }
  *voted_epoch = memory_.leader_epoch;
  return leader_;
}

// Who has the votes of more than half of all, and of a quorum; "": nobody yet.
std::string Sentinel::elected(std::int64_t epoch) {
  std::map<std::string, std::int64_t> votes;
  for (const auto& [id, sentinel] : sentinels_) {
    if (!sentinel->voted_for.empty() && sentinel->voted_epoch == memory_.current_epoch)
      ++votes[sentinel->voted_for];
  }
  const auto most = [&] {
    return std::max_element(votes.begin(), votes.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
  };
  // The own vote goes to who leads, or to oneself.
  const std::string favourite = votes.empty() ? memory_.id : most()->first;
  std::int64_t voted_epoch = 0;
  const std::string mine = vote(epoch, favourite, &voted_epoch);
  if (!mine.empty() && voted_epoch == epoch) ++votes[mine];
  if (votes.empty()) return "";
  const auto half = static_cast<std::int64_t>(sentinels_.size() + 1) / 2;
  const auto [winner, count] = *most();
  return count > half && count >= options_.quorum ? winner : "";
}

// --- the failover ----------------------------------------------------------------------------------------

bool Sentinel::failover_is_due() {
  return agreed_down_ && state_ == Failover::none &&
         (failover_ms_ == 0 || now_ms() - failover_ms_ >= options_.failover_timeout_ms * 2);
}

void Sentinel::begin_failover() {
  state_ = Failover::waits;
  failover_epoch_ = ++memory_.current_epoch;
  event("+new-epoch", std::to_string(memory_.current_epoch));
  event("+try-failover", *primary_);
  failover_ms_ = now_ms() + static_cast<std::int64_t>(runtime_.random_between(0, kDesyncMs - 1));
  state_ms_ = now_ms();
}

void Sentinel::enter(Failover state, std::string_view event_name, const Instance& about) {
  state_ = state;
  state_ms_ = now_ms();
  event(event_name, about);
}

void Sentinel::abort_failover(std::string_view event_name) {
  event(event_name, *primary_);
  state_ = Failover::none;
  forced_ = false;
  state_ms_ = now_ms();
  if (promoted_ != nullptr) promoted_->promoted = false;
  promoted_ = nullptr;
}

void Sentinel::advance_failover() {
  const std::int64_t now = now_ms();
  const bool late = now - state_ms_ > options_.failover_timeout_ms;
  switch (state_) {
    case Failover::none:
    case Failover::done: return;
    case Failover::waits: return wait_for_election();
    case Failover::selects: {
      const InstancePtr best = best_replica();
      if (best == nullptr) return abort_failover("-failover-abort-no-good-slave");
      event("+selected-slave", *best);
      best->promoted = true;
      promoted_ = best;
      return enter(Failover::promotes, "+failover-state-send-slaveof-noone", *best);
    }
    case Failover::promotes:
      if (promoted_->unlinked()) {
        if (late) abort_failover("-failover-abort-slave-timeout");
        return;
      }
      follow(*promoted_, nullptr);
      return enter(Failover::awaits_promotion, "+failover-state-wait-promotion", *promoted_);
    case Failover::awaits_promotion:
      if (late) abort_failover("-failover-abort-slave-timeout");
      return;
    case Failover::turns_replicas: turn_replicas(); return end_when_turned();
  }
}

void Sentinel::wait_for_election() {
  const std::string leader = elected(failover_epoch_);
  if (leader != memory_.id && !forced_) {
    const std::int64_t limit = std::min(options_.periods.election, options_.failover_timeout_ms);
    if (now_ms() - failover_ms_ > limit) abort_failover("-failover-abort-not-elected");
    return;
  }
  event("+elected-leader", *primary_);
  enter(Failover::selects, "+failover-state-select-slave", *primary_);
}

// Lowest priority number, then the most of the stream, then the smallest run id; of those that answer, told
// of themselves lately, and were not without their primary for long.
Sentinel::InstancePtr Sentinel::best_replica() const {
  const std::int64_t now = now_ms();
  std::int64_t longest_down = options_.down_after_ms * 10;
  if (primary_->down) longest_down += now - primary_->down_ms;
  const std::int64_t fresh =
      primary_->down ? options_.periods.ping * kFreshPings : options_.periods.info * kFreshInfos;
  InstancePtr best;
  for (const auto& [at, replica] : replicas_) {
    if (replica->down || replica->unlinked() || replica->priority == 0) continue;
    if (now - replica->available_ms > options_.periods.ping * kFreshPings) continue;
    if (now - replica->told_ms > fresh || replica->link_down_for_ms > longest_down) continue;
    const auto rank = [](const Instance& one) {
      return std::make_tuple(one.priority, -one.offset, one.run_id);
    };
    if (best == nullptr || rank(*replica) < rank(*best)) best = replica;
  }
  return best;
}

void Sentinel::turn_replicas() {
  using Turn = Instance::Turn;
  const auto on_their_way = [](const auto& entry) {
    return entry.second->turn == Turn::sent || entry.second->turn == Turn::under_way;
  };
  std::int64_t busy = std::count_if(replicas_.begin(), replicas_.end(), on_their_way);
  const std::int64_t now = now_ms();
  for (const auto& [at, replica] : replicas_) {
    if (replica == promoted_ || replica->turn == Turn::done) continue;
    if (replica->turn == Turn::sent && now - replica->turned_ms > kTurnMs) {
      event("-slave-reconf-sent-timeout", *replica);
      replica->turn = Turn::done;
      continue;
    }
    if (replica->turn != Turn::none || busy >= options_.parallel_syncs || replica->unlinked()) continue;
    follow(*replica, &promoted_->at);
    replica->turn = Turn::sent;
    replica->turned_ms = now;
    event("+slave-reconf-sent", *replica);
    ++busy;
  }
}

void Sentinel::end_when_turned() {
  if (promoted_ == nullptr || promoted_->down) return;
  const bool late = now_ms() - state_ms_ > options_.failover_timeout_ms;
  const bool all = std::all_of(replicas_.begin(), replicas_.end(), [&](const auto& entry) {
    const Instance& one = *entry.second;
    return one.promoted || one.turn == Instance::Turn::done || one.down;
  });
  if (!all && !late) return;
  if (!all) {
    event("+failover-end-for-timeout", *primary_);
    for (const auto& [at, replica] : replicas_) {
      if (replica == promoted_ || replica->turn != Instance::Turn::none || replica->unlinked()) continue;
      follow(*replica, &promoted_->at);
      event("+slave-reconf-sent-be", *replica);
      replica->turn = Instance::Turn::sent;
    }
  }
  enter(Failover::done, "+failover-end", *primary_);
}

}  // namespace holdfast::sim::embedded
