// Network over TLS: what is written to a stream goes encrypted over a stream of another Network, sockets or
// simulated links alike. By OpenSSL.
//
// A connection that cannot be trusted ends with IoStatus::untrusted; Connected::why, or Stream::trouble()
// where the other side tells it later (a server of TLS 1.3 looks at a client's certificate after the client
// is connected), says which certificate failed, why, and what to do.
//
// A second connection to an endpoint resumes the session of an earlier one where the server has given a
// ticket (RFC 8446, section 2.2): no certificates go over the line again. A ticket is used once. listen()
// gives none.
//
// In a simulated world keys and ciphertext differ from run to run, for OpenSSL draws them itself; lengths and
// order do not where the certificates' signatures are of one length (Ed25519, RSA). Whether a certificate is
// valid now is asked of Runtime::wall_now().
//
// close() and reset() end the stream below and send no close_notify: a protocol that does not know by itself
// where its messages end must not be read up to the end of the stream. finish_writing() sends it.
//
// Thread safety: as Network, of the network below.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "lib/tls/tls_options.h"

namespace holdfast {

// What a TlsNetwork has done as a client.
struct TlsStatistics {
  std::uint64_t handshakes = 0;  // that succeeded
  std::uint64_t resumed = 0;     // of those: by the session of an earlier connection
};

class TlsNetwork final : public Network {
 public:
  // `runtime` and `below` outlive it and its streams. The files are read here, once. Throws BadTls.
  TlsNetwork(Runtime& runtime, Network& below, const TlsOptions& options);
  ~TlsNetwork() override;

  // Connects and does the handshake, so that who listens must have accepted, and read.
  Connected connect(const Endpoint& to, MonotonicTime deadline) override;
  // Who is accepted does the handshake with the first read or write. REQUIRES: there is a certificate_file.
  std::unique_ptr<Listener> listen(const Endpoint& at) override;
  // The same of a connection that another listener has accepted.
  std::unique_ptr<Stream> accepted(std::unique_ptr<Stream> below);

  TlsStatistics statistics() const noexcept;  // so far

 private:
  class Context;
  class TlsListener;
  Runtime& runtime_;
  Network& below_;
  const std::shared_ptr<Context> context_;  // shared with the streams
};

}  // namespace holdfast
