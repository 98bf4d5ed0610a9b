#include "lib/lock/semaphore/permit_semaphore.h"

#include <array>
#include <stdexcept>

#include "lib/lock/engine/attempt.h"
#include "lib/lock/engine/checked_options.h"
#include "lib/lock/engine/lease.h"
#include "lib/lock/engine/lock_context.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/redis/failure.h"

namespace holdfast {
namespace {

std::optional<Permit> granted(LockContext& context, const std::shared_ptr<const Wire>& wire,
                              const Patience& patience, int permits) {
  checked_permits(permits);
  const MonotonicTime came = context.runtime.now();
  return context.tell_of_failure(*wire, came, permits, [&]() -> std::optional<Permit> {
    Attempt attempt(context, wire, patience, permits);
    const std::shared_ptr<Hold> hold = attempt.run();
    if (!hold) return std::nullopt;
    context.tell({.kind = LockEvent::Kind::acquired,
                  .key = wire->key,
                  .acquisition = hold->owner,
                  .node = hold->node,
                  .valid_until = hold->valid_until(),
                  .sent_at = attempt.sent_at(),
                  .permits = permits,
                  .token = hold->token,
                  .since = came});
    return Permit{hold->owner, permits, hold->valid_until(), hold->token, std::string(hold->node)};
  });
}

// A permit is not renewed: who waited gets a whole lease from the grant on.
LockOptions not_renewed(LockOptions options) {
  if (options.survivor)
    throw std::invalid_argument("survivor: a semaphore has no form that survives a failover");
  options.renew = false;
  return options;
}

}  // namespace

PermitSemaphore::PermitSemaphore(redis::Client& client, std::string key, SemaphoreOptions options)
    : context_(std::make_shared<LockContext>(make_store(client, options.lock), not_renewed(options.lock))),
      wire_(std::make_shared<const Wire>(
          semaphore_wire(checked_key(key), checked_permits(options.permits), options.lock))) {}

PermitSemaphore::~PermitSemaphore() = default;

const std::string& PermitSemaphore::key() const noexcept { return wire_->key; }
Runtime& PermitSemaphore::runtime() const noexcept { return context_->runtime; }

Permit PermitSemaphore::acquire(int permits) { return *granted(*context_, wire_, {}, permits); }

std::optional<Permit> PermitSemaphore::try_acquire(int permits) {
  const Duration timeout = context_->store.options().command_timeout;
  return granted(*context_, wire_, {.wait = false, .deadline = deadline_after(runtime().now(), timeout)},
                 permits);
}

std::optional<Permit> PermitSemaphore::try_acquire_until(MonotonicTime deadline, int permits,
                                                         std::stop_token stop) {
  if (deadline <= runtime().now()) return try_acquire(permits);
  return granted(*context_, wire_, {.deadline = deadline, .stop = std::move(stop)}, permits);
}

std::optional<Permit> PermitSemaphore::try_acquire_for(Duration wait, int permits, std::stop_token stop) {
  return try_acquire_until(end_of_wait(runtime(), wait), permits, std::move(stop));
}

bool PermitSemaphore::release(const std::string& id) {
  bool unseen = false;
  const redis::Answer answer =
      context_->insist(key(), *wire_->release, wire_->release_keys, wire_->release_args(id), unseen);
  const bool held = released(answer.reply) == 1 || unseen;
  if (held) {
    context_->tell({.kind = LockEvent::Kind::released, .key = key(), .acquisition = id, .node = answer.node});
  }
  return held;
}

std::optional<MonotonicTime> PermitSemaphore::extend(const std::string& id) {
  const std::array<std::string_view, 2> args{context_->lease_ms, id};
  context_->tell({.kind = LockEvent::Kind::renewing, .key = key(), .acquisition = id});
  bool unseen = false;
  const redis::Answer answer =
      context_->insist(key(), *wire_->renew, wire_->renew_keys, args, unseen, LockContext::Way::renew);
  const auto& said = answer.reply.items;
  if (said.size() != 1 || said[0].type != redis::Reply::Type::integer) {
    throw Rejected("lock '" + key() +
                       "': " + (said.empty() ? "an answer of an unknown form" : redis::legible(said[0].text)),
                   key(), std::string(answer.node), false);
  }
  if (said[0].integer != 1) {
    context_->tell({.kind = LockEvent::Kind::lost,
                    .key = key(),
                    .acquisition = id,
                    .node = answer.node,
                    .reason = "the server no longer holds it for this owner"});
    return std::nullopt;
  }
  const MonotonicTime until = lease_end(answer.sent_at, context_->options.lease);
  context_->tell({.kind = LockEvent::Kind::renewed,
                  .key = key(),
                  .acquisition = id,
                  .node = answer.node,
                  .valid_until = until,
                  .sent_at = answer.sent_at});
  return until;
}

int PermitSemaphore::free_permits() { return holdfast::free_permits(*context_, *wire_); }
void PermitSemaphore::set_permits(int permits) { holdfast::set_permits(*context_, *wire_, permits); }

}  // namespace holdfast
