// Why there is no TLS connection, in a sentence: which certificate, what is wrong with it, what to do.
#pragma once

#include <openssl/ssl.h>

#include <string>

namespace holdfast::tls {

// The first certificate that was refused; code X509_V_OK: none was.
struct Refused {
  int code = X509_V_OK;
  int depth = 0;  // 0: the peer's own; more: of a CA of its chain
  std::string subject = {}, issuer = {};
  std::string names = {};  // for which it is, "a, b"; only of the peer's own
  std::string begin = {}, end = {};
};

// Fills `into` from the certificate that is looked at. For SSL_set_verify().
void note_refused(X509_STORE_CTX* store, Refused& into);

// `what`: "the server's certificate", "the client's certificate". `host`: whom it should name.
std::string why_refused(const Refused& refused, std::string_view host, bool by_client);

// The reasons of OpenSSL's error queue, which is emptied. `refused`: as noted. `certain`: set to whether
// another attempt is no use before a person has mended something.
std::string why_failed(const Refused& refused, std::string_view host, bool by_client, bool established,
                       bool& certain);

// The newest reason of OpenSSL's error queue, which is emptied; "" when there is none.
std::string last_reason();

}  // namespace holdfast::tls
