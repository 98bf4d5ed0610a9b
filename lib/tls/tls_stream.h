// One end of a TLS connection over another Stream.
//
// OpenSSL works in memory, under a mutex, and never sees the stream below: bytes that came are fed to it, and
// what it wants to send is taken from it. So one task may read while another one writes, as the port Stream
// promises, though an SSL object knows no two threads at a time. Two roles park without the mutex: who reads
// from below, and who writes there.
//
// A write that times out leaves ciphertext behind, for a record cannot be taken back. Its plaintext counts as
// handed over; the next write sends the rest first, and a read tries to while it waits.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "lib/tls/tls_context.h"

namespace holdfast::tls {

class TlsStream final : public Stream {
 public:
  enum class Side { client, server };
  // `ssl`: of `context`, which tells `told`. `to`: where a client is connected to.
  TlsStream(Runtime& runtime, std::shared_ptr<Context> context, std::unique_ptr<Stream> below,
            std::unique_ptr<Told> told, SslPtr ssl, Side side, Endpoint to);

  // [parks] Both sides know each other. A read or write does this, too.
  IoStatus handshake(MonotonicTime deadline);

  IoResult read(std::span<char> into, MonotonicTime deadline) override;
  IoResult write(std::string_view bytes, MonotonicTime deadline) override;
  void finish_writing() noexcept override;
  void close() noexcept override;
  void reset() noexcept override;
  Endpoint local() const override { return below_->local(); }
  Endpoint peer() const override { return below_->peer(); }
  std::string trouble() const override;

 private:
  using Lock = std::unique_lock<Mutex>;

  IoStatus shake_hands(Lock& lock, MonotonicTime deadline);
  IoStatus take_in(Lock& lock, MonotonicTime deadline);
  IoStatus send_out(Lock& lock, MonotonicTime deadline);
  void collect();
  void keep_sessions(Lock& lock);
  IoStatus verdict(int result);

  Runtime& runtime_;
  const std::shared_ptr<Context> context_;
  const std::unique_ptr<Stream> below_;
  const std::unique_ptr<Told> told_;
  const Side side_;
  const Endpoint to_;
  std::atomic<bool> closed_{false};

  mutable Mutex mutex_;  // guards everything below; never held across a park
  Condition changed_;    // one of the roles is free, or something came in
  const SslPtr ssl_;
  bool established_ = false;
  bool reading_ = false;            // somebody reads from below
  bool writing_ = false;            // somebody writes there
  IoStatus ended_ = IoStatus::ok;   // how reading from below ended
  IoStatus failed_ = IoStatus::ok;  // how TLS itself ended, for good
  std::vector<char> in_;            // of who reads
  std::string out_, taken_;         // ciphertext: to be sent; in the hands of who writes
  std::string trouble_;
};

}  // namespace holdfast::tls
