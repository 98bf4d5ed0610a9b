#include "lib/tls/tls_context.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <new>
#include <utility>

namespace holdfast::tls {
namespace {

// Of sessions that are kept: of one endpoint (a client has a handful of connections), and of endpoints.
constexpr std::size_t kMostSessions = 8, kMostPeers = 256;

bool is_path(const Endpoint& endpoint) { return endpoint.port == 0 && endpoint.host.starts_with('/'); }

bool is_address(const std::string& host) {
  unsigned char into[16];
  return ::inet_pton(AF_INET, host.c_str(), into) == 1 || ::inet_pton(AF_INET6, host.c_str(), into) == 1;
}

[[noreturn]] void refuse(const std::string& what) {
  const std::string reason = last_reason();
  throw BadTls("TLS: " + what + (reason.empty() ? "" : " (" + reason + ")"));
}

void require_file(const std::string& file, const char* option) {
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) return;
  refuse(std::string(option) + ": there is no file `" + file + "`");
}

int give_password(char* into, int size, int, void* options) {
  const std::string& password = static_cast<const TlsOptions*>(options)->key_password;
  if (password.empty() || static_cast<std::size_t>(size) < password.size())
    return -1;  // never asks a terminal
  std::memcpy(into, password.data(), password.size());
  return static_cast<int>(password.size());
}

void trust(SSL_CTX* context, const TlsOptions& options) {
  if (options.ca_file.empty() && options.ca_folder.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) refuse("the system's CAs cannot be read");
    return;
  }
  if (!options.ca_file.empty()) {
    require_file(options.ca_file, "ca_file");
    if (SSL_CTX_load_verify_file(context, options.ca_file.c_str()) != 1)
      refuse("ca_file: `" + options.ca_file + "` has no certificate in PEM");
  }
  if (!options.ca_folder.empty()) {
    std::error_code error;
    if (!std::filesystem::is_directory(options.ca_folder, error))
      refuse("ca_folder: there is no folder `" + options.ca_folder + "`");
    if (SSL_CTX_load_verify_dir(context, options.ca_folder.c_str()) != 1)
      refuse("ca_folder: `" + options.ca_folder + "` cannot be read");
  }
}

void show(SSL_CTX* context, const TlsOptions& options) {
  if (options.certificate_file.empty() && options.key_file.empty()) return;
  if (options.certificate_file.empty() || options.key_file.empty())
    refuse("certificate_file and key_file belong together, and one of them is missing");
  require_file(options.certificate_file, "certificate_file");
  require_file(options.key_file, "key_file");
  if (SSL_CTX_use_certificate_chain_file(context, options.certificate_file.c_str()) != 1)
    refuse("certificate_file: `" + options.certificate_file + "` has no certificate in PEM that can be used");
  SSL_CTX_set_default_passwd_cb(context, give_password);
  SSL_CTX_set_default_passwd_cb_userdata(context, const_cast<TlsOptions*>(&options));
  if (SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    if (ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH)
      refuse("key_file: `" + options.key_file + "` is not the key of certificate_file");
    refuse("key_file: `" + options.key_file + "` has no key in PEM that can be read" +
           (options.key_password.empty() ? "; if it has a password, set key_password"
                                         : "; is key_password right?"));
  }
  if (SSL_CTX_check_private_key(context) != 1)
    refuse("key_file: `" + options.key_file + "` is not the key of certificate_file");
}

}  // namespace

Context::Context(Runtime& runtime, TlsOptions options)
    : options_(std::move(options)), context_(SSL_CTX_new(TLS_method())), mutex_(runtime) {
  ERR_clear_error();
  SSL_CTX* const context = context_.get();
  if (context == nullptr) refuse("OpenSSL gives no context");
  SSL_CTX_set_min_proto_version(
      context, options_.minimum_version == TlsVersion::tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, new_session);
  // A server that asks for certificates resumes its own sessions alone.
  const unsigned char id[] = "holdfast";
  SSL_CTX_set_session_id_context(context, id, sizeof id - 1);
  // A server of this library gives no tickets: who closes before it has read one would send a reset
  // (Linux), and what it wrote last might be lost.
  SSL_CTX_set_num_tickets(context, 0);
  trust(context, options_);
  show(context, options_);
}

const std::string& Context::name_of(const Endpoint& to) const {
  return options_.server_name.empty() ? to.host : options_.server_name;
}

SslPtr Context::make(WallTime now, Told& told) {
  SslPtr ssl(SSL_new(context_.get()));
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (!ssl || in == nullptr || out == nullptr) throw std::bad_alloc();
  BIO_set_mem_eof_return(in, -1);  // empty: wait for more
  SSL_set_bio(ssl.get(), in, out);
  SSL_set_app_data(ssl.get(), &told);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl.get()), static_cast<std::time_t>(seconds));
  return ssl;
}

SslPtr Context::connect(const Endpoint& to, WallTime now, Told& told) {
  ERR_clear_error();
  SslPtr ssl = make(now, told);
  SSL_set_connect_state(ssl.get());
  if (options_.insecure_accept_any_certificate) {
    SSL_set_verify(ssl.get(), SSL_VERIFY_NONE, nullptr);
  } else {
    SSL_set_verify(ssl.get(), SSL_VERIFY_PEER, verify);
    if (is_path(to) && options_.server_name.empty())
      refuse("a unix socket has no name that a certificate could have: set server_name");
  }
  const std::string& name = name_of(to);
  if (is_address(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), name.c_str());
  } else if (!is_path({name, 0})) {
    SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (SSL_set1_host(ssl.get(), name.c_str()) != 1 || SSL_set_tlsext_host_name(ssl.get(), name.c_str()) != 1)
      refuse("`" + name.substr(0, 100) + "` cannot be the name of a server");
  }
  const std::lock_guard lock(mutex_);
  if (const auto kept = sessions_.find(to); kept != sessions_.end() && !kept->second.empty()) {
    SSL_set_session(ssl.get(), kept->second.back().get());
    kept->second.pop_back();  // once: who sees a ticket twice knows the client again
  }
  return ssl;
}

SslPtr Context::accept(WallTime now, Told& told) {
  ERR_clear_error();
  SslPtr ssl = make(now, told);
  SSL_set_accept_state(ssl.get());
  SSL_set_verify(ssl.get(),
                 options_.demand_client_certificates ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                                                     : SSL_VERIFY_NONE,
                 verify);
  return ssl;
}

int Context::verify(int fine, X509_STORE_CTX* store) {
  if (fine == 1) return 1;
  const auto* const ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  Refused& refused = static_cast<Told*>(SSL_get_app_data(ssl))->refused;
  if (refused.code == X509_V_OK) note_refused(store, refused);
  return 0;
}

// Takes the session over (1), or not (0).
int Context::new_session(SSL* ssl, SSL_SESSION* session) {
  if (SSL_is_server(ssl) == 1 || SSL_SESSION_is_resumable(session) == 0) return 0;
  static_cast<Told*>(SSL_get_app_data(ssl))->sessions.emplace_back(session);
  return 1;
}

void Context::keep(const Endpoint& to, std::vector<SessionPtr> sessions) {
  const std::lock_guard lock(mutex_);
  if (sessions_.size() >= kMostPeers && sessions_.find(to) == sessions_.end())
    sessions_.erase(sessions_.begin());
  std::deque<SessionPtr>& kept = sessions_[to];
  for (SessionPtr& session : sessions) kept.push_back(std::move(session));
  while (kept.size() > kMostSessions) kept.pop_front();
}

}  // namespace holdfast::tls
