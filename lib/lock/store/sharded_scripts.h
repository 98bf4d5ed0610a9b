// Scripts of locks that publish, as they are in a Redis Cluster (sharded.lua), put together at build time.
#pragma once

#include "lib/redis/client.h"
#include "lib/redis/script.h"

namespace holdfast {

// Itself, when it publishes nothing.
const redis::Script& sharded(const redis::Script& script) noexcept;
// As it goes to the servers of `options`.
inline const redis::Script& script_for(const redis::ClientOptions& options,
                                       const redis::Script& script) noexcept {
  return options.cluster ? sharded(script) : script;
}

}  // namespace holdfast
