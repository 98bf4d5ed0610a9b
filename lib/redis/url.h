// From URLs to ClientOptions.
//
//   redis://[[user]:password@]host[:port][/db]            port 6379 and database 0 unless given
//   unix://[[user]:password@]/path/to.sock[?db=N]
//   redis+sentinel://[[user]:password@]host[:port],host[:port],.../name[/db]
//       the Sentinels, port 26379 unless given, and what they call the primary; user and password are those
//       of the servers
//   redis+cluster://[[user]:password@]host[:port],...     some nodes of a Redis Cluster
//   rediss://, rediss+sentinel://, rediss+cluster://      the same over TLS
//
// Behind a "?", joined by "&": db=N; of Sentinels sentinel_user and sentinel_password; over TLS the members
// of TlsOptions: ca_file, ca_folder, certificate_file, key_file, key_password, server_name,
// minimum_version=1.2|1.3, insecure_accept_any_certificate=yes.
//
// A character of user, password, path or value that a URL gives a meaning (":", "/", "?", "#", "@", "%", "&")
// is written as "%3A" and so on; an IPv6 address stands in brackets: redis://[::1]:6380/2.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lib/redis/client.h"

namespace holdfast::redis {

// What is wrong with a URL, and what was expected. Never holds a user or password.
class BadUrl : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// One server, or all that one of the other schemes names. Throws BadUrl.
ClientOptions options_from_url(std::string_view url);

// The nodes of one replicated set, of which one is the primary; one URL is one server. Throws BadUrl, also
// when there is none, when they do not agree on user, password, database and TLS, when one node is there
// twice, or when one of several names Sentinels or a Cluster.
// For Redlock, whose servers are independent, make one Client of each URL.
ClientOptions options_from_urls(std::span<const std::string> urls);

// From environment variables: $HOLDFAST_REDIS_URL, one URL or several with blanks between them, as
// options_from_urls(); where it has none, $HOLDFAST_REDIS_USER, $HOLDFAST_REDIS_PASSWORD,
// $HOLDFAST_REDIS_SENTINEL_PASSWORD and $HOLDFAST_REDIS_KEY_PASSWORD, so that no secret need be in a URL.
// Throws BadUrl, also when the first is not set. Thread safety: as std::getenv.
ClientOptions options_from_environment();

}  // namespace holdfast::redis
