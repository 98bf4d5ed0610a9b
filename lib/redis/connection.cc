#include "lib/redis/connection.h"

#include <algorithm>
#include <utility>

#include "lib/redis/failure.h"
#include "lib/redis/role.h"
#include "lib/runtime/check.h"

namespace holdfast::redis {
namespace {

constexpr std::size_t kFirstBuffer = 512;  // grows to what the traffic needs
constexpr std::size_t kLargestBuffer = 64 * 1024;
constexpr unsigned kWritesAlone = 31;
constexpr Duration kProbeAfter = std::chrono::milliseconds(1);  // idle for longer: look before sending
constexpr MonotonicTime kAtOnce{};                              // a deadline that does not wait
constexpr int kLastReads = 16;  // of what lies there when a deadline has passed

}  // namespace

// Leaves no pointer to a caller's stack behind, also when the caller is cancelled while it waits.
class Connection::PendingGuard {
 public:
  PendingGuard(Connection& connection, Pending& pending) : connection_(connection), pending_(pending) {}
  ~PendingGuard() {
    if (pending_.state != State::waiting) return;
    // The process is being killed: its tasks no longer run side by side, the mutex has no meaning any more.
    connection_.give_up(pending_);
  }
  PendingGuard(const PendingGuard&) = delete;
  PendingGuard& operator=(const PendingGuard&) = delete;

 private:
  Connection& connection_;
  Pending& pending_;
};

Connection::Connection(Runtime& runtime, std::unique_ptr<Stream> stream, std::size_t node, Settings settings)
    : runtime_(runtime),
      stream_(std::move(stream)),
      node_(node),
      settings_(settings),
      mutex_(runtime),
      buffer_(kFirstBuffer),
      reader_(settings.max_reply),
      last_heard_(runtime.now()),
      task_(runtime, "reader") {}

Connection::~Connection() = default;

Connection::Result Connection::execute(std::span<const CommandView> commands, std::span<Reply> replies,
                                       MonotonicTime now, MonotonicTime deadline, bool background,
                                       const std::stop_token& stop) {
  HF_CHECK(!commands.empty() && commands.size() == replies.size(), "a reply for each command");
  Pending pending;
  pending.parker = &runtime_.parker();
  pending.replies = replies;
  pending.deadline = deadline;
  pending.background = background || stop.stop_possible();
  if (stop.stop_possible()) pending.stop = &stop;
  pending.sent_at = now;
  if (pending.sent_at >= deadline) return {Outcome::timed_out, false, pending.sent_at};

  Lock lock(mutex_);
  if (!background && entries_.empty() && !reading_ && pending.sent_at - last_heard_ >= kProbeAfter) {
    read_some(lock, nullptr,
              kAtOnce);  // a connection that died while nobody used it is noticed before sending
    hand_on();           // others may have come meanwhile, and have left the reading to us
  }
  if (broken_) return {protocol_ ? Outcome::protocol : Outcome::broken, false, pending.sent_at};
  check_silence();
  wake_settled(lock);
  if (broken_ || !usable()) return {Outcome::broken, false, pending.sent_at};
  if (outstanding_ + commands.size() > settings_.max_pending) {
    return {Outcome::full, false, pending.sent_at};
  }
  enqueue(pending, commands);
  {
    const PendingGuard guard(*this, pending);
    wait(lock, pending);
    if (!lock.owns_lock()) return {Outcome::replied, true, pending.sent_at};
    if (pending.state == State::timed_out) check_silence();
  }
  hand_on();
  wake_settled(lock);
  switch (pending.state) {
    case State::replied: return {Outcome::replied, true, pending.sent_at};
    case State::timed_out: {
      const bool stopped = stop.stop_requested() && runtime_.now() < deadline;
      const Outcome outcome = stopped ? Outcome::stopped : Outcome::timed_out;
      return {outcome, pending.may_have_executed, pending.sent_at};
    }
    default: break;
  }
  return {protocol_ ? Outcome::protocol : Outcome::broken, pending.may_have_executed, pending.sent_at};
}

void Connection::enqueue(Pending& pending, std::span<const CommandView> commands) {
  const std::size_t before = out_.size();
  try {
    for (const CommandView& command : commands) append_command(out_, command);
    entries_.push_back({&pending, out_begin_ + before, pending.sent_at, commands.size()});
  } catch (...) {  // no memory: nothing of it is sent
    out_.resize(before);
    throw;
  }
  pending.sequence = first_sequence_ + entries_.size() - 1;
  outstanding_ += commands.size();
  if (!pending.background) return;
  background_until_ =
      background_waiting_ == 0 ? pending.deadline : std::max(background_until_, pending.deadline);
  ++background_waiting_;
}

// Until the call is settled, one way or another. The mutex is free at return when it was settled by another
// task.
void Connection::wait(Lock& lock, Pending& pending) {
  while (pending.state == State::waiting) {
    if (pending.stop != nullptr && pending.stop->stop_requested()) {
      give_up(pending);
      break;
    }
    bool in_time = true;
    if (!pending.background && !out_.empty() && !writing_) {
      in_time = write_some(lock, &pending, pending.deadline);
    } else if (!pending.background && !reading_) {
      in_time = read_some(lock, &pending, pending.deadline);
      // However fast it comes: what is not complete at the deadline comes too late.
      if (pending.state == State::waiting && runtime_.now() >= pending.deadline) in_time = false;
    } else {
      if (pending.background) {
        hand_on();                          // somebody must serve us
        if (!pending.background) continue;  // nobody can
      } else {
        park(pending);
      }
      lock.unlock();
      in_time = pending.parker->park_until(pending.deadline);
      if (pending.state.load(std::memory_order_acquire) == State::replied &&
          pending.woken.load(std::memory_order_acquire)) {
        return;  // the usual case, without the mutex
      }
      lock.lock();
      unpark(pending);
    }
    if (!in_time && pending.state == State::waiting) {
      try_last_moment(lock, pending);
      if (pending.state == State::waiting) give_up(pending);
    }
  }
  while (pending.state != State::timed_out && !pending.woken.load(std::memory_order_acquire)) {
    lock.unlock();  // the task that settled it is about to set `woken`
    runtime_.yield();
    lock.lock();
  }
}

// The deadline has passed, but this process may only have slept: the reply may lie there unread.
void Connection::try_last_moment(Lock& lock, Pending& pending) {
  if (reading_) {
    lock.unlock();
    runtime_.yield();
    lock.lock();
  } else if (!pending.background) {
    for (int i = 0; i < kLastReads && pending.state == State::waiting; ++i) {
      if (!read_some(lock, &pending, kAtOnce)) break;
    }
  }
}

bool Connection::anybody() const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].pending != nullptr) return true;
  }
  return false;
}

// [parks] Lets others that are about to send do so, so that one write serves all. Calls that were answered by
// the same read are about to send again; other calls may be. While no call joins, only one write in many
// waits.
void Connection::gather(Lock& lock) {
  if (last_batch_ <= 1) {
    if (entries_.size() <= 1) return;
    if (writes_alone_ > 0) {
      --writes_alone_;
      return;
    }
  }
  const std::size_t before = out_.size();
  lock.unlock();
  runtime_.yield();
  lock.lock();
  writes_alone_ = out_.size() > before ? 0 : kWritesAlone;
}

// [parks] Hands over what is queued until nothing is. False: the deadline passed first.
// REQUIRES: nobody is writing.
bool Connection::write_some(Lock& lock, Pending* self, MonotonicTime deadline) {
  const RoleGuard role(writing_);
  gather(lock);
  while (!out_.empty() && !broken_) {
    taken_.swap(out_);
    out_begin_ += taken_.size();
    lock.unlock();
    const IoResult result = stream_->write(taken_, deadline);
    const std::string more = result.ok() ? std::string() : stream_->trouble();
    lock.lock();
    handed_ += result.bytes;
    if (broken_) return true;
    if (result.bytes < taken_.size()) {
      out_.insert(0, taken_, result.bytes);
      out_begin_ = handed_;
      taken_.clear();
      if (result.status == IoStatus::timed_out) return false;
      // The reader finds the reason too, and perhaps a last reply before it; it is as well to stop here.
      break_off(describe(result.status, more));
      wake_settled(lock);
      return true;
    }
    taken_.clear();
    if (taken_.capacity() > kLargestBuffer) taken_.shrink_to_fit();
    // Answered meanwhile: somebody else can write for the others.
    if (self != nullptr && self->state != State::waiting && parked_ != nullptr) return true;
  }
  return true;
}

// [parks] Reads once and settles the calls that are answered. False: the deadline passed. REQUIRES: nobody is
// reading.
bool Connection::read_some(Lock& lock, Pending* self, MonotonicTime deadline) {
  if (broken_) return true;
  const RoleGuard role(reading_);
  lock.unlock();
  const IoResult result = stream_->read(buffer_, deadline);
  const std::string more = result.ok() ? std::string() : stream_->trouble();
  lock.lock();
  if (broken_) return true;
  if (result.status == IoStatus::timed_out) return false;
  if (!result.ok()) {
    break_off(describe(result.status, more));
    wake_settled(lock);
    return true;
  }
  last_heard_ = runtime_.now();
  reader_.feed({buffer_.data(), result.bytes});
  deliver(self);
  if (result.bytes == buffer_.size() && buffer_.size() < kLargestBuffer) buffer_.resize(buffer_.size() * 2);
  wake_settled(lock);
  return true;
}

// Wakes the settled calls without the mutex, which each of them would wait for; locked again at return.
void Connection::wake_settled(Lock& lock) {
  if (settled_ == nullptr) return;
  Pending* pending = std::exchange(settled_, nullptr);
  last_settled_ = nullptr;
  lock.unlock();
  while (pending != nullptr) {
    Pending* const next = pending->next;
    pending->parker->unpark();
    pending->woken.store(true, std::memory_order_release);  // from here on it may be gone
    pending = next;
  }
  lock.lock();
}

void Connection::deliver(Pending* self) {
  last_batch_ = 0;
  Reply reply;
  for (;;) {
    const ReplyReader::Next next = reader_.next(reply);
    if (next == ReplyReader::Next::incomplete) return;
    if (next == ReplyReader::Next::broken) {
      break_off(reader_.too_large()
                    ? "the server sends " + reader_.error()
                    : "what came back is not RESP (" + reader_.error() + "): is this a Redis server?",
                true);
      return;
    }
    if (entries_.empty() || entries_.front().begin >= out_begin_) {
      const std::string text = reply.is_error() || reply.is_string() ? ": " + legible(reply.text) : "";
      // "-ERR max number of clients reached" comes before any command, and the server hangs up.
      break_off("the server said something that nobody asked for" + text, !reply.is_error());
      return;
    }
    Entry& entry = entries_.front();
    if (entry.pending != nullptr) entry.pending->replies[entry.pending->received++] = std::move(reply);
    --outstanding_;
    if (--entry.remaining > 0) continue;
    Pending* const pending = entry.pending;
    entries_.pop_front();
    ++first_sequence_;
    ++last_batch_;
    if (pending != nullptr) settle(*pending, State::replied, self);
  }
}

// REQUIRES: its entry no longer refers to it, or is about to be dropped.
void Connection::settle(Pending& pending, State state, Pending* self) {
  unpark(pending);
  if (pending.background) --background_waiting_;
  if (&pending == self) {
    pending.woken.store(true, std::memory_order_relaxed);
  } else {
    pending.next = nullptr;
    (last_settled_ != nullptr ? last_settled_->next : settled_) = &pending;
    last_settled_ = &pending;
  }
  pending.state.store(state, std::memory_order_release);
}

// The caller waits no longer. What the network has not seen yet is taken back; the rest stays in the order.
void Connection::give_up(Pending& pending) {
  if (pending.background) --background_waiting_;
  pending.state = State::timed_out;
  unpark(pending);
  const std::size_t index = pending.sequence - first_sequence_;
  HF_CHECK(index < entries_.size() && entries_[index].pending == &pending, "a waiting call has its place");
  Entry& entry = entries_[index];
  entry.pending = nullptr;
  if (entry.begin < out_begin_ || entry.begin < handed_) {
    pending.may_have_executed = true;
    return;
  }
  const std::uint64_t end =
      index + 1 < entries_.size() ? entries_[index + 1].begin : out_begin_ + out_.size();
  const std::uint64_t size = end - entry.begin;
  out_.erase(entry.begin - out_begin_, size);
  outstanding_ -= entry.remaining;
  entries_.erase(index);
  for (std::size_t i = index; i < entries_.size(); ++i) {
    entries_[i].begin -= size;
    if (entries_[i].pending != nullptr) --entries_[i].pending->sequence;
  }
}

void Connection::break_off(std::string why, bool protocol) {
  if (broken_) return;
  broken_ = true;
  protocol_ = protocol;
  why_ = std::move(why);
  usable_.store(false, std::memory_order_release);
  stream_->close();
  // What a writer has in its hands may be on its way.
  const std::uint64_t seen = writing_ ? std::max(out_begin_, handed_) : handed_;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.pending == nullptr) continue;
    entry.pending->may_have_executed = entry.begin < seen;
    settle(*entry.pending, State::broken, nullptr);
  }
  first_sequence_ += entries_.size();
  entries_.clear();
  outstanding_ = 0;
  out_.clear();
  task_.wake();
}

// Since when we wait in vain for the oldest reply.
MonotonicTime Connection::silent_since() const { return std::max(last_heard_, entries_.front().sent_at); }

// Breaks off when nothing has come for long, and the oldest call outstanding has been given up.
void Connection::check_silence() {
  if (broken_ || entries_.empty() || entries_.front().pending != nullptr) return;
  const Duration silent = runtime_.now() - silent_since();
  if (silent < settings_.silence) return;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silent).count();
  break_off("no reply for " + std::to_string(ms) + " ms");
}

// Sees to it that somebody takes the roles that are free and needed.
void Connection::hand_on() {
  if (tell_parked() == 0) return;
  if (!writing_ && !out_.empty() && anybody()) task_must_write_ = true;
  if (task_needed()) start_task();
}

// Signals parked calls, the longest parked first, to take the roles that are free and needed (a call in a
// role cannot be signalled). Returns the number of roles left unfilled.
int Connection::tell_parked() {
  if (broken_ || entries_.empty()) return 0;
  const int needed = (!writing_ && !out_.empty() ? 1 : 0) + (reading_ ? 0 : 1);
  for (; told_ < needed && untold_ != nullptr; untold_ = untold_->next) {
    untold_->told = true;
    untold_->parker->unpark();
    ++told_;
  }
  return std::max(0, needed - told_);
}

void Connection::park(Pending& pending) {
  pending.parked = true;
  pending.told = false;
  pending.next = nullptr;
  pending.previous = last_parked_;
  (last_parked_ != nullptr ? last_parked_->next : parked_) = &pending;
  last_parked_ = &pending;
  if (untold_ == nullptr) untold_ = &pending;
}

void Connection::unpark(Pending& pending) {
  if (!pending.parked) return;
  pending.parked = false;
  if (pending.told) --told_;
  if (untold_ == &pending) untold_ = pending.next;
  (pending.previous != nullptr ? pending.previous->next : parked_) = pending.next;
  (pending.next != nullptr ? pending.next->previous : last_parked_) = pending.previous;
}

// --- the end ---------------------------------------------------------------------------------------------

bool Connection::idle() {
  const Lock lock(mutex_);
  return broken_ || (entries_.empty() && !task_.running());
}

std::string Connection::why_broken() {
  const Lock lock(mutex_);
  return why_;
}

void Connection::shutdown() {
  Lock lock(mutex_);
  break_off("the client was closed");
  wake_settled(lock);
  lock.unlock();
  task_.join();
}

}  // namespace holdfast::redis
