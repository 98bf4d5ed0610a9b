#include "lib/redis/url.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::redis {
namespace {

constexpr std::uint16_t kDefaultPort = 6379, kSentinelPort = 26379;
constexpr std::size_t kLongestSocketPath = 107;  // of sockaddr_un, without its zero
constexpr std::string_view kSupported =
    "supported are redis://[[user]:password@]host[:port][/db], "
    "unix://[[user]:password@]/path/to.sock[?db=N], "
    "redis+sentinel://[[user]:password@]host[:port],.../name[/db], "
    "redis+cluster://[[user]:password@]host[:port],..., and over TLS rediss://, rediss+sentinel://, "
    "rediss+cluster://";

[[noreturn]] void refuse(std::string_view what) {
  throw BadUrl("bad Redis URL: " + std::string(what) + "; " + std::string(kSupported));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text, std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      refuse("in the " + std::string(part) + " a % must be followed by two hex digits (%25 is a % itself)");
    }
    if (high == 0 && low == 0) refuse("a zero byte (%00) in the " + std::string(part));
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// No sign, no blanks, nothing behind it.
template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  if (!digits || std::from_chars(text.data(), end, value).ec != std::errc()) return std::nullopt;
  return value;
}

int database(std::string_view text) {
  const std::optional<int> value = number<int>(text);
  if (!value) refuse("the database must be a number, 0 or more");
  return *value;
}

void read_credentials(std::string_view text, ClientOptions& options) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) refuse("a user without a password (write user:password@)");
  options.user = decode(text.substr(0, colon), "user");
  options.password = decode(text.substr(colon + 1), "password");
  if (options.password.empty()) refuse("an empty password");
}

Endpoint host_and_port(std::string_view text, std::uint16_t port_unless_given) {
  Endpoint endpoint;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) refuse("the [ of an IPv6 address has no ]");
    endpoint.host = decode(text.substr(1, end - 1), "host");
    const bool fine = endpoint.host.find(':') != std::string::npos &&
                      std::all_of(endpoint.host.begin(), endpoint.host.end(), [](char c) {
                        return is_letter(c) || is_digit(c) || c == ':' || c == '.' || c == '%';
                      });
    if (!fine) refuse("in brackets stands an IPv6 address, as in redis://[::1]:6379");
    text.remove_prefix(end + 1);
    if (!text.empty() && text.front() != ':') refuse("behind the ] may only come :port");
    has_port = !text.empty();
    if (has_port) port = text.substr(1);
  } else {
    const std::size_t colon = text.find(':');
    has_port = colon != std::string_view::npos;
    endpoint.host = text.substr(0, colon);
    if (has_port) port = text.substr(colon + 1);
    if (endpoint.host.empty()) refuse("no host");
    if (has_port && port.find(':') != std::string_view::npos) {
      refuse("an IPv6 address must stand in brackets, as in redis://[::1]:6379");
    }
    const bool fine = std::all_of(endpoint.host.begin(), endpoint.host.end(), [](char c) {
      return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
    });
    if (!fine) refuse("a host is a name or an address; one URL names one host");
  }
  endpoint.port = port_unless_given;
  if (has_port) {
    const std::optional<std::uint16_t> value = number<std::uint16_t>(port);
    if (!value || *value == 0) refuse("the port must be a number from 1 to 65535");
    endpoint.port = *value;
  }
  return endpoint;
}

// What a URL names, besides the rest of its options.
enum class Target { server, sentinels, cluster };

// What stands behind the "?", by name, as it was written. No name is there twice.
class Query {
 public:
  // Takes it off the end of `rest`.
  explicit Query(std::string_view& rest) {
    if (rest.find('#') != std::string_view::npos) refuse("a # part means nothing here (%23 is a # itself)");
    const std::size_t mark = rest.find('?');
    if (mark == std::string_view::npos) return;
    std::string_view query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
    for (;;) {
      const std::size_t end = std::min(query.find('&'), query.size());
      const std::string_view pair = query.substr(0, end);
      const std::size_t equals = std::min(pair.find('='), pair.size());
      const std::string_view name = pair.substr(0, equals);
      if (equals == pair.size()) refuse("behind the ? stand name=value pairs with & between them");
      for (const auto& [other, value] : values_) {
        if (other == name) refuse(std::string(other) + " is there twice");
      }
      values_.emplace_back(name, pair.substr(equals + 1));
      if (end == query.size()) return;
      query.remove_prefix(end + 1);
    }
  }

  // Null when it is not there.
  std::optional<std::string> take(std::string_view name) {
    for (auto one = values_.begin(); one != values_.end(); ++one) {
      if (one->first != name) continue;
      std::string value = decode(one->second, name);
      values_.erase(one);
      return value;
    }
    return std::nullopt;
  }

  void require_empty(std::string_view known) const {
    if (values_.empty()) return;
    const std::string_view name = values_.front().first;
    const bool legible = !name.empty() && std::all_of(name.begin(), name.end(),
                                                      [](char c) { return is_letter(c) || c == '_'; });
    refuse((legible ? "`" + std::string(name.substr(0, 40)) + "` means nothing here" : "a name is no name") +
           "; behind the ? may only come " + std::string(known));
  }

 private:
  std::vector<std::pair<std::string_view, std::string_view>> values_;
};

void read_tls(Query& query, TlsOptions& tls) {
  const auto read = [&query](std::string_view name, std::string& into) {
    if (const auto value = query.take(name)) {
      if (value->empty()) refuse(std::string(name) + " is empty");
      into = *value;
    }
  };
  read("ca_file", tls.ca_file);
  read("ca_folder", tls.ca_folder);
  read("certificate_file", tls.certificate_file);
  read("key_file", tls.key_file);
  read("key_password", tls.key_password);
  read("server_name", tls.server_name);
  if (tls.certificate_file.empty() != tls.key_file.empty())
    refuse("certificate_file and key_file belong together, and one of them is missing");
  if (const auto version = query.take("minimum_version")) {
    if (*version != "1.2" && *version != "1.3") refuse("minimum_version must be 1.2 or 1.3");
    tls.minimum_version = *version == "1.3" ? TlsVersion::tls_1_3 : TlsVersion::tls_1_2;
  }
  if (const auto any = query.take("insecure_accept_any_certificate")) {
    if (*any != "yes") refuse("insecure_accept_any_certificate may only be yes");
    tls.insecure_accept_any_certificate = true;
  }
}

// The whole query of a URL, and what may be in it.
void read_query(std::string_view& rest, Target target, ClientOptions& options, bool& has_database) {
  Query query(rest);
  std::string known = "db=N";
  if (target == Target::cluster) known.clear();
  if (target != Target::cluster) {
    if (const auto text = query.take("db")) {
      options.database = database(*text);
      has_database = true;
    }
  }
  if (target == Target::sentinels) {
    options.sentinel_user = query.take("sentinel_user").value_or("");
    options.sentinel_password = query.take("sentinel_password").value_or("");
    if (!options.sentinel_user.empty() && options.sentinel_password.empty())
      refuse("a sentinel_user without a sentinel_password");
    known += ", sentinel_user, sentinel_password";
  }
  if (options.tls) {
    read_tls(query, *options.tls);
    known += std::string(known.empty() ? "" : ", ") +
             "ca_file, ca_folder, certificate_file, key_file, key_password, server_name, minimum_version, "
             "insecure_accept_any_certificate";
  }
  if (!options.tls) {
    for (const std::string_view name :
         {"ca_file", "ca_folder", "certificate_file", "key_file", "server_name"}) {
      if (query.take(name))
        refuse(std::string(name) + " means nothing without TLS: write rediss instead of redis");
    }
  }
  query.require_empty(known.empty() ? "nothing" : known);
}

// "a:1,b,c:3"
std::vector<Node> several(std::string_view authority, std::uint16_t port_unless_given) {
  std::vector<Node> nodes;
  for (;;) {
    const std::size_t end = std::min(authority.find(','), authority.size());
    const Endpoint one = host_and_port(authority.substr(0, end), port_unless_given);
    for (const Node& other : nodes) {
      if (other.endpoint == one) refuse(one.to_string() + " is there twice");
    }
    nodes.push_back({"", one});
    if (end == authority.size()) return nodes;
    authority.remove_prefix(end + 1);
  }
}

void read_tcp(std::string_view rest, Target target, ClientOptions& options) {
  const std::size_t authority_end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, authority_end);
  rest.remove_prefix(authority_end);
  if (rest.substr(0, rest.find('?')).find('@') != std::string_view::npos ||
      (authority.find('@') == std::string_view::npos && rest.find('@') != std::string_view::npos)) {
    refuse("a / ? or # in user or password must be written %2F %3F %23");
  }
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    read_credentials(authority.substr(0, at), options);
    authority.remove_prefix(at + 1);
  }
  bool has_database = false;
  read_query(rest, target, options, has_database);
  switch (target) {
    case Target::server: options.nodes.push_back({"", host_and_port(authority, kDefaultPort)}); break;
    case Target::cluster:
      options.nodes = several(authority, kDefaultPort);
      options.cluster = true;
      if (rest.size() > 1 && rest != "/0")
        refuse("a Redis Cluster has database 0 alone, and nothing else in its path");
      return;
    case Target::sentinels: {
      options.sentinels = several(authority, kSentinelPort);
      const std::size_t end = std::min(rest.find('/', 1), rest.size());
      options.primary_name = rest.empty() ? "" : decode(rest.substr(1, end - 1), "name of the primary");
      if (options.primary_name.empty())
        refuse("what the Sentinels call the primary is missing: redis+sentinel://a,b,c/mymaster");
      rest.remove_prefix(end);
      break;
    }
  }
  if (rest.size() > 1) {
    if (has_database) refuse("the database is there twice");
    options.database = database(rest.substr(1));
  }
}

void read_unix(std::string_view rest, ClientOptions& options) {
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) refuse("the path of a unix socket begins with a /");
  if (slash > 0) {
    if (rest[slash - 1] != '@') {
      refuse(rest.find('@', slash) == std::string_view::npos
                 ? "the path of a unix socket begins with a /: unix:///run/redis.sock"
                 : "a / in user or password must be written %2F");
    }
    read_credentials(rest.substr(0, slash - 1), options);
    rest.remove_prefix(slash);
  }
  bool has_database = false;
  read_query(rest, Target::server, options, has_database);
  const std::string path = decode(rest, "path");
  if (path.size() < 2) refuse("the path of a unix socket is missing");
  if (path.size() > kLongestSocketPath) refuse("the path of a unix socket may have 107 bytes at most");
  options.nodes.push_back({"", {path, 0}});
}

}  // namespace

ClientOptions options_from_url(std::string_view url) {
  const std::size_t mark = url.find("://");
  std::string scheme(url.substr(0, mark == std::string_view::npos ? 0 : mark));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const bool is_scheme = !scheme.empty() && std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
  if (!is_scheme) refuse("it begins with no scheme");
  const std::string_view rest = url.substr(mark + 3);
  for (const char c : rest) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') refuse("a blank or control character");
  }
  ClientOptions options;
  if (scheme == "unix" || scheme == "redis+unix") {
    read_unix(rest, options);
    return options;
  }
  std::string_view plain = scheme;
  if (plain.starts_with("rediss")) {
    options.tls.emplace();
    plain.remove_prefix(6);
  } else if (plain.starts_with("redis")) {
    plain.remove_prefix(5);
  }
  if (plain.empty()) {
    read_tcp(rest, Target::server, options);
  } else if (plain == "+sentinel") {
    read_tcp(rest, Target::sentinels, options);
  } else if (plain == "+cluster") {
    read_tcp(rest, Target::cluster, options);
  } else {
    refuse("`" + scheme + "://` is not supported");
  }
  return options;
}

ClientOptions options_from_urls(std::span<const std::string> urls) {
  if (urls.empty()) refuse("there is none");
  ClientOptions all = options_from_url(urls.front());
  for (const std::string& url : urls.subspan(1)) {
    const ClientOptions one = options_from_url(url);
    if (!one.sentinels.empty() || !all.sentinels.empty() || one.cluster || all.cluster)
      refuse("Sentinels, or the nodes of a Cluster, stand in one URL, and nothing beside it");
    if (one.user != all.user || one.password != all.password || one.database != all.database ||
        one.tls != all.tls) {
      refuse("the URLs of one replicated set must agree on user, password, database and TLS");
    }
    for (const Node& node : all.nodes) {
      if (node.endpoint == one.nodes.front().endpoint) {
        refuse(node.endpoint.to_string() + " is there twice");
      }
    }
    all.nodes.push_back(one.nodes.front());
  }
  return all;
}

}  // namespace holdfast::redis
