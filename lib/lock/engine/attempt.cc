#include "lib/lock/engine/attempt.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "lib/lock/api/owner.h"
#include "lib/lock/engine/lease.h"
#include "lib/lock/engine/lock_error_from.h"
#include "lib/redis/error.h"
#include "lib/runtime/check.h"

namespace holdfast {
namespace {

constexpr Duration kLongestBackOff = std::chrono::milliseconds(128);
// How long a waiter that gives up waits for the answer to its leave; after that the leave goes on without it.
constexpr Duration kLeave = std::chrono::milliseconds(100);
constexpr std::int64_t kLongestLookMs = 86'400'000;  // whatever the server says: a day

// Redis drops a key when its clock has passed the end, in whole milliseconds: hence one more. And a little,
// so that a waiter that looks at the end of a lease comes after the renewal that was due then, not just
// before it. So it asks once a lease while the holder goes on renewing.
constexpr Duration after_the_end(Duration lease) {
  return std::chrono::milliseconds(1) + std::min<Duration>(lease / 30, std::chrono::milliseconds(100));
}

bool is_integer(const redis::Reply& reply) { return reply.type == redis::Reply::Type::integer; }

// As the acquire scripts answer.
redis::Reply granted() {
  redis::Reply reply;
  reply.type = redis::Reply::Type::array;
  reply.items.resize(2);
  for (redis::Reply& item : reply.items) item.type = redis::Reply::Type::integer;
  reply.items[0].integer = 1;
  return reply;
}

bool well_formed(const redis::Reply& reply) {
  return reply.items.size() >= 2 && std::all_of(reply.items.begin(), reply.items.end(), is_integer) &&
         (reply.items[0].integer == 0 || reply.items[0].integer == 1);
}

}  // namespace

Attempt::Attempt(LockContext& context, std::shared_ptr<const Wire> wire, const Patience& patience,
                 int permits)
    : context_(context),
      wire_(std::move(wire)),
      patience_(patience),
      lease_(patience.lease.value_or(context.options.lease)),
      own_lease_ms_(patience.lease ? milliseconds_text(lease_) : std::string()),
      hold_(std::make_shared<Hold>()),
      wakeup_(context.runtime),
      retry_(context.runtime, context.store.options()),
      ask_by_ns_(kNever.time_since_epoch().count()) {
  hold_->wire = wire_;
  hold_->owner = context_.next_owner();
  hold_->permits = permits;
  hold_->renew = context_.options.renew;
  hold_->renewals_left = context_.options.max_renewals.value_or(-1);
  if (hold_->renewals_left == 0 || patience.lease) hold_->renew = false;
  if (wire_->counts_permits) permits_ = std::to_string(permits);
}

Attempt::~Attempt() {
  if (granted_) return;
  subscription_.reset();
  if (!unseen_ && !queued_ && !listener_) return;
  try {
    const MonotonicTime now = context_.runtime.now();
    if (listener_) context_.wake_channel.gave_up(hold_->owner, wire_, now + 2 * lease_);
    listener_.reset();
    if (unseen_ || queued_) {
      context_.late_release.add(wire_, hold_->owner, now + lease_);
    }
  } catch (const TaskCancelled&) {
  }
}

std::shared_ptr<Hold> Attempt::run() {
  for (;;) {
    if (patience_.stop.stop_requested()) throw_interrupted();
    if (accept_call()) return hold_;
    wakeup_.clear();
    ask_by_ns_ = kNever.time_since_epoch().count();
    const MonotonicTime asked_at = context_.runtime.now();
    try {
      const redis::Answer answer = ask(asked_at);
      if (!well_formed(answer.reply)) unknown_form("the acquire script", answer);
      if (answer.reply.items[0].integer == 1) {
        unseen_ = true;
        if (accept(answer)) return hold_;
        const redis::Error late(redis::Error::Kind::timed_out, std::string(answer.node), "EVALSHA", "", true,
                                "the grant was answered only after its lease had run out");
        give_up_or_pause(late, asked_at, Duration::zero());
      } else {
        failing_since_.reset();
        failure_.reset();
        retry_.answered();
        const bool undone = context_.store.undoes_refusals();
        if (undone) unseen_ = false;
        if (!wait(answer)) {
          take_leave();
          return nullptr;
        }
        if (undone) hold_->owner = context_.next_owner();
      }
    } catch (const redis::Error& error) {
      unseen_ = unseen_ || error.may_have_executed();
      if (error.kind() == redis::Error::Kind::interrupted) {
        // It has not answered for a while: take leave in the background. Else the question was just sent, and
        // the leave comes behind it; in the background once more, in case it does not.
        if (context_.runtime.now() - asked_at >= kLeave) failing_since_ = asked_at;
        throw_interrupted();
      }
      if (!error.worth_another_attempt()) throw_lock_error(error, key(), unseen_);
      // The last question came so late that its answer could not: the answer before it stands.
      const bool too_late = error.kind() == redis::Error::Kind::timed_out &&
                            (refusals_ > 0 || patience_.waited_here) && !failing_since_ &&
                            context_.runtime.now() >= patience_.deadline;
      if (too_late) return nullptr;
      give_up_or_pause(error, asked_at, retry_.pause_after(error));
    }
  }
}

redis::Answer Attempt::ask(MonotonicTime now) {
  const MonotonicTime deadline =
      std::min(patience_.deadline, deadline_after(now, context_.store.options().command_timeout));
  if (wire_->set_first && !patience_.contended && !asked_) {
    asked_ = true;
    std::optional<redis::Answer> answer = context_.store.set_if_absent(
        key(), hold_->owner, lease_ms(), {.deadline = deadline, .stop = patience_.stop});
    // Refused: the script tells a lock that is held from a key that is no lock at all.
    if (answer && !answer->reply.is_nil()) {
      if (answer->reply.type != redis::Reply::Type::status || answer->reply.text != "OK") {
        unknown_form("SET", *answer);
      }
      answer->reply = granted();
      return std::move(*answer);
    }
  }
  if (wire_->waiting == Wire::Waiting::call && patience_.wait && !listener_) {
    listener_ = context_.wake_channel.listen_if_in_force(*wire_, hold_->owner,
                                                         [this](const WakeCall& call) { called(call); });
  }
  constexpr std::size_t kMost = 8;
  std::array<std::string_view, kMost> keys, args;
  HF_CHECK(wire_->acquire_keys.size() <= kMost && wire_->acquire_args.size() + 5 <= kMost, "room for them");
  std::copy(wire_->acquire_keys.begin(), wire_->acquire_keys.end(), keys.begin());
  std::size_t count = 0;
  args[count++] = hold_->owner;
  args[count++] = lease_ms();
  for (const std::string& arg : wire_->acquire_args) args[count++] = arg;
  if (wire_->counts_permits) args[count++] = permits_;
  if (wire_->server_queue) args[count++] = patience_.wait ? "1" : "0";
  if (!wire_->token_ms.empty()) args[count++] = wire_->token_ms;
  if (wire_->server_queue && patience_.wait) queued_ = true;  // before it is sent: it may stand there unseen
  return context_.store.acquire(*wire_, {keys.data(), wire_->acquire_keys.size()}, {args.data(), count},
                                {.deadline = deadline, .stop = patience_.stop});
}

// A server that answers something else than the one or the other may have granted it: it is given back.
void Attempt::unknown_form(std::string_view what, const redis::Answer& answer) {
  unseen_ = true;
  throw Rejected("lock '" + key() + "': " + std::string(what) + " was answered in an unknown form", key(),
                 std::string(answer.node), true);
}

bool Attempt::accept(const redis::Answer& answer) {
  const MonotonicTime valid_until = lease_end(answer.sent_at, lease_, context_.options);
  const MonotonicTime now = context_.runtime.now();
  if (now >= valid_until) return false;
  if (answer.reply.items.size() > 2) {
    hold_->token = static_cast<std::uint64_t>(answer.reply.items[2].integer);
  }
  hold_it(answer.sent_at, answer.node, valid_until, deadline_after(now, lease_));
  return true;
}

void Attempt::hold_it(MonotonicTime sent_at, std::string_view node, MonotonicTime valid_until,
                      MonotonicTime gone_by) {
  sent_at_ = sent_at;
  hold_->node = node;
  if (patience_.lease) hold_->extended_until_ns = gone_by.time_since_epoch().count();
  hold_->life = life_of_holder(context_.runtime);
  hold_->valid_until_ns = valid_until.time_since_epoch().count();
  subscription_.reset();
  listener_.reset();
  granted_ = true;
}

// Whether a call has made me the holder, and that is enough: the record lives a lease and a third from my
// last request on, the one whose refusal gave me the ticket. Who renews it takes it for a lease, of which a
// third has to be left; who does not needs a whole lease from now on. Not enough for a caller that needs the
// confirmation of replicas.
bool Attempt::accept_call() {
  const std::int64_t ticket = called_holder_.load();
  if (ticket == 0) return false;
  const std::uint64_t token = called_token_.load();
  const bool heard_there = called_at_.empty() || (called_at_ == refused_by_ && called_since_ <= refused_at_);
  called_holder_ = 0;
  const LockOptions& options = context_.options;
  if (!heard_there) return false;
  if (ticket != ticket_ || options.replicas > 0 || options.survivor) return false;
  if (options.fencing && token == 0) return false;
  const MonotonicTime now = context_.runtime.now();
  const Duration kept = lease_ + lease_ / 3 - std::chrono::milliseconds(1);  // in whole ms on the server
  const bool renewed = hold_->renew && hold_->renewals_left < 0;
  const MonotonicTime valid_until = lease_end(renewed ? refused_at_ : now, lease_);
  if (renewed ? now >= valid_until - lease_ / 3 : valid_until > lease_end(refused_at_, kept)) return false;
  if (token != 0) hold_->token = token;
  hold_it(refused_at_, refused_by_, valid_until, deadline_after(refused_at_, kept));
  return true;
}

// Returns when it is time to ask again; false: out of patience.
bool Attempt::wait(const redis::Answer& refusal) {
  Runtime& runtime = context_.runtime;
  const auto& items = refusal.reply.items;
  if (runtime.now() >= patience_.deadline) return false;
  if (!patience_.wait) return false;
  const auto tell = [&](LockEvent::Kind kind) {
    context_.tell({.kind = kind,
                   .key = key(),
                   .acquisition = hold_->owner,
                   .node = refusal.node,
                   .mode = wire_->mode,
                   .permits = hold_->permits});
  };
  if (refusals_++ == 0) tell(LockEvent::Kind::waiting);
  refused_at_ = refusal.sent_at;
  refused_by_ = refusal.node;
  ticket_ = items.size() > 2 ? std::max<std::int64_t>(items[2].integer, 0) : 0;
  if (ticket_ > 0) tell(LockEvent::Kind::queued);

  // A record without a lease (nobody of ours makes one) can only end by a message, or be looked at again.
  Duration look_again =
      items[1].integer < 0 ? lease_ : std::chrono::milliseconds(std::min(items[1].integer, kLongestLookMs));
  // A quarantine says no more than for how long. It is no lease: nobody renews it just before its end.
  const bool quarantine = context_.options.survivor && items.size() == 2;
  look_again += quarantine ? std::chrono::milliseconds(1) : after_the_end(lease_);
  if (wire_->waiting == Wire::Waiting::back_off) {
    const Duration back_off =
        std::min<Duration>(kLongestBackOff, std::chrono::milliseconds(1 << std::min(refusals_ - 1, 7)));
    const auto half = static_cast<std::uint64_t>(back_off.count() / 2);
    look_again =
        std::min(look_again, Duration(static_cast<Duration::rep>(half + runtime.random_between(0, half))));
  } else {
    if (!listener_) {
      listener_ =
          context_.wake_channel.listen(*wire_, hold_->owner, [this](const WakeCall& call) { called(call); });
    }
    if (items.size() > 3 && items[3].integer == 1 && !subscription_) subscribe();
  }
  MonotonicTime recheck = deadline_after(runtime.now(), look_again);
  for (;;) {
    recheck = std::min(recheck, MonotonicTime(Duration(ask_by_ns_.load())));
    const bool signalled = wakeup_.wait_until(std::min(recheck, patience_.deadline), patience_.stop);
    if (patience_.stop.stop_requested()) throw_interrupted();
    const MonotonicTime now = runtime.now();
    if (now >= patience_.deadline) return false;
    // A message may have moved the time of the next look instead of calling for it now.
    if (!signalled || now >= std::min(recheck, MonotonicTime(Duration(ask_by_ns_.load())))) return true;
  }
}

void Attempt::subscribe() {
  subscription_ = context_.store.subscribe(
      wire_->channel, [this](std::string_view) { heard(Duration::zero()); },
      [this] { heard(Duration::zero()); });
}

// On the subscription's task.
void Attempt::heard(Duration ask_in) {
  const MonotonicTime by = deadline_after(context_.runtime.now(), ask_in);
  ask_by_ns_ = std::min(ask_by_ns_.load(), by.time_since_epoch().count());
  wakeup_.signal();
}

// On the subscription's task.
void Attempt::called(const WakeCall& call) {
  if (call.held != 0 && called_holder_ == 0) {
    called_token_ = call.token.value_or(0);
    called_at_ = call.node;
    called_since_ = call.since;
    called_holder_ = call.held;
  }
  heard(call.ask_in);
}

// No server answered. An acquire without a deadline bears that for the client's command timeout, the others
// until their deadline.
void Attempt::give_up_or_pause(const redis::Error& error, MonotonicTime asked_at, Duration pause) {
  Runtime& runtime = context_.runtime;
  if (!failing_since_) failing_since_ = asked_at;
  const MonotonicTime give_up =
      patience_.deadline == kNever ? deadline_after(*failing_since_, context_.store.options().command_timeout)
                                   : patience_.deadline;
  if (error.kind() != redis::Error::Kind::timed_out) failure_ = error;
  if (runtime.now() >= give_up) throw_lock_error(failure_ ? *failure_ : error, key(), unseen_);
  wakeup_.wait_until(std::min(give_up, deadline_after(runtime.now(), pause)), patience_.stop);
}

// Leaves the server's queue, and hands on what it may have become the holder of. So the caller's next request
// finds neither.
void Attempt::take_leave() {
  if (!queued_ || failing_since_) return;
  const std::vector<std::string_view> keys(wire_->release_keys.begin(), wire_->release_keys.end());
  try {
    context_.store.call(*wire_->release, keys, wire_->release_args(hold_->owner),
                        {.deadline = deadline_after(context_.runtime.now(), kLeave)});
    queued_ = false;
  } catch (const redis::Error&) {  // it goes on in the background
  }
}

void Attempt::throw_interrupted() {
  take_leave();
  throw Interrupted("lock '" + key() + "': the wait was stopped", key(), "", unseen_);
}

}  // namespace holdfast
