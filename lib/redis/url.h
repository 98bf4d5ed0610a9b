// From URLs to ClientOptions.
//
//   redis://[[user]:password@]host[:port][/db]           port 6379 and database 0 unless given
//   unix://[[user]:password@]/path/to.sock[?db=N]
//
// A character of user, password or path that a URL gives a meaning (":", "/", "?", "#", "@", "%") is written
// as "%3A" and so on; an IPv6 address stands in brackets: redis://[::1]:6380/2.
//
// Sentinels and Redis Cluster have no URL yet: name the Sentinels in ClientOptions::sentinels, set
// ClientOptions::cluster. TLS is not supported. The schemes of all three (rediss, redis-sentinel,
// redis-cluster, ...) are refused here, by name. The place of TLS: one more implementation of the port
// Network that wraps SocketNetwork's streams.
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

// One server. Throws BadUrl.
ClientOptions options_from_url(std::string_view url);

// The nodes of one replicated set, of which one is the primary; one URL is one server. Throws BadUrl, also
// when there is none, when they do not agree on user, password and database, or when one node is there twice.
// For Redlock, whose servers are independent, make one Client of each URL.
ClientOptions options_from_urls(std::span<const std::string> urls);

}  // namespace holdfast::redis
