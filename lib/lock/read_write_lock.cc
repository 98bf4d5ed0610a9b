#include "read_write_lock.h"

#include <array>
#include <mutex>

#include "lease.h"
#include "lock_context.h"
#include "read_write_scripts.h"

namespace holdfast {

ReadWriteLock::ReadWriteLock(std::shared_ptr<LockContext> context, const std::string& key, bool fair)
    : write_(context, read_write_wire(key, Side::write, fair, context->options.fencing)),
      read_(context, read_write_wire(key, Side::read, fair, context->options.fencing)),
      read_side_(*this),
      context_(std::move(context)),
      mutex_(context_->runtime) {}

void ReadWriteLock::refuse_upgrade() const {
  if (read_.hold_count() == 0 || write_.hold_count() > 0) return;
  throw WouldDeadlock("lock '" + key() +
                          "': the calling task reads and asks to write, which waits for itself; " +
                          "give the read side back first",
                      key(), "", false);
}

void ReadWriteLock::lock() {
  refuse_upgrade();
  write_.lock();
}

bool ReadWriteLock::try_lock_by(MonotonicTime deadline) {
  refuse_upgrade();
  return write_.try_lock_by(deadline);
}

bool ReadWriteLock::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  refuse_upgrade();
  return write_.try_lock_until(deadline, std::move(stop));
}

void ReadWriteLock::unlock_by(MonotonicTime deadline) {
  int reads = 0;
  if (write_.hold_count() == 1) {
    const std::scoped_lock guard(mutex_);
    const auto found = reading_writers_.find(current_holder(runtime()));
    if (found != reading_writers_.end()) {
      reads = found->second;
      reading_writers_.erase(found);
    }
  }
  if (reads > 0) {
    become_reader(reads, deadline);
  } else {
    write_.unlock_by(deadline);
  }
}

void ReadWriteLock::downgrade() {
  if (write_.hold_count() != 1) {
    throw NotOwner("lock '" + key() + "': only who holds the write side exactly once can become a reader",
                   key(), "", false);
  }
  int depth = 1;
  {
    const std::scoped_lock guard(mutex_);
    const auto found = reading_writers_.find(current_holder(runtime()));
    if (found != reading_writers_.end()) {
      depth += found->second;
      reading_writers_.erase(found);
    }
  }
  become_reader(depth);
}

void ReadWriteLock::become_reader(int depth, MonotonicTime deadline) {
  const std::shared_ptr<Hold> hold = write_.take(1);
  struct PassTurn {
    Turnstile* turn;
    ~PassTurn() {
      if (turn != nullptr) turn->pass();
    }
  } pass_turn{hold->turn.get()};
  const std::array<std::string_view, 2> args{hold->owner, context_->lease_ms};
  redis::Answer answer;
  bool unseen = false;
  try {
    answer = context_->insist(key(), kReadWriteDowngrade, write_.wire().release_keys, args, unseen,
                              &Store::renew, deadline);
  } catch (const LockError&) {
    context_->late_release.add(hold->wire, hold->owner, runtime().now() + context_->options.lease);
    throw;
  }
  const MonotonicTime valid_until =
      std::max(hold->valid_until(), lease_end(answer.sent_at, context_->options.lease));
  if (answer.reply.integer != 1 || runtime().now() >= valid_until) {
    context_->watchdog.lost_at_release(*hold, "the server no longer held it for this owner at its downgrade");
    throw LockLost("lock '" + key() +
                       "': the hold was lost before it became a reader's; the integrity of what it " +
                       "protects may have been compromised",
                   key(), std::string(answer.node), false);
  }
  context_->tell({.kind = LockEvent::Kind::released,
                  .key = key(),
                  .acquisition = hold->owner,
                  .node = answer.node,
                  .mode = write_.mode()});
  const auto reader = std::make_shared<Hold>();
  reader->wire = read_.shared_wire();
  reader->owner = hold->owner;
  reader->node = answer.node;
  reader->token = hold->token;
  reader->life = hold->life;
  reader->renew = hold->renew;
  reader->renewals_left = hold->renewals_left;
  reader->valid_until_ns = valid_until.time_since_epoch().count();
  read_.put(reader, answer.sent_at, depth);
}

bool ReadWriteLock::reads_as_writer() {
  const std::shared_ptr<Hold> hold = write_.my_hold();
  if (!hold) return false;
  if (!write_.check(*hold)) {
    throw LockLost("lock '" + key() + "': the hold was lost; release it before you acquire again", key(),
                   std::string(hold->node), false);
  }
  const std::scoped_lock guard(mutex_);
  ++reading_writers_[current_holder(runtime())];
  return true;
}

void ReadWriteLock::lock_shared() {
  if (!reads_as_writer()) read_.lock();
}

bool ReadWriteLock::try_lock_shared_by(MonotonicTime deadline) {
  return reads_as_writer() || read_.try_lock_by(deadline);
}

bool ReadWriteLock::try_lock_shared_until(MonotonicTime deadline, std::stop_token stop) {
  return reads_as_writer() || read_.try_lock_until(deadline, std::move(stop));
}

void ReadWriteLock::unlock_shared_by(MonotonicTime deadline) {
  {
    const std::scoped_lock guard(mutex_);
    const auto found = reading_writers_.find(current_holder(runtime()));
    if (found != reading_writers_.end()) {
      if (--found->second == 0) reading_writers_.erase(found);
      return;
    }
  }
  read_.unlock_by(deadline);
}

const WireLock& ReadWriteLock::ReadSide::side() const {
  const std::scoped_lock guard(whole_.mutex_);
  return whole_.reading_writers_.contains(current_holder(whole_.runtime())) ? whole_.write_ : whole_.read_;
}

int ReadWriteLock::ReadSide::hold_count() const {
  const std::scoped_lock guard(whole_.mutex_);
  const auto found = whole_.reading_writers_.find(current_holder(whole_.runtime()));
  return found != whole_.reading_writers_.end() ? found->second : whole_.read_.hold_count();
}

std::shared_ptr<Lock> ReadWriteLocks::make(const std::string& key) {
  return std::make_shared<ReadWriteLock>(context_, key, fair_);
}

}  // namespace holdfast
