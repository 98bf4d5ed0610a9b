#include "lib/lock/read_write/read_write_lock.h"

#include <array>
#include <map>
#include <mutex>

#include "lib/lock/api/owner.h"
#include "lib/lock/engine/lease.h"
#include "lib/lock/engine/lock_context.h"
#include "lib/lock/engine/wire_lock.h"
#include "lib/lock/read_write/read_write_scripts.h"

namespace holdfast {
namespace {

// Two locks of the engine, one a side, and what a task that holds both sides needs.
class WireReadWriteLock final : public ReadWriteLock {
 public:
  WireReadWriteLock(std::shared_ptr<LockContext> context, const std::string& key, bool fair);

  // --- write side ---------------------------------------------------------------------------------------
  void lock() override;
  bool try_lock() override { return try_lock_by(kNever); }
  using Lock::try_lock_until;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  bool try_lock_leased(Duration lease, MonotonicTime deadline, std::stop_token stop = {}) override;
  void release() override { release_by(kNever); }
  bool try_lock_by(MonotonicTime deadline) override;
  void release_by(MonotonicTime deadline) override;
  bool is_held_by_me() const override { return write_.is_held_by_me(); }
  int hold_count() const override { return write_.hold_count(); }
  std::optional<MonotonicTime> valid_until() const override { return write_.valid_until(); }
  std::string acquisition() const override { return write_.acquisition(); }
  std::stop_token lost() const override { return write_.lost(); }
  std::optional<std::uint64_t> token() const override { return write_.token(); }
  bool in_use() const override { return write_.in_use() || read_.in_use(); }
  bool force_unlock() override { return write_.force_unlock(); }
  std::string record() const override { return write_.record(); }
  void extend(Duration lease) override { write_.extend(lease); }
  std::string detach() override;
  bool adopt(const std::string& detached) override;
  const std::string& key() const noexcept override { return write_.key(); }
  Runtime& runtime() const noexcept override { return write_.runtime(); }
  std::string_view mode() const noexcept override { return write_.mode(); }

  void downgrade() override;
  Lock& read() noexcept override { return read_side_; }

 private:
  class ReadSide final : public Lock {
   public:
    explicit ReadSide(WireReadWriteLock& whole) : whole_(whole) {}
    void lock() override;
    bool try_lock() override { return try_lock_by(kNever); }
    bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
    bool try_lock_leased(Duration lease, MonotonicTime deadline, std::stop_token stop = {}) override;
    void release() override { release_by(kNever); }
    bool try_lock_by(MonotonicTime deadline) override;
    void release_by(MonotonicTime deadline) override;
    bool is_held_by_me() const override { return side().is_held_by_me(); }
    int hold_count() const override;
    std::optional<MonotonicTime> valid_until() const override { return side().valid_until(); }
    std::string acquisition() const override { return side().acquisition(); }
    std::stop_token lost() const override { return side().lost(); }
    std::optional<std::uint64_t> token() const override { return side().token(); }
    bool in_use() const override { return whole_.in_use(); }
    bool force_unlock() override { return whole_.force_unlock(); }
    std::string record() const override { return whole_.record(); }
    void extend(Duration lease) override { const_cast<WireLock&>(side()).extend(lease); }
    std::string detach() override;
    bool adopt(const std::string& detached) override;
    const std::string& key() const noexcept override { return whole_.key(); }
    Runtime& runtime() const noexcept override { return whole_.runtime(); }
    std::string_view mode() const noexcept override { return "read"; }

   private:
    const WireLock& side() const;  // which holds for the caller
    WireReadWriteLock& whole_;
  };

  void refuse_upgrade() const;
  bool reads_as_writer();  // the caller holds the write side: counted, nothing else to do
  int take_reads();        // how deep the caller reads as the writer; from here on it does not
  // Calls `act`, which ends the caller's hold of the write side. Where it throws, `reads` went with the hold.
  template <class Act>
  auto with_reads(int reads, Act act);
  void become_reader(int depth, MonotonicTime deadline = kNever);

  WireLock write_, read_;
  ReadSide read_side_;
  const std::shared_ptr<LockContext> context_;
  mutable Mutex mutex_;
  std::map<HolderId, int> reading_writers_;  // how deep the holder of the write side reads
};

WireReadWriteLock::WireReadWriteLock(std::shared_ptr<LockContext> context, const std::string& key, bool fair)
    : write_(context, read_write_wire(key, Side::write, fair, context->options)),
      read_(context, read_write_wire(key, Side::read, fair, context->options)),
      read_side_(*this),
      context_(std::move(context)),
      mutex_(context_->runtime) {}

void WireReadWriteLock::refuse_upgrade() const {
  if (read_.hold_count() == 0 || write_.hold_count() > 0) return;
  throw WouldDeadlock("lock '" + key() +
                          "': the calling task reads and asks to write, which waits for itself; " +
                          "give the read side back first",
                      key(), "", false);
}

void WireReadWriteLock::lock() {
  refuse_upgrade();
  write_.lock();
}

bool WireReadWriteLock::try_lock_by(MonotonicTime deadline) {
  refuse_upgrade();
  return write_.try_lock_by(deadline);
}

bool WireReadWriteLock::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  refuse_upgrade();
  return write_.try_lock_until(deadline, std::move(stop));
}

bool WireReadWriteLock::try_lock_leased(Duration lease, MonotonicTime deadline, std::stop_token stop) {
  refuse_upgrade();
  return write_.try_lock_leased(lease, deadline, std::move(stop));
}

int WireReadWriteLock::take_reads() {
  const std::scoped_lock guard(mutex_);
  const auto found = reading_writers_.find(current_holder(runtime()));
  if (found == reading_writers_.end()) return 0;
  const int reads = found->second;
  reading_writers_.erase(found);
  return reads;
}

template <class Act>
auto WireReadWriteLock::with_reads(int reads, Act act) {
  const std::shared_ptr<Hold> hold = write_.my_hold();
  try {
    return act();
  } catch (const LockError&) {
    if (reads > 0 && write_.hold_count() > 0) {  // refused before anything was done
      const std::scoped_lock guard(mutex_);
      reading_writers_[current_holder(runtime())] = reads;
    } else if (reads > 0) {
      read_.put_lost(*hold, reads);
    }
    throw;
  }
}

// What its task reads as the writer goes with it.
std::string WireReadWriteLock::detach() {
  const int reads = write_.hold_count() > 0 ? take_reads() : 0;
  return with_reads(reads, [&] { return write_.detach(); });
}

bool WireReadWriteLock::adopt(const std::string& detached) {
  refuse_upgrade();
  return write_.adopt(detached);
}

void WireReadWriteLock::release_by(MonotonicTime deadline) {
  const int reads = write_.hold_count() == 1 ? take_reads() : 0;
  if (reads > 0) {
    with_reads(reads, [&] { become_reader(reads, deadline); });
  } else {
    write_.release_by(deadline);
  }
}

void WireReadWriteLock::downgrade() {
  if (write_.hold_count() != 1) {
    throw NotOwner("lock '" + key() + "': only who holds the write side exactly once can become a reader",
                   key(), "", false);
  }
  const int reads = take_reads();
  with_reads(reads, [&] { become_reader(1 + reads); });
}

void WireReadWriteLock::become_reader(int depth, MonotonicTime deadline) {
  const std::shared_ptr<Hold> hold = write_.take(1);
  struct PassTurn {
    LocalQueue* turn;
    ~PassTurn() {
      if (turn != nullptr) turn->pass();
    }
  } pass_turn{hold->turn.get()};
  const std::array<std::string_view, 3> args{hold->owner, write_.wire().token_ms, context_->lease_ms};
  // Where a grant has to be acknowledged, this is none: the claim stays as it is until the next renewal.
  const bool renews = !context_->options.survivor;
  // A confirmation that comes after the end does not bring the hold back.
  const MonotonicTime end = hold->valid_until();
  const auto is_over = [&] { return runtime().now() >= end; };
  const auto lost = [&](std::string_view reason) {
    LockLost error("lock '" + key() +
                       "': the hold was lost before it became a reader's; the integrity of what it "
                       "protects may have been compromised",
                   key(), std::string(hold->node), false);
    context_->watchdog.lost_at_release(*hold, reason);
    return error;
  };
  const auto give_back_later = [&] {
    context_->late_release.add(hold->wire, hold->owner,
                               hold->gone_by(runtime().now(), context_->options.lease));
  };
  redis::Answer answer;
  bool unseen = false;
  try {
    answer =
        context_->insist(key(), kReadWriteRelease, write_.wire().release_keys, args, unseen,
                         renews ? LockContext::Way::renew : LockContext::Way::call, std::min(deadline, end));
  } catch (const LockError& error) {
    give_back_later();
    if (is_over()) throw lost("no server answered its downgrade until its lease was over");
    context_->tell({.kind = LockEvent::Kind::release_failed,
                    .key = key(),
                    .acquisition = hold->owner,
                    .node = error.node(),
                    .reason = error.what(),
                    .mode = write_.mode(),
                    .since = hold->granted_at});
    throw;
  }
  if (released(answer.reply) != 1) throw lost("the server no longer held it for this owner at its downgrade");
  if (is_over()) {
    give_back_later();
    throw lost("the answer to its downgrade came when its lease was over");
  }
  const MonotonicTime valid_until =
      renews ? std::max(end, lease_end(answer.sent_at, context_->options.lease)) : end;
  context_->tell({.kind = LockEvent::Kind::released,
                  .key = key(),
                  .acquisition = hold->owner,
                  .node = answer.node,
                  .mode = write_.mode(),
                  .since = hold->granted_at});
  const auto reader = std::make_shared<Hold>();
  reader->wire = read_.shared_wire();
  reader->owner = hold->owner;
  reader->node = answer.node;
  reader->token = hold->token;
  reader->life = hold->life;
  reader->renew = hold->renew;
  reader->renewals_left = hold->renewals_left;
  reader->extended_until_ns = hold->extended_until_ns.load();
  reader->valid_until_ns = valid_until.time_since_epoch().count();
  if (renews) {
    context_->tell({.kind = LockEvent::Kind::extended,
                    .key = key(),
                    .acquisition = hold->owner,
                    .node = answer.node,
                    .valid_until = valid_until,
                    .sent_at = answer.sent_at,
                    .mode = read_.mode()});
  }
  read_.put(reader, answer.sent_at, depth);
}

bool WireReadWriteLock::reads_as_writer() {
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

bool WireReadWriteLock::ReadSide::try_lock_leased(Duration lease, MonotonicTime deadline,
                                                  std::stop_token stop) {
  return whole_.reads_as_writer() || whole_.read_.try_lock_leased(lease, deadline, std::move(stop));
}

void WireReadWriteLock::ReadSide::lock() {
  if (!whole_.reads_as_writer()) whole_.read_.lock();
}

bool WireReadWriteLock::ReadSide::try_lock_by(MonotonicTime deadline) {
  return whole_.reads_as_writer() || whole_.read_.try_lock_by(deadline);
}

bool WireReadWriteLock::ReadSide::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  return whole_.reads_as_writer() || whole_.read_.try_lock_until(deadline, std::move(stop));
}

void WireReadWriteLock::ReadSide::release_by(MonotonicTime deadline) {
  {
    const std::scoped_lock guard(whole_.mutex_);
    const auto found = whole_.reading_writers_.find(current_holder(runtime()));
    if (found != whole_.reading_writers_.end()) {
      if (--found->second == 0) whole_.reading_writers_.erase(found);
      return;
    }
  }
  whole_.read_.release_by(deadline);
}

std::string WireReadWriteLock::ReadSide::detach() {
  if (&side() == &whole_.write_) {
    throw NotOwner("lock '" + key() + "': the calling task reads as the writer that it is; " +
                       "detach the write side, and its reading goes with it",
                   key(), "", false);
  }
  return whole_.read_.detach();
}

bool WireReadWriteLock::ReadSide::adopt(const std::string& detached) {
  if (whole_.write_.hold_count() > 0) {
    throw WouldDeadlock("lock '" + key() + "': the calling task holds the write side", key(), "", false);
  }
  return whole_.read_.adopt(detached);
}

const WireLock& WireReadWriteLock::ReadSide::side() const {
  const std::scoped_lock guard(whole_.mutex_);
  return whole_.reading_writers_.contains(current_holder(whole_.runtime())) ? whole_.write_ : whole_.read_;
}

int WireReadWriteLock::ReadSide::hold_count() const {
  const std::scoped_lock guard(whole_.mutex_);
  const auto found = whole_.reading_writers_.find(current_holder(whole_.runtime()));
  return found != whole_.reading_writers_.end() ? found->second : whole_.read_.hold_count();
}

}  // namespace

std::shared_ptr<Lock> ReadWriteLocks::make(const std::string& key) {
  return std::make_shared<WireReadWriteLock>(context_, key, fair_);
}

}  // namespace holdfast
