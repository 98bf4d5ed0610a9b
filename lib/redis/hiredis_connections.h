// Connections that an application makes with hiredis (its TLS, its tunnel, its AUTH), for a CommandNetwork:
//
//   holdfast::redis::CommandNetwork network(runtime, holdfast::redis::hiredis_connections(
//       [](const holdfast::Endpoint& to, holdfast::Duration) { return connect_as_we_do(to.host, to.port);
// }));
//
// hiredis: https://github.com/redis/hiredis, "Synchronous API".
#pragma once

#include <functional>

#include "lib/net/network.h"
#include "lib/redis/command_network.h"
#include "lib/runtime/time.h"

struct redisContext;

namespace holdfast::redis {

// `connect` returns a context of the blocking API that nothing else uses from then on, RESP2, at most
// `patience` later; it is freed with redisFree(). One with an error, or null, counts as not connected. A
// timeout that was set on it (redisSetTimeout) must be longer than the longest WAIT: what it cuts short
// breaks the connection. The application links hiredis itself.
CommandConnections hiredis_connections(
    std::function<redisContext*(const Endpoint& to, Duration patience)> connect);

}  // namespace holdfast::redis
