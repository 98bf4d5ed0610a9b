#include "lib/redis/url.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace holdfast::redis {
namespace {

constexpr std::uint16_t kDefaultPort = 6379;
constexpr std::size_t kLongestSocketPath = 107;  // of sockaddr_un, without its zero
constexpr std::string_view kSupported =
    "supported are redis://[[user]:password@]host[:port][/db] and "
    "unix://[[user]:password@]/path/to.sock[?db=N]";

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

Endpoint host_and_port(std::string_view text) {
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
  endpoint.port = kDefaultPort;
  if (has_port) {
    const std::optional<std::uint16_t> value = number<std::uint16_t>(port);
    if (!value || *value == 0) refuse("the port must be a number from 1 to 65535");
    endpoint.port = *value;
  }
  return endpoint;
}

// "?db=N" is all that may be there.
std::optional<int> read_query(std::string_view& rest) {
  if (rest.find('#') != std::string_view::npos) refuse("a # part means nothing here (%23 is a # itself)");
  const std::size_t mark = rest.find('?');
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view query = rest.substr(mark + 1);
  rest = rest.substr(0, mark);
  if (!query.starts_with("db=")) refuse("behind the ? may only come db=N");
  return database(query.substr(3));
}

void read_tcp(std::string_view rest, ClientOptions& options) {
  const std::size_t authority_end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, authority_end);
  rest.remove_prefix(authority_end);
  if (rest.find('@') != std::string_view::npos) {
    refuse("a / ? or # in user or password must be written %2F %3F %23");
  }
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    read_credentials(authority.substr(0, at), options);
    authority.remove_prefix(at + 1);
  }
  const std::optional<int> asked = read_query(rest);
  options.nodes.push_back({"", host_and_port(authority)});
  if (rest.size() > 1) {
    if (asked) refuse("the database is there twice");
    options.database = database(rest.substr(1));
  } else if (asked) {
    options.database = *asked;
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
  options.database = read_query(rest).value_or(0);
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
  if (scheme == "redis") {
    read_tcp(rest, options);
  } else if (scheme == "unix" || scheme == "redis+unix") {
    read_unix(rest, options);
  } else {
    refuse("`" + scheme +
           "://` is not supported (TLS is not; Sentinels and a Cluster are named in ClientOptions)");
  }
  return options;
}

ClientOptions options_from_urls(std::span<const std::string> urls) {
  if (urls.empty()) refuse("there is none");
  ClientOptions all = options_from_url(urls.front());
  for (const std::string& url : urls.subspan(1)) {
    const ClientOptions one = options_from_url(url);
    if (one.user != all.user || one.password != all.password || one.database != all.database) {
      refuse("the URLs of one replicated set must agree on user, password and database");
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
