// What the connections of one TlsNetwork have in common: OpenSSL's context, made of TlsOptions, and the
// sessions that can be resumed.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "lib/runtime/time.h"
#include "lib/tls/tls_options.h"
#include "lib/tls/tls_trouble.h"

namespace holdfast::tls {

struct FreeSsl {
  void operator()(SSL* ssl) const {
    // Else its session could not be resumed, for no close_notify was sent.
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
  }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;
using SessionPtr = std::unique_ptr<SSL_SESSION, FreeSsl>;

// What one connection tells while OpenSSL works on it: the application data of its SSL object.
struct Told {
  Refused refused = {};
  std::vector<SessionPtr> sessions = {};  // by which a later connection may be resumed
};

// Thread safety: all members.
class Context {
 public:
  // Throws BadTls.
  Context(Runtime& runtime, TlsOptions options);

  // [parks] One connection, whose two ends are in memory (SSL_get_rbio, SSL_get_wbio). `told` outlives it.
  // `now`: the time of day, by which certificates are valid. connect(): to `to`, as a client. Throws
  // BadTls: a name is missing.
  SslPtr connect(const Endpoint& to, WallTime now, Told& told);
  SslPtr accept(WallTime now, Told& told);
  // [parks] For later connections to `to`.
  void keep(const Endpoint& to, std::vector<SessionPtr> sessions);

  // Whom a server at `to` must prove to be.
  const std::string& name_of(const Endpoint& to) const;
  const TlsOptions& options() const { return options_; }

  // Of connect().
  std::atomic<std::uint64_t> handshakes{0}, resumed{0};

 private:
  SslPtr make(WallTime now, Told& told);
  static int verify(int fine, X509_STORE_CTX* store);
  static int new_session(SSL* ssl, SSL_SESSION* session);

  const TlsOptions options_;
  std::unique_ptr<SSL_CTX, FreeSsl> context_;
  Mutex mutex_;                                          // guards what follows; never held across a park
  std::map<Endpoint, std::deque<SessionPtr>> sessions_;  // the newest at the end
};

}  // namespace holdfast::tls
