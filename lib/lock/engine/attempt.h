// Attempt: one acquire, from the first request to the grant or the end of patience.
//
// Asks with the wire's acquire script and one owner of its own, so that a request whose reply was lost is
// asked again without harm. (Another owner after a refusal that the store undoes: Store::undoes_refusals.)
// When refused it waits as the wire says: for a message or a call, for the (re)subscription to be in force,
// or for the end of the holder's lease, whichever is first; it never polls blindly. A call may say that the
// server has made this owner the holder: then it holds it at once, as from its last request, where that
// leaves a third of the lease for the watchdog to renew it, and where nobody renews it for a whole lease from
// then on, where the server keeps it for so long; else it asks once more. Who stands in a server's
// queue and gives up takes its leave first, and waits 100 ms for the answer at most. What may have been
// granted unseen, or stands in the queue still, is given back in the background when the attempt ends without
// a grant.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>

#include "lib/lock/engine/hold.h"
#include "lib/lock/engine/lock_context.h"
#include "lib/lock/engine/retry.h"
#include "lib/lock/waiting/wakeup.h"

namespace holdfast {

// How long an acquire may take.
struct Patience {
  bool wait = true;  // false: one answer is enough
  MonotonicTime deadline = kNever;
  std::stop_token stop = {};
  // Most of the deadline went in the local queue: a timeout in the rest means contention, not a fault.
  bool waited_here = false;
  bool contended = false;  // a plain SET would probably be refused
  // Instead of LockOptions::lease; such a hold is not renewed.
  std::optional<Duration> lease = std::nullopt;
};

class Attempt {
 public:
  Attempt(LockContext& context, std::shared_ptr<const Wire> wire, const Patience& patience, int permits = 1);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // [parks] The hold, not yet watched; null: refused, or not granted in time. Throws LockError.
  std::shared_ptr<Hold> run();

  MonotonicTime sent_at() const { return sent_at_; }  // of the request that was granted

 private:
  redis::Answer ask(MonotonicTime now);
  [[noreturn]] void unknown_form(std::string_view what, const redis::Answer& answer);
  bool accept(const redis::Answer& answer);
  bool accept_call();
  // `gone_by`: when the server has forgotten it unless it is told of it again.
  void hold_it(MonotonicTime sent_at, std::string_view node, MonotonicTime valid_until,
               MonotonicTime gone_by);
  bool wait(const redis::Answer& refusal);
  void subscribe();
  void heard(Duration ask_in);
  void called(const WakeCall& call);
  void give_up_or_pause(const redis::Error& error, MonotonicTime asked_at, Duration pause);
  void take_leave();
  [[noreturn]] void throw_interrupted();
  const std::string& key() const { return wire_->key; }
  const std::string& lease_ms() const { return own_lease_ms_.empty() ? context_.lease_ms : own_lease_ms_; }

  LockContext& context_;
  const std::shared_ptr<const Wire> wire_;
  const Patience& patience_;
  const Duration lease_;
  const std::string own_lease_ms_;    // "": LockContext::lease_ms
  const std::shared_ptr<Hold> hold_;  // what it will be
  std::string permits_;
  Wakeup wakeup_;
  Retry retry_;
  std::atomic<Duration::rep> ask_by_ns_;         // by a message: ask no later than this
  std::atomic<std::int64_t> called_holder_ = 0;  // by a message: the ticket of WakeCall::held
  std::atomic<std::uint64_t> called_token_ = 0;  // written before it; 0: none
  std::string_view called_at_;                   // WakeCall::node and since, written before it, too
  MonotonicTime called_since_{};
  std::unique_ptr<redis::Subscription> subscription_;  // of Wire::channel
  std::unique_ptr<WakeChannel::Listener> listener_;    // Wire::Waiting::call
  std::optional<MonotonicTime> failing_since_;
  std::optional<redis::Error> failure_;  // since then: the last one that says more than "too late"
  MonotonicTime sent_at_{};
  // The last refusal: when its request was sent, who refused, its ticket (0: I do not stand in a queue).
  MonotonicTime refused_at_{};
  std::string_view refused_by_;
  std::int64_t ticket_ = 0;
  int refusals_ = 0;
  bool asked_ = false, queued_ = false, granted_ = false;
  bool unseen_ = false;  // a request may have been granted without our being told
};

}  // namespace holdfast
