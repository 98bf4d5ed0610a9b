// A certificate authority for servers that speak TLS: what it signs may be wrong in any way that is wanted.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

// The PEM files of a certificate and of its key.
struct Certificate {
  std::string certificate_file, key_file;
};

// What a certificate says.
struct Wanted {
  std::string name = "server";                                     // its common name, and of its files
  std::vector<std::string> hosts = {};                             // subjectAltName: names
  std::vector<std::string> addresses = {};                         // subjectAltName: IP addresses
  std::string begin = "20000101000000Z", end = "20991231235959Z";  // of its time, UTC
  bool for_server = true, for_client = true;                       // extended key usage
};

// Its keys are Ed25519: signatures have one length. All files lie in one folder.
class CertificateAuthority {
 public:
  CertificateAuthority(std::string folder, const std::string& name,
                       const std::string& end = "20991231235959Z");
  ~CertificateAuthority();

  const std::string& file() const { return file_; }  // its own certificate
  // Throws std::runtime_error when OpenSSL does not do it.
  Certificate issue(const Wanted& wanted) const;
  // A CA that this one has signed; what it issues has the chain in its file.
  std::unique_ptr<CertificateAuthority> issue_authority(const std::string& name) const;
  // A certificate that nobody has signed but itself.
  static Certificate self_signed(const std::string& folder, const Wanted& wanted);

 private:
  struct Keys;
  CertificateAuthority(std::string folder, std::unique_ptr<Keys> keys, std::string chain);

  const std::string folder_;
  std::unique_ptr<Keys> keys_;
  std::string file_;
  std::string chain_;  // PEM, what an issued certificate has behind it
};

}  // namespace holdfast::testing
