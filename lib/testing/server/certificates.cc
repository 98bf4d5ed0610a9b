#include "lib/testing/server/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::testing {
namespace {

template <class T, void (*kFree)(T*)>
struct Free {
  void operator()(T* one) const { kFree(one); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Free<X509, X509_free>>;

void require(bool fine, const char* what) {
  if (!fine) throw std::runtime_error(std::string("OpenSSL: ") + what);
}

KeyPtr make_key() {
  KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  require(key != nullptr, "no key");
  return key;
}

void add(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  require(extension != nullptr, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Without a signature.
X509Ptr draft(const std::string& name, EVP_PKEY* key, const std::string& begin, const std::string& end) {
  // Of one length, for the bytes of a handshake are as many in each run.
  static std::atomic<long> serial{0x10000000};
  X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  require(ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate.get()), begin.c_str()) == 1, "time");
  require(ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate.get()), end.c_str()) == 1, "time");
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

void sign(X509* certificate, X509* issuer, EVP_PKEY* key) {
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  require(X509_sign(certificate, key, nullptr) > 0, "no signature");
}

std::string pem_of(X509* certificate) {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  require(out.good(), file.c_str());
}

void write_key(const std::string& file, EVP_PKEY* key) {
  BIO* const bio = BIO_new_file(file.c_str(), "w");
  require(
      bio != nullptr && PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
      file.c_str());
  BIO_free(bio);
}

void describe(X509* certificate, X509* issuer, const Wanted& wanted) {
  std::string names;
  for (const std::string& host : wanted.hosts) names += (names.empty() ? "DNS:" : ",DNS:") + host;
  for (const std::string& address : wanted.addresses) names += (names.empty() ? "IP:" : ",IP:") + address;
  if (!names.empty()) add(certificate, issuer, NID_subject_alt_name, names);
  std::string usage = wanted.for_server ? "serverAuth" : "";
  if (wanted.for_client) usage += usage.empty() ? "clientAuth" : ",clientAuth";
  if (!usage.empty()) add(certificate, issuer, NID_ext_key_usage, usage);
}

}  // namespace

struct CertificateAuthority::Keys {
  KeyPtr key;
  X509Ptr certificate;
};

CertificateAuthority::CertificateAuthority(std::string folder, const std::string& name,
                                           const std::string& end)
    : folder_(std::move(folder)), keys_(std::make_unique<Keys>()), file_(folder_ + "/" + name + ".ca.pem") {
  keys_->key = make_key();
  keys_->certificate = draft(name, keys_->key.get(), "20000101000000Z", end);
  add(keys_->certificate.get(), keys_->certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  sign(keys_->certificate.get(), keys_->certificate.get(), keys_->key.get());
  write(file_, pem_of(keys_->certificate.get()));
}

CertificateAuthority::CertificateAuthority(std::string folder, std::unique_ptr<Keys> keys, std::string chain)
    : folder_(std::move(folder)), keys_(std::move(keys)), chain_(std::move(chain)) {}

CertificateAuthority::~CertificateAuthority() = default;

Certificate CertificateAuthority::issue(const Wanted& wanted) const {
  const KeyPtr key = make_key();
  const X509Ptr certificate = draft(wanted.name, key.get(), wanted.begin, wanted.end);
  describe(certificate.get(), keys_->certificate.get(), wanted);
  sign(certificate.get(), keys_->certificate.get(), keys_->key.get());
  Certificate files{folder_ + "/" + wanted.name + ".pem", folder_ + "/" + wanted.name + ".key"};
  write(files.certificate_file, pem_of(certificate.get()) + chain_);
  write_key(files.key_file, key.get());
  return files;
}

std::unique_ptr<CertificateAuthority> CertificateAuthority::issue_authority(const std::string& name) const {
  auto keys = std::make_unique<Keys>();
  keys->key = make_key();
  keys->certificate = draft(name, keys->key.get(), "20000101000000Z", "20991231235959Z");
  add(keys->certificate.get(), keys_->certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  sign(keys->certificate.get(), keys_->certificate.get(), keys_->key.get());
  std::string chain = pem_of(keys->certificate.get()) + chain_;
  return std::unique_ptr<CertificateAuthority>(
      new CertificateAuthority(folder_, std::move(keys), std::move(chain)));
}

Certificate CertificateAuthority::self_signed(const std::string& folder, const Wanted& wanted) {
  const KeyPtr key = make_key();
  const X509Ptr certificate = draft(wanted.name, key.get(), wanted.begin, wanted.end);
  describe(certificate.get(), certificate.get(), wanted);
  sign(certificate.get(), certificate.get(), key.get());
  Certificate files{folder + "/" + wanted.name + ".pem", folder + "/" + wanted.name + ".key"};
  write(files.certificate_file, pem_of(certificate.get()));
  write_key(files.key_file, key.get());
  return files;
}

}  // namespace holdfast::testing
