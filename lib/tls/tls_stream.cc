#include "lib/tls/tls_stream.h"

#include <openssl/err.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "lib/runtime/check.h"

namespace holdfast::tls {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;  // of plaintext, four records, between two writes below
constexpr std::size_t kReadSize = std::size_t{17} << 10;  // a record and what it costs
constexpr Duration kRetry =
    std::chrono::milliseconds(10);  // while ciphertext was left behind and nobody writes
constexpr MonotonicTime kAtOnce = MonotonicTime::min();

// Holds a role, which only one task has, and gives it up again, also in a killed process.
class Role {
 public:
  Role(bool& flag, Condition& changed) : flag_(flag), changed_(changed) { flag_ = true; }
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;
  ~Role() {
    flag_ = false;
    changed_.notify_all();
  }

 private:
  bool& flag_;
  Condition& changed_;
};

}  // namespace

TlsStream::TlsStream(Runtime& runtime, std::shared_ptr<Context> context, std::unique_ptr<Stream> below,
                     std::unique_ptr<Told> told, SslPtr ssl, Side side, Endpoint to)
    : runtime_(runtime),
      context_(std::move(context)),
      below_(std::move(below)),
      told_(std::move(told)),
      side_(side),
      to_(std::move(to)),
      mutex_(runtime),
      changed_(runtime),
      ssl_(std::move(ssl)),
      in_(kReadSize) {}

IoStatus TlsStream::handshake(MonotonicTime deadline) {
  Lock lock(mutex_);
  return shake_hands(lock, deadline);
}

IoStatus TlsStream::shake_hands(Lock& lock, MonotonicTime deadline) {
  while (!established_) {
    if (closed_.load(std::memory_order_acquire)) return IoStatus::closed;
    if (failed_ != IoStatus::ok) return failed_;
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    const IoStatus status = result == 1 ? IoStatus::ok : verdict(result);
    if (result == 1) {
      established_ = true;
      changed_.notify_all();
      if (side_ == Side::client) {
        context_->handshakes.fetch_add(1, std::memory_order_relaxed);
        if (SSL_session_reused(ssl_.get()) == 1) context_->resumed.fetch_add(1, std::memory_order_relaxed);
      }
    }
    collect();
    if (status == IoStatus::untrusted) send_out(lock, kAtOnce);  // the other side shall know why
    if (status != IoStatus::ok) return status;
    if (const IoStatus sent = send_out(lock, deadline); sent != IoStatus::ok) return sent;
    keep_sessions(lock);
    if (established_) break;
    const IoStatus came = take_in(lock, deadline);
    if (came != IoStatus::ok) return came;
  }
  return IoStatus::ok;
}

IoResult TlsStream::read(std::span<char> into, MonotonicTime deadline) {
  HF_CHECK(!into.empty(), "read into nothing");
  Lock lock(mutex_);
  if (const IoStatus status = shake_hands(lock, deadline); status != IoStatus::ok) return {status, 0};
  for (;;) {
    if (closed_.load(std::memory_order_acquire)) return {IoStatus::closed, 0};
    if (failed_ != IoStatus::ok) return {failed_, 0};
    ERR_clear_error();
    const int got =
        SSL_read(ssl_.get(), into.data(), static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX)));
    const IoStatus status = got > 0 ? IoStatus::ok : verdict(got);
    collect();  // an answer to a change of keys
    // Never waits for a peer that takes nothing in: it may itself wait for this side to read.
    if (!out_.empty() && !writing_) send_out(lock, kAtOnce);
    keep_sessions(lock);
    if (got > 0) return {IoStatus::ok, static_cast<std::size_t>(got)};
    if (status != IoStatus::ok) return {status, 0};
    const bool left_behind = !out_.empty() && !writing_;
    const MonotonicTime until =
        left_behind ? std::min(deadline, deadline_after(runtime_.now(), kRetry)) : deadline;
    const IoStatus came = take_in(lock, until);
    if (came == IoStatus::timed_out && until < deadline) continue;
    if (came != IoStatus::ok) return {came, 0};
  }
}

IoResult TlsStream::write(std::string_view bytes, MonotonicTime deadline) {
  Lock lock(mutex_);
  if (const IoStatus status = shake_hands(lock, deadline); status != IoStatus::ok) return {status, 0};
  std::size_t done = 0;
  do {
    if (closed_.load(std::memory_order_acquire)) return {IoStatus::closed, done};
    if (failed_ != IoStatus::ok) return {failed_, done};
    if (const IoStatus sent = send_out(lock, deadline); sent != IoStatus::ok) return {sent, done};
    const std::size_t end = std::min(bytes.size(), done + kPiece);
    while (done < end) {
      ERR_clear_error();
      const int put = SSL_write(ssl_.get(), bytes.data() + done, static_cast<int>(end - done));
      if (put <= 0) {
        const IoStatus status = verdict(put);
        return {status == IoStatus::ok ? IoStatus::reset : status, done};
      }
      done += static_cast<std::size_t>(put);
    }
    collect();
    if (const IoStatus sent = send_out(lock, deadline); sent != IoStatus::ok) return {sent, done};
  } while (done < bytes.size());
  return {IoStatus::ok, done};
}

// What OpenSSL wants to send joins what is to be sent.
void TlsStream::collect() {
  BIO* const from = SSL_get_wbio(ssl_.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(from, &data);
  if (size <= 0) return;
  out_.append(data, static_cast<std::size_t>(size));
  BIO_reset(from);
}

// Tickets come with what is read first (TLS 1.3), or with the handshake.
void TlsStream::keep_sessions(Lock& lock) {
  if (told_->sessions.empty()) return;
  std::vector<SessionPtr> sessions;
  sessions.swap(told_->sessions);
  lock.unlock();
  context_->keep(to_, std::move(sessions));
  lock.lock();
}

// [parks] Waits until something came from below, by this task or by the one that reads there already.
IoStatus TlsStream::take_in(Lock& lock, MonotonicTime deadline) {
  if (ended_ != IoStatus::ok) return ended_;
  if (reading_) {
    return changed_.wait_until(lock, deadline) == std::cv_status::timeout ? IoStatus::timed_out
                                                                          : IoStatus::ok;
  }
  const Role role(reading_, changed_);
  lock.unlock();
  const IoResult got = below_->read(in_, deadline);
  lock.lock();
  if (closed_.load(std::memory_order_acquire)) return IoStatus::closed;
  if (got.ok()) {
    BIO_write(SSL_get_rbio(ssl_.get()), in_.data(), static_cast<int>(got.bytes));
  } else if (got.status != IoStatus::timed_out) {
    ended_ = got.status;
    if (!established_) trouble_ = "during the TLS handshake";
  } else if (!established_) {
    trouble_ = "during the TLS handshake; does the other side speak TLS at this port?";
  }
  return got.status;
}

// [parks] Sends all ciphertext, or says why not; what was not sent stays.
IoStatus TlsStream::send_out(Lock& lock, MonotonicTime deadline) {
  while (!out_.empty()) {
    if (writing_) {
      if (!changed_.wait_until(lock, deadline, [this] { return !writing_; })) return IoStatus::timed_out;
      continue;
    }
    const Role role(writing_, changed_);
    taken_.swap(out_);
    lock.unlock();
    const IoResult put = below_->write(taken_, deadline);
    lock.lock();
    out_.insert(0, taken_, put.bytes);
    taken_.clear();
    if (!put.ok()) return closed_.load(std::memory_order_acquire) ? IoStatus::closed : put.status;
  }
  return IoStatus::ok;
}

// What a result of OpenSSL means; ok: it needs more input. Fills `trouble_`.
IoStatus TlsStream::verdict(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return IoStatus::ok;
    case SSL_ERROR_ZERO_RETURN: return IoStatus::eof;
    default: break;
  }
  bool certain = true;
  trouble_ = why_failed(told_->refused, context_->name_of(to_), side_ == Side::client, established_, certain);
  failed_ = certain ? IoStatus::untrusted : IoStatus::reset;
  changed_.notify_all();
  return failed_;
}

void TlsStream::finish_writing() noexcept {
  if (closed_.load(std::memory_order_acquire)) return;
  try {
    Lock lock(mutex_);
    if (established_ && failed_ == IoStatus::ok) {
      SSL_shutdown(ssl_.get());
      collect();
      send_out(lock, kAtOnce);
    }
  } catch (const TaskCancelled&) {  // the process is dead, and its connections with it
  }
  ERR_clear_error();
  below_->finish_writing();
}

void TlsStream::close() noexcept {
  closed_.store(true, std::memory_order_release);
  below_->close();
}

void TlsStream::reset() noexcept {
  closed_.store(true, std::memory_order_release);
  below_->reset();
}

std::string TlsStream::trouble() const {
  const Lock lock(mutex_);
  return trouble_;
}

}  // namespace holdfast::tls
