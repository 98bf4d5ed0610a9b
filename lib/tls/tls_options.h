// How connections are encrypted, and whom this side trusts.
//
// By default a server must show a certificate that a CA trusted by the system has signed, that is valid now,
// and that names the host that was connected to. Nothing weaker than TLS 1.2 is spoken.
#pragma once

#include <stdexcept>
#include <string>

namespace holdfast {

// The lowest version that is spoken (RFC 5246, RFC 8446).
enum class TlsVersion { tls_1_2, tls_1_3 };

struct TlsOptions {
  // PEM file with one or more CA certificates. When ca_folder is empty, too, the CAs that the system trusts;
  // else these alone.
  std::string ca_file = {};
  std::string ca_folder = {};  // of PEM files named by hash (openssl rehash)
  // PEM file of the certificate (and the chain behind it) that this side shows. A server that asks for a
  // client's certificate lets nobody in without one.
  std::string certificate_file = {};
  std::string key_file = {};      // PEM file of its key; both or none
  std::string key_password = {};  // of the key file, if it has one
  // What the server's certificate must name, and what it is asked for (SNI, RFC 6066); empty: the host that
  // is connected to. Needed for a unix socket, and where a Sentinel or a Cluster tells addresses that the
  // certificates do not name.
  std::string server_name = {};
  TlsVersion minimum_version = TlsVersion::tls_1_2;  // nothing older is spoken
  // True: whoever answers is believed to be the server, and can read and forge everything, the password
  // included. For a test against a server whose certificate nobody can check.
  bool insecure_accept_any_certificate = false;
  // Of TlsNetwork::listen(): who connects must show a certificate that the CAs above have signed.
  bool demand_client_certificates = false;

  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// TlsOptions that cannot be used: a file that is missing, or is no PEM, a key that is not the certificate's.
// what() names the file and what was expected; it never holds a password.
class BadTls : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

}  // namespace holdfast
