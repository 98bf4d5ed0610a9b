#include "lib/tls/tls_trouble.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string_view>

namespace holdfast::tls {
namespace {

using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free)>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size > 0 ? size : 0)};
}

// "CN=redis,O=Us"; what cannot be printed is escaped, for it is somebody else's text.
std::string name_of(const X509_NAME* name) {
  const BioPtr bio(BIO_new(BIO_s_mem()), BIO_free);
  if (name != nullptr) X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253 | ASN1_STRFLGS_ESC_CTRL);
  std::string text = text_of(bio.get());
  if (text.size() > 200) text = text.substr(0, 200) + "...";
  return text.empty() ? "without a name" : text;
}

std::string time_of(const ASN1_TIME* time) {
  const BioPtr bio(BIO_new(BIO_s_mem()), BIO_free);
  ASN1_TIME_print_ex(bio.get(), time, ASN1_DTFLGS_ISO8601);
  return text_of(bio.get());
}

std::string address_of(const ASN1_OCTET_STRING* address) {
  const unsigned char* const byte = ASN1_STRING_get0_data(address);
  const int size = ASN1_STRING_length(address);
  std::string text;
  if (size == 4) {
    for (int i = 0; i < 4; ++i) text += (i == 0 ? "" : ".") + std::to_string(byte[i]);
  } else {
    constexpr char kDigits[] = "0123456789abcdef";
    for (int i = 0; i < size; ++i) {
      if (i > 0 && i % 2 == 0) text += ':';
      text += kDigits[byte[i] / 16];
      text += kDigits[byte[i] % 16];
    }
  }
  return text;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 100)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out;
}

// The names and addresses of a certificate (subjectAltName), ten at most.
std::string names_of(const X509* certificate) {
  const auto free_names = [](GENERAL_NAMES* names) { GENERAL_NAMES_free(names); };
  const std::unique_ptr<GENERAL_NAMES, decltype(free_names)> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      free_names);
  if (!names) return {};
  std::string text;
  const int count = sk_GENERAL_NAME_num(names.get());
  for (int i = 0; i < count; ++i) {
    if (i == 10) return text + ", ...";
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    std::string one;
    if (name->type == GEN_DNS) {
      one = printable({reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                       static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName))});
    } else if (name->type == GEN_IPADD) {
      one = address_of(name->d.iPAddress);
    }
    if (!one.empty()) text += (text.empty() ? "" : ", ") + one;
  }
  return text;
}

// What an alert of the peer, or a failure here, means to a person.
struct Reason {
  int code;
  std::string_view text;
  bool certain = true;
};

constexpr std::array kToClient = {
    Reason{SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
           "the server wants a client's certificate, and none was shown: set certificate_file and key_file"},
    Reason{SSL_R_TLSV1_ALERT_UNKNOWN_CA,
           "the server does not trust the CA of the client's certificate: take one that its CA has signed"},
    Reason{SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
           "the server says that the client's certificate is not valid now: renew it"},
    Reason{SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
           "the server says that the client's certificate was revoked"},
    Reason{SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
           "the server says that the client's certificate is not made for a client: look at its extended key "
           "usage"},
    Reason{SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "the server refused the client's certificate"},
    Reason{SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, "the server refused the client's certificate"},
    Reason{SSL_R_TLSV1_ALERT_ACCESS_DENIED, "the server lets the holder of this certificate not in"},
    Reason{SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
           "the server speaks none of the versions of TLS that are allowed here: lower minimum_version, or "
           "let the "
           "server speak a newer one (tls-protocols)"},
    Reason{SSL_R_UNSUPPORTED_PROTOCOL,
           "the server speaks none of the versions of TLS that are allowed here: lower minimum_version, or "
           "let the "
           "server speak a newer one (tls-protocols)"},
    Reason{SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
           "the server and this client have no cipher in common, or it wants a client's certificate: see "
           "certificate_file, and the server's tls-ciphers"},
    Reason{SSL_R_TLSV1_UNRECOGNIZED_NAME,
           "the server does not know the name that it was asked for: see server_name"},
    Reason{SSL_R_WRONG_VERSION_NUMBER,
           "the server does not speak TLS at this port: write redis:// if it is meant to be so"},
    Reason{SSL_R_PACKET_LENGTH_TOO_LONG,
           "the server does not speak TLS at this port: write redis:// if it is meant to be so"},
    Reason{SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC,
           "what came is not what was sent: the bytes were changed on their way", false},
    Reason{SSL_R_UNEXPECTED_EOF_WHILE_READING, "the connection was closed in the middle", false},
};

const Reason* reason_of(int code) {
  for (const Reason& reason : kToClient) {
    if (reason.code == code) return &reason;
  }
  return nullptr;
}

// Alerts of the peer have codes of their own, 1000 on (ssl.h).
bool is_alert(int code) { return code >= SSL_AD_REASON_OFFSET; }

}  // namespace

void note_refused(X509_STORE_CTX* store, Refused& into) {
  into = {};
  into.code = X509_STORE_CTX_get_error(store);
  into.depth = X509_STORE_CTX_get_error_depth(store);
  const X509* const certificate = X509_STORE_CTX_get_current_cert(store);
  if (certificate == nullptr) return;
  into.subject = name_of(X509_get_subject_name(certificate));
  into.issuer = name_of(X509_get_issuer_name(certificate));
  into.begin = time_of(X509_get0_notBefore(certificate));
  into.end = time_of(X509_get0_notAfter(certificate));
  if (into.depth == 0) into.names = names_of(certificate);
}

std::string why_refused(const Refused& refused, std::string_view host, bool by_client) {
  std::string text = refused.depth == 0
                         ? (by_client ? "the server's certificate (" : "the client's certificate (")
                         : "a CA's certificate in the chain (";
  text += refused.subject + ") ";
  constexpr std::string_view kNameCa = ": name its CA in ca_file or ca_folder";
  switch (refused.code) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return text + "expired at " + refused.end + ": renew it";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return text + "is valid from " + refused.begin + " only: look at the clocks";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return text + "is for " +
             (refused.names.empty() ? "no host at all (a common name does not count)" : refused.names) +
             " and not for " + std::string(host) + ": connect to a name that it has, or set server_name";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return text + "has signed itself and is not trusted here: name it in ca_file if it is the right one";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return text + "is where the chain ends, and is not trusted here: name it in ca_file or ca_folder";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return text + "is signed by " + refused.issuer + ", which is not known here" + std::string(kNameCa);
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return text + "is not signed by the " + refused.issuer +
             " that is known here: another CA has that name, too";
    case X509_V_ERR_INVALID_PURPOSE:
      return text + "is not made for a " + (by_client ? "server" : "client") +
             ": look at its extended key usage";
    case X509_V_ERR_CERT_REVOKED: return text + "was revoked";
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
      return text + "has a key that is too short to be trusted: make a longer one";
    case X509_V_ERR_CA_MD_TOO_WEAK:
      return text + "is signed by a digest that is too weak to be trusted: sign it anew, with SHA-256";
    default: return text + "was refused: " + X509_verify_cert_error_string(refused.code);
  }
}

std::string last_reason() {
  std::string text;
  for (unsigned long error = ERR_get_error(); error != 0; error = ERR_get_error()) {
    const char* const reason = ERR_reason_error_string(error);
    text = reason != nullptr ? reason : "error " + std::to_string(ERR_GET_REASON(error));
  }
  return text;
}

std::string why_failed(const Refused& refused, std::string_view host, bool by_client, bool established,
                       bool& certain) {
  const unsigned long last = ERR_peek_last_error();
  const int code = ERR_GET_LIB(last) == ERR_LIB_SSL ? ERR_GET_REASON(last) : 0;
  const std::string reason = last_reason();
  certain = true;
  if (refused.code != X509_V_OK) return why_refused(refused, host, by_client);
  if (const Reason* const known = reason_of(code); known != nullptr && (by_client || !known->certain)) {
    certain = known->certain;
    return std::string(known->text);
  }
  if (!by_client && code == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    return "the client showed no certificate";
  certain = is_alert(code) || !established;
  return (is_alert(code) ? "the other side ended it: " : "") +
         (reason.empty() ? "no reason was told" : reason);
}

}  // namespace holdfast::tls
