// WireLock: holds that last longer, or go to another task or process.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>

#include "lib/lock/engine/checked_options.h"
#include "lib/lock/engine/lease.h"
#include "lib/lock/engine/wire_lock.h"
#include "lib/redis/failure.h"

namespace holdfast {
namespace {

// "<owner>", or "<owner>#<token>".
struct Detached {
  std::string owner;
  std::optional<std::uint64_t> token = std::nullopt;
};

std::string to_text(const Hold& hold) {
  return hold.token ? hold.owner + '#' + std::to_string(*hold.token) : hold.owner;
}

Detached parsed(const std::string& text) {
  const std::size_t mark = text.find('#');
  Detached detached{.owner = text.substr(0, mark)};
  const std::size_t colon = detached.owner.find(':');
  bool sound = colon == 36 && colon + 1 < detached.owner.size() &&
               detached.owner.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  if (mark != std::string::npos) {
    std::uint64_t token = 0;
    const char* const begin = text.data() + mark + 1;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(begin, end, token);
    sound = sound && error == std::errc() && stopped == end;
    detached.token = token;
  }
  if (!sound) throw std::invalid_argument("'" + text + "' is nothing that detach() of a lock gave");
  return detached;
}

// Of an answer that is no number: nobody has said that the hold is gone.
[[noreturn]] void throw_not_extended(const Hold& hold, const redis::Reply& said, std::string_view node,
                                     bool votes) {
  const std::string why = said.text.empty() ? "an answer of an unknown form" : redis::legible(said.text);
  const std::string what = "lock '" + hold.key() + "': it was not extended: " + why;
  if (votes) throw Unavailable(what, hold.key(), std::string(node), true);
  throw Rejected(what, hold.key(), std::string(node), false);
}

}  // namespace

// Whether a hold can go to another owner.
bool WireLock::moves() const {
  return wire_->adopt != nullptr && !context_->store.undoes_refusals() && !context_->options.survivor;
}

void WireLock::extend(Duration lease) {
  checked_lease(lease, context_->options);
  context_->check_process(key());
  const std::shared_ptr<Hold> hold = my_hold();
  if (!hold) throw NotOwner("lock '" + key() + "': the calling task does not hold it", key(), "", false);
  if (!context_->watchdog.check(*hold)) throw lost_error(*hold);
  const std::string lease_ms = milliseconds_text(lease);
  const std::array<std::string_view, 2> args{lease_ms, hold->owner};
  const MonotonicTime answered_by =
      deadline_after(runtime().now(), context_->store.options().command_timeout);
  raise(hold->extended_until_ns, deadline_after(answered_by, lease));
  bool unseen = false;
  const redis::Answer answer = context_->insist(key(), *wire_->renew, wire_->renew_keys, args, unseen,
                                                LockContext::Way::renew, hold->valid_until());
  const redis::Reply said = answer.reply.items.size() == 1 ? answer.reply.items.front() : redis::Reply();
  const bool renewed = said.integer == 1;
  // A confirmation that comes after the end does not bring the hold back.
  if (!context_->watchdog.check(*hold)) throw lost_error(*hold);
  if (!renewed) {
    if (said.type != redis::Reply::Type::integer) {
      throw_not_extended(*hold, said, answer.node, context_->store.undoes_refusals());
    }
    if (context_->watchdog.unwatch(*hold)) {
      // A minority of several servers may have lengthened it all the same.
      context_->late_release.add(wire_, hold->owner, hold->gone_by(runtime().now(), context_->options.lease));
      context_->watchdog.lost_at_release(*hold, "the server no longer held it for this owner");
      if (hold->turn) hold->turn->pass();
    }
    throw lost_error(*hold);
  }
  raise(hold->valid_until_ns, lease_end(answer.sent_at, lease, context_->options));
  context_->tell({.kind = LockEvent::Kind::extended,
                  .key = key(),
                  .acquisition = hold->owner,
                  .node = answer.node,
                  .valid_until = hold->valid_until(),
                  .sent_at = answer.sent_at,
                  .mode = wire_->mode,
                  .permits = hold->permits});
}

void WireLock::put_lost(const Hold& hold, int depth) {
  const auto lost = std::make_shared<Hold>();
  lost->wire = wire_;
  lost->owner = hold.owner;
  lost->node = hold.node;
  lost->token = hold.token;
  lost->life = hold.life;
  lost->granted_at = hold.granted_at;
  lost->valid_until_ns = hold.valid_until_ns.load();
  lost->is_lost = lost->lost_was_told = true;
  const std::scoped_lock guard(mutex_);
  mine_.push_back({current_holder(runtime()), lost, depth});
  mine_count_ = mine_.size();
}

std::string WireLock::detach() {
  if (!moves()) return Lock::detach();
  const std::shared_ptr<Hold> hold = take(std::max(1, hold_count()));
  if (hold->turn) hold->turn->pass();
  context_->tell({.kind = LockEvent::Kind::released,
                  .key = key(),
                  .acquisition = hold->owner,
                  .node = hold->node,
                  .mode = wire_->mode,
                  .permits = hold->permits,
                  .since = hold->granted_at});
  return to_text(*hold);
}

bool WireLock::adopt(const std::string& detached) {
  if (!moves()) return Lock::adopt(detached);
  const Detached from = parsed(detached);
  context_->check_process(key());
  if (wire_->reentry != Wire::Reentry::another_hold && my_hold()) {
    throw WouldDeadlock("lock '" + key() + "': the calling task holds it already", key(), "", false);
  }
  const auto hold = std::make_shared<Hold>();
  hold->wire = wire_;
  hold->owner = context_->next_owner();
  hold->token = from.token;
  hold->renew = context_->options.renew;
  hold->renewals_left = context_->options.max_renewals.value_or(-1);
  if (hold->renewals_left == 0) hold->renew = false;
  hold->life = life_of_holder(runtime());
  const std::array<std::string_view, 4> args{from.owner, hold->owner, context_->lease_ms, wire_->mode};
  bool unseen = false;
  redis::Answer answer;
  try {
    answer = context_->insist(key(), *wire_->adopt, wire_->renew_keys, args, unseen, LockContext::Way::renew);
  } catch (const LockError&) {
    context_->late_release.add(wire_, hold->owner, hold->gone_by(runtime().now(), context_->options.lease));
    throw;
  }
  if (answer.reply.integer < 1) return false;
  if (wire_->counts_permits) hold->permits = static_cast<int>(answer.reply.integer);
  const MonotonicTime until = lease_end(answer.sent_at, context_->options.lease);
  if (runtime().now() >= until) {
    context_->late_release.add(wire_, hold->owner, hold->gone_by(runtime().now(), context_->options.lease));
    return false;
  }
  hold->node = answer.node;
  hold->valid_until_ns = until.time_since_epoch().count();
  put(hold, answer.sent_at, 1);
  return true;
}

}  // namespace holdfast
